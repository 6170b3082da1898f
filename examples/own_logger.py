"""A logger of your own: three methods. Here, a CSV file with a line for each epoch.

TensorBoard is built in: `fit(..., loggers=["tensorboard"])`, or `iaenet train --logger tensorboard`.
"""

import argparse
import csv
import math
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

import iaenet
from iaenet import Discretization, Field


class EpochTable:
    """Writes `RUN/epochs.csv`; any service with a client in Python is used in the same way."""

    def start(self, run: Path, config: Mapping[str, Any], step: int) -> None:
        """A training begins, or resumes after `step` steps."""
        print(f"{run.name}: {config['model']['name']} for {config['epochs']} epochs, from step {step}")
        self.file = open(run / "epochs.csv", "a", newline="")  # noqa: SIM115 - closed in `finish`
        self.table = csv.writer(self.file)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Figures of a step (`batch_loss`, `lr`) or of an epoch (`epoch`, `loss`, `validation`)."""
        if "validation" in values:
            self.table.writerow([step, values["epoch"], values["loss"], values["validation"]])

    def finish(self) -> None:
        """The training has ended or stopped."""
        self.file.close()


def shifted(count: int) -> list[tuple[Field, Field]]:
    """Waves, and their derivatives."""
    grid = Discretization.uniform(32, periodic=True)
    angles = [2 * math.pi * (grid.points + k / count) for k in range(count)]
    return [(Field(grid, torch.sin(x).float()), Field(grid, torch.cos(x).float())) for x in angles]


def main(run: Path, epochs: int = 5) -> list[list[str]]:
    """Train, and return the lines of the table."""
    iaenet.fit("fno", shifted(40), run, epochs=epochs, batch_size=10, threads=1, loggers=[EpochTable()])
    with open(run / "epochs.csv", newline="") as file:
        return list(csv.reader(file))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, default=Path(tempfile.gettempdir()) / "iaenet-logged", help="run folder")
    for line in main(parser.parse_args().run):
        print(*line)
