"""Predictions of many files: each by itself, resumable, in processes or on a cluster."""

import tracemalloc

import numpy as np
import pytest

import iaenet
from iaenet.cli.main import main
from iaenet.errors import InvalidInputError
from iaenet.reports.predict_many import files_of, predict_many

GRID = np.arange(16) / 16
X = np.stack([np.sin(2 * np.pi * (GRID + k / 12)) for k in range(12)])


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    for seed in (0, 1):
        data = iaenet.from_arrays(X, 2 * X, periodic=True)
        model = iaenet.fit({"name": "fno", "width": 4, "modes": 4}, data, epochs=1, threads=1, seed=seed)
        model.save(folder / f"model{seed}.safetensors")
    return folder


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    for i in range(5):
        np.savez(folder / f"r{i}.npz", x=X[i : i + 2 + i % 2])
    return folder


def check(files, output, model):
    operator = iaenet.load(model)
    for i in range(5):
        with np.load(output / f"r{i}.npz") as found:
            assert found["y"].shape == (2 + i % 2, 16)
            field = iaenet.from_arrays(X[i : i + 1], X[i : i + 1], periodic=True).pairs[0][0]
            assert np.allclose(found["y"][0], operator.predict(field).numpy()[:, 0], atol=1e-6)


def test_a_pattern_and_a_folder_of_arrays(saved, files, tmp_path, capsys):
    model = saved / "model0.safetensors"
    for name, source in (("a", f"{files}/r*.npz"), ("b", files)):
        output = tmp_path / name
        assert main(["predict", str(model), "--input", str(source), "--output", str(output)]) == 0
        assert f"{output}: 5 files" in capsys.readouterr().out
        check(files, output, model)
    assert main(["predict", str(model), "--input", f"{files}/no*.npz", "--output", str(tmp_path / "c")]) == 2
    assert "no file has such a name" in capsys.readouterr().err


def test_the_same_call_resumes_and_another_is_refused(saved, files, tmp_path):
    output = tmp_path / "out"
    predict_many(saved / "model0.safetensors", files_of(str(files)), output)
    kept = (output / "r1.npz").stat().st_mtime_ns
    (output / "r3.npz").unlink()
    said = predict_many(saved / "model0.safetensors", files_of(str(files)), output)
    assert "5 files, 4 of which were there" in said
    assert (output / "r1.npz").stat().st_mtime_ns == kept
    check(files, output, saved / "model0.safetensors")
    for run, options in ((saved / "model1.safetensors", {}), (saved / "model0.safetensors", {"at": (32,)})):
        with pytest.raises(InvalidInputError, match="predictions of another model or with other options"):
            predict_many(run, files_of(str(files)), output, **options)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(InvalidInputError, match="is not empty"):
        predict_many(saved / "model0.safetensors", files_of(str(files)), tmp_path / "full")


def test_a_bad_file_is_named_or_skipped(saved, files, tmp_path):
    (files / "r2.npz").write_bytes(b"nothing")
    values = X[:3].copy()
    values[1, 4] = np.nan
    np.savez(files / "r4.npz", x=values)
    model, sources = saved / "model0.safetensors", files_of(str(files))
    with pytest.raises(InvalidInputError, match=r"r2\.npz: cannot be read"):
        predict_many(model, sources, tmp_path / "a")
    said = predict_many(model, sources, tmp_path / "b", skip_bad=True)
    assert "4 files" in said
    assert "r2.npz: cannot be read" in said
    assert "r4.npz: sample 1: channel x, point 4 is nan" in said
    with np.load(tmp_path / "b" / "r4.npz") as found:
        assert found["y"].shape == (2, 16)


def test_names_that_would_be_written_twice(saved, files, tmp_path):
    (files / "more").mkdir()
    np.savez(files / "more" / "r1.npz", x=X[:2])
    with pytest.raises(InvalidInputError, match="another file would be written under the same name"):
        predict_many(saved / "model0.safetensors", files_of(f"{files}/**/*.npz"), tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize("where", [{"workers": 2}, {"workers": 2, "backend": "dask"}], ids=["processes", "dask"])
def test_in_other_processes(saved, files, tmp_path, where):
    model = saved / "model0.safetensors"
    said = predict_many(model, files_of(str(files)), tmp_path / "out", device="cpu", **where)
    assert "5 files" in said
    check(files, tmp_path / "out", model)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_files(saved, tmp_path):
    (tmp_path / "runs").mkdir()
    size = 4 * 8192 * 8
    for i in range(40):
        np.savez(tmp_path / "runs" / f"r{i}.npz", x=np.ones((4, 8192)) + i)
    peaks = []
    for count in (5, 40):
        tracemalloc.start()
        sources = files_of(str(tmp_path / "runs"))[:count]
        predict_many(saved / "model0.safetensors", sources, tmp_path / f"out{count}")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 4 * size, "forty files of which at most a few are held"
