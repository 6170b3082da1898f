"""What is thrown at each boundary: one case for each seed, which must end in a result or in one named error."""

import contextlib
import io
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from iaenet import Discretization
from iaenet.cli.main import COMMANDS, main
from iaenet.data.formats import FORMATS
from iaenet.errors import CorruptFileError, InvalidInputError
from tests.attacks.sound_files import OPTIONS

Case = Callable[[np.random.Generator, Path], str]
NAMED = (InvalidInputError, CorruptFileError)
SCALES = [1e-300, 1e-160, 1e-12, 1e-3, 1.0, 1.001, 7.0, 1e3, 1e9, 1e140, 1e160, 1e300]
WORDS = [
    "",
    "0",
    "-1",
    "1e12",
    "nan",
    "inf",
    "null",
    "true",
    "[]",
    "{}",
    "[[",
    "a b",
    "ä",
    "x" * 300,
    "../..",
    "/dev/zero",
]
WORDS += [
    "1000000000000",
    "16",
    "0.5",
    "16,32",
    "-5,3",
    "waves.h5",
    "run",
    "csv",
    "$",
    "%s",
    "{a: 1}",
    "&a [*a]",
    "!!x y",
]


def discretizations(rng: np.random.Generator, _folder: Path) -> str:
    """Points in 1-D to 3-D: clustered, on lines and planes, duplicate, of all scales; they must measure their box."""
    d, n = int(rng.integers(1, 4)), int(rng.integers(1, 60))
    points = rng.random((n, d))
    kind = rng.integers(7)
    if kind == 1:
        points = np.round(points * 3) / 3
    elif kind == 2:
        points[:, -1] = points[:, 0]
    elif kind == 3:
        points[:] = points[0]
    elif kind == 4:
        points = np.repeat(points[: n // 2 + 1], 2, axis=0)
    elif kind == 5:
        points = points**8
    elif kind == 6:
        points[rng.integers(n), rng.integers(d)] = rng.choice([np.nan, np.inf, -np.inf, 1e308, -1e-320])
    sides = rng.choice(SCALES, d) if rng.random() < 0.6 else np.ones(d)
    shift = rng.choice([0.0, 0.0, 1.0, -1e6]) * sides
    periodic = [bool(flag) for flag in rng.integers(0, 2, d)]
    bounds = [(low, low + side) for low, side in zip(shift, sides, strict=True)]
    with np.errstate(all="ignore"):
        made = Discretization.points(points * sides + shift, bounds=bounds, periodic=periodic, domain="box")
    assert np.isfinite(made.weights.numpy()).all()
    assert (made.weights.numpy() >= 0).all()
    assert abs(made.measure / made.volume - 1) < 1e-6, (made.measure, made.volume)
    return "made"


def files(rng: np.random.Generator, folder: Path) -> str:
    """A sound file of one of the formats with bytes changed, cut out, put in or doubled; read to the last number."""
    sound = sorted((folder / "sound").iterdir())
    source = sound[int(rng.integers(len(sound)))]
    kind = source.name.split(".")[0]
    target = folder / source.name
    if source.is_dir():  # formats of several files: one of them is damaged
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)
        parts = sorted(path for path in target.rglob("*") if path.is_file())
        part = parts[int(rng.integers(len(parts)))]
        part.write_bytes(damaged(part.read_bytes(), rng))
    else:
        target.write_bytes(damaged(source.read_bytes(), rng))
    imported = FORMATS[kind].read(str(target), **OPTIONS.get(kind, {"inputs": "a", "outputs": "u"}))
    for given, wanted in (imported.pairs[i] for i in range(min(len(imported.pairs), 50))):
        assert np.isfinite(given.values.numpy()).all()
        assert np.isfinite(wanted.values.numpy()).all()
    return "read"


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """Bytes, some of which were changed, cut out, put in or doubled."""
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(len(changed))) if changed else 0
        if rng.random() < 0.5:  # most of what matters is near the start
            at = min(at, int(rng.integers(1, 400)))
        size = int(rng.integers(1, 9))
        match rng.integers(5):
            case 0:
                changed[at : at + size] = rng.bytes(size)
            case 1:
                del changed[at : at + size]
            case 2:
                changed[at:at] = rng.choice([b"9" * 12, b"-1", b"nan", b"\xff" * 8, b"\0" * 4, b",", b"\n"])
            case 3:
                del changed[at:]
            case _:
                changed[at:at] = changed[at : at + 64]
    return bytes(changed)


