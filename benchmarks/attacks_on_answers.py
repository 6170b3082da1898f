"""Attacks that lose data, give silent wrong answers or end the process."""

import contextlib
import itertools
import shutil
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.attack_tools import TRAIN, attack, fields, network, refused, run, write_data, write_run

# ---------------------------------------------------------------------- data lost


@attack("data lost: a picture over the data")
def _() -> bool:
    write_data()
    before = Path("a.h5").read_bytes()
    run("inspect a.h5 --picture a.h5")
    return Path("a.h5").read_bytes() == before


@attack("data lost: an import again after a value has changed")
def _() -> bool:
    Path("csv").mkdir()
    for i in range(12):
        Path(f"csv/s{i}.csv").write_text("x,a,u\n" + "".join(f"{k / 16},{k + i},{k - i}\n" for k in range(16)))
    options = "--coordinates x --inputs a --outputs u --train 8 --validation 2 --test 2"
    command = "train --data csv --run run --epochs 1 --import.reader csv " + options.replace("--", "--import.")
    code, said = run(command)
    if code:  # the older way to say it
        code, said = run(f"train --import csv csv --run run --epochs 1 {options}")
    if code:
        code, said = run(command.replace("--import.reader csv ", ""))
    assert code == 0, said
    before = Path("run/data.h5").read_bytes()
    Path("csv/s3.csv").write_text(Path("csv/s3.csv").read_text().replace("\n", "\n", 1).replace("3,", "3.5,", 1))
    run(command)
    run(f"train --import csv csv --run run --epochs 1 {options}")
    run(command.replace("--import.reader csv ", ""))
    return Path("run/data.h5").read_bytes() == before


# ---------------------------------------------------------------------- silent wrong answers


@attack("silent: stretched boxes")
def _() -> bool:
    import numpy as np
    import torch

    from iaenet import Discretization, Field

    points, model = np.random.default_rng(0).random((200, 2)), network(2)
    found = []
    for side in (1.0, 1.001, 7.0):
        made = Discretization.points(points * [side, 1], bounds=[[0, side], [0, 1]])
        with torch.no_grad():
            found.append(model(Field(made, torch.sin(6 * torch.tensor(points[:, :1])).float())).values)
    return all(float((each - found[0]).norm() / found[0].norm()) < 1e-3 for each in found)


@attack("silent: outputs of 1e-24, 1e-19, 1e19")
def _() -> bool:
    from iaenet import relative_l2

    (_, one), (_, other) = fields(2)
    right = float(relative_l2(one, other))
    scaled = [[pair[1] for pair in fields(2, scale)] for scale in (1e-24, 1e-19, 1e19, 1e24)]
    return all(abs(float(relative_l2(*each)) / right - 1) < 1e-4 for each in scaled)


@attack("silent: weights that are zero, negative, NaN or infinite")
def _() -> bool:
    import numpy as np

    from iaenet import Discretization, InvalidInputError

    held = 0
    for weights in ([0.0] * 4, [-1.0, 1, 1, 1], [np.nan, 1, 1, 1], [np.inf, 1, 1, 1]):
        with contextlib.suppress(InvalidInputError):
            Discretization.points(np.random.default_rng(0).random((4, 2)), np.array(weights))
            held -= 1
        held += 1
    return held == 4


@attack("silent: flat triangles, duplicate cells")
def _() -> bool:
    import numpy as np

    from iaenet import Discretization, InvalidInputError

    points, held = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1], [0.5, 0]]), 0
    for cells in ([[0, 1, 2], [1, 3, 2], [0, 1, 4]], [[0, 1, 2], [1, 3, 2], [0, 1, 2]]):
        try:
            made = Discretization.mesh(points, np.array(cells))
        except InvalidInputError:
            held += 1
        else:  # or taken as what they are
            held += abs(float(made.weights.sum()) - 1) < 1e-12 and bool((made.weights > 0).all())
    return held == 2


@attack("silent: points changed in place after use")
def _() -> bool:
    import torch

    from iaenet import Discretization, Field, InvalidInputError

    at = Discretization.points(torch.rand(40, 1, dtype=torch.float64), periodic=True)
    field, model = Field(at, torch.rand(40, 1)), network(1, True)
    model(field)
    at.points.mul_(0.5)
    with contextlib.suppress(InvalidInputError, RuntimeError):
        model(field)
        return False
    return True


@attack("silent: a domain with a corner cut out")
def _() -> bool:
    import numpy as np

    from iaenet import Discretization

    points = np.random.default_rng(0).random((900, 2))
    points = points[(points < 0.5).any(axis=1)]
    return abs(float(Discretization.points(points, bounds=[[0, 1], [0, 1]]).weights.sum()) - 0.75) < 0.05


