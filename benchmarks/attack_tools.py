"""What attacks on any version of the package are made of: commands, a small data file, a run, a network."""

import contextlib
import io
from collections.abc import Callable
from typing import Any

Attack = Callable[[], bool]
ATTACKS: dict[str, Attack] = {}
TRAIN = "train --data a.h5 --run run --model.name fno --model.width 4 --model.modes 3 --epochs 2"


def attack(row: str) -> Callable[[Attack], Attack]:
    """Register an attack under its name."""

    def register(function: Attack) -> Attack:
        ATTACKS[row] = function
        return function

    return register


def run(command: str, *more: str) -> tuple[int, str]:
    """Exit code of a command, and what it says on standard error."""
    try:
        from iaenet.cli.main import main
    except ImportError:  # 0.1
        from iaenet.cli import main  # type: ignore[no-redef,attr-defined]
    err = io.StringIO()
    with contextlib.redirect_stderr(err), contextlib.redirect_stdout(io.StringIO()):
        try:
            code = main([*command.split(), *more])
        except SystemExit as stopped:
            code = stopped.code  # type: ignore[assignment]
    return code, err.getvalue()


def refused(command: str, *more: str) -> bool:
    """Whether a command ends with one line and exit code 2."""
    code, said = run(command, *more)
    return code == 2 and said.startswith("iaenet: error: ") and said.count("\n") == 1


def fields(count: int = 12, scale: float = 1.0) -> list[Any]:
    """Pairs of functions on 16 points."""
    import torch

    from iaenet import Discretization, Field

    grid = Discretization.uniform(16, periodic=True)
    x = grid.points
    return [
        (Field(grid, torch.sin(6.28 * x + i).float()), Field(grid, scale * torch.cos(6.28 * x + i).float()))
        for i in range(count)
    ]


def write_data(name: str = "a.h5", channel: str = "u") -> None:
    """A data file of three splits."""
    from iaenet import write_dataset

    try:
        from iaenet.data.problems.problem import Channel
    except ImportError:  # 0.1
        from iaenet.problems.problem import Channel  # type: ignore[no-redef,import-not-found]
    splits = ["train"] * 8 + ["validation"] * 2 + ["test"] * 2
    write_dataset(name, fields(), inputs=[Channel("a")], outputs=[Channel(channel)], splits=splits)


def write_run() -> None:
    """A data file, and a run trained on it."""
    write_data()
    code, said = run(TRAIN)
    assert code == 0, said


def network(dim: int, periodic: bool = False) -> Any:
    """A small network with fixed weights."""
    import torch

    from iaenet import IAENet

    torch.manual_seed(0)
    return IAENet(1, 1, dim, periodic, width=8, blocks=1).eval()
