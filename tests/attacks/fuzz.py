"""`python -m tests.attacks.fuzz --count 20000`: cases over all boundaries, by seed, with limits of time and memory.

Whatever is no result and no named error is printed with its seed; `--only NAME --first SEED --count 1` shows it again.
"""

import argparse
import collections
import faulthandler
import logging
import resource
import signal
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import torch

from tests.attacks.base import make_base
from tests.attacks.sound_files import make_sound_files
from tests.attacks.targets import SHARES, TARGETS, one_case

LONGEST = 20  # seconds of a case, by the processor
WAITING = 60  # seconds on the clock in which a case must get at least one of the processor, or else it waits for ever
MEMORY = 6 * 2**30  # bytes of this process


class HangError(BaseException):
    """A case that took too long."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20000, help="Cases in all, shared as 5:8:2:2:3.")
    parser.add_argument("--first", type=int, default=0, help="Seed of the first case of each target.")
    parser.add_argument("--only", default=None, choices=list(TARGETS))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="Stop after so long.")
    given = parser.parse_args()
    faulthandler.enable()
    logging.disable()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    used = 0.0

    def hang(number: int, _frame: object) -> None:
        nonlocal used
        before, used = used, time.process_time()
        if number == signal.SIGVTALRM or used - before < 1:
            raise HangError(f"more than {LONGEST} s of the processor, or {WAITING} s without it")

    signal.signal(signal.SIGALRM, hang)
    signal.signal(signal.SIGVTALRM, hang)
    names = [given.only] if given.only else list(TARGETS)
    whole = sum(SHARES[name] for name in names)
    findings, begin = 0, time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        base, folder = Path(place, "base"), Path(place, "fuzz")
        base.mkdir()
        folder.mkdir()
        make_sound_files(folder, make_base(base))
        outside = {path.name for path in Path(place).iterdir()}
        for number, name in enumerate(names):
            count = max(1, given.count * SHARES[name] // whole)
            until = begin + given.seconds * (number + 1) / len(names)
            outcomes: collections.Counter[str] = collections.Counter()
            seed = given.first
            while seed < given.first + count and time.monotonic() < until:
                used = time.process_time()
                signal.setitimer(signal.ITIMER_REAL, WAITING, WAITING)
                signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
                try:
                    outcomes[one_case(name, seed, folder)] += 1
                except BaseException as error:
                    if isinstance(error, KeyboardInterrupt):
                        raise
                    outcomes["FINDING"] += 1
                    findings += 1
                    print(f"{name}, seed {seed}: {type(error).__name__}: {str(error)[:300]}", flush=True)
                    traceback.print_exc(limit=-3)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
                    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
                seed += 1
            written = {path.name for path in Path(place).iterdir()} - outside
            findings += len(written)
            text = ", ".join(f"{key} {value}" for key, value in sorted(outcomes.items()))
            print(f"{name}: seeds {given.first} to {seed - 1}: {text}; written elsewhere: {len(written)}", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{findings} findings in {time.monotonic() - begin:.0f} s, at most {peak:.2f} GB")
    return 1 if findings else 0


if __name__ == "__main__":
    raise SystemExit(main())
