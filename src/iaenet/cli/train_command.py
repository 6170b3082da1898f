"""`iaenet train`: train a model on a data file, or resume a run that was stopped."""

import dataclasses
import re
import tempfile
from argparse import SUPPRESS
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_origin, get_type_hints

from iaenet.cli.certify_command import certify_command
from iaenet.cli.evaluate_command import add_device_option, check_run, recorded_data
from iaenet.cli.import_command import add_import_options, check_source
from iaenet.cli.options import field_texts, new_parser, value_of, whole_numbers, words
from iaenet.errors import InvalidInputError
from iaenet.outside import own_file, read_text, read_yaml
from iaenet.training.config import OTHER_NAMES, PRESETS, TrainConfig
from iaenet.training.loggers import make_logger
from iaenet.typed import plain

EXAMPLES = """  iaenet train --data burgers.h5 --resolution 256 --run burgers
  iaenet train --config burgers.yaml --model.width 64 --epochs 200
  iaenet train --data burgers.h5 --preset paper --model.name fno --run fno
  iaenet train --data samples/ --import.coordinates x,y --import.inputs a --import.outputs u --run mine
  iaenet train --data plates/ --import.inputs load --import.outputs stress --run plates --certify
  iaenet train --resume burgers
  iaenet train --resume burgers --epochs 120      (more epochs for a finished run)
  iaenet train --from burgers --data measured.h5 --optimizer.lr 0.0005 --run tuned
  iaenet train --data burgers.h5 --members 4 --logger tensorboard --run ensemble
  iaenet train --model.name deeponet --help      (with the options of that model)
  torchrun --nproc-per-node 2 -m -- iaenet train --config burgers.yaml --run burgers"""

