"""`python -m benchmarks.soak --minutes 30`: train, kill, resume, evaluate and predict, over and over.

Now and then the disk is full (a limit on the size of files) or memory is short (a limit on the address space). After
each round the run must equal the one of an undisturbed training; memory and handles of this process, which predicts
with one model all the time, must not grow after the first rounds.
"""

import argparse
import gc
import os
import random
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import torch

from benchmarks.kills import COMMAND, GENERATE, TRAIN, outcome, until_done

WARM_UP = 2  # rounds
GROWTH = 40e6  # bytes


def limited(what: int, size: int) -> Callable[[], None]:
    """A function for a child process that limits itself."""

    def limit() -> None:
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write that is too long fails, as on a full disk
        resource.setrlimit(what, (size, size))

    return limit


def episode(folder: Path, arguments: list[str], limit: Callable[[], None] | None = None) -> tuple[int, str]:
    """Exit code and last words of a command."""
    done = subprocess.run([*COMMAND, *arguments], cwd=folder, capture_output=True, text=True, preexec_fn=limit)
    return done.returncode, done.stderr.strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    from iaenet import Discretization, Field, load, predict

    chance, rng, wrong = random.Random(given.seed), np.random.default_rng(given.seed), 0
    end, marks, rounds = time.monotonic() + 60 * given.minutes, [], 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for arguments in ([*GENERATE, "data.h5"], [*TRAIN, "whole"], ["evaluate", "whole"]):
            code, said = episode(folder, arguments)
            assert code == 0, said
        whole, errors = outcome(folder / "whole"), (folder / "whole/evaluation/evaluation.json").read_bytes()
        operator = load(folder / "whole")
        while time.monotonic() < end:
            full = limited(resource.RLIMIT_FSIZE, chance.choice([0, 1000, 5000, 20000]))
            short = limited(resource.RLIMIT_AS, chance.choice([2**29, 2**30]))
            for kind, limit in (("disk full", full), ("memory short", short)):
                code, said = episode(folder, [*TRAIN, "run"], limit)
                if code not in (0, 2) and kind == "disk full":
                    wrong += 1
                    print(f"{kind}: {code} {said[-500:]}", flush=True)
            counts = until_done([*TRAIN, "run"], folder, 8.0, chance)
            wrong += int(counts["wrong"]) + (outcome(folder / "run") != whole)
            code, said = episode(folder, ["evaluate", "run"])
            wrong += code != 0 or (folder / "run/evaluation/evaluation.json").read_bytes() != errors
            shutil.rmtree(folder / "run")
            for _ in range(200):
                at = Discretization.points(rng.random((int(rng.integers(20, 200)), 1)), periodic=True)
                predict(operator, Field(at, torch.sin(6 * at.points).float()))
            gc.collect()
            process = psutil.Process()
            marks.append((process.memory_info().rss, len(os.listdir("/proc/self/fd"))))
            rounds += 1
            print(
                f"round {rounds}: {counts}, {marks[-1][0] / 1e6:.0f} MB, {marks[-1][1]} handles, {wrong} wrong",
                flush=True,
            )
    settled = marks[min(WARM_UP, len(marks) - 1)]
    grown = marks[-1][0] - settled[0], marks[-1][1] - settled[1]
    print(f"{rounds} rounds, grown by {grown[0] / 1e6:.1f} MB and {grown[1]} handles after {WARM_UP}; {wrong} wrong")
    return 1 if wrong or grown[0] > GROWTH or grown[1] > 0 else 0


if __name__ == "__main__":
    raise SystemExit(main())
