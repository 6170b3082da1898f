"""How a model is trained: every choice with its default. No PyTorch here, so that help is instant."""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self, get_type_hints

from iaenet.errors import InvalidInputError, no_such
from iaenet.training.horizon import budget_of
from iaenet.typed import typed

LR = 0.003  # where none is given
PER_STEP, SMALLEST_BATCH, LARGEST_BATCH = 50, 4, 20  # steps of an epoch, and bounds, where no batch size is given
# What numbers must be; the rest may be anything of its type.
POSITIVE = ("epochs", "epochs_per_resolution", "schedule.factor", "augment.steps")
NOT_NEGATIVE = (
    "batch_size",
    "optimizer.lr",
    "optimizer.weight_decay",
    "schedule.warmup",
    "schedule.patience",
    "augment.weight",
    "augment.query_points",
    "augment.noise",
    "optimizer.clip",
    "optimizer.ema",
    "patience",
    "threads",
    "save_seconds",
)
BELOW_ONE = ("optimizer.ema", "schedule.warmup")
# Names that version 0.1 had, and names that other packages have.
OTHER_NAMES = {
    "wd": "optimizer.weight_decay",
    "batch": "batch_size",
    "optimiser": "optimizer",
    "rate": "optimizer.lr",
    "lr": "optimizer.lr",
    "learning_rate": "optimizer.lr",
    "weight_decay": "optimizer.weight_decay",
    "order": "sampling",
    "turn": "epochs_per_resolution",
    "outputs": "augment.query_points",
    "query_points": "augment.query_points",
    "normalise": "normalize",
    "num_epochs": "epochs",
    "max_epochs": "epochs",
    "scheduler": "schedule",
    "clip": "optimizer.clip",
    "grad_clip": "optimizer.clip",
    "n_epochs": "epochs",
    "num_iterations": "epochs",
    "bs": "batch_size",
    "max_time": "budget",
    "early_stopping": "patience",
    "random_state": "seed",
    "dtype": "precision",
    "ema": "optimizer.ema",
    "optimiser.rate": "optimizer.lr",
    "optimizer.rate": "optimizer.lr",
    "optimizer.learning_rate": "optimizer.lr",
}
OF_FIT = ("device", "validation", "resolution", "run", "progress")  # what else `fit` takes


MOST_EPOCHS = 10**6
AXES = "xyz"
SIGNS = "(:[+-]+/[+-]+)?"
SYMMETRY = re.compile(f"auto|none|shift|transpose|odd-reflect(-[{AXES}])?|(reflect(-[{AXES}])?|swap-(xy|yz|xz)){SIGNS}")


@dataclass(frozen=True)
class Options:
    """Options that are what their types say: a word that is none of the choices must not pass for one of them."""

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        for key, kind in get_type_hints(type(self)).items():
            name, value = f"{self._prefix()}{key}", getattr(self, key)
            object.__setattr__(self, key, typed(kind, value, name))
            if name in POSITIVE and value <= 0:
                raise InvalidInputError(f"{name} must be positive, got {value}")
            if name in NOT_NEGATIVE and value < 0:
                raise InvalidInputError(f"{name} must not be negative, got {value}")
            if name in BELOW_ONE and value >= 1:
                raise InvalidInputError(f"{name} must be less than 1, got {value}")

    @classmethod
    def _prefix(cls) -> str:
        part = cls.__name__.removesuffix("Config").lower()
        return "" if part == "train" else f"{part}."

    @classmethod
    def names(cls) -> list[str]:
        """All options, those of parts with a dot.

        >>> TrainConfig.names()[:5]
        ['epochs', 'budget', 'batch_size', 'optimizer.name', 'optimizer.lr']
        """
        hints = get_type_hints(cls)
        nested = [
            hints[key].names() if dataclasses.is_dataclass(hints[key]) else [f"{cls._prefix()}{key}"] for key in hints
        ]
        return [name for names in nested for name in names]

    def _advice(self, name: str) -> str:
        """What to write instead of an option that there is not."""
        here = OTHER_NAMES.get(name)
        if here is None:
            return no_such("option", name, [*self.names(), *OF_FIT])
        part, _, within = here.rpartition(".")
        return f"no option {name!r}; it is called {here}" + (f", in Python {part}={{{within!r}: ...}}" if part else "")

    def but(self, **changes: Any) -> Self:
        """The same with some changes; parts may be given as dicts.

        >>> TrainConfig().but(epochs=5, optimizer={"name": "adam"}).optimizer
        OptimizerConfig(name='adam', lr=0.0, weight_decay=0.0, convolutions=True, clip=1.0, ema=0.0, loss='auto')
        """
        parts: dict[str, Any] = {}
        for key, value in changes.items():
            if key not in [option.name for option in dataclasses.fields(self)]:
                name = f"{self._prefix()}{key}"
                raise InvalidInputError(self._advice(name))
            part = getattr(self, key)
            parts[key] = part.but(**value) if isinstance(part, Options) and isinstance(value, Mapping) else value
        return dataclasses.replace(self, **parts)


