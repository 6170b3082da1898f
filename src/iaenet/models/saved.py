"""A trained operator as one file: weights and all that is needed to use them, compared with a hash, never a pickle."""

import hashlib
import json
import os
import secrets
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from iaenet.errors import CorruptFileError, InvalidInputError, pass_on_lack_of_memory
from iaenet.models.operator import Operator
from iaenet.outside import regular_file

SUFFIX = ".safetensors"


def save_operator(operator: Operator, path: str | os.PathLike[str]) -> None:
    """Write a `.safetensors` file, in full or not at all; its header holds the document of `Operator.to_json`."""
    target = Path(path)
    if target.suffix != SUFFIX:
        raise InvalidInputError(f"{target}: the name of a saved model ends in {SUFFIX}")
    if not target.absolute().parent.is_dir():
        raise InvalidInputError(f"{target}: there is no folder {target.parent}; make it first")
    weights = _weights(operator)
    document = json.dumps(operator.to_json(), sort_keys=True)
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        save_file(weights, beside, {"iaenet": document, "sha256": _digest(document, weights)})
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def load_operator(path: str | os.PathLike[str], network: nn.Module | None = None) -> Operator:
    """The operator of `save_operator`, in evaluation mode; `network` is needed only if it is a class of your own."""
    regular_file(path)
    try:
        with safe_open(path, "pt") as file:
            header: dict[str, str] = file.metadata() or {}
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        document: Any = json.loads(header["iaenet"]) if "iaenet" in header else None
    except (SafetensorError, OSError, ValueError) as error:
        raise CorruptFileError(f"{path} cannot be read: {error}") from None
    if document is None:
        raise InvalidInputError(f"{path} holds weights, but no model of iaenet; model.save makes one")
    if _digest(header["iaenet"], weights) != header.get("sha256"):
        raise CorruptFileError(f"{path} is damaged: its content does not match its hash")
    operator = Operator.from_json(document, network, weights)
    if any(weight.dtype == torch.float64 for weight in weights.values()):
        operator.double()
    try:
        operator.load_state_dict(weights)
    except RuntimeError as error:
        pass_on_lack_of_memory(error)
        raise InvalidInputError(f"{path} holds another network than this: {error}") from None
    return operator.eval()


def digest(operator: Operator) -> str:
    """SHA-256 of an operator: the same for the same weights and the same document."""
    return _digest(json.dumps(operator.to_json(), sort_keys=True), _weights(operator))


def _weights(operator: Operator) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().contiguous().clone() for name, tensor in operator.state_dict().items()}


def _digest(document: str, weights: dict[str, Tensor]) -> str:
    found = hashlib.sha256(document.encode())
    for name in sorted(weights):
        found.update(f"{name} {tuple(weights[name].shape)} {weights[name].dtype}".encode())
        found.update(weights[name].reshape(-1).view(torch.uint8).numpy().tobytes())
    return found.hexdigest()
