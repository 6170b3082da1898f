"""Your own data: a folder of CSV files, each one sample on its own points, to a model, to predictions elsewhere.

Here the files are made first: a temperature measured by 40 to 80 sensors at random places on a rod, before and after a
while. Then two commands do the rest, exactly as you would type them; a third predicts slopes, too.
"""

import argparse
import csv
import math
import random
import shlex
from pathlib import Path

import numpy as np

from iaenet.cli.main import main as iaenet

TRAIN = (
    "train --data {0}/measurements --import.coordinates x --import.inputs before --import.outputs after --run {0}/model"
)
PREDICT = "predict {0}/model --input {0}/new.csv --output {0}/predicted.csv --at 201 --picture {0}/predicted.png"
SLOPES = (
    "predict {0}/model --input {0}/new.csv --output {0}/slopes.csv --at 201 --derivatives gradient,laplacian "
    "--units '{{x: m}}' --picture {0}/slopes.png"
)


def measure(path: Path, generator: random.Random, sensors: int) -> list[float]:
    """One sample: cosines of the rod, each decaying at its own speed; their sizes before."""
    size = [generator.gauss(0, 1) / k for k in range(1, 5)]
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["x", "before", "after"])
        for _ in range(sensors):
            x = generator.random()
            waves = [(k, a * math.cos(math.pi * k * x)) for k, a in enumerate(size, 1)]
            after = sum(wave * math.exp(-0.02 * (math.pi * k) ** 2) for k, wave in waves)
            rows.writerow([x, sum(wave for _, wave in waves), after])
    return size


def compare(path: Path, size: list[float]) -> dict[str, float]:
    """How far predictions and their derivatives are from the truth: relative L2 norms, also without 5 % at each end."""
    found = np.genfromtxt(path, delimiter=",", names=True)
    x, k = found["x"], np.pi * np.arange(1, len(size) + 1)
    decayed = np.array(size) * np.exp(-0.02 * k**2)
    cosines, sines = np.cos(np.outer(x, k)), np.sin(np.outer(x, k))
    true = {
        "after": cosines @ decayed,
        "after_x": -sines @ (k * decayed),
        "after_laplacian": -cosines @ (k**2 * decayed),
    }
    errors = {}
    for where, rows in (("", x >= 0), (" inside", (x > 0.05) & (x < 0.95))):
        for name, values in true.items():
            off = np.linalg.norm((found[name] - values)[rows]) / np.linalg.norm(values[rows])
            errors[name + where] = float(off)
    return errors


def main(folder: Path, samples: int = 120, extra: str = "--epochs 15") -> int:
    """Make the files, train, predict; 0 if all went well."""
    generator = random.Random(0)
    (folder / "measurements").mkdir(parents=True, exist_ok=True)
    for i in range(samples):
        measure(folder / f"measurements/sample{i:03d}.csv", generator, generator.randint(40, 80))
    size = measure(folder / "new.csv", generator, 60)
    for command in (f"{TRAIN} {extra}", PREDICT, SLOPES):
        arguments = shlex.split(command.format(folder))
        print("iaenet", *arguments)
        code = iaenet(arguments)
        if code:
            return code
    for name, error in compare(folder / "slopes.csv", size).items():
        print(f"{name:<24} {error:.1e} off")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("rod"), help="folder to write to (default: rod)")
    raise SystemExit(main(parser.parse_args().out))
