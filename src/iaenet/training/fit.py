"""Training runs from Python: `fit` makes one, `load` gives its model back."""

import dataclasses
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import nn

from iaenet.errors import CorruptFileError, InvalidInputError
from iaenet.models.base import Pair
from iaenet.models.ensemble import Ensemble, fingerprint
from iaenet.models.operator import Operator
from iaenet.models.sample_model import as_functions, takes_samples
from iaenet.models.saved import load_operator
from iaenet.training.batches import Samples
from iaenet.training.choose import Choice, Chooser
from iaenet.training.config import TrainConfig
from iaenet.training.distributed import Distributed
from iaenet.training.horizon import budget_of
from iaenet.training.loggers import Logger, make_logger
from iaenet.training.loop import Progress, State, set_weights, train
from iaenet.training.losses import Loss
from iaenet.training.prepare import Data, loss_for, normalised, normalizers, operator_for, plain_model, split_data
from iaenet.training.run_config import write_config
from iaenet.training.run_folder import RunFolder


def load(run: str | os.PathLike[str], network: nn.Module | None = None) -> Operator:
    """The trained model of a run: its best checkpoint by validation error, or the newest if there is no best yet.

    A file that `Operator.save` wrote will do as well. That of a run with several members is their `Ensemble`. `network`
    is needed only if the run trained a class of your own; its weights are replaced.
    """
    if Path(run).is_file():
        return load_operator(run, network)
    folder = RunFolder(run)
    if folder.members:
        ensemble = Ensemble([load(member) for member in folder.members])
        ensemble.metadata["run"] = str(run)
        return ensemble.eval()
    if not folder.checkpoints.is_dir():
        raise InvalidInputError(f"{run} is no training run; `iaenet train` makes one")
    kind = "best" if folder.has("best") else "step"
    state, parts = folder.newest(kind)
    weights = parts.get("weights", {})
    try:
        operator = Operator.from_json(state.get("operator"), network, weights)
    except (InvalidInputError, CorruptFileError) as error:
        raise type(error)(f"{run}: {error}") from None
    if network is None and any(weight.dtype == torch.float64 for weight in weights.values()):
        operator.double()
    set_weights(operator, weights, folder)
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
    compile: bool = False,
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
        data: a data file, its splits decide; pairs of fields; what a reader gives, as `read_npz(...)`; or arrays
            `(X, Y)`, which are taken for values on a closed uniform grid (`from_arrays(X, Y, periodic=True)` and its
            other options say otherwise), or lists of fields.
        run: folder to keep; a run that was stopped resumes from its last checkpoint, and one that is finished takes
            more epochs. A temporary one if not given.
        resolution: train on this resolution of the file only.
        validation: pairs to validate on; those of the file's split, or else a tenth of the training records, at random.
        config: how to train, see `iaenet.training.config.TrainConfig`; `changes` replace some of it, as in `epochs=20`.
        device: where to compute, such as cpu, cuda or mps; auto is CUDA if there is one, else the CPU.
        compile: whether to compile the network with `torch.compile`; see docs/speed.md for when it pays.
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
        shared["compile"] = compile
        return fit_members(fit, model, data, run, config, members, **shared, loss=loss, loggers=chosen)
    _, clock = budget_of(config.budget)
    begin = clock()
    pairs, held, origin = split_data(data, resolution, validation)
    team = Distributed(device, compile)
    with _threads(config.threads), tempfile.TemporaryDirectory() as spare, team.naming_the_lost():
        folder = RunFolder(run or spare)
        if folder.members:
            raise InvalidInputError(f"{run} holds an ensemble of {len(folder.members)}: resume it with members=")
        training, checking = Samples(pairs), Samples(held)
        if config.augment.steps > 1 and not training.in_time:
            raise InvalidInputError(
                f"augment.steps is {config.augment.steps}, but no sample follows another in time: data need "
                "trajectories, as of `iaenet generate PROBLEM --steps 50` or `iaenet import FORMAT FILE --time t`"
            )
        if isinstance(model, Operator):
            origin["start"] = model.metadata.get("start_of") or {
                "from": model.metadata.get("run"),
                "weights": fingerprint(model),
            }
        known = dict(origin["data"] or {"content": training.content})
        known |= {} if validation is None else {"validation": checking.content}
        resolved = {**known, **origin.get("start", {}), "model": plain_model(model), **dataclasses.asdict(config)}
        with folder.locked() if team.is_main else nullcontext():
            if team.is_main:
                write_config(folder, resolved)
            show = progress(folder.path.name) if progress is not None and team.is_main else None
            team.wait()  # nobody looks for checkpoints before the folder is ours
            config = config.but(optimizer={"loss": loss_for(training, config, origin)})
            settled, spent = config.settled(len(pairs)), 0.0
            options = {"name": model} if isinstance(model, str) else model
            if not isinstance(options, nn.Module) and options.get("name") == "iaenet" and config.budget:
                setup = clock() - begin
                choice = _choice(options, training, checking, config, folder, team, progress, origin, loss)
                begin, options = clock() - setup, {"name": "iaenet", **choice.chosen.options}
                settled = settled.but(optimizer={"lr": choice.chosen.lr})
                spent = 0.0 if folder.has("step") else choice.seconds
            operator = operator_for(options, training, settled, origin)
            spent += clock() - begin
            state = train(operator, training, checking, settled, folder, team, show, spent, loss, chosen)
            if team.is_main:
                _write_results(folder, state)
            team.wait()
        made = load(folder.path, operator.network)
        if run is None:  # the folder goes
            del made.metadata["run"]
        return made


def _choice(
    options: Mapping[str, Any],
    training: Samples,
    validation: Samples,
    config: TrainConfig,
    folder: RunFolder,
    team: Distributed,
    progress: Callable[[str], Progress] | None,
    origin: dict[str, Any],
    loss: Loss | None,
) -> Choice:
    """Trials of the networks that the options leave open, see `training.choose`."""
    given = {key: value for key, value in options.items() if key != "name"}

    def make(chosen: Mapping[str, Any]) -> Operator:
        return operator_for({"name": "iaenet", **chosen}, training, config, origin)

    trial = config.but(batch_size=config.settled(len(training)).batch_size)
    chooser = Chooser(make, training, validation, trial, folder, team, progress if team.is_main else None, loss)
    scaled = normalised(training, normalizers(training, config))
    return chooser.choose(as_functions(scaled, given.get("grid")) if takes_samples(scaled) else scaled, given)


def _write_results(folder: RunFolder, state: State) -> None:
    from iaenet.training.curves import draw_curves

    best = {"epoch": state.best_epoch, "validation": state.best}
    folder.write_json("metrics.json", {"epochs": state.history, "best": best})
    draw_curves(state.history, folder.path / "curves.png")


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
