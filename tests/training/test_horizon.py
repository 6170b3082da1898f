"""A training with a budget of time: ends on time, whatever the pace, and the same way when resumed."""

import time
from itertools import pairwise

import pytest

from iaenet.errors import InvalidInputError
from iaenet.training.horizon import Horizon, budget_of


def run(horizon, pace, start=0, elapsed=0.0, most=10**6):
    """Steps until the end, with the seconds that each takes; progress after each."""
    way = []
    for step in range(start, most):
        if horizon.over:
            break
        elapsed += pace(step)
        horizon.advance(step, elapsed)
        way.append(horizon.progress)
    return way, elapsed


@pytest.mark.parametrize(
    "pace",
    [
        lambda step: 0.1,
        lambda step: 0.3 if step < 100 else 0.1,
        lambda step: 0.05 if step < 400 else 0.15,
        lambda step: 2.0 if step == 0 else 0.1,
        lambda step: 0.1 + 0.1 * (step % 7 == 0),
    ],
    ids=["even", "faster", "slower", "slow first step", "uneven"],
)
def test_ends_within_five_percent_of_the_budget(pace):
    way, elapsed = run(Horizon(100.0), pace)
    assert elapsed == pytest.approx(100, rel=0.05)
    assert way[-1] == pytest.approx(1)
    assert all(after >= before for before, after in pairwise(way))


def test_the_way_is_continuous_when_the_pace_changes():
    way, _ = run(Horizon(100.0), lambda step: 0.05 if step < 400 else 0.2)
    assert max(after - before for before, after in pairwise(way[50:])) < 0.01


def test_what_went_by_before_is_no_part_of_the_pace():
    way, elapsed = run(Horizon(100.0), lambda step: 0.1, elapsed=40.0)
    assert elapsed == pytest.approx(100, rel=0.05)
    assert len(way) == pytest.approx(600, rel=0.05)
    assert max(after - before for before, after in pairwise(way)) < 0.005


def test_resumed_it_follows_what_is_written():
    whole = Horizon(50.0)
    way, _ = run(whole, lambda step: 0.1 + 0.05 * (step % 3))
    stopped = Horizon(50.0)
    first, _ = run(stopped, lambda step: 0.1 + 0.05 * (step % 3), most=120)
    again = Horizon(50.0, known=whole.known)  # written until it was stopped, after the checkpoint
    again.restore(stopped.state)
    rest, _ = run(again, lambda step: 0.7, start=120, elapsed=20.0)  # at quite another pace
    assert first + rest == way


def test_one_step_at_least():
    way, _ = run(Horizon(1e-3), lambda step: 1.0)
    assert len(way) == 6


def test_times_in_words():
    assert budget_of("2m")[0] == 120
    assert budget_of(" 1.5 h cpu") == (5400, time.process_time)
    for wrong in ("soon", "-3", "0", "10d", "1e3", "m"):
        with pytest.raises(InvalidInputError, match="budget must be a time"):
            budget_of(wrong)