@attack("silent: tensor grids with uneven axes")
def _() -> bool:
    import numpy as np
    import torch

    from iaenet import Discretization, Field

    axis = np.sort(np.random.default_rng(0).random(48))
    axis[0], axis[-1] = 0, 1
    model, found = network(1), []
    for made in (
        Discretization.tensor_grid(axis, bounds=[[0, 1]]),
        Discretization.points(axis[:, None], bounds=[[0, 1]]),
        Discretization.uniform(2049),
    ):
        with torch.no_grad():
            values = model(Field(made, torch.sin(6.28 * made.points).float())).values[:, 0].double().numpy()
        found.append(np.interp(axis, made.points[:, 0].numpy(), values))
    grid, points = (float(np.linalg.norm(each - found[2])) for each in found[:2])
    return grid <= 2 * points + 1e-6


@attack("silent: cells of regular points on a part-periodic box")
def _() -> bool:
    import numpy as np

    from iaenet import Discretization, InvalidInputError

    worst = 0.0
    for low, side, columns in itertools.product(range(-9, 10), range(1, 20), range(3, 6)):
        box = np.array([[low, low + side], [0, 10]]) / 10
        x = box[0, 0] + np.ptp(box[0]) / (columns - 1) * np.arange(columns)  # its ends coincide but for rounding
        for place in x[1:-1]:
            # Both ends at the lower wall, one point at the upper: by symmetry that has half of the box.
            with contextlib.suppress(InvalidInputError):
                made = Discretization.points([[x[0], 0], [x[-1], 0], [place, 1]], bounds=box, periodic=(True, False))
                found = made.weights.numpy() / np.prod(box[:, 1] - box[:, 0])
                worst = max(worst, float(abs(found - [0.25, 0.25, 0.5]).max()))
    return worst < 1e-3


@attack("silent: a configuration edited before a resume")
def _() -> bool:
    write_run()
    config = Path("run/config.yaml")
    edited = config.read_text().replace("seed: 0", "seed: 7")
    assert edited != config.read_text()
    config.write_text(edited)
    return refused("train --resume run")


@attack("silent: the run folder deleted while it trains")
def _() -> bool:
    write_data()
    command = [sys.executable, "-m", "iaenet", *TRAIN.split(), "--epochs", "150"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while not list(Path("run/checkpoints").glob("best-*")) and process.poll() is None:
        time.sleep(0.05)
    for found in Path("run").iterdir():  # what a deletion leaves that meets a write: an empty folder
        shutil.rmtree(found, ignore_errors=True) if found.is_dir() else found.unlink(missing_ok=True)
    return process.wait() != 0


@attack("silent: the lock file deleted, a second trainer")
def _() -> bool:
    write_data()
    command = [sys.executable, "-m", "iaenet", *TRAIN.split(), "--epochs", "400"]
    first = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while not list(Path("run/checkpoints").glob("best-*")) and first.poll() is None:
        time.sleep(0.05)
    for path in ("run/lock", "run/.lock"):
        Path(path).unlink(missing_ok=True)
    second = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    codes = first.wait(), second.wait()
    return sorted(code != 0 for code in codes) == [False, True]


# ---------------------------------------------------------------------- leaks, crashes


@attack("leak: curves.png is a link to another file")
def _() -> bool:
    import base64

    write_run()
    Path("secret").write_bytes(b"\x89PNG\r\n\x1a\nthe secret of mine, which is not short")
    Path("run/curves.png").unlink()
    Path("run/curves.png").symlink_to(Path("secret").absolute())
    run("report run --out page.html")
    hidden = base64.b64encode(Path("secret").read_bytes()).decode()[:40]
    return not Path("page.html").exists() or hidden not in Path("page.html").read_text()


@attack("crash: boxes of very different sides")
def _() -> bool:
    import numpy as np

    from iaenet import Discretization

    for sides in ([1e9, 1.0], [1e3, 1e-3]):
        points = np.random.default_rng(0).random((60, 2)) * sides
        made = Discretization.points(points, bounds=[(0, side) for side in sides])
        if abs(float(made.weights.sum()) / np.prod(sides) - 1) > 0.2:
            return False
    return True


@attack("crash: 3-D points on a line")
def _() -> bool:
    import numpy as np

    from iaenet import Discretization

    line = np.linspace(0.1, 0.9, 20)[:, None] * np.ones(3)
    made = Discretization.points(line * [1e9, 1, 1], bounds=[[0, 1e9], [0, 1], [0, 1]])
    return bool(np.isfinite(made.weights.numpy()).all())


@attack("died: 3-D points scaled by 1e150")
def _() -> bool:
    import numpy as np

    from iaenet import Discretization, InvalidInputError

    with contextlib.suppress(InvalidInputError):
        Discretization.points(np.random.default_rng(0).random((50, 3)) * 1e150, bounds=[(0, 1e150)] * 3)
    return True
