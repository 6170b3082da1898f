"""config.yaml of a run: written when it begins, and compared when it resumes."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from typing import Any

import yaml

from iaenet.data.atomic import replacing
from iaenet.errors import InvalidInputError
from iaenet.outside import own_file, read_yaml
from iaenet.training.config import TrainConfig
from iaenet.training.loop import State, early_stop
from iaenet.training.run_folder import RunFolder

NAMES = ("config.yaml", "log.jsonl", "metrics.json", "curves.png")
FREE = ("save_seconds", "data", "from")  # changes that leave the result as it is


def write_config(folder: RunFolder, config: Mapping[str, Any]) -> None:
    """Write the configuration of a new run; refuse to resume with another one than before."""
    path = folder.path / "config.yaml"
    folder.config = {key: value for key, value in json.loads(json.dumps(_yaml(config))).items() if key not in FREE}
    if folder.has("step"):  # what it was trained with, whatever became of config.yaml
        before, now = _flat(folder.newest("step")[0].get("config", {})), _flat(folder.config)
        for key in [*before, *(key for key in now if key not in before)]:
            if before.get(key) != now.get(key) and not _more_epochs(folder, key, before, now):
                raise InvalidInputError(
                    f"{folder.path} holds a run with {key} {before.get(key)}, not {now.get(key)}: resume with that, or "
                    "choose another folder"
                )
    check_free(folder)
    with replacing(path, own=True) as beside:
        beside.write_text(yaml.safe_dump(_yaml(config), sort_keys=False))


def check_free(folder: RunFolder) -> None:
    """Refuse a folder in which files of others have names that a run would write to.

    A run of ours that was killed before its first checkpoint has left a whole configuration.
    """
    found = [] if folder.begun else [name for name in NAMES if os.path.lexists(folder.path / name)]
    left: Any = None
    if own_file(folder.path, "config.yaml") is not None:
        with suppress(InvalidInputError):
            left = read_yaml(folder.path / "config.yaml")
    if found and not (isinstance(left, dict) and left.keys() >= {field.name for field in fields(TrainConfig)}):
        raise InvalidInputError(
            f"{folder.path / found[0]}: is of no run of ours, and a run would replace it; choose another folder"
        )


def _more_epochs(folder: RunFolder, key: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether a change is that of a finished run, which gets more epochs."""
    if key != "epochs" or before.get("budget") or not before["epochs"] < now["epochs"]:
        return False
    state = State(**folder.newest("step")[0]["training"])
    return state.epoch >= before["epochs"] or early_stop(state, before["patience"])


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
