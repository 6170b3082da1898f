"""Attacks by sizes, hangs, damaged documents and signals."""

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

from benchmarks.attack_tools import attack, network, refused, run, write_data, write_run

# ---------------------------------------------------------------------- memory, hangs


@attack("memory: predict on new points, 60 calls")
def _() -> bool:
    import torch

    from iaenet import Discretization, Field

    model = network(2)
    for i in range(60):
        at = Discretization.points(torch.rand(1000, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(i)))
        with torch.no_grad():
            model(Field(at, torch.rand(1000, 1)))
        if i == 10:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200e3


@attack("memory: an npz of 0.5 MB that holds 512 MB")
def _() -> bool:
    import numpy as np

    with zipfile.ZipFile("bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.npy", "w") as stream:
        np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (64, 10**6)})
        for _ in range(64):
            stream.write(bytes(8 * 10**6))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run("import npz bomb.npz --inputs a --outputs a --out i.h5")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200e3


@attack("memory: an HDF5 of 1 MB that holds 400 MB")
def _() -> bool:
    import h5py

    with h5py.File("bomb.h5", "w") as file:
        file.create_dataset("a", shape=(2, 10**5, 1000), chunks=(1, 10**5, 1000), compression="gzip", dtype="f4")
        file["a"][0, 0, 0] = file["a"][1, 0, 0] = 1
    return refused("import hdf5 bomb.h5 --inputs a --outputs a --out i.h5")


@attack("memory: a VTK file of 200 bytes that claims 300^3 points")
def _() -> bool:
    claims = "DATASET STRUCTURED_POINTS\nDIMENSIONS 300 300 300\nORIGIN 0 0 0\nSPACING 1 1 1\nPOINT_DATA 27000000\n"
    text = f"# vtk DataFile Version 3.0\nx\nASCII\n{claims}SCALARS a float\nLOOKUP_TABLE default\n"
    Path("bomb.vtk").write_text(text)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    held = refused("import mesh bomb.vtk --inputs a --outputs a --out i.h5")
    return held and resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200e3


@attack("memory: predict --at with 10^12 points")
def _() -> bool:
    write_run()
    return refused("predict run --input a.h5 --output o.h5 --at 1000000000000")


@attack("hang: generate --workers 1000000")
def _() -> bool:
    from importlib import import_module
    from importlib.util import find_spec
    from unittest.mock import patch

    asked: list[int] = []

    class Counted(Exception):
        pass

    def count(*given: Any, **options: Any) -> None:
        asked.extend(n for n in (*given, options.get("max_workers"), options.get("n_jobs")) if isinstance(n, int))
        raise Counted

    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(Counted))
        owners = [import_module(name) for name in ("joblib", "loky") if find_spec(name)]  # of 0.1 and 0.2
        for owner in owners:
            for name in ("Parallel", "ProcessPoolExecutor", "get_reusable_executor"):
                if hasattr(owner, name):
                    stack.enter_context(patch.object(owner, name, count))
        pool = import_module("iaenet.data.pool" if find_spec("iaenet.data") else "iaenet.pool")
        for name in ("ProcessPoolExecutor", "Parallel"):
            if hasattr(pool, name):
                stack.enter_context(patch.object(pool, name, count))
        run("generate burgers --samples 4 --resolutions 16 --splits 2,1,1 --workers 1000000 --out g.h5")
    return bool(asked) and max(asked) < 1000


@attack("hang: generate --samples 1000000000")
def _() -> bool:
    return refused("generate burgers --samples 1000000000 --resolutions 64 --out g.h5")


@attack("hang: a YAML whose aliases stand for 10^9 entries")
def _() -> bool:
    lines = [b"a0: &a0 [1, 1]"] + [b"a%d: &a%d [%s]" % (i, i, b",".join([b"*a%d" % (i - 1)] * 9)) for i in range(1, 10)]
    Path("c.yaml").write_bytes(b"\n".join(lines))
    return refused("train --config c.yaml")