@dataclass(frozen=True)
class OptimizerConfig(Options):
    """What turns gradients into steps.

    Args:
        name: muon (orthogonalised momentum for matrices, AdamW for the rest), adamw or adam. Default muon.
        lr: largest learning rate; 0 for 0.003, or what trials within a budget find better. Default 0.
        weight_decay: share of the weights taken off, times the learning rate; adam adds it to the gradient. Default 0.
        convolutions: for muon, whether kernels of convolutions count as matrices. Default true.
        clip: largest norm of the gradient; 0 for no limit. Default 1.
        ema: decay of a running mean of the weights, which is then what is validated and kept; 0 for none. Default 0.
        loss: what is minimised, and chooses the best epoch: joint (relative L2 error of all channels of the output
            together) or channels (mean of the channels' own relative L2 errors); auto is joint where channels have one
            unit and differ in size by less than ten times. Default auto.
    """

    name: Literal["muon", "adamw", "adam"] = "muon"
    lr: float = 0.0
    weight_decay: float = 0.0
    convolutions: bool = True
    clip: float = 1.0
    ema: float = 0.0
    loss: Literal["auto", "joint", "channels"] = "auto"


@dataclass(frozen=True)
class ScheduleConfig(Options):
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
class AugmentConfig(Options):
    """Further versions of each sample to learn from.

    Args:
        weight: lambda of eq. (loss), the weight of the loss on resampled pairs. Default 0: none.
        sizes: grids T to resample to, points along each axis. Default none.
        points: numbers of random points to resample to, 64 sets of each. Default none.
        draw: one (a random T at each step) or all (the mean over all T at each step, as expensive as it sounds).
            Default one.
        symmetries: of the problem, each applied at random: shift (periodic grids), reflect (mirror images along each
            axis, reflect-x along one), odd-reflect (values change sign), transpose (swap-yz in 3-D); reflect-x:-+/+ has
            signs of channels. auto: those that the network's errors show by the way; none. Default auto.
        query_points: learn from so many of an output's points at a time, others at each step; 0 for all. For fine
            meshes, and networks that can be evaluated at any points. Default 0.
        noise: standard deviation of random numbers that are added to the inputs, in units of each channel's own; it
            teaches a model of time steps to bear its own errors. Default 0.
        steps: of trajectories, learn from so many steps ahead, each from the model's own output before it. Default 1.
        push_forward: with several steps, take the gradient of the first and of the last one alone, and none through the
            steps between: half the memory, and time. Default false.
    """

    weight: float = 0.0
    sizes: list[int] = field(default_factory=list)
    points: list[int] = field(default_factory=list)
    draw: Literal["one", "all"] = "one"
    symmetries: list[str] = field(default_factory=lambda: ["auto"])
    query_points: int = 0
    noise: float = 0.0
    steps: int = 1
    push_forward: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        super().__post_init__()
        if any(size < 2 for size in self.sizes) or any(count < 1 for count in self.points):
            raise InvalidInputError(f"augment: no grid of {self.sizes} or {self.points} points can be made")
        for name in self.symmetries:
            if not SYMMETRY.fullmatch(name):
                known = "shift, reflect, reflect-x, odd-reflect, transpose, swap-xy, auto, none"
                raise InvalidInputError(f"augment.symmetries: no symmetry {name!r}; there are {known}")
        if self.steps > 1 and (self.weight or self.known_symmetries or self.query_points):
            raise InvalidInputError(
                "augment.steps goes with noise alone: leave weight, symmetries and query_points out"
            )
        if self.push_forward and self.steps < 2:
            raise InvalidInputError("augment.push_forward is for augment.steps of 2 or more")

    @property
    def known_symmetries(self) -> list[str]:
        """Those that are named; others are looked for with `auto`, but not for steps ahead."""
        return [name for name in self.symmetries if name not in ("auto", "none")]


