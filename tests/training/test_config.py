"""Recipes: defaults, presets, and what is refused."""

import dataclasses
import math
import subprocess
import sys

import pytest

from iaenet.errors import InvalidInputError
from iaenet.training.config import OTHER_NAMES, PRESETS, AugmentConfig, OptimizerConfig, ScheduleConfig, TrainConfig


@pytest.mark.parametrize("name", list(PRESETS))
def test_a_preset_is_a_recipe(name):
    made = TrainConfig().but(**PRESETS[name])
    for key, value in PRESETS[name].items():
        if isinstance(value, dict):
            assert {part: getattr(getattr(made, key), part) for part in value} == value
        else:
            assert getattr(made, key) == value


def test_the_paper_preset_is_adam_with_a_plateau():
    made = TrainConfig().but(**PRESETS["paper"])
    assert (made.optimizer.name, made.schedule.name, made.epochs, made.batch_size) == ("adam", "plateau", 500, 50)


def test_but_changes_parts_and_leaves_the_rest():
    made = TrainConfig(seed=3).but(optimizer={"lr": 0.1}, epochs=2)
    assert made == dataclasses.replace(TrainConfig(), seed=3, epochs=2, optimizer=OptimizerConfig(lr=0.1))
    assert made.but() == made


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"epochs": 0}, "epochs"),
        ({"epochs": 1.5}, "epochs"),
        ({"epochs": True}, "epochs"),
        ({"batch_size": -1}, "batch_size"),
        ({"epochs_per_resolution": 0}, "epochs_per_resolution"),
        ({"optimizer": {"clip": -1.0}}, "optimizer.clip"),
        ({"optimizer": {"clip": math.nan}}, "optimizer.clip"),
        ({"optimizer": {"ema": 1.0}}, "optimizer.ema"),
        ({"optimizer": {"ema": -0.1}}, "optimizer.ema"),
        ({"patience": -1}, "patience"),
        ({"threads": -1}, "threads"),
        ({"save_seconds": -1}, "save_seconds"),
        ({"normalize": "yes"}, "normalize"),
        ({"seed": "a"}, "seed"),
        ({"sampling": "random"}, "sampling must be one of mixed, sequential"),
        ({"precision": "fp16"}, "precision must be one of float32, bf16"),
        ({"optimizer": {"name": "sgd"}}, "optimizer.name must be one of muon, adamw, adam"),
        ({"optimizer": {"lr": -1}}, "optimizer.lr"),
        ({"optimizer": {"lr": math.inf}}, "optimizer.lr"),
        ({"optimizer": "adam"}, "optimizer"),
        ({"schedule": {"name": "linear"}}, "schedule.name"),
        ({"schedule": {"warmup": 1.0}}, "schedule.warmup"),
        ({"schedule": {"factor": 0.0}}, "schedule.factor"),
        ({"augment": {"weight": 1.0}}, "augment.weight needs"),
        ({"augment": {"weight": -1.0, "sizes": [8]}}, "augment.weight"),
        ({"augment": {"sizes": [1]}}, "augment"),
        ({"augment": {"points": [0]}}, "augment"),
        ({"augment": {"sizes": [8.5]}}, "augment.sizes"),
        ({"augment": {"draw": "some"}}, "augment.draw"),
        ({"augment": {"symmetries": ["rotate"]}}, "augment.symmetries"),
        ({"augment": {"symmetries": "shift"}}, "augment.symmetries"),
    ],
)
def test_what_cannot_be_is_refused_by_name(changes, named):
    with pytest.raises(InvalidInputError, match=named):
        TrainConfig().but(**changes)


def test_an_unknown_option_is_an_error():
    with pytest.raises(InvalidInputError, match="no option 'epoch'; did you mean epochs"):
        TrainConfig().but(epoch=3)
    with pytest.raises(InvalidInputError, match=r"no option 'optimizer.learning_rate'; it is called optimizer\.lr"):
        TrainConfig().but(optimizer={"learning_rate": 3})


@pytest.mark.parametrize(("old", "new"), list(OTHER_NAMES.items()))
def test_another_name_for_an_option_is_answered_with_its_name_here(old, new):
    part, _, key = old.rpartition(".")
    if part in ("", "optimizer"):
        with pytest.raises(InvalidInputError, match=f"no option '{old}'; it is called {new}"):
            TrainConfig().but(**({part: {key: 1}} if part else {key: 1}))
    parts = new.split(".")
    assert hasattr(getattr(TrainConfig(), parts[0]) if len(parts) > 1 else TrainConfig(), parts[-1])


def test_whole_numbers_pass_for_numbers():
    made = TrainConfig(
        optimizer=OptimizerConfig(lr=1, clip=1), schedule=ScheduleConfig(warmup=0), augment=AugmentConfig(weight=0)
    )
    assert made.optimizer.clip == 1


def test_no_pytorch():
    code = "import sys, iaenet.training.config; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
