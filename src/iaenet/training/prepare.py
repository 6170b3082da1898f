"""What a training begins with: the pairs to train and validate on, and the operator."""

import copy
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import nn

from iaenet.data.array_pairs import from_arrays, is_array
from iaenet.data.dataset import Dataset, load_dataset
from iaenet.data.problems.problem import Channel
from iaenet.data.reading.imported import Imported
from iaenet.data.splits import split_records
from iaenet.errors import InvalidInputError
from iaenet.functions.normalizer import Normalizer
from iaenet.functions.seeds import derived_seed
from iaenet.models.base import Pair
from iaenet.models.operator import Operator
from iaenet.models.registry import build, name_of
from iaenet.training.batches import Samples
from iaenet.training.config import TrainConfig

LIKE = 10.0  # times: channels whose sizes differ by less may share a loss
Data = str | os.PathLike[str] | Dataset | Imported | Sequence[Pair] | tuple[Any, Any]


def split_data(
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
            origin[side] = [_words_of(c) for c in channels]
        origin["provenance"] = data.provenance
        known, data = data.records, list(data.pairs)
    if isinstance(data, tuple) and len(data) == 2 and all(isinstance(each, list) for each in data):
        data = list(zip(*data, strict=True))
    if isinstance(data, Dataset):
        whole = data.select(resolution=resolution)
        origin["data"] = {"data": data.path, "resolution": resolution, "content": data.content_hash}
        origin["inputs"] = [_words_of(c) for c in data.inputs]
        origin["provenance"] = data.provenance
        origin["outputs"] = [_words_of(c) for c in data.outputs]
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


def _words_of(channel: Channel) -> dict[str, str]:
    known = {"name": channel.name, "unit": channel.unit}
    return known | ({"function": channel.function} if channel.function else {})


def operator_for(
    model: nn.Module | str | Mapping[str, Any], training: Samples, config: TrainConfig, origin: dict[str, Any]
) -> Operator:
    """A model by name and options, a network or a trained model as the operator to train, with its normalisation."""
    input_normalizer, output_normalizer = normalizers(training, config)
    metadata = {**origin, **training.survey.metadata}
    if isinstance(model, Operator):
        return _copied(model, training, metadata)
    if isinstance(model, nn.Module):
        return Operator(model, input_normalizer, output_normalizer, metadata)
    options = {"name": model} if isinstance(model, str) else dict(model)
    if "name" not in options:
        raise InvalidInputError("model needs a name, such as iaenet")
    scaled = normalised(training, (input_normalizer, output_normalizer))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derived_seed(config.seed, "weights"))
        network = build(options.pop("name"), scaled, **options)
    return Operator(_in_precision(network, training), input_normalizer, output_normalizer, metadata)


def _in_precision(network: nn.Module, training: Samples) -> nn.Module:
    """The network in the precision of the data; complex weights stay complex."""
    return network.double() if training.survey.precision == torch.float64 else network.float()


def _copied(model: Operator, training: Samples, metadata: dict[str, Any]) -> Operator:
    """A trained model to be trained further."""
    sides = (model.input_normalizer, model.output_normalizer)
    for side, normalizer, channels in zip(("inputs", "outputs"), sides, training.survey.channels, strict=True):
        if len(normalizer.mean) != channels:
            raise InvalidInputError(
                f"{side} have {channels} channels, but the model to start from has {len(normalizer.mean)}"
            )
    return Operator(_in_precision(copy.deepcopy(model.network), training), *sides, metadata)


def normalizers(training: Samples, config: TrainConfig) -> tuple[Normalizer, Normalizer]:
    """Of inputs and outputs, by the statistics of the training samples, or none."""
    if config.normalize:
        return training.survey.normalizers
    first, second = (Normalizer([0.0] * channels, [1.0] * channels) for channels in training.survey.channels)
    return first, second


def normalised(training: Samples, normalizers: tuple[Normalizer, Normalizer]) -> list[Pair]:
    """The samples that a network is made for, see `Stored.examples`."""
    inputs, outputs = normalizers
    return [(inputs.apply(given), outputs.apply(wanted)) for given, wanted in training.stacks.examples]


def loss_for(training: Samples, config: TrainConfig, origin: dict[str, Any]) -> Literal["joint", "channels"]:
    """The loss that the config names, or what suits the outputs: joint for channels of one unit and like sizes."""
    if config.optimizer.loss != "auto":
        return config.optimizer.loss
    sizes = training.survey.sizes
    sizes = sizes[sizes > 0]  # a channel that is zero everywhere is like any other
    units = {channel["unit"] for channel in origin["outputs"]}
    return "channels" if len(units) > 1 or (len(sizes) and sizes.max() > LIKE * sizes.min()) else "joint"


def plain_model(model: nn.Module | str | Mapping[str, Any]) -> Any:
    """What a configuration says of a model."""
    if isinstance(model, Operator):
        return {"name": name_of(model.network) or type(model.network).__name__}
    if isinstance(model, nn.Module):
        return {"name": type(model).__name__, **_words(getattr(model, "options", {}))}
    return {"name": model} if isinstance(model, str) else dict(model)


def _words(options: Mapping[str, Any]) -> dict[str, Any]:
    return {k: list(v) if isinstance(v, tuple) else v for k, v in options.items()}
