"""Ensembles: the same training from several seeds, each in a folder of its own, so that each can be stopped."""

import os
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import yaml
from torch import nn

from iaenet.data.atomic import replacing
from iaenet.errors import InvalidInputError
from iaenet.functions.seeds import derived_seed
from iaenet.models.ensemble import Ensemble
from iaenet.models.operator import Operator
from iaenet.training.config import TrainConfig
from iaenet.training.curves import draw_curves
from iaenet.training.run_config import check_free
from iaenet.training.run_folder import RunFolder


def fit_members(
    fit: Callable[..., Operator],
    model: Any,
    data: Any,
    run: str | os.PathLike[str] | None,
    config: TrainConfig,
    members: int,
    **options: Any,
) -> Ensemble:
    """Train `members` models, `RUN/member-0` and so on, the first with the seed of the config, others from it.

    They share samples and normalisation; weights, order of samples and augmentation are their own. A run that was
    stopped resumes; more members than before are added.
    """
    starts = _starts(model, members)
    main = os.environ.get("RANK", "0") == "0"  # one of several processes writes
    with ExitStack() as stack:
        folder = RunFolder(run or stack.enter_context(tempfile.TemporaryDirectory()))
        if folder.checkpoints.is_dir() and not folder.members:
            raise InvalidInputError(f"{folder.path} holds a single run; choose another folder for an ensemble")
        if len(folder.members) > len(starts):
            raise InvalidInputError(f"{folder.path} has {len(folder.members)} members already, more than {members}")
        if not folder.members:
            check_free(folder)
        made = []
        try:
            for i, start in enumerate(starts):
                seed = derived_seed(config.seed, "member", i) if i else config.seed
                made.append(fit(start, data, folder.path / f"member-{i}", config=config.but(seed=seed), **options))
        finally:
            if main:
                _write_config(folder, len(starts))
        if main:
            _write_results(folder)
        ensemble = Ensemble(made)
        ensemble.metadata.pop("run", None)
        if run is not None:
            ensemble.metadata["run"] = str(run)
        return ensemble


def _starts(model: Any, members: int) -> list[Any]:
    """What each member begins with."""
    if isinstance(model, Ensemble):
        if members not in (1, len(model.members)):
            raise InvalidInputError(f"the model to start from has {len(model.members)} members, not {members}")
        return model.members
    if members < 1:
        raise InvalidInputError(f"members must be at least 1, got {members}")
    if isinstance(model, nn.Module) and not isinstance(model, Operator):
        raise InvalidInputError("members begin with weights of their own: give the model by name, as in fit('iaenet')")
    return [model] * members


def _write_config(folder: RunFolder, members: int) -> None:
    """The configuration of the first member, and how many there are: all that `iaenet train --resume` needs."""
    first = folder.path / "member-0" / "config.yaml"
    if first.is_file():
        with replacing(folder.path / "config.yaml") as beside:
            beside.write_text(first.read_text() + yaml.safe_dump({"members": members}))


def _write_results(folder: RunFolder) -> None:
    """What all members have in common: the mean of their curves, and the best of each."""
    metrics = [RunFolder(member).read_json("metrics.json") for member in folder.members]
    epochs = []
    for same in zip(*(one["epochs"] for one in metrics), strict=False):
        epochs.append(same[0] | {name: sum(one[name] for one in same) / len(same) for name in ("loss", "validation")})
    validation = sum(one["best"]["validation"] for one in metrics) / len(metrics)
    best = {"epoch": round(sum(one["best"]["epoch"] for one in metrics) / len(metrics)), "validation": validation}
    folder.write_json("metrics.json", {"epochs": epochs, "best": best, "members": [one["best"] for one in metrics]})
    draw_curves(epochs, Path(folder.path) / "curves.png")
