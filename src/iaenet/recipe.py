"""How a model is trained: every choice with its default. No PyTorch here, so that help is instant."""

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any, Literal, get_args, get_origin, get_type_hints

from iaenet.errors import InvalidInputError

# What numbers must be; the rest may be anything of its type.
POSITIVE = ("epochs", "batch", "turn", "optimiser.rate", "schedule.factor")
NOT_NEGATIVE = (
    "optimiser.weight_decay",
    "schedule.warmup",
    "schedule.patience",
    "augment.weight",
    "outputs",
    "clip",
    "ema",
    "patience",
    "threads",
    "save_seconds",
)
BELOW_ONE = ("ema", "schedule.warmup")


class Options:
    """Options that are what their types say: a word that is none of the choices must not pass for one of them."""

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        part = "" if isinstance(self, Recipe) else f"{type(self).__name__.lower()}."
        for key, kind in get_type_hints(type(self)).items():
            name, value = f"{part}{key}", getattr(self, key)
            if not _fits(value, kind):
                raise InvalidInputError(f"{name} must be {_in_words(kind)}, got {value!r}")
            if name in POSITIVE and value <= 0:
                raise InvalidInputError(f"{name} must be positive, got {value}")
            if name in NOT_NEGATIVE and value < 0:
                raise InvalidInputError(f"{name} must not be negative, got {value}")
            if name in BELOW_ONE and value >= 1:
                raise InvalidInputError(f"{name} must be less than 1, got {value}")


def _fits(value: Any, kind: Any) -> bool:
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if get_origin(kind) is list:
        return isinstance(value, list) and all(_fits(one, get_args(kind)[0]) for one in value)
    if kind is float:
        return type(value) in (int, float) and math.isfinite(value)
    return type(value) is kind


def _in_words(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return f"one of {', '.join(get_args(kind))}"
    if get_origin(kind) is list:
        return f"a list, each {_in_words(get_args(kind)[0])}"
    words = {int: "a whole number", float: "a number", bool: "true or false"}
    return words.get(kind) or f"options of {kind.__name__}"


@dataclass(frozen=True)
class Optimiser(Options):
    """What turns gradients into steps.

    Args:
        name: muon (orthogonalised momentum for matrices, AdamW for the rest), adamw or adam. Default muon.
        rate: largest learning rate. Default 0.003.
        weight_decay: share of the weights taken off, times the rate; adam adds it to the gradient. Default 0.
        convolutions: for muon, whether kernels of convolutions count as matrices. Default true.
    """

    name: Literal["muon", "adamw", "adam"] = "muon"
    rate: float = 3e-3
    weight_decay: float = 0.0
    convolutions: bool = True


@dataclass(frozen=True)
class Schedule(Options):
    """How the learning rate changes.

    Args:
        name: cosine (warm-up, then down to zero), plateau (halved when the training loss stops falling) or constant.
            Default cosine.
        warmup: share of all steps in which the rate rises. Default 0.05; plateau and constant begin at the full rate.
        patience: epochs without progress before a plateau is called one. Default 20.
        factor: what the rate is multiplied by on a plateau. Default 0.5.
    """

    name: Literal["cosine", "plateau", "constant"] = "cosine"
    warmup: float = 0.05
    patience: int = 20
    factor: float = 0.5


@dataclass(frozen=True)
class Augment(Options):
    """Further versions of each sample to learn from.

    Args:
        weight: lambda of eq. (loss), the weight of the loss on resampled pairs. Default 0: none.
        sizes: grids T to resample to, points along each axis. Default none.
        points: numbers of random points to resample to, 64 sets of each. Default none.
        draw: one (a random T at each step) or all (the mean over all T at each step, as dear as it sounds).
            Default one.
        symmetries: symmetries of the problem, each applied at random: shift (periodic grids), reflect (x to -x),
            odd-reflect (x to -x, and values change sign), transpose (swap the two axes). Default none.
    """

    weight: float = 0.0
    sizes: list[int] = field(default_factory=list)
    points: list[int] = field(default_factory=list)
    draw: Literal["one", "all"] = "one"
    symmetries: list[Literal["shift", "reflect", "odd-reflect", "transpose"]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        super().__post_init__()
        if any(size < 2 for size in self.sizes) or any(count < 1 for count in self.points):
            raise InvalidInputError(f"augment: no grid of {self.sizes} or {self.points} points can be made")


@dataclass(frozen=True)
class Recipe(Options):
    """How to train.

    Args:
        epochs: passes over the training samples. Default 60.
        batch: samples per step, over all processes. Default 20.
        order: mixed (every batch from all samples, whatever their points) or sequential (the paper's variant: the
            samples of one resolution after the other, `turn` epochs each). Default mixed.
        turn: epochs of one resolution in sequential order. Default 10.
        outputs: learn from so many of an output's points at a time, others at each step; 0 for all. For fine meshes,
            and networks that can be asked at any points. Default 0.
        clip: largest norm of the gradient; 0 for no limit. Default 1.
        ema: decay of a running mean of the weights, which is then what is validated and kept; 0 for none. Default 0.
        patience: stop after so many epochs without a better validation error; 0 for never. Default 0.
        normalise: bring channels to mean 0 and variance 1 by statistics of the training samples. Default true.
        precision: float32 or bf16 (kernel networks, which the preset small has none of, in bfloat16). Default float32.
        seed: whole number that all random numbers follow from. Default 0.
        threads: threads of PyTorch; 0 for its own choice. The same number gives the same bits. Default 0.
        save_seconds: time between checkpoints. Default 60.
    """

    epochs: int = 60
    batch: int = 20
    optimiser: Optimiser = field(default_factory=Optimiser)
    schedule: Schedule = field(default_factory=Schedule)
    augment: Augment = field(default_factory=Augment)
    order: Literal["mixed", "sequential"] = "mixed"
    turn: int = 10
    outputs: int = 0
    clip: float = 1.0
    ema: float = 0.0
    patience: int = 0
    normalise: bool = True
    precision: Literal["float32", "bf16"] = "float32"
    seed: int = 0
    threads: int = 0
    save_seconds: float = 60.0

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        super().__post_init__()
        if self.augment.weight > 0 and not (self.augment.sizes or self.augment.points):
            raise InvalidInputError("augment.weight needs augment.sizes or augment.points to resample to")

    def but(self, **changes: Any) -> "Recipe":
        """The same with some changes; parts may be given as dicts.

        >>> Recipe().but(epochs=5, optimiser={"name": "adam"}).optimiser
        Optimiser(name='adam', rate=0.003, weight_decay=0.0, convolutions=True)
        """
        parts = {
            name: dataclasses.replace(getattr(self, name), **value) if isinstance(value, dict) else value
            for name, value in changes.items()
        }
        return dataclasses.replace(self, **parts)


# Where a training starts from; anything else is said in the configuration.
PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {"epochs": 2, "batch": 10},
    "cpu": {"epochs": 60},
    "paper": {
        "epochs": 500,
        "batch": 50,
        "optimiser": {"name": "adam", "rate": 1e-3},
        "schedule": {"name": "plateau", "patience": 20, "factor": 0.5},
        "clip": 0.0,
    },
}
