"""Training runs from Python: `fit` makes one, `load` gives its model back."""

import dataclasses
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
import yaml
from torch import nn

from iaenet.data.array_pairs import from_arrays, is_array
from iaenet.data.atomic import replacing
from iaenet.data.dataset import Dataset, load_dataset
from iaenet.data.reading.imported import Imported
from iaenet.data.splits import split_records
from iaenet.errors import CorruptFileError, InvalidInputError
from iaenet.functions.field import Field
from iaenet.functions.normalizer import Normalizer
from iaenet.functions.sample import Sample
from iaenet.functions.seeds import derived_seed
from iaenet.models.base import Given, Pair
from iaenet.models.operator import Operator, describe
from iaenet.models.registry import build
from iaenet.models.sample_model import as_functions, takes_samples
from iaenet.models.saved import load_operator
from iaenet.training.batches import Samples
from iaenet.training.choose import Choice, Chooser
from iaenet.training.config import TrainConfig
from iaenet.training.distributed import Distributed
from iaenet.training.horizon import budget_of
from iaenet.training.loop import Progress, State, set_weights, train
from iaenet.training.run_folder import RunFolder

Data = str | os.PathLike[str] | Dataset | Imported | Sequence[Pair] | tuple[Any, Any]
# Changes that leave the result as it is.
FREE = ("save_seconds", "data")


def load(run: str | os.PathLike[str], network: nn.Module | None = None) -> Operator:
    """The trained model of a run: its best checkpoint by validation error, or the newest if there is no best yet.

    A file that `Operator.save` wrote will do as well. `network` is needed only if the run trained a class of your own;
    its weights are replaced.
    """
    if Path(run).is_file():
        return load_operator(run, network)
    folder = RunFolder(run)
    if not folder.checkpoints.is_dir():
        raise InvalidInputError(f"{run} is no training run; `iaenet train` makes one")
    kind = "best" if folder.has("best") else "step"
    state, parts = folder.newest(kind)
    try:
        operator = Operator.from_json(state["operator"], network)
    except InvalidInputError as error:
        raise InvalidInputError(f"{run}: {error}") from None
    if network is None and any(weight.dtype == torch.float64 for weight in parts["weights"].values()):
        operator.double()
    set_weights(operator, parts["weights"], folder)
    return operator.eval()


def fit(
    model: nn.Module | str | Mapping[str, Any],
    data: Data,
    run: str | os.PathLike[str] | None = None,
    *,
    resolution: int | None = None,
    validation: Sequence[Pair] | None = None,
    config: TrainConfig | None = None,
    device: str = "auto",
    compile: bool = False,
    progress: Callable[[str], Progress] | None = None,
    **changes: Any,
) -> Operator:
    """Train a model and give it back with the weights that did best on the validation samples.

    Args:
        model: a network; or its name, or a dict with its name and options, as in `{"name": "iaenet", "width": 64}`.
        data: a data file, its splits decide; pairs of fields; what a reader gives, as `read_npz(...)`; or arrays
            `(X, Y)`, which are taken for values on a closed uniform grid (`from_arrays(X, Y, periodic=True)` and its
            other options say otherwise), or lists of fields.
        run: folder to keep; a run that was stopped resumes from its last checkpoint. A temporary one if not given.
        resolution: train on this resolution of the file only.
        validation: pairs to validate on; those of the file's split, or else a tenth of the training records, at random.
        config: how to train, see `iaenet.training.config.TrainConfig`; `changes` replace some of it, as in `epochs=20`.
        device: where to compute, such as cpu, cuda or mps; auto is CUDA if there is one, else the CPU.
        compile: whether to compile the network with `torch.compile`; see docs/speed.md for when it pays.
        progress: gives for a title the function that is called with steps done, steps in all, and a note.

    >>> from iaenet import Discretization, Field
    >>> grid = Discretization.uniform(16, periodic=True)
    >>> waves = [Field(grid, torch.sin(2 * torch.pi * (grid.points + k / 10)).float()) for k in range(10)]
    >>> model = fit("fno", [(wave, wave) for wave in waves], epochs=2, threads=1)
    >>> model.predict(waves[0]).values.shape
    torch.Size([16, 1])
    """
    config = (config or TrainConfig()).but(**changes)
    _, clock = budget_of(config.budget)
    begin = clock()
    pairs, held, origin = _split(data, resolution, validation)
    if run is None and int(os.environ.get("WORLD_SIZE", "1")) > 1:  # before the others are called: they say so, too
        raise InvalidInputError("several processes train together in one folder: give it as run=")
    team = Distributed(device, compile)
    with _threads(config.threads), tempfile.TemporaryDirectory() as spare, team.naming_the_lost():
        folder = RunFolder(run or spare)
        training, checking = Samples(pairs), Samples(held)
        if config.augment.steps > 1 and not training.in_time:
            raise InvalidInputError(
                f"augment.steps is {config.augment.steps}, but no sample follows another in time: data need "
                "trajectories, as of `iaenet generate PROBLEM --steps 50` or `iaenet import FORMAT FILE --time t`"
            )
        known = dict(origin["data"] or {"content": training.content})
        known |= {} if validation is None else {"validation": checking.content}
        resolved = {**known, "model": _plain(model), **dataclasses.asdict(config)}
        with folder.locked() if team.is_main else nullcontext():
            if team.is_main:
                _same(folder, resolved)
            show = progress(folder.path.name) if progress is not None and team.is_main else None
            team.wait()  # nobody looks for checkpoints before the folder is ours
            settled, spent = config.settled(len(pairs)), 0.0
            options = {"name": model} if isinstance(model, str) else model
            if not isinstance(options, nn.Module) and options.get("name") == "iaenet" and config.budget:
                setup = clock() - begin
                choice = _choice(options, training, checking, config, folder, team, progress, origin)
                begin, options = clock() - setup, {"name": "iaenet", **choice.chosen.options}
                settled = settled.but(optimizer={"lr": choice.chosen.lr})
                spent = 0.0 if folder.has("step") else choice.seconds
            operator = _operator(options, training, settled, origin)
            state = train(operator, training, checking, settled, folder, team, show, clock() - begin + spent)
            if team.is_main:
                _write_results(folder, state)
            team.wait()
        return load(folder.path, operator.network)


