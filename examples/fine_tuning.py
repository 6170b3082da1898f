"""Fine-tuning: a model of one equation, trained further on few samples of another.

Burgers' equation: 300 samples of viscosity 0.03, then 20 of viscosity 0.02. Beside it, a model that has only these 20.
The same by command: `iaenet train --from base --data few.h5 --optimizer.lr 0.001 --run tuned`.
"""

import argparse
import tempfile
from pathlib import Path

import iaenet
from iaenet import evaluate, load_dataset
from iaenet.data.generate import generate
from iaenet.data.problems.burgers import Burgers


def main(folder: Path, samples: int = 300, epochs: int = 20) -> dict[str, float]:
    """Train all three; return the mean test errors for the second viscosity."""
    generate(Burgers(viscosity=0.03), folder / "many.h5", samples, [64])
    generate(Burgers(viscosity=0.02), folder / "few.h5", 100, [64], splits=(20, 10, 70))
    model = {"name": "iaenet", "width": 16, "blocks": 1}
    few = load_dataset(folder / "few.h5")
    base = iaenet.fit(model, str(folder / "many.h5"), folder / "base", epochs=epochs, threads=1)
    small = {"epochs": epochs, "batch_size": 5, "threads": 1}
    tuned = iaenet.fit(iaenet.load(folder / "base"), few, folder / "tuned", optimizer={"lr": 1e-3}, **small)
    alone = iaenet.fit(model, few, folder / "alone", **small)
    found = {}
    for name, operator in (("base", base), ("fine-tuned", tuned), ("20 samples alone", alone)):
        found[name] = evaluate(operator, few.select(split="test")).rows[0].statistics["mean"]
        print(f"{name:<20} {found[name]:.4f}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="folder for data and runs (default: a temporary one)")
    with tempfile.TemporaryDirectory() as spare:
        main(parser.parse_args().folder or Path(spare))
