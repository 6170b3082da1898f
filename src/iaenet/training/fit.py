"""Training runs from Python: `fit` makes one, `load` gives its model back."""

import copy
import dataclasses
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import nn

from iaenet.data.dataset import Dataset, load_dataset
from iaenet.data.splits import split_records
from iaenet.errors import InvalidInputError
from iaenet.functions.normalizer import Normalizer
from iaenet.functions.seeds import derived_seed
from iaenet.models.base import Pair
from iaenet.models.ensemble import Ensemble, fingerprint
from iaenet.models.operator import Operator, describe
from iaenet.models.registry import build, name_of
from iaenet.training.batches import Samples
from iaenet.training.config import TrainConfig
from iaenet.training.distributed import Distributed
from iaenet.training.horizon import budget_of
from iaenet.training.loggers import Logger, make_logger
from iaenet.training.loop import Loss, Progress, State, set_weights, train
from iaenet.training.run_config import write_config
from iaenet.training.run_folder import RunFolder

Data = str | os.PathLike[str] | Dataset | Sequence[Pair]


def load(run: str | os.PathLike[str], network: nn.Module | None = None) -> Operator:
    """The trained model of a run: its best checkpoint by validation error, or the newest if there is no best yet.

    That of a run with several members is their `Ensemble`. `network` is needed only if the run trained a class of your
    own; its weights are replaced.
    """
    folder = RunFolder(run)
    if folder.members:
        ensemble = Ensemble([load(member) for member in folder.members])
        ensemble.metadata["run"] = str(run)
        return ensemble.eval()
    if not folder.checkpoints.is_dir():
        raise InvalidInputError(f"{run} is no training run; `iaenet train` makes one")
    kind = "best" if folder.has("best") else "step"
    state, parts = folder.newest(kind)
    operator = Operator.from_json(state["operator"], network)
    if network is None and any(weight.dtype == torch.float64 for weight in parts["weights"].values()):
        operator.double()
    set_weights(operator, parts["weights"], folder)
    operator.metadata["run"] = str(run)
    return operator.eval()


def starting_point(base: str | os.PathLike[str], run: str | os.PathLike[str], weights: str | None = None) -> Operator:
    """The model of `base` to be trained further in `run`, checked by its hash, if given.

    A run that has begun can do without its base: it has all but the weights, which it replaces by its own.
    """
    folder = RunFolder(run)
    if weights is not None and not Path(base).exists() and folder.has("step"):
        operator = Operator.from_json(folder.newest("step")[0]["operator"])
        operator.metadata["start_of"] = {"from": str(base), "weights": weights}
        return operator
    operator = load(base)
    first = operator.members[0] if isinstance(operator, Ensemble) else operator
    if weights not in (None, fingerprint(first)):
        raise InvalidInputError(f"{base} has been trained further: {run} began with other weights of it")
    return operator