def _choice(
    options: Mapping[str, Any],
    training: Samples,
    validation: Samples,
    config: TrainConfig,
    folder: RunFolder,
    team: Distributed,
    progress: Callable[[str], Progress] | None,
    origin: dict[str, Any],
) -> Choice:
    """Trials of the networks that the options leave open, see `training.choose`."""
    given = {key: value for key, value in options.items() if key != "name"}

    def make(chosen: Mapping[str, Any]) -> Operator:
        return _operator({"name": "iaenet", **chosen}, training, config, origin)

    trial = config.but(batch_size=config.settled(len(training)).batch_size)
    chooser = Chooser(make, training, validation, trial, folder, team, progress if team.is_main else None)
    inputs, outputs = normalizers(training, config)
    scaled = [(inputs.apply(one), outputs.apply(other)) for one, other in training.stacks]
    return chooser.choose(as_functions(scaled, given.get("grid")) if takes_samples(scaled) else scaled, given)


def _write_results(folder: RunFolder, state: State) -> None:
    from iaenet.training.curves import draw_curves

    best = {"epoch": state.best_epoch, "validation": state.best}
    folder.write_json("metrics.json", {"epochs": state.history, "best": best})
    draw_curves(state.history, folder.path / "curves.png")


def _split(
    data: Data, resolution: int | None, validation: Sequence[Pair] | None
) -> tuple[Sequence[Pair], Sequence[Pair], dict[str, Any]]:
    """Training pairs, validation pairs, and where they come from."""
    if isinstance(data, str | os.PathLike):
        data = load_dataset(data)
    origin: dict[str, Any] = {"data": None, "inputs": [], "outputs": []}
    known: Sequence[Any] | None = None  # records
    if isinstance(data, tuple) and len(data) == 2 and all(is_array(each) for each in data):
        data = from_arrays(*data)
    if isinstance(data, Imported):
        for side, channels in (("inputs", data.inputs), ("outputs", data.outputs)):
            origin[side] = [{"name": c.name, "unit": c.unit} for c in channels]
        origin["provenance"] = data.provenance
        known, data = data.records, list(data.pairs)
    if isinstance(data, tuple) and len(data) == 2 and all(isinstance(each, list) for each in data):
        data = list(zip(*data, strict=True))
    if isinstance(data, Dataset):
        whole = data.select(resolution=resolution)
        origin["data"] = {"data": data.path, "resolution": resolution, "content": data.content_hash}
        origin["inputs"] = [
            {"name": c.name, "unit": c.unit, **({"function": c.function} if c.function else {})} for c in data.inputs
        ]
        origin["provenance"] = data.provenance
        origin["outputs"] = [{"name": c.name, "unit": c.unit} for c in data.outputs]
        chosen = whole.select(split="train")
        if validation is None and "validation" in whole.splits:
            validation = whole.select(split="validation")
        pairs: Sequence[Pair] = chosen
        records: list[Any] = [chosen.entry(i).record for i in range(len(chosen))] if validation is None else []
    else:
        pairs = data
        if len(pairs) and is_array(pairs[0][0]):
            raise InvalidInputError("a sample must be a pair of fields; give arrays of all samples as (X, Y)")
        records = list(range(len(pairs))) if known is None else list(known)
    if validation is not None:
        return pairs, validation, origin
    if len(set(records)) < 2:
        how = "give validation="
        if len(pairs) > 1:  # samples of one record
            how = "import the record with --split time, which cuts it in time, or more records; in Python, " + how
        raise InvalidInputError(f"{len(set(records))} training record or sample leaves none to validate on; {how}")
    splits = split_records(records, (0.9, 0.1, 0))  # whole records: windows of one signal stay together
    keep, away = ([i for i, name in enumerate(splits) if name == part] for part in ("train", "validation"))
    if isinstance(pairs, Dataset):
        return pairs.subset(keep), pairs.subset(away), origin
    return [pairs[i] for i in keep], [pairs[i] for i in away], origin


