"""Observations with gaps, and a damaged file: from a folder of CSV files to maps without gaps, by four commands.

Here the files are made first: a field a at the centres of cells, a value missing here and there and all of them below
a cloud, which lies elsewhere in each sample, and u = a^2. One of the files is damaged.

    python examples/gaps.py --out gaps
"""

import argparse
import shlex
from pathlib import Path

import numpy as np

from iaenet.cli.main import main as iaenet

READING = "--coordinates x,y --inputs a --outputs u --bounds [[0,1],[0,1]]"
IMPORT = "import csv {0}/observed " + READING + " --missing drop --skip_bad true --out {0}/gaps.h5"
INSPECT = "inspect {0}/gaps.h5 --picture {0}/gaps.png"
TRAIN = "train --data {0}/gaps.h5 --run {0}/model"
PREDICT = (
    "predict {0}/model --input {0}/new.csv --coordinates x,y --missing drop --at 48,48 --output {0}/map.csv "
    "--picture {0}/map.png"
)


def observe(path: Path, rng: np.random.Generator, size: int = 20) -> None:
    """One sample: waves a, and u = a^2; empty cells where nothing was seen."""
    x, y = np.meshgrid((np.arange(size) + 0.5) / size, (np.arange(size) + 0.5) / size, indexing="ij")
    k = np.arange(1, 4)
    size_of = rng.standard_normal((3, 3)) / np.add.outer(k, k)
    a = sum(size_of[i, j] * np.cos(np.pi * k[i] * x) * np.cos(np.pi * k[j] * y) for i in range(3) for j in range(3))
    centre = rng.random(2)
    seen = (rng.random(a.shape) > 0.05) & (np.hypot(x - centre[0], y - centre[1]) > 0.15)
    rows = [
        f"{p:.6f},{q:.6f},{f'{v:.6f}' if there else ''},{v * v:.6f}"
        for p, q, v, there in zip(x.flat, y.flat, a.flat, seen.flat, strict=True)
    ]
    path.write_text("x,y,a,u\n" + "\n".join(rows) + "\n")


def main(folder: Path, samples: int = 60, extra: str = '--budget "30s cpu"') -> int:
    """Make the files, import, look at them, train, predict; 0 if all went well."""
    rng = np.random.default_rng(0)
    (folder / "observed").mkdir(parents=True, exist_ok=True)
    for i in range(samples):
        observe(folder / f"observed/sample{i:03d}.csv", rng)
    (folder / "observed/broken.csv").write_text("x,y,a,u\n0.1,0.2,one,1.0\n")
    observe(folder / "new.csv", rng)
    for command in (IMPORT, INSPECT, f"{TRAIN} {extra}", PREDICT):
        arguments = shlex.split(command.format(folder))
        print("iaenet", *arguments)
        code = iaenet(arguments)
        if code:
            return code
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("gaps"), help="folder to write to (default: gaps)")
    raise SystemExit(main(parser.parse_args().out))