def command_line(rng: np.random.Generator, folder: Path) -> str:
    """Commands with options and values that make little sense."""
    from iaenet.data.problems import PROBLEMS

    command = str(rng.choice([name for name in COMMANDS if name != "reproduce"]))
    options = ["--samples", "--resolutions", "--out", "--data", "--config", "--device", "--split", "--seed", "--at"]
    options += [
        "--picture",
        "--input",
        "--output",
        "--run",
        "--model.name",
        "--epochs",
        "--batch_size",
        "--title",
        "--x",
    ]
    words = [str(rng.choice(["run", "waves.h5", "csv", *WORDS]))]
    if command == "generate":  # nothing that would be made: workers are another matter
        words = [str(rng.choice([*PROBLEMS, *WORDS])), "--samples", str(rng.choice(WORDS)), "--resolutions", "7,7"]
    if command == "train":
        words = ["--data", "waves.h5", "--resolution", "77"]
    for _ in range(int(rng.integers(0, 5))):
        words += [str(rng.choice(options)), str(rng.choice(WORDS))]
    return run([command, *words], folder)


def configuration(rng: np.random.Generator, folder: Path) -> str:
    """A YAML file of options, sound ones among them, with letters changed."""
    keys = [
        "epochs",
        "batch_size",
        "seed",
        "precision",
        "threads",
        "optimizer",
        "model",
        "augment",
        "schedule",
        "import",
    ]
    lines = [f"{rng.choice(keys)}: {rng.choice(WORDS)}" for _ in range(int(rng.integers(0, 5)))]
    text = bytearray("\n".join(["data: waves.h5", "resolution: 77", *lines, ""]).encode())
    for _ in range(int(rng.integers(0, 4))):
        at = int(rng.integers(len(text)))
        text[at:at] = rng.choice(
            [b"[", b"{", b"&a ", b"*a", b"\t", b"\xff", b"\0", b"? ", b"- ", b"!!python/name:os.system ", b"<<: "]
        )
    (folder / "options.yaml").write_bytes(bytes(text))
    return run(["train", "--config", "options.yaml"], folder)


def run_folders(rng: np.random.Generator, folder: Path) -> str:
    """A run in which one file was damaged, then reported on, loaded or resumed."""
    target = folder / "run"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(folder / "sound-run", target)
    paths = sorted(path for path in target.rglob("*") if path.is_file())
    path = paths[int(rng.integers(len(paths)))]
    content = bytearray(path.read_bytes())
    at = int(rng.integers(len(content) + 1))
    match rng.integers(5):
        case 0:
            path.unlink()
        case 1:
            path.write_bytes(bytes(content[:at]))
        case 2:
            content[at : at + 1] = rng.bytes(1)
            path.write_bytes(bytes(content))
        case 3:
            path.write_bytes(json.dumps(rng.choice(["x", "3"])).encode())
        case _:
            path.unlink()
            os.mkfifo(path)
    command = rng.choice(["report", "predict"])
    more = ["--input", "waves.h5", "--output", "out.h5"] if command == "predict" else ["--out", "page.html"]
    return run([str(command), "run", *more], folder)


def run(arguments: list[str], folder: Path) -> str:
    """A command, in a folder; its exit code, after a look at what it said."""
    out, err = io.StringIO(), io.StringIO()
    before = os.getcwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main(arguments)
            except SystemExit as stopped:  # --help
                code = stopped.code
    finally:
        os.chdir(before)
    said = err.getvalue()
    assert code in (0, 2), (arguments, code, said)
    if code == 2 and arguments:
        assert said.splitlines()[-1].startswith("iaenet: error: "), (arguments, said)
        assert "Traceback" not in said
    return str(code)


TARGETS: dict[str, Case] = {
    "discretizations": discretizations,
    "files": files,
    "command line": command_line,
    "configuration": configuration,
    "run folders": run_folders,
}
SHARES = {"discretizations": 5, "files": 8, "command line": 2, "configuration": 2, "run folders": 3}


def one_case(name: str, seed: int, folder: Path) -> str:
    """The outcome of a case: read, made, an exit code, or refused."""
    try:
        return TARGETS[name](np.random.default_rng([seed, *name.encode()]), folder)
    except NAMED:
        return "refused"
