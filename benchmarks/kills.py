"""`python -m benchmarks.kills --train 200 --generate 50`: kill trainings and generations at random times, then compare.

Each try starts the command again and again, and ends it by SIGKILL or SIGTERM at a random time, also within its first
second, until it gets through; what it leaves must then equal, bit for bit, what an undisturbed one leaves.
"""

import argparse
import hashlib
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMAND = [sys.executable, "-m", "iaenet"]
GENERATE = "generate burgers --samples 12 --resolutions 32,64 --splits 8,2,2 --out".split()  # noqa: SIM905
TRAIN = (  # noqa: SIM905
    "train --data data.h5 --model.name fno --model.width 8 --model.modes 4 --epochs 30 --batch_size 2 --threads 1 "
    "--save_seconds 0.2 --run"
).split()


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


def until_done(arguments: list[str], folder: Path, longest: float, chance: random.Random) -> dict[str, float]:
    """Start and end a command until it gets through; how often it was ended, and the longest answer to SIGTERM."""
    counts = {"kills": 0.0, "terms": 0.0, "slowest": 0.0, "wrong": 0.0}
    while True:
        process = subprocess.Popen([*COMMAND, *arguments], cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            # A third within the first second; and later ones the more time is given, so that it gets through.
            process.communicate(timeout=chance.uniform(0.1, 1) if chance.random() < 0.3 else chance.uniform(1, longest))
            counts["wrong"] += process.returncode != 0
            return counts
        except subprocess.TimeoutExpired:
            number = chance.choice([signal.SIGKILL, signal.SIGTERM])
        begin = time.monotonic()
        process.send_signal(number)
        process.communicate()
        longest *= 1.15
        counts["kills" if number == signal.SIGKILL else "terms"] += 1
        if number == signal.SIGTERM:
            counts["slowest"] = max(counts["slowest"], time.monotonic() - begin)
            counts["wrong"] += process.returncode not in (143, 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train", type=int, default=200, help="Kills of a training, at least.")
    parser.add_argument("--generate", type=int, default=50, help="Kills of a generation, at least.")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    chance, unequal = random.Random(given.seed), 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        subprocess.run([*COMMAND, *GENERATE, "data.h5"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for name, arguments, wanted in (("train", TRAIN, given.train), ("generate", GENERATE, given.generate)):
            if not wanted:
                continue
            begin = time.monotonic()
            subprocess.run([*COMMAND, *arguments, "whole"], cwd=folder, check=True, capture_output=True)
            longest, whole = time.monotonic() - begin, outcome(folder / "whole")
            total, tries = {"kills": 0.0, "terms": 0.0, "slowest": 0.0, "wrong": 0.0}, 0
            while total["kills"] + total["terms"] < wanted:
                found = until_done([*arguments, "try"], folder, longest / 2, chance)
                slowest = max(total["slowest"], found["slowest"])
                total = {key: total[key] + found[key] for key in total} | {"slowest": slowest}
                same = outcome(folder / "try") == whole
                unequal, tries = unequal + (not same), tries + 1
                shutil.rmtree(folder / "try") if (folder / "try").is_dir() else (folder / "try").unlink()
                print(f"{name}: {tries} tries, {total}, {unequal} unequal", flush=True)
            unequal += int(total["wrong"])
    return 1 if unequal else 0


if __name__ == "__main__":
    raise SystemExit(main())
