"""The whole way, by the commands that you would type: generate, train, evaluate, certify, report, play.

Burgers' equation with steep fronts, trained on 256 points only, without augmentation, every model for the same
processor time; then evaluated on 128 to 8192 points and on random sensors. Beside IAE-Net: FNO between the same E
and D, DeepONet, which is bound to its sensors, and the published form of IAE-Net (at a small size), which needs
augmentation to leave its training grid.
"""

import argparse
import json
import shlex
import time
from pathlib import Path

from iaenet.cli.main import main as iaenet

PLAYED = ("iaenet", "fno")  # models on the playground page
RESOLUTIONS = (128, 256, 512, 1024, 2048, 4096, 8192)
MODELS = {
    "iaenet": "",
    "fno": "",
    "deeponet": "",
    "published": "--model.width 16 --model.latent 64 --model.blocks 2 --optimizer.lr 0.001",
}


def main(folder: Path, samples: int = 720, length: str = "--budget '40s cpu'") -> dict[str, dict[str, float]]:
    """Run it all; return the mean test errors of each model on each discretization, where it takes it."""
    begin = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    shown = ",".join(map(str, RESOLUTIONS))
    tenth = samples // 12
    run(
        f"generate burgers --viscosity 0.01 --samples {samples} --splits {10 * tenth},{tenth},{samples - 11 * tenth} "
        f"--resolutions {shown} --workers 2 --out {folder}/burgers.h5"
    )
    for name, options in MODELS.items():
        run(
            f"train --data {folder}/burgers.h5 --resolution 256 --model.name {name} {options} {length} "
            f"--threads 1 --run {folder}/{name}"
        )
        run(f"evaluate {folder}/{name}")
    run(f"certify {folder}/iaenet")
    run(f"certify {folder}/published")
    pages = " ".join(f"{folder}/{name}" for name in MODELS)
    run(f'report {pages} --out {folder}/report.html --picture {folder}/resolution.png --title "Trained on 256 points"')
    played = " ".join(f"{folder}/{name}" for name in PLAYED)
    run(f'play {played} --out {folder}/playground.html --title "Burgers, trained on 256 points"')
    found = {name: _errors(folder / name) for name in MODELS}
    print("\nMean relative error on test samples, all models trained on 256 points only")
    print(_table(found))
    print(f"{time.monotonic() - begin:.0f} seconds in all. Open {folder}/report.html and {folder}/playground.html")
    return found


def run(command: str) -> None:
    """One command, shown as it would be typed."""
    print(f"\n$ iaenet {command}", flush=True)
    code = iaenet(shlex.split(command))
    if code:
        raise SystemExit(code)


def _errors(run: Path) -> dict[str, float]:
    rows = json.loads((run / "evaluation" / "evaluation.json").read_text())["rows"]
    return {row["on"]: row["relative_l2"]["mean"] for row in rows if "refused" not in row}


def _table(found: dict[str, dict[str, float]]) -> str:
    columns = list(dict.fromkeys(on for errors in found.values() for on in errors))
    lines = [" " * 12 + "".join(f"{on.replace(' points', ''):>12}" for on in columns)]
    for name, errors in found.items():
        lines.append(f"{name:<12}" + "".join(f"{errors[on]:12.5f}" if on in errors else f"{'-':>12}" for on in columns))
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder to write to (default: demo)")
    main(parser.parse_args().out)
