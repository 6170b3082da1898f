"""`iaenet generate PROBLEM`: make a data set."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_type_hints

from iaenet.cli.options import add_pool_options, field_texts, new_parser, real_numbers, value_of, whole_numbers, words
from iaenet.data.atomic import check_folder
from iaenet.data.reading.files import existing
from iaenet.errors import InvalidInputError, no_such

EXAMPLES = """  iaenet generate burgers --samples 1200 --resolutions 256,1024 --out burgers.h5
  iaenet generate burgers --viscosity 0.01 --points random --samples 1100 --resolutions 512 --out random.h5
  iaenet generate darcy --samples 1100 --splits 900,100,100 --resolutions 85,141 --workers 2 --out darcy.h5
  iaenet generate fetal-ecg --samples 3700 --resolutions 2000 --backend dask --scheduler tcp://host:8786 --out ecg.h5"""

GOES_ON = "Stopped. What is finished is kept in {partial}: repeat the command and it goes on from there."


def generate_command(arguments: list[str], progress: Callable[[str], Any]) -> str:
    """Read the arguments, make the data set, and say what was made; `progress(what)` gives the progress function."""
    from iaenet.data.problems import PROBLEMS

    listed = "\n".join(f"  {name:<12} {PROBLEMS.meaning(name)}" for name in PROBLEMS)
    if not arguments or arguments[0].startswith("-"):
        parser = new_parser(
            "generate PROBLEM",
            "Make a data set: pairs of functions with labels solved at every resolution. Sample i depends on the seed "
            f"and i alone.\n\nproblems:\n{listed}\n\n`iaenet generate PROBLEM --help` shows the options of a problem.",
            EXAMPLES,
        )
        parser.parse_args(arguments)
        raise InvalidInputError(f"generate needs a problem: {', '.join(PROBLEMS)}")
    name = arguments[0]
    if name not in PROBLEMS:
        raise InvalidInputError(no_such("problem", name, PROBLEMS))
    out, config = value_of(arguments, "--out"), value_of(arguments, "--config")
    if out is not None:
        check_folder(out)
    if config is not None:
        existing(config)
    problem_class = PROBLEMS[name]
    parser = new_parser(f"generate {name}", f"Make a data set. {PROBLEMS.meaning(name)}", _examples(name))
    _add_common(parser)
    fields = _add_fields(parser, problem_class)
    given = parser.parse_args(arguments[1:])
    problem = problem_class(**{field: given[field] for field in fields})
    return _run(problem, given, ["iaenet", "generate", *arguments], progress)


def _run(problem: Any, given: Any, command: list[str], progress: Callable[[str], Any]) -> str:
    import shlex

    from iaenet.data.dataset import load_dataset
    from iaenet.data.generate import generate, unfinished_records

    out = Path(given.out)
    try:
        generate(
            problem,
            out,
            samples=given.samples,
            resolutions=given.resolutions,
            seed=given.seed,
            splits=given.splits,
            precision=given.precision,
            workers=given.workers,
            backend=given.backend,
            scheduler=given.scheduler,
            progress=progress(out.name),
            command=shlex.join(command),
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(GOES_ON.format(partial=unfinished_records(out))) from None
    made = load_dataset(out)
    counts = ", ".join(f"{count} {split}" for split, count in made.splits.items())
    return f"{out}: {made.samples} samples ({counts}), content sha256 {made.content_hash}"


def _add_common(parser: Any) -> None:
    parser.add_argument("--out", type=str, required=True, help="File to write.")
    parser.add_argument("--samples", type=int, required=True, help="How many samples.")
    parser.add_argument(
        "--resolutions", type=whole_numbers, required=True, help="One or more resolutions, such as 256,1024."
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="Whole number that all random numbers follow from. Default 0."
    )
    parser.add_argument(
        "--splits",
        type=real_numbers,
        default=(0.8, 0.1, 0.1),
        help="Shares of train, validation and test, with sum 1; or numbers of samples. Default 0.8,0.1,0.1.",
    )
    parser.add_argument(
        "--precision", type=Literal["float32", "float64"], default="float32", help="Of the values. Default float32."
    )
    add_pool_options(parser)


def _add_fields(parser: Any, problem_class: type) -> list[str]:
    """An option for each field of the dataclass, with its type, default, and what the docstring says of it."""
    fields = dataclasses.fields(problem_class)
    texts = field_texts(problem_class.__doc__ or "", [field.name for field in fields])
    hints = get_type_hints(problem_class)
    rows: dict[Any, Any] = {tuple[int, ...]: whole_numbers, tuple[float, ...]: real_numbers, tuple[str, ...]: words}
    group = parser.add_argument_group(f"parameters of {parser.prog.split()[-1]}")
    for field in fields:
        kind = rows.get(hints[field.name], hints[field.name])
        group.add_argument(f"--{field.name}", type=kind, default=field.default, help=texts.get(field.name, ""))
    return [field.name for field in fields]


def _examples(name: str) -> str:
    return "\n".join(line for line in EXAMPLES.splitlines() if f" {name} " in line)
