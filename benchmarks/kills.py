"""`python -m benchmarks.kills --train 200 --generate 50`: kill trainings and generations at random times, then compare.

Each try starts the command again and again, and ends it by SIGKILL or SIGTERM until it gets through: within its first
second, at any time, or as it writes (a journal that grew, a file or folder beside its name). What it leaves must then
equal, bit for bit, what an undisturbed one leaves. SIGTERM must be answered by exit code 143 within 10 seconds, once
Python has come to the first line of the package: before that the system answers, and it is counted apart.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

COMMAND = [sys.executable, "-m", "iaenet"]
GENERATE = "generate burgers --samples 40 --resolutions 32,64 --splits 32,4,4 --out".split()  # noqa: SIM905
TRAIN = (  # noqa: SIM905
    "train --data data.h5 --model.name fno --model.width 8 --model.modes 4 --epochs 12 --batch_size 4 --threads 1 "
    "--save_seconds 0.1 --run"
).split()
SLOWEST = 10.0  # seconds to answer SIGTERM
WHEN = ("first second", "any time", "in a write")


def outcome(path: Path) -> str:
    """Hash of what counts: the content of a data file, or weights, optimizer and metrics of a run."""
    if path.is_file():
        from iaenet import load_dataset

        return load_dataset(path).content_hash
    digest = hashlib.sha256((path / "metrics.json").read_bytes())
    newest = {folder.name.split("-")[0]: folder for folder in sorted((path / "checkpoints").iterdir())}
    for folder in newest.values():  # the best and the last; the one before was saved at any time
        for file in sorted(folder.glob("*.safetensors")):
            digest.update(file.read_bytes())
        state = json.loads((folder / "state.json").read_text())
        state.get("training", {}).pop("seconds", None)
        digest.update(json.dumps(state, sort_keys=True).encode())
    return digest.hexdigest()


def writing(target: Path) -> Callable[[], bool]:
    """Whether a command writes right now: something unfinished is there, or its journal has grown since."""
    journal = target.with_name(f"{target.name}.partial")
    size = journal.stat().st_size if journal.exists() else 0
    before = _unfinished(target)

    def look() -> bool:
        nonlocal size
        now = journal.stat().st_size if journal.exists() else size
        grown, size = now > size, max(size, now)
        return grown or bool(_unfinished(target) - before)

    return look


def _unfinished(target: Path) -> set[str]:
    """Files and folders that are to be renamed when they are complete."""
    found: set[str] = set()
    for folder in (target.parent, target, target / "checkpoints"):
        with suppress(OSError):  # it is not there, or no folder
            found |= {name for name in os.listdir(folder) if name.startswith(".") and name.endswith(".tmp")}
    return found


def catches(process: subprocess.Popen[bytes]) -> bool:
    """Whether a process answers SIGTERM itself."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text()
    except OSError:  # not on Linux
        return True
    masks = dict(line.split(":\t") for line in status.splitlines() if ":\t" in line)
    return bool(int(masks["SigCgt"], 16) >> (signal.SIGTERM - 1) & 1)


def until_done(arguments: list[str], folder: Path, longest: float, chance: random.Random) -> Counter[str]:
    """Start and end a command until it gets through; how often and when it was ended, and the slowest answer."""
    counts: Counter[str] = Counter(tries=1)
    slowest, target = 0.0, folder / arguments[-1]
    planned = chance.randint(4, 12)  # then it is left alone
    while True:
        process = subprocess.Popen([*COMMAND, *arguments], cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        if ended(counts) == planned:
            _, said = process.communicate()
            return _done(process, said, counts, slowest)
        when, passed, skipped = chance.choices(WHEN, (3, 3, 4))[0], 0, chance.randrange(4)  # writes to pass over
        end = time.monotonic() + (chance.uniform(0.05, 1) if when == "first second" else chance.uniform(1, longest))
        before, look, wrote = _unfinished(target), writing(target), False
        while process.poll() is None and (when == "in a write" or time.monotonic() < end):
            if when == "in a write":
                now = look()
                passed, wrote = passed + (now and not wrote), now
                if passed > skipped:
                    time.sleep(chance.choice([0.0, 0.0, 0.001, 0.005]))
                    break
            time.sleep(0.0002 if when == "in a write" else 0.005)
        number = chance.choice([signal.SIGKILL, signal.SIGTERM])
        caught = catches(process) if process.poll() is None else True
        sent = time.monotonic()
        process.send_signal(number)
        _, said = process.communicate()
        if process.returncode == 0 or (process.returncode > 0 and number == signal.SIGKILL):  # it was done by then
            return _done(process, said, counts, slowest)
        counts[number.name] += 1
        counts[when] += 1
        counts["unfinished left"] += number == signal.SIGKILL and bool(_unfinished(target) - before)
        if number == signal.SIGKILL:
            wrong = process.returncode != -number
        elif process.returncode == -number and not caught:
            counts["SIGTERM before Python"] += 1
            wrong = False
        else:
            took = time.monotonic() - sent
            slowest = max(slowest, took)
            wrong = process.returncode != 143 or took > SLOWEST
        if wrong:
            counts["wrong"] += 1
            took = time.monotonic() - sent
            print(f"{when}, {number.name}: {process.returncode}, {took:.1f} s\n{said.decode()[-800:]}", flush=True)


def _done(process: subprocess.Popen[bytes], said: bytes, counts: Counter[str], slowest: float) -> Counter[str]:
    if process.returncode:
        counts["wrong"] += 1
        print(f"ended with {process.returncode}\n{said.decode()[-800:]}", flush=True)
    return counts + Counter({"slowest ms": int(1000 * slowest)})


def add(total: Counter[str], found: Counter[str]) -> Counter[str]:
    """Sums, but the greater of the slowest answers."""
    slowest = max(total["slowest ms"], found["slowest ms"])
    return total + found + Counter({"slowest ms": slowest - total["slowest ms"] - found["slowest ms"]})


def ended(counts: Counter[str]) -> int:
    """How often a command was ended by a signal."""
    return counts["SIGKILL"] + counts["SIGTERM"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train", type=int, default=200, help="Kills of a training, at least.")
    parser.add_argument("--generate", type=int, default=50, help="Kills of a generation, at least.")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    chance, failed = random.Random(given.seed), False
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        subprocess.run([*COMMAND, *GENERATE, "data.h5"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for name, arguments, wanted in (("generate", GENERATE, given.generate), ("train", TRAIN, given.train)):
            if not wanted:
                continue
            begin = time.monotonic()
            subprocess.run([*COMMAND, *arguments, f"whole-{name}"], cwd=folder, check=True, capture_output=True)
            longest, whole = time.monotonic() - begin, outcome(folder / f"whole-{name}")
            total: Counter[str] = Counter()
            while ended(total) < wanted:
                total = add(total, until_done([*arguments, "try"], folder, longest, chance))
                total["unequal"] += outcome(folder / "try") != whole
                shutil.rmtree(folder / "try") if (folder / "try").is_dir() else (folder / "try").unlink()
                load = os.getloadavg()[0]
                print(f"{name}: {ended(total)} kills, {dict(total)}, load {load:.1f}", flush=True)
            failed |= bool(total["unequal"] or total["wrong"])
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
