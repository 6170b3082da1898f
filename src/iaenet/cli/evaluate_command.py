"""`iaenet evaluate RUN`: errors of a trained model on data that it has not seen."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from iaenet.cli.options import MOST_DRAWN, check_count, new_parser, whole_numbers
from iaenet.errors import InvalidInputError

if TYPE_CHECKING:
    from iaenet.data.dataset import Dataset
    from iaenet.evaluation.evaluate import Evaluation
    from iaenet.models.operator import Operator

EXAMPLES = """  iaenet evaluate burgers
  iaenet evaluate burgers --data finer.h5 --resolutions 1024,8192
  iaenet evaluate burgers --split validation --random_points 200 --out results"""


def evaluate_command(arguments: list[str], progress: Callable[[str], Any]) -> str:
    """Read the arguments, evaluate, write results and pictures, and tell what came out."""
    parser = new_parser(
        "evaluate",
        "Errors of a trained model on test data: for every resolution, every channel, and as many random points as the "
        "training grid has; with data of trajectories, also over the roll-out. Writes evaluation.json, errors.png "
        "(error against resolution), samples.png (predictions beside the truth), worst.png (the worst cases) and "
        "rollout.png.",
        EXAMPLES,
    )
    add_data_options(parser, "evaluation")
    parser.add_argument(
        "--resolutions", type=whole_numbers, default=None, help="Resolutions, as 128,512. Default: all in the data."
    )
    parser.add_argument(
        "--random_points",
        type=int | None,
        default=None,
        help="How many random points to evaluate on, too; 0 for none. Default: as many as the training grid has.",
    )
    parser.add_argument(
        "--steps",
        type=int | None,
        default=None,
        help="Steps of the roll-out along trajectories; 0 for none. Default: all, if the data have trajectories.",
    )
    parser.add_argument(
        "--samples", type=int, default=3, help=f"How many samples to draw, at most {MOST_DRAWN}. Default 3."
    )
    parser.add_argument("--batch_size", type=int, default=32, help="Most functions at a time. Default 32.")
    given = parser.parse_args(arguments)
    check_count("samples", given.samples, MOST_DRAWN, least=0)
    check_count("batch_size", given.batch_size)
    check_count("random_points", given.random_points or 0, least=0)

    from iaenet.data.atomic import replacing
    from iaenet.evaluation.evaluate import evaluate
    from iaenet.evaluation.rollout_errors import evaluate_rollout
    from iaenet.reports.plots import save
    from iaenet.reports.result_plots import draw_errors, draw_rollout

    operator, dataset, note = opened(given.run, given.data, given.split, given.device)
    training = training_resolution(operator.metadata, dataset)
    count = training_points(dataset, training) if given.random_points is None else given.random_points or None
    result = evaluate(
        operator,
        dataset,
        resolutions=given.resolutions,
        random_points=count,
        batch_size=given.batch_size,
        seed=given.seed,
        progress=progress("evaluating"),
    )
    steps = _steps(dataset) if given.steps is None else given.steps
    if steps:
        along = evaluate_rollout(
            operator,
            dataset,
            steps,
            resolutions=given.resolutions,
            random_points=count,
            seed=given.seed,
            progress=progress("rolling out"),
        )
        result = replace(result, rollout=tuple(along))
    folder = folder_for(given.run, given.out, "evaluation")
    with replacing(folder / "evaluation.json") as beside:
        beside.write_text(result.to_json())
    save(draw_errors(result, training), folder / "errors.png")
    pictures = _draw_cases(operator, dataset, result, given.samples, folder)
    if result.rollout:
        save(draw_rollout({row.on: row for row in result.rollout}), folder / "rollout.png")
        pictures.append("rollout.png")
    written = ", ".join(["evaluation.json", "errors.png", *pictures])
    return "\n".join([result.table(), *note, f"written to {folder}: {written}"])


def add_data_options(parser: Any, folder: str, optional: bool = False) -> None:
    """The options that `evaluate` and `certify` share."""
    run = {"nargs": "?", "default": None} if optional else {}
    parser.add_argument("run", type=str | None if optional else str, help="Folder of a training run.", **run)
    parser.add_argument("--data", type=str | None, default=None, help="Data file. Default: that of the training.")
    parser.add_argument(
        "--split", type=Literal["train", "validation", "test"], default="test", help="Samples to use. Default test."
    )
    parser.add_argument("--out", type=str | None, default=None, help=f"Folder to write to. Default: RUN/{folder}.")
    parser.add_argument("--seed", type=int, default=0, help="Of random points. Default 0.")
    add_device_option(parser)


def add_device_option(parser: Any) -> None:
    """`--device`, the same for every command that computes with a model."""
    parser.add_argument(
        "--device",
        type=str,
        default="auto",
        help="Where to compute: cpu, cuda, cuda:1, mps. Default: CUDA if there is one.",
    )


def check_run(run: str) -> None:
    """Refuse a folder that is no training run, nor one of several members; a file may be a saved model."""
    if not (Path(run).is_file() or Path(run, "checkpoints").is_dir() or Path(run, "member-0", "checkpoints").is_dir()):
        raise InvalidInputError(f"{run} is no training run; `iaenet train` makes one")


def opened(run: str, data: str | None, split: str, device: str) -> "tuple[Operator, Dataset, list[str]]":
    """The model of a run, the samples of one split, and what the user should know about them."""
    from iaenet.data.dataset import load_dataset
    from iaenet.functions.devices import place
    from iaenet.models.inference import use_device
    from iaenet.training.fit import load

    operator = load(run)
    place(operator, use_device(device))
    origin = operator.metadata.get("data") or {}
    recorded = str(origin.get("data") or "")
    if not (data or recorded):
        raise InvalidInputError(f"{run} was trained on data without a file; name one with --data")
    path = data or recorded_data(run, recorded)
    if data is None and not Path(path).is_file():
        raise InvalidInputError(f"{path}, the data that {run} was trained on, is not there; name a file with --data")
    dataset = load_dataset(path, split=split)
    for side, found in (("inputs", dataset.inputs), ("outputs", dataset.outputs)):
        expected = operator.metadata.get(side) or []
        if expected and len(expected) != len(found):
            names = [", ".join(row) for row in ([c["name"] for c in expected], [c.name for c in found])]
            raise InvalidInputError(f"{path}: {side} are {names[1]}, but {run} was trained with {names[0]}")
    changed = data is None and origin.get("content") not in (None, dataset.content_hash)
    if changed and path != recorded:
        raise InvalidInputError(
            f"{recorded}, the data that {run} was trained on, is not there, and {path} holds others; "
            "name a file with --data"
        )
    note = [f"note: {path} is no longer what {run} was trained on; its samples may be others"] if changed else []
    return operator, dataset, note


def recorded_data(run: str, recorded: str) -> str:
    """The data of a run: the file that was recorded, or the one in the run folder where that is gone."""
    moved = Path(run) / Path(recorded).name
    return str(moved) if moved.is_file() and not Path(recorded).exists() else recorded


def folder_for(run: str, out: str | None, name: str) -> Path:
    """Where results go; it is made if need be."""
    home = Path(run).parent if Path(run).is_file() else Path(run)  # beside a saved model
    folder = home / name if out is None else Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def training_resolution(metadata: dict[str, Any], dataset: "Dataset") -> int | None:
    """The resolution that a model was trained on; of several, the coarsest that is in the data; None if not known."""
    chosen = (metadata.get("data") or {}).get("resolution")
    if chosen is not None or "trained" not in metadata:
        return chosen
    for resolution in dataset.resolutions:
        if dataset.select(resolution=resolution)[0][0].discretization.n in metadata["trained"].get("sizes", []):
            return resolution
    return None


def _steps(dataset: "Dataset") -> int:
    """Steps of the shortest trajectory, if any has several and its states can be inputs again."""
    lengths = [len(one) for one in dataset.trajectories]
    return min(lengths) if lengths and max(lengths) > 1 else 0


def training_points(dataset: "Dataset", training: int | None) -> int | None:
    """Points of the training grid, if there are grids to choose as many random ones from."""
    if dataset.functions:  # random points are those of one function
        return None
    finest = dataset.select(resolution=dataset.resolutions[-1])[0][0].discretization
    if training not in dataset.resolutions or finest.axes is None:
        return None
    count = dataset.select(resolution=training)[0][0].discretization.n
    return count if 2 * count <= finest.n else None


def _draw_cases(
    operator: "Operator", dataset: "Dataset", result: "Evaluation", samples: int, folder: Path
) -> list[str]:
    """Some samples, and those with the largest errors, on the finest points in the data that the model takes."""
    from iaenet.reports.plots import save
    from iaenet.reports.result_plots import draw_predictions

    rows = [row for row in result.rows if not row.refused and "random" not in row.on]
    if not rows or samples < 1:
        return []
    part = dataset if rows[-1].resolution is None else dataset.select(resolution=rows[-1].resolution)
    index = {part.entry(i).sample: i for i in range(len(part))}
    spread = sorted({round(i * (len(part) - 1) / max(1, samples - 1)) for i in range(min(samples, len(part)))})
    worst = [index[sample] for sample, _ in rows[-1].worst[:samples]]
    for name, indices in (("samples.png", spread), ("worst.png", worst)):
        save(draw_predictions(operator, part, indices), folder / name)
    return ["samples.png", "worst.png"]
