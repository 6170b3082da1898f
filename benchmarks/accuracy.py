"""How well each model learns Burgers' equation: one data set, one config, one table.

    python -m benchmarks.accuracy --folder accuracy            all models, in turn; stop it, and it goes on
    python -m benchmarks.accuracy --folder accuracy --models fno,deeponet

nu = 0.1, 1000 training samples at s = 64, 100 for validation, 200 for test; Muon 0.003 with cosine, batch 20, seed 0.
Epochs are chosen so that no training takes more than ten minutes on one free core. No symmetries, no augmentation, no
search: what a user gets at once. `--symmetries` adds the shifts and reflections that the equation has.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import iaenet
from iaenet.cli.main import Display
from iaenet.data.generate import generate
from iaenet.data.problems import PROBLEMS
from iaenet.evaluation.evaluate import evaluate

RESOLUTIONS = (64, 128, 256, 512, 1024)
EPOCHS = {
    "iaenet": 60,
    "fno": 100,
    "galerkin": 60,
    "fourier-transformer": 60,
    "deeponet": 100,
    "pod-deeponet": 100,
    "unet-interpolation": 40,
    "resnet-interpolation": 40,
}


def measure(name: str, data: Path, folder: Path, symmetries: bool, show: Callable[[str], Callable[..., None]]) -> dict:
    """Train one model, or take what was trained, and evaluate it; a row of the table."""
    run = folder / (f"{name}-symmetries" if symmetries else name)
    augment = {"symmetries": ["shift", "odd-reflect"] if symmetries else []}
    model = iaenet.fit(name, data, run, resolution=64, epochs=EPOCHS[name], augment=augment, threads=1, progress=show)
    found = evaluate(model, iaenet.load_dataset(data, split="test"), random_points=256)
    log = (run / "log.jsonl").read_text().splitlines()
    return {
        "model": name,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "epochs": EPOCHS[name],
        "seconds": round(json.loads(log[-1])["seconds"]),
        "errors": {row.on: None if row.refused else row.statistics["mean"] for row in found.rows},
    }


def table(rows: list[dict]) -> str:
    """Markdown, errors in thousandths."""
    columns = list(rows[0]["errors"])
    lines = [
        "| model | parameters | epochs | seconds | " + " | ".join(columns) + " |",
        "|---" * (4 + len(columns)) + "|",
    ]
    for row in rows:
        errors = [f"{1e3 * e:.2f}" if (e := row["errors"].get(on)) is not None else "refused" for on in columns]
        start = [row["model"], f"{row['parameters'] / 1e6:.2f} M", str(row["epochs"]), str(row["seconds"])]
        lines.append("| " + " | ".join(start + errors) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("runs/accuracy"))
    parser.add_argument("--models", type=lambda text: text.split(","), default=list(EPOCHS))
    parser.add_argument("--symmetries", action="store_true")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    data = given.folder / "burgers.h5"
    rows = []
    with Display(every=30.0) as display:
        if not data.exists():
            problem = PROBLEMS["burgers"](viscosity=0.1)
            counts = (1000, 100, 200)
            generate(problem, data, samples=sum(counts), splits=counts, resolutions=RESOLUTIONS, workers=2)
        for name in given.models:
            rows.append(measure(name, data, given.folder, given.symmetries, display))
            print(table(rows), flush=True)
    print("Mean relative L2 error on 200 test samples, in thousandths (1.00 = 0.1 %).")


if __name__ == "__main__":
    main()