@dataclass(frozen=True)
class TrainConfig(Options):
    """How to train.

    Args:
        epochs: passes over the training samples. Default 60.
        budget: time to train for instead, as 90s, 10m or 1.5h, set-up and validation included; "90s cpu" counts the
            processor time of this process instead of that on the clock. Default none.
        batch_size: samples per step, over all processes; 0 for a fiftieth of all, from 4 to 20. Default 0.
        sampling: mixed (every batch from all samples, whatever their points) or sequential (the paper's variant: the
            samples of one resolution after the other, `epochs_per_resolution` each, the finest last). Default mixed.
        epochs_per_resolution: of sequential sampling. Default 10.
        patience: stop after so many epochs without a better validation error; 0 for never. Default 0.
        normalize: bring channels to mean 0 and variance 1 by statistics of the training samples. Default true.
        precision: float32 or bf16 (kernel networks, which the preset small has none of, in bfloat16). Default float32.
        seed: whole number that all random numbers follow from. Default 0.
        threads: threads of PyTorch; 0 for its own choice. The same number gives the same bits. Default 0.
        save_seconds: time between checkpoints. Default 60.
    """

    epochs: int = 60
    budget: str = ""
    batch_size: int = 0
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)
    augment: AugmentConfig = field(default_factory=AugmentConfig)
    sampling: Literal["mixed", "sequential"] = "mixed"
    epochs_per_resolution: int = 10
    patience: int = 0
    normalize: bool = True
    precision: Literal["float32", "bf16"] = "float32"
    seed: int = 0
    threads: int = 0
    save_seconds: float = 60.0

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        super().__post_init__()
        if self.epochs > MOST_EPOCHS:
            raise InvalidInputError(
                f"epochs must be at most {MOST_EPOCHS}, got {self.epochs}; or give a budget of time"
            )
        if budget_of(self.budget)[0] and self.sampling == "sequential":
            raise InvalidInputError("sequential sampling is a matter of epochs: give epochs instead of a budget")
        if self.augment.weight > 0 and not (self.augment.sizes or self.augment.points):
            raise InvalidInputError("augment.weight needs augment.sizes or augment.points to resample to")

    def settled(self, samples: int) -> Self:
        """The same with numbers for what was left open, for so many training samples.

        >>> settled = TrainConfig().settled(240)
        >>> settled.batch_size, settled.optimizer.lr
        (4, 0.003)
        """
        batch = self.batch_size or min(max(samples // PER_STEP, SMALLEST_BATCH), LARGEST_BATCH)
        return self.but(batch_size=batch, optimizer={"lr": self.optimizer.lr or LR})


# Where a training starts from; anything else is said in the configuration.
PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {"epochs": 2, "batch_size": 10},
    "cpu": {"epochs": 60},
    "paper": {
        "epochs": 500,
        "batch_size": 50,
        "optimizer": {"name": "adam", "lr": 1e-3, "clip": 0.0},
        "schedule": {"name": "plateau", "patience": 20, "factor": 0.5},
        "augment": {"symmetries": []},
    },
}
OTHER_NAMES |= {name.replace(".", "_"): name for name in TrainConfig.names() if "." in name}
OTHER_NAMES |= {name.replace("optimizer.", "optimiser."): name for name in OptimizerConfig.names()}