def fit(
    model: nn.Module | str | Mapping[str, Any],
    data: Data,
    run: str | os.PathLike[str] | None = None,
    *,
    resolution: int | None = None,
    validation: Sequence[Pair] | None = None,
    config: TrainConfig | None = None,
    device: str = "auto",
    progress: Callable[[str], Progress] | None = None,
    loss: Loss | None = None,
    loggers: Sequence[Logger | str] = (),
    members: int = 1,
    **changes: Any,
) -> Operator:
    """Train a model and give it back with the weights that did best on the validation samples.

    Args:
        model: a network; or its name, or a dict with its name and options, as in `{"name": "iaenet", "width": 64}`; or
            a trained model, of which a copy is trained further, with its normalisation (fine-tuning).
        data: a data file, its splits decide; or pairs of fields.
        run: folder to keep; a run that was stopped resumes from its last checkpoint, and one that is finished takes
            more epochs. A temporary one if not given.
        resolution: train on this resolution of the file only.
        validation: pairs to validate on; those of the file's split, or else a tenth of the training records, at random.
        config: how to train, see `iaenet.training.config.TrainConfig`; `changes` replace some of it, as in `epochs=20`.
        device: where to compute, such as cpu or cuda; auto is CUDA if there is one, else the CPU.
        progress: gives for a title the function that is called with steps done, steps in all, and a note.
        loss: `loss(model, given, wanted)` gives a number for each of b functions `given` on the same points, `(b,)`,
            instead of the relative L2 error; `iaenet.gradient` has derivatives for it. Default: the relative L2 error.
        loggers: objects with the methods of `iaenet.training.loggers.Logger`, or names, such as tensorboard.
        members: how many models to train, one after the other from different seeds; of several, their mean is given
            back. Default 1.

    >>> from iaenet import Discretization, Field
    >>> grid = Discretization.uniform(16, periodic=True)
    >>> waves = [Field(grid, torch.sin(2 * torch.pi * (grid.points + k / 10)).float()) for k in range(10)]
    >>> model = fit("fno", [(wave, wave) for wave in waves], epochs=2, threads=1)
    >>> model.predict(waves[0]).values.shape
    torch.Size([16, 1])
    """
    config = (config or TrainConfig()).but(**changes)
    chosen = [make_logger(one) if isinstance(one, str) else one for one in loggers]
    if run is None and int(os.environ.get("WORLD_SIZE", "1")) > 1:  # before the others are called: they say so, too
        raise InvalidInputError("several processes train together in one folder: give it as run=")
    if members != 1 or isinstance(model, Ensemble):
        from iaenet.training.members import fit_members

        shared = {"resolution": resolution, "validation": validation, "device": device, "progress": progress}
        return fit_members(fit, model, data, run, config, members, **shared, loss=loss, loggers=chosen)
    _, clock = budget_of(config.budget)
    begin = clock()
    pairs, held, origin = _split(data, resolution, validation)
    team = Distributed(device)
    with _threads(config.threads), tempfile.TemporaryDirectory() as spare, team.naming_the_lost():
        folder = RunFolder(run or spare)
        if folder.members:
            raise InvalidInputError(f"{run} holds an ensemble of {len(folder.members)}: resume it with members=")
        training, checking = Samples(pairs), Samples(held)
        operator = _operator(model, training, config, origin)
        known = dict(origin["data"] or {"content": training.content})
        known |= {} if validation is None else {"validation": checking.content}
        resolved = {**known, **origin.get("start", {}), "model": _plain(model), **dataclasses.asdict(config)}
        with folder.locked() if team.is_main else nullcontext():
            if team.is_main:
                write_config(folder, resolved)
            show = progress(folder.path.name) if progress is not None and team.is_main else None
            team.wait()  # nobody looks for checkpoints before the folder is ours
            state = train(operator, training, checking, config, folder, team, show, clock() - begin, loss, chosen)
            if team.is_main:
                _write_results(folder, state)
            team.wait()
        made = load(folder.path, operator.network)
        if run is None:  # the folder goes
            del made.metadata["run"]
        return made


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
    if isinstance(data, Dataset):
        whole = data.select(resolution=resolution)
        origin["data"] = {"data": data.path, "resolution": resolution, "content": data.content_hash}
        origin["inputs"] = [{"name": c.name, "unit": c.unit} for c in data.inputs]
        origin["provenance"] = data.provenance
        origin["outputs"] = [{"name": c.name, "unit": c.unit} for c in data.outputs]
        chosen = whole.select(split="train")
        if validation is None and "validation" in whole.splits:
            validation = whole.select(split="validation")
        pairs: Sequence[Pair] = chosen
        records = [chosen.entry(i).record for i in range(len(chosen))] if validation is None else []
    else:
        pairs = data
        records = list(range(len(pairs)))
    if validation is not None:
        return pairs, validation, origin
    if len(set(records)) < 2:
        raise InvalidInputError(f"{len(set(records))} training sample(s) leave none to validate on; give validation=")
    splits = split_records(records, (0.9, 0.1, 0))  # whole records: windows of one signal stay together
    keep, away = ([i for i, name in enumerate(splits) if name == part] for part in ("train", "validation"))
    if isinstance(pairs, Dataset):
        return pairs.subset(keep), pairs.subset(away), origin
    return [pairs[i] for i in keep], [pairs[i] for i in away], origin


def _operator(
    model: nn.Module | str | Mapping[str, Any], training: Samples, config: TrainConfig, origin: dict[str, Any]
) -> Operator:
    if config.normalize:
        input_normalizer, output_normalizer = Normalizer.fit(training.stacks)
    else:
        input_normalizer, output_normalizer = (
            Normalizer([0.0] * f.channels, [1.0] * f.channels) for f in training.stacks[0]
        )
    if isinstance(model, Operator):
        origin["start"] = model.metadata.get("start_of") or {
            "from": model.metadata.get("run"),
            "weights": fingerprint(model),
        }
    metadata = {
        **origin,
        "trained": describe([given.discretization for given, _ in training.stacks]),
        "targets": describe([wanted.discretization for _, wanted in training.stacks]),
    }
    if isinstance(model, Operator):
        return _copied(model, training, metadata)
    if isinstance(model, nn.Module):
        return Operator(model, input_normalizer, output_normalizer, metadata)
    options = {"name": model} if isinstance(model, str) else dict(model)
    if "name" not in options:
        raise InvalidInputError("model needs a name, such as iaenet")
    scaled = [(input_normalizer.apply(given), output_normalizer.apply(wanted)) for given, wanted in training.stacks]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derived_seed(config.seed, "weights"))
        network = build(options.pop("name"), scaled, **options)
    return Operator(_in_precision(network, training), input_normalizer, output_normalizer, metadata)


def _in_precision(network: nn.Module, training: Samples) -> nn.Module:
    """The network in the precision of the data; complex weights stay complex."""
    return network.double() if training.stacks[0][0].values.dtype == torch.float64 else network.float()


def _copied(model: Operator, training: Samples, metadata: dict[str, Any]) -> Operator:
    """A trained model to be trained further."""
    sides = (model.input_normalizer, model.output_normalizer)
    for side, normalizer, field in zip(("inputs", "outputs"), sides, training.stacks[0], strict=True):
        if len(normalizer.mean) != field.channels:
            raise InvalidInputError(
                f"{side} have {field.channels} channels, but the model to start from has {len(normalizer.mean)}"
            )
    return Operator(_in_precision(copy.deepcopy(model.network), training), *sides, metadata)


def _plain(model: nn.Module | str | Mapping[str, Any]) -> Any:
    if isinstance(model, Operator):
        return {"name": name_of(model.network) or type(model.network).__name__}
    if isinstance(model, nn.Module):
        return {"name": type(model).__name__, **_words(getattr(model, "options", {}))}
    return {"name": model} if isinstance(model, str) else dict(model)


def _words(options: Mapping[str, Any]) -> dict[str, Any]:
    return {k: list(v) if isinstance(v, tuple) else v for k, v in options.items()}


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
