"""Fetch what the playground page is made with from npm: `make web`.

The versions and hashes are pinned; what is written is what is in the repository and in the wheel, so that `iaenet play`
needs neither npm nor a network.
"""

import gzip
import hashlib
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).parents[1] / "src/iaenet/reports/web"
PACKAGES = {
    "onnxruntime-web@1.30.0": ("dist/ort.wasm.min.js", "dist/ort-wasm-simd-threaded.mjs"),
    "delaunator@5.1.0": ("delaunator.min.js", "LICENSE"),
}
WASM = "dist/ort-wasm-simd-threaded.wasm"


def main() -> None:
    """Unpack the packages, and write their files to the package."""
    with tempfile.TemporaryDirectory() as folder:
        for package, names in PACKAGES.items():
            done = subprocess.run(["npm", "pack", "--silent", package], cwd=folder, check=True, capture_output=True)
            with tarfile.open(Path(folder, done.stdout.decode().split()[-1])) as archive:
                archive.extractall(folder, filter="data")
            for name in names:
                target = name if name != "LICENSE" else f"{package.partition('@')[0]}-LICENSE"
                shutil.copyfile(Path(folder, "package", name), HERE / Path(target).name)
            wasm = Path(folder, "package", WASM)
            if wasm.is_file():
                packed = gzip.compress(wasm.read_bytes(), 9, mtime=0)
                (HERE / f"{wasm.name}.gz").write_bytes(packed)
            shutil.rmtree(Path(folder, "package"))
    for path in sorted(HERE.iterdir()):
        if path.suffix in (".js", ".mjs", ".gz") and not path.name.startswith("playground"):
            print(hashlib.sha256(path.read_bytes()).hexdigest(), path.name)


if __name__ == "__main__":
    main()
