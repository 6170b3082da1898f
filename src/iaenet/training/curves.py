"""The picture of a training: loss and validation error against epochs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from iaenet.data.atomic import replacing


def draw_curves(history: Sequence[dict[str, Any]], path: Path) -> None:
    """Loss and validation error of each epoch on a logarithmic axis, the best one marked, and the learning rate."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    epochs = [entry["epoch"] for entry in history]
    if history:
        axes.semilogy(epochs, [entry["loss"] for entry in history], label="training loss")
        axes.semilogy(epochs, [entry["validation"] for entry in history], label="validation error")
        best = min(history, key=lambda entry: entry["validation"])
        axes.plot(
            best["epoch"], best["validation"], "o", label=f"best: {best['validation']:.3g} in epoch {best['epoch']}"
        )
        rates = axes.twinx()
        rates.plot(epochs, [entry["lr"] for entry in history], color="0.6", linewidth=0.8)
        rates.set_ylabel("learning rate", color="0.5")
        axes.legend()
    axes.set_xlabel("epoch")
    axes.set_ylabel("relative L2 error")
    axes.grid(alpha=0.3)
    with replacing(path, own=True) as beside:
        figure.savefig(beside, dpi=130, format="png")