TEXT = """Train a model. Everything can stand in a YAML file (--config) or be said here; what is said here counts. A run
folder gets config.yaml, log.jsonl, metrics.json, curves.png and checkpoints. Ctrl-C or SIGTERM saves and stops; the
same command, or --resume RUN, resumes exactly there."""

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
    parser.add_argument("--resume", type=str | None, default=None, help="Run folder to resume; nothing else needed.")
    parser.add_argument(
        "--from", type=str | None, default=None, help="Run folder whose trained model is trained further (fine-tuning)."
    )
    parser.add_argument(
        "--weights", type=str | None, default=None, help="Hash that the weights of the model of --from must have."
    )
    parser.add_argument(
        "--members", type=int, default=1, help="Models to train, one after the other from different seeds. Default 1."
    )
    parser.add_argument(
        "--logger",
        type=words,
        default=(),
        help="Where figures go, too: tensorboard, in RUN/tensorboard. Default none.",
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
    parser.add_argument(
        "--certify",
        action="store_true",
        help="Certify the trained model on its test samples, too: RUN/certificate, as `iaenet certify RUN` makes it.",
    )
    add_device_option(parser)
    parser.add_argument("--compile", action="store_true", help="Compile the network with torch.compile. Default: not.")
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
    config = TrainConfig().but(**_changes(given, TrainConfig))
    if given.content is not None and given.run is not None:  # a run that was made before
        given.data = recorded_data(given.run, given.data)
    check_source(given.data)
    for name in given.logger:
        make_logger(name)
    if given["from"] is not None and not (given.run and Path(given.run).exists()):
        check_run(given["from"])

    from accelerate import PartialState

    from iaenet.data.dataset import load_dataset
    from iaenet.models.registry import check_options
    from iaenet.reports.documents import MetricsDocument
    from iaenet.training.fit import fit, starting_point
    from iaenet.training.run_folder import RunFolder

    model = dict(given.model or {})
    if not isinstance(model.get("name"), str):
        raise InvalidInputError("model needs a name, as in `model: {name: iaenet}`")
    options = {key: value for key, value in model.items() if key != "name"}
    if given["from"] is None:
        check_options(model["name"], options)
    elif options:
        raise InvalidInputError(f"the model of --from is as it was trained: leave out --model.{next(iter(options))}")
    run = Path(given.run or Path("runs") / f"{Path(given.data).stem}-{model['name']}")
    notes: list[str] = []
    start = model if given["from"] is None else starting_point(given["from"], run, given.weights)
    if given.get("import") is not None:
        if not hasattr(given["import"], "keys"):
            raise InvalidInputError("import has options of its own, as --import.coordinates")
        given.data, notes = _imported(given.data, vars(given["import"]), run)
    data = load_dataset(given.data)
    if given.content not in (None, data.content_hash):
        raise InvalidInputError(f"{given.data}: content is {data.content_hash}, but this run needs {given.content}")
    where = {"device": given.device, "compile": given.compile, "members": given.members, "resolution": given.resolution}
    operator = fit(start, data, run, config=config, progress=progress, loggers=given.logger, **where)
    if not PartialState().is_main_process:
        return ""  # one of several processes speaks for all
    best = RunFolder(run).read_json("metrics.json", MetricsDocument)["best"]
    size = sum(parameter.numel() for parameter in operator.network.parameters())
    what = model["name"] if given["from"] is None else f"the model of {given['from']}"
    text = "\n".join([*notes, ""]) * bool(notes) + (
        f"{run}: {what} with {size} parameters, validation error {best['validation']:.4g} (epoch {best['epoch']})\n"
        f"next: iaenet evaluate {run}"
    )
    if given.certify:
        text = f"{certify_command([str(run), '--device', given.device], progress)}\n{text}"
    return text


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
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        name = f"--{prefix}{field.name}"
        parser.add_argument(
            name, type=row if get_origin(hint) is list else hint, default=default, help=texts[field.name]
        )


def _changes(given: Any, kind: Any) -> Any:
    """The options of `_add_recipe` as `TrainConfig.but` takes them."""
    if not hasattr(given, "keys"):  # a word where options should be
        return given
    changes = {}
    for name, hint in get_type_hints(kind).items():
        value = given[name]
        changes[name] = _changes(value, hint) if dataclasses.is_dataclass(hint) else value
        changes[name] = list(value) if get_origin(hint) is list else changes[name]
    return changes


def _imported(path: str, options: dict[str, Any], run: Path) -> tuple[str, list[str]]:
    """Bring files of any format into the run folder, and say what was assumed and left out."""
    from iaenet.data.dataset import load_dataset
    from iaenet.data.import_files import import_data
    from iaenet.data.reading.inputs import format_of
    from iaenet.training.run_folder import RunFolder

    options.setdefault("format", format_of(path))
    kept = run / "data.h5"
    if RunFolder(run).has("step") and kept.is_file():
        # Nothing of a run is replaced once training has begun.
        with tempfile.TemporaryDirectory(prefix=".import.", dir=run) as beside:
            told = import_data(path=path, out=f"{beside}/data.h5", **options)
            same = load_dataset(f"{beside}/data.h5").content_hash == load_dataset(kept).content_hash
        if not same:
            raise InvalidInputError(
                f"{path} is no longer what {run} is trained on, which is kept in {kept}: `iaenet train --resume {run}` "
                "resumes with that; or choose another folder"
            )
        return str(kept), told.splitlines()[1:]
    new = not run.exists()
    run.mkdir(parents=True, exist_ok=True)
    try:
        told = import_data(path=path, out=str(kept), **options)
    except BaseException:
        if new:
            run.rmdir()  # nothing was written there
        raise
    return str(kept), told.splitlines()[1:]


def _set_preset(parser: Any, name: object) -> None:
    if not isinstance(name, str) or name not in PRESETS:
        raise InvalidInputError(f"no preset {name!r}; there are {', '.join(PRESETS)}")
    flat: dict[str, Any] = {}
    for key, value in PRESETS[name].items():
        flat |= {f"{key}.{part}": v for part, v in value.items()} if isinstance(value, dict) else {key: value}
    parser.set_defaults(flat)


def _show_model(parser: Any, name: str) -> None:
    """Options of a model, with the types of its constructor and what its docstring says of them."""
    from iaenet.models.registry import model_class, model_options

    maker = model_class(name)
    options = model_options(maker)
    said = "\n\n".join(each.__doc__ or "" for each in (maker.for_data, *maker.__mro__[::-1])).replace("`", "")
    texts = {"preset": "size by name, whose numbers replace the defaults below.", **field_texts(said, list(options))}
    group = parser.add_argument_group(f"options of {name}")
    for key, option in options.items():
        if key in PARTS or plain(option.annotation):
            text, kind = texts.get(key, ""), PARTS.get(key) or option.annotation
            if "Default" not in text and option.default not in (option.empty, None):
                text += f" Default {str(option.default).lower()}."
            group.add_argument(f"--model.{key}", type=kind | None, default=None, help=text.strip())


def _in_file(config: str | None, option: str) -> str | None:
    """The value of an option in a YAML file."""
    found = read_yaml(config) if config else None
    return found.get(option) if isinstance(found, dict) else None


def _without(arguments: list[str], option: str) -> list[str]:
    at = next(i for i, argument in enumerate(arguments) if argument.partition("=")[0] == option)
    return arguments[:at] + arguments[at + (1 if "=" in arguments[at] else 2) :]


def _config(run: str) -> Path:
    path = own_file(run, "config.yaml")
    if path is None:
        raise InvalidInputError(f"{run} is no training run: there is no {Path(run) / 'config.yaml'}")
    if re.search(r"^optimiser:", read_text(path), re.MULTILINE):
        raise InvalidInputError(f"{run}: made by iaenet 0.1, which can resume it; train again with this version")
    return path
