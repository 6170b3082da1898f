"""Recipes: defaults, presets, and what is refused."""

import dataclasses
import math
import subprocess
import sys

import pytest

from iaenet.errors import InvalidInputError
from iaenet.recipe import PRESETS, Augment, Optimiser, Recipe, Schedule


@pytest.mark.parametrize("name", list(PRESETS))
def test_a_preset_is_a_recipe(name):
    made = Recipe().but(**PRESETS[name])
    for key, value in PRESETS[name].items():
        if isinstance(value, dict):
            assert {part: getattr(getattr(made, key), part) for part in value} == value
        else:
            assert getattr(made, key) == value


def test_the_paper_preset_is_adam_with_a_plateau():
    made = Recipe().but(**PRESETS["paper"])
    assert (made.optimiser.name, made.schedule.name, made.epochs, made.batch) == ("adam", "plateau", 500, 50)


def test_but_changes_parts_and_leaves_the_rest():
    made = Recipe(seed=3).but(optimiser={"rate": 0.1}, epochs=2)
    assert made == dataclasses.replace(Recipe(), seed=3, epochs=2, optimiser=Optimiser(rate=0.1))
    assert made.but() == made


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"epochs": 0}, "epochs"),
        ({"epochs": 1.5}, "epochs"),
        ({"epochs": True}, "epochs"),
        ({"batch": -1}, "batch"),
        ({"turn": 0}, "turn"),
        ({"clip": -1.0}, "clip"),
        ({"clip": math.nan}, "clip"),
        ({"ema": 1.0}, "ema"),
        ({"ema": -0.1}, "ema"),
        ({"patience": -1}, "patience"),
        ({"threads": -1}, "threads"),
        ({"save_seconds": -1}, "save_seconds"),
        ({"normalise": "yes"}, "normalise"),
        ({"seed": "a"}, "seed"),
        ({"order": "random"}, "order must be one of mixed, sequential"),
        ({"precision": "fp16"}, "precision must be one of float32, bf16"),
        ({"optimiser": {"name": "sgd"}}, "optimiser.name must be one of muon, adamw, adam"),
        ({"optimiser": {"rate": 0}}, "optimiser.rate"),
        ({"optimiser": {"rate": math.inf}}, "optimiser.rate"),
        ({"optimiser": "adam"}, "optimiser"),
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
        Recipe().but(**changes)


def test_an_unknown_option_is_an_error():
    with pytest.raises(TypeError, match="epoch"):
        Recipe().but(epoch=3)
    with pytest.raises(TypeError, match="learning_rate"):
        Recipe().but(optimiser={"learning_rate": 3})


def test_whole_numbers_pass_for_numbers():
    assert Recipe(clip=1, optimiser=Optimiser(rate=1), schedule=Schedule(warmup=0), augment=Augment(weight=0)).clip == 1


def test_no_pytorch():
    code = "import sys, iaenet.recipe; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
