"""Checkpoints: a folder that is there in full or not at all, and whose every byte is accounted for.

    step-000001200/
      weights.safetensors   tensors of one kind, any number of such files
      state.json            everything that is no tensor
      SHA256SUMS            hashes of the other files, as `sha256sum -c` reads them

Files are compared with their hashes before they are parsed. There is no pickle: a checkpoint is data, never code.
"""

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as parse
from safetensors.torch import save as render
from torch import Tensor

from iaenet.data.atomic import sync
from iaenet.errors import CorruptFileError, InvalidInputError
from iaenet.outside import own_file, regular_file

Tensors = Mapping[str, Tensor]
SUMS = "SHA256SUMS"
STATE = "state.json"


def save_checkpoint(folder: Path, state: Mapping[str, Any], **parts: Tensors) -> None:
    """Write a checkpoint, under a name that is free; `parts` are its files of tensors by name.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as at:
    ...     save_checkpoint(Path(at) / "step-1", {"step": 1}, weights={"w": torch.ones(2)})
    ...     state, parts = load_checkpoint(Path(at) / "step-1")
    ...     state, parts["weights"]["w"].tolist()
    ({'step': 1}, [1.0, 1.0])
    """
    beside = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.tmp")
    try:
        beside.mkdir()
        files = {f"{name}.safetensors": render(_apart(part)) for name, part in parts.items()}
        files[STATE] = json.dumps(state, indent=1).encode()
        for name, content in {**files, SUMS: _sums(files)}.items():
            (beside / name).write_bytes(content)
            sync(beside / name)
        sync(beside)
        os.rename(beside, folder)
        sync(folder.parent)
    except OSError as failure:
        raise type(failure)(failure.errno, f"cannot be written: {failure.strerror}", str(folder)) from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def load_checkpoint(folder: Path) -> tuple[dict[str, Any], dict[str, dict[str, Tensor]]]:
    """The state and the tensors of a checkpoint, or `CorruptFileError`."""
    try:
        names = sorted(path.name for path in folder.iterdir())
        # A pipe would be waited for without end, and a link may lead to any file.
        found = {name: (own_file(folder, name) or regular_file(folder / name)).read_bytes() for name in names}
        sums, files = found.pop(SUMS, b""), found
    except (OSError, InvalidInputError) as error:
        raise CorruptFileError(f"{folder} is no checkpoint, or it is damaged: {error}") from None
    if sums != _sums(files) or STATE not in files:
        raise CorruptFileError(f"{folder} is damaged: its files do not match {SUMS}")
    try:
        state = json.loads(files.pop(STATE))
        parts = {Path(name).stem: parse(content) for name, content in files.items()}
        if not isinstance(state, dict):
            raise ValueError(f"{STATE} is no mapping")
    except (ValueError, RecursionError, SafetensorError) as error:  # hashes that match, but no file of ours
        raise CorruptFileError(f"{folder} is no checkpoint: {error}") from None
    return state, parts


def _apart(part: Tensors) -> dict[str, Tensor]:
    """Copies, since tensors that share their memory are refused: tied weights, say."""
    return {name: tensor.clone(memory_format=torch.contiguous_format) for name, tensor in part.items()}


def _sums(files: Mapping[str, bytes]) -> bytes:
    return "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files)).encode()


def flatten_optimizers(optimizers: list[torch.optim.Optimizer]) -> dict[str, Tensor]:
    """The tensors that optimizers keep, by optimizer, parameter and name."""
    return {
        f"{i}.{parameter}.{name}": value
        for i, optimizer in enumerate(optimizers)
        for parameter, values in optimizer.state_dict()["state"].items()
        for name, value in values.items()
    }


def restore_optimizers(optimizers: list[torch.optim.Optimizer], tensors: Tensors) -> None:
    """Give optimizers what `flatten_optimizers` took from them."""
    states: list[dict[int, dict[str, Tensor]]] = [{} for _ in optimizers]
    for key, value in tensors.items():
        i, parameter, name = key.split(".", 2)
        states[int(i)].setdefault(int(parameter), {})[name] = value
    for optimizer, state in zip(optimizers, states, strict=True):
        optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