@attack("hang: a pipe as configuration")
def _() -> bool:
    os.mkfifo("pipe.yaml")
    return refused("train --config pipe.yaml")


@attack("memory: /dev/zero as configuration")
def _() -> bool:
    return refused("train --config /dev/zero")


@attack("hang: inspect --samples 5000")
def _() -> bool:
    write_data()
    return refused("inspect a.h5 --picture p.png --samples 5000")


# ---------------------------------------------------------------------- tracebacks

for _name, _content in {
    "a YAML in Latin-1": "data: wavé.h5\n".encode("latin-1"),
    "a YAML nested deeply": b"data: " + b"[" * 2000 + b"]" * 2000,
    "NUL in a YAML": b'data: "a\\0b.h5"\n',
}.items():

    @attack(f"traceback: {_name}")
    def _(content: bytes = _content) -> bool:
        Path("c.yaml").write_bytes(content)
        return refused("train --config c.yaml")


for _options in (
    "predict run --input a.h5 --output o.h5 --device meta",
    "predict run --input a.h5 --output o.h5 --device hpu",
    "generate burgers --samples 2 --resolutions 1000000000000 --out g.h5",
    "inspect a.h5 --samples 0",
):

    @attack(f"traceback: {_options}")
    def _(options: str = _options) -> bool:
        write_run() if "run" in options.split() else write_data()
        return refused(options)


@attack("traceback: a channel named $\\frac{a$ in a picture")
def _() -> bool:
    write_data("b.h5", r"$\frac{a$")
    return run("inspect b.h5 --picture p.png")[0] == 0


@attack("traceback: a WFDB record of rate 0")
def _() -> bool:
    import numpy as np

    Path("rec.hea").write_text("rec 1 0 40\nrec.dat 16 200 16 0 0 0 0 MLII\n")
    np.zeros(40, "<i2").tofile("rec.dat")
    return refused("import wfdb rec --inputs MLII --outputs MLII --window 20 --out i.h5")


for _document, _text in {
    "metrics.json": '{"best": 3}',
    "log.jsonl": "3",
    "evaluation/evaluation.json": '{"rows": [{}]}',
    "certificate/certificate.json": "[]",
}.items():

    @attack(f"traceback: report on a damaged {_document}")
    def _(document: str = _document, text: str = _text) -> bool:
        write_run()
        (Path("run") / document).parent.mkdir(exist_ok=True)
        (Path("run") / document).write_text(text)
        return refused("report run")


for _change in ("later", "no model", "width -1"):

    @attack(f"traceback: a checkpoint: {_change}")
    def _(change: str = _change) -> bool:
        import hashlib

        write_run()
        for folder in Path("run/checkpoints").iterdir():
            state = json.loads((folder / "state.json").read_text())
            if change == "later" and "training" in state:
                state["training"]["wings"] = 2
            if change == "no model":
                state["operator"].pop("model")
            if change == "width -1":
                state["operator"]["model"]["options"]["width"] = -1
            (folder / "state.json").write_text(json.dumps(state))
            sums = sorted(path for path in folder.iterdir() if path.name != "SHA256SUMS")
            lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sums]
            (folder / "SHA256SUMS").write_text("".join(lines))
        return refused("train --resume run" if change == "later" else "predict run --input a.h5 --output o.h5")


@attack("SIGTERM: in the first seconds of a start")
def _() -> bool:
    write_data()
    codes = []
    for seconds in (0.15, 0.4, 0.8):  # of the processor
        process = subprocess.Popen(
            [sys.executable, "-m", "iaenet", "train", "--data", "a.h5"], stderr=subprocess.DEVNULL
        )
        ticks = os.sysconf("SC_CLK_TCK")
        while process.poll() is None:
            stat = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            if (int(stat[11]) + int(stat[12])) / ticks >= seconds:
                process.send_signal(signal.SIGTERM)
                break
            time.sleep(0.01)
        codes.append(process.wait())
    return codes == [143] * 3