def _operator(
    model: nn.Module | str | Mapping[str, Any], training: Samples, config: TrainConfig, origin: dict[str, Any]
) -> Operator:
    input_normalizer, output_normalizer = normalizers(training, config)
    metadata = {
        **origin,
        **_described([given for given, _ in training.stacks]),
        "targets": describe([wanted.discretization for _, wanted in training.stacks]),
    }
    if isinstance(model, nn.Module):
        return Operator(model, input_normalizer, output_normalizer, metadata)
    options = {"name": model} if isinstance(model, str) else dict(model)
    if "name" not in options:
        raise InvalidInputError("model needs a name, such as iaenet")
    scaled = [(input_normalizer.apply(given), output_normalizer.apply(wanted)) for given, wanted in training.stacks]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derived_seed(config.seed, "weights"))
        network = build(options.pop("name"), scaled, **options)
    return Operator(network.to(training.stacks[0][1].values.dtype), input_normalizer, output_normalizer, metadata)


def _described(given: Sequence[Given]) -> dict[str, Any]:
    """What inputs are like: a function under "trained", the functions and numbers of a sample under "sample"."""
    first = given[0]
    if isinstance(first, Field):
        return {"trained": describe([one.discretization for one in given])}
    functions = {
        name: describe([one.functions[name].discretization for one in given if isinstance(one, Sample)])
        for name in first.functions
    }
    return {"sample": {"functions": functions, "scalars": list(first.scalar_names)}}


def normalizers(training: Samples, config: TrainConfig) -> tuple[Normalizer, Normalizer]:
    """Of inputs and outputs, by the statistics of the training samples, or none."""
    if config.normalize:
        return Normalizer.fit(training.stacks)
    first, second = (Normalizer([0.0] * f.channels, [1.0] * f.channels) for f in training.stacks[0])
    return first, second


def _plain(model: nn.Module | str | Mapping[str, Any]) -> Any:
    if isinstance(model, nn.Module):
        return {"name": type(model).__name__, **_words(getattr(model, "options", {}))}
    return {"name": model} if isinstance(model, str) else dict(model)


def _words(options: Mapping[str, Any]) -> dict[str, Any]:
    return {k: list(v) if isinstance(v, tuple) else v for k, v in options.items()}


def _same(folder: RunFolder, config: dict[str, Any]) -> None:
    """Write the configuration of a new run; refuse to resume with another one than before."""
    path = folder.path / "config.yaml"
    text = yaml.safe_dump(_yaml(config), sort_keys=False)
    if path.exists() and folder.has("step"):
        before, now = _flat(_read(path)), _flat(yaml.safe_load(text))
        for key in [*before, *(key for key in now if key not in before)]:
            if before.get(key) != now.get(key) and key not in FREE:
                raise InvalidInputError(
                    f"{folder.path} holds a run with {key} {before.get(key)}, not {now.get(key)}: resume with that, or "
                    "choose another folder"
                )
    with replacing(path) as beside:
        beside.write_text(text)


def _read(path: Path) -> dict[str, Any]:
    try:
        found = yaml.safe_load(path.read_text())
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CorruptFileError(f"{path} cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise CorruptFileError(f"{path} is no configuration")
    return found


def _yaml(value: Any) -> Any:
    """Only what YAML has words for."""
    if isinstance(value, Mapping):
        return {str(key): _yaml(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_yaml(part) for part in value]
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


def _flat(config: Mapping[str, Any], start: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in config.items():
        found |= _flat(value, f"{start}{key}.") if isinstance(value, Mapping) else {f"{start}{key}": value}
    return found


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
