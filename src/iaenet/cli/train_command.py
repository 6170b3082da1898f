"""`iaenet train`: train a model on a data file, or go on with a run that was stopped."""

import dataclasses
from argparse import SUPPRESS
from collections.abc import Callable, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from iaenet.cli.import_command import add_import_options, check_source
from iaenet.cli.options import field_texts, new_parser, value_of, whole_numbers, words
from iaenet.errors import InvalidInputError
from iaenet.training.config import OTHER_NAMES, PRESETS, TrainConfig

EXAMPLES = """  iaenet train --data burgers.h5 --resolution 256 --run burgers
  iaenet train --config burgers.yaml --model.width 64 --epochs 200
  iaenet train --data burgers.h5 --preset paper --model.name fno --run fno
  iaenet train --data samples/ --import.coordinates x,y --import.inputs a --import.outputs u --run mine
  iaenet train --resume burgers
  iaenet train --model.name deeponet --help      (with the options of that model)
  torchrun --nproc-per-node 2 -m -- iaenet train --config burgers.yaml --run burgers"""

TEXT = """Train a model. Everything can stand in a YAML file (--config) or be said here; what is said here counts. A run
folder gets config.yaml, log.jsonl, metrics.json, curves.png and checkpoints. Ctrl-C or SIGTERM saves and stops; the
same command, or --resume RUN, goes on exactly there."""

FROM_DATA = ("self", "in_channels", "out_channels", "dim", "periodic")
# Options are numbers, words and lists of them. A type that is a class, or Any, would let a file name code to be run.
# No `Any` among these: jsonargparse would take a mapping with a class_path for an object to make.
Scalar = bool | int | float | str | None
Part = dict[str, Scalar | dict[str, Scalar]]  # a branch, by its name and numbers
Plain = bool | int | float | str | list[Scalar | Part] | Part | None
PARTS: dict[str, Any] = {"branches": list[Part], "head": int | Part}


def train_command(arguments: list[str], progress: Callable[[str], Any]) -> str:
    """Read the arguments, train, and say what came out."""
    chosen = value_of(arguments, "--resume")
    if chosen is not None:
        arguments = ["--config", str(_config(chosen)), "--run", chosen, *_without(arguments, "--resume")]
    parser = new_parser("train", TEXT, EXAMPLES, OTHER_NAMES)
    parser.add_argument(
        "--data", type=str, required=True, help="Data file (iaenet generate, iaenet import), or your own with --import."
    )
    parser.add_argument(
        "--resolution", type=int | None, default=None, help="Train on this resolution of the file. Default: on all."
    )
    parser.add_argument("--content", type=str | None, default=None, help="Content hash that the data must have.")
    parser.add_argument("--run", type=str | None, default=None, help="Run folder. Default: runs/DATA-MODEL.")
    parser.add_argument(
        "--resume", type=str | None, default=None, help="Run folder to go on with; nothing else needed."
    )
    parser.add_argument(
        "--preset", type=str, default="cpu", help=f"TrainConfig to start from: {', '.join(PRESETS)}. Default cpu."
    )
    parser.add_argument(
        "--model",
        type=dict[str, Plain],
        default={"name": "iaenet"},
        help="Model: its name and options, as --model.width 64.",
    )
    _add_recipe(parser, TrainConfig)
    group = parser.add_argument_group(
        "import",
        "How to read files of your own: --import.NAME for every option NAME of `iaenet import`, as in "
        "--import.coordinates x,y. They are brought into RUN/data.h5.",
    )
    group.add_argument("--import.format", type=str, default=SUPPRESS, help=SUPPRESS)
    add_import_options(group, "import.")
    _set_preset(parser, value_of(arguments, "--preset") or _in_file(value_of(arguments, "--config"), "preset") or "cpu")
    if "--help" in arguments and value_of(arguments, "--model.name"):
        _show_model(parser, str(value_of(arguments, "--model.name")))
    return _run(parser.parse_args(arguments), progress)


def _run(given: Any, progress: Callable[[str], Any]) -> str:
    config = _recipe(given, TrainConfig)
    check_source(given.data)

    from accelerate import PartialState

    from iaenet.data.dataset import load_dataset
    from iaenet.training.fit import fit
    from iaenet.training.run_folder import RunFolder

    model = _typed(dict(given.model))
    run = Path(given.run or Path("runs") / f"{Path(given.data).stem}-{model['name']}")
    if given.get("import") is not None:
        if not hasattr(given["import"], "keys"):
            raise InvalidInputError("import has options of its own, as --import.coordinates")
        given.data = _imported(given.data, vars(given["import"]), run)
    data = load_dataset(given.data)
    if given.content not in (None, data.content_hash):
        raise InvalidInputError(
            f"{given.data}: content is {data.content_hash}, but this run was asked for {given.content}"
        )
    operator = fit(model, data, run, resolution=given.resolution, config=config, progress=progress)
    if not PartialState().is_main_process:
        return ""  # one of several processes speaks for all
    best = RunFolder(run).read_json("metrics.json")["best"]
    size = sum(parameter.numel() for parameter in operator.network.parameters())
    return (
        f"{run}: {model['name']} with {size} parameters, validation error {best['validation']:.4g} "
        f"(epoch {best['epoch']})\n"
        f"next: iaenet evaluate {run}"
    )


