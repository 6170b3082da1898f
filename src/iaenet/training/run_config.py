"""config.yaml of a run: written when it begins, and compared when it resumes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from iaenet.data.atomic import replacing
from iaenet.errors import CorruptFileError, InvalidInputError
from iaenet.training.loop import State, early_stop
from iaenet.training.run_folder import RunFolder

FREE = ("save_seconds", "data", "from")  # changes that leave the result as it is


def write_config(folder: RunFolder, config: Mapping[str, Any]) -> None:
    """Write the configuration of a new run; refuse to resume with another one than before."""
    path = folder.path / "config.yaml"
    text = yaml.safe_dump(_yaml(config), sort_keys=False)
    if path.exists() and folder.has("step"):
        before, now = _flat(_read(path)), _flat(yaml.safe_load(text))
        for key in [*before, *(key for key in now if key not in before)]:
            if before.get(key) != now.get(key) and key not in FREE and not _more_epochs(folder, key, before, now):
                raise InvalidInputError(
                    f"{folder.path} holds a run with {key} {before.get(key)}, not {now.get(key)}: resume with that, or "
                    "choose another folder"
                )
    with replacing(path) as beside:
        beside.write_text(text)


def _more_epochs(folder: RunFolder, key: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether a change is that of a finished run, which gets more epochs."""
    if key != "epochs" or before.get("budget") or not before["epochs"] < now["epochs"]:
        return False
    state = State(**folder.newest("step")[0]["training"])
    return state.epoch >= before["epochs"] or early_stop(state, before["patience"])


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
