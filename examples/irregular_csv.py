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

from iaenet.cli.main import main as iaenet

TRAIN = (
    "train --data {0}/measurements --import.coordinates x --import.inputs before --import.outputs after --run {0}/model"
)
PREDICT = "predict {0}/model --input {0}/new.csv --output {0}/predicted.csv --at 201 --picture {0}/predicted.png"
SLOPES = (
    "predict {0}/model --input {0}/new.csv --output {0}/slopes.csv --at 201 --derivatives gradient,laplacian "
    "--units '{{x: m}}' --picture {0}/slopes.png"
)


def measure(path: Path, generator: random.Random, sensors: int) -> None:
    """One sample: cosines of the rod, each decaying at its own speed."""
    size = [generator.gauss(0, 1) / k for k in range(1, 5)]
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["x", "before", "after"])
        for _ in range(sensors):
            x = generator.random()
            waves = [(k, a * math.cos(math.pi * k * x)) for k, a in enumerate(size, 1)]
            after = sum(wave * math.exp(-0.02 * (math.pi * k) ** 2) for k, wave in waves)
            rows.writerow([x, sum(wave for _, wave in waves), after])


def main(folder: Path, samples: int = 120, extra: str = "--epochs 15") -> int:
    """Make the files, train, predict; 0 if all went well."""
    generator = random.Random(0)
    (folder / "measurements").mkdir(parents=True, exist_ok=True)
    for i in range(samples):
        measure(folder / f"measurements/sample{i:03d}.csv", generator, generator.randint(40, 80))
    measure(folder / "new.csv", generator, 60)
    for command in (f"{TRAIN} {extra}", PREDICT, SLOPES):
        arguments = shlex.split(command.format(folder))
        print("iaenet", *arguments)
        code = iaenet(arguments)
        if code:
            return code
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("rod"), help="folder to write to (default: rod)")
    raise SystemExit(main(parser.parse_args().out))