def _add_recipe(parser: Any, kind: Any, prefix: str = "") -> None:
    """An option for each field, with its type, default, and what the docstring says of it; parts of it with a dot."""
    hints, fields = get_type_hints(kind), dataclasses.fields(kind)
    texts = field_texts(kind.__doc__ or "", [field.name for field in fields])
    for field in fields:
        hint = hints[field.name]
        if dataclasses.is_dataclass(hint):
            _add_recipe(parser, hint, f"{field.name}.")
            continue
        row = whole_numbers if hint == list[int] else words
        default = [] if get_origin(hint) is list else field.default
        name = f"--{prefix}{field.name}"
        parser.add_argument(
            name, type=row if get_origin(hint) is list else hint, default=default, help=texts[field.name]
        )


def _recipe(given: Any, kind: Any) -> Any:
    """The options of `_add_recipe` as one object."""
    parts = {}
    for name, hint in get_type_hints(kind).items():
        parts[name] = list(given[name]) if get_origin(hint) is list else given[name]
        if dataclasses.is_dataclass(hint):
            if not hasattr(parts[name], "keys"):
                raise InvalidInputError(
                    f"{name} has options of its own, as --{name}.{dataclasses.fields(hint)[0].name}"
                )
            parts[name] = _recipe(parts[name], hint)
    return kind(**parts)


def _imported(path: str, options: dict[str, Any], run: Path) -> str:
    """Bring files of any format into the run folder."""
    from iaenet.data.import_files import import_data
    from iaenet.data.reading.inputs import format_of

    options.setdefault("format", format_of(path))
    new = not run.exists()
    run.mkdir(parents=True, exist_ok=True)
    try:
        import_data(path=path, out=str(run / "data.h5"), **options)
    except BaseException:
        if new:
            run.rmdir()  # nothing was written there
        raise
    return str(run / "data.h5")


def _set_preset(parser: Any, name: object) -> None:
    if not isinstance(name, str) or name not in PRESETS:
        raise InvalidInputError(f"no preset {name!r}; there are {', '.join(PRESETS)}")
    flat: dict[str, Any] = {}
    for key, value in PRESETS[name].items():
        flat |= {f"{key}.{part}": v for part, v in value.items()} if isinstance(value, dict) else {key: value}
    parser.set_defaults(flat)


def _model_parser(name: str, parser: Any, prefix: str = "") -> Any:
    """Options of a model, with the types of its constructor."""
    import inspect

    from iaenet.models.registry import model_class

    maker = model_class(name)
    hints = {**get_type_hints(maker.for_data), **get_type_hints(maker.__init__)}
    taken = {**inspect.signature(maker.for_data).parameters, **inspect.signature(maker.__init__).parameters}
    said = "\n\n".join(each.__doc__ or "" for each in (maker.for_data, *maker.__mro__[::-1])).replace("`", "")
    texts = {"preset": "size by name, whose numbers replace the defaults below.", **field_texts(said, list(taken))}
    for key, parameter in taken.items():
        kind = PARTS.get(key) or hints.get(key, str)
        if key in (*FROM_DATA, "data", "options") or not (key in PARTS or _is_plain(kind)):
            continue
        text = texts.get(key, "")
        if "Default" not in text and parameter.default not in (parameter.empty, None):
            text += f" Default {str(parameter.default).lower()}."
        parser.add_argument(f"--{prefix}{key}", type=kind | None, default=None, help=text.strip())
    return parser


def _is_plain(kind: Any) -> bool:
    if get_origin(kind) in (UnionType, Union, list, tuple, Sequence):
        return all(_is_plain(part) for part in get_args(kind) if part is not Ellipsis)
    return get_origin(kind) is Literal or kind in (bool, int, float, str, NoneType)


def _typed(model: dict[str, Any]) -> dict[str, Any]:
    """The model's options, each checked against the type that its constructor wants."""
    import inspect

    from iaenet.models.registry import model_class

    name = model.pop("name", None)
    if not isinstance(name, str):
        raise InvalidInputError("model needs a name, as in `model: {name: iaenet}`")
    parser = _model_parser(name, new_parser(f"train --model.name {name}", ""))
    known = {action.dest for action in parser._actions}
    # Options that a model hands on to one inside it are checked by that one.
    inner = "options" in inspect.signature(model_class(name).__init__).parameters
    others = {key: value for key, value in model.items() if inner and key not in known}
    found = parser.parse_object({key: value for key, value in model.items() if key not in others})
    typed = {key: value for key, value in found.items() if value is not None and key != "config"}
    return {"name": name, **typed, **others}


def _show_model(parser: Any, name: str) -> None:
    _model_parser(name, parser.add_argument_group(f"options of {name}"), "model.")


def _in_file(config: str | None, option: str) -> str | None:
    """The value of an option in a YAML file; what is wrong with the file is said when it is read in full."""
    import yaml

    try:
        found = yaml.safe_load(Path(config).read_text()) if config else None
    except (OSError, ValueError, yaml.YAMLError):
        return None
    return found.get(option) if isinstance(found, dict) else None


def _without(arguments: list[str], option: str) -> list[str]:
    at = next(i for i, argument in enumerate(arguments) if argument.partition("=")[0] == option)
    return arguments[:at] + arguments[at + (1 if "=" in arguments[at] else 2) :]


def _config(run: str) -> Path:
    path = Path(run) / "config.yaml"
    if not path.is_file():
        raise InvalidInputError(f"{run} is no training run: there is no {path}")
    return path
