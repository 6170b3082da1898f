"""Data files: what goes in comes out, damage is noticed, and nothing in a file can reach beyond it."""

import json
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import h5py
import numpy as np
import psutil
import pytest
import torch
from torch.utils.data import DataLoader

from iaenet.data import file_writer, streams
from iaenet.data.dataset import load_dataset
from iaenet.data.file_format import PAIR, content_hash, to_bytes
from iaenet.data.file_writer import write_dataset
from iaenet.data.packing import pack, unpack
from iaenet.data.problems.problem import Channel
from iaenet.errors import CorruptFileError, InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field

CHANNELS = {"inputs": [Channel("a", "m")], "outputs": [Channel("u", "m/s"), Channel("v")]}


def field(at, channels, seed=0, dtype=torch.float32):
    return Field(at, torch.randn(at.n, channels, generator=torch.Generator().manual_seed(seed), dtype=dtype))


def pairs(count, points=4):
    """Inputs on one periodic grid, outputs each on points of its own."""
    grid = Discretization.uniform(points, periodic=True)
    for i in range(count):
        scattered = np.random.default_rng(i).random((3, 2))
        yield field(grid, 1, i), field(Discretization.points(scattered, rule="monte-carlo"), 2, 100 + i)


def small_file(path, count=2, **options):
    splits = ["train", "test", "validation", "train", "train"][:count]
    options = {"splits": splits, "parameters": {"nu": 0.1}, "provenance": {"seed": 0}} | options
    write_dataset(path, pairs(count), **CHANNELS, **options)


def content(path):
    """Everything that a reader can learn from a file, in comparable form."""
    data = load_dataset(path)
    head = (data.inputs, data.outputs, data.parameters, data.provenance, data.content_hash, data.precision)
    entries = [data.entry(i) for i in range(len(data))]
    fields = [(f.discretization.key, f.values.numpy().tobytes(), f.values.shape) for pair in data for f in pair]
    return head, data.resolutions, data.splits, entries, fields


DISCRETIZATIONS = {
    "periodic": lambda: Discretization.uniform(7, periodic=True),
    "closed with bounds": lambda: Discretization.uniform((3, 4), bounds=[(-1, 1), (0.1, 0.7)]),
    "partly periodic": lambda: Discretization.uniform((2, 3, 4), periodic=(True, False, True)),
    "uneven axes": lambda: Discretization.tensor_grid([0, 0.1, 0.7], [0.2, 0.3, 0.9, 1.0]),
    "sorted points": lambda: Discretization.points([[0.0], [0.3], [0.4]], periodic=True),
    "Voronoi cells": lambda: Discretization.points(np.random.default_rng(0).random((9, 2))),
    "mesh": lambda: Discretization.mesh([[0, 0], [1, 0], [0, 1], [1, 1]], [[0, 1, 2], [1, 2, 3]]),
    "own weights": lambda: Discretization.points([[0.1, 0.2], [0.3, 0.4]], weights=[0.25, 0.75]),
    "one point": lambda: Discretization.points([[0.5, 0.5, 0.5]]),
    "negative zero": lambda: Discretization.tensor_grid([-0.0, 0.5], bounds=[(-0.0, 1)]),
    "grid with own weights": lambda: with_weights(Discretization.uniform((3, 2)), torch.arange(6.0)),
}


def with_weights(grid, weights):
    return Discretization(grid.points, weights.double(), grid.bounds, grid.periodic, grid.axes)


@pytest.mark.parametrize("name", DISCRETIZATIONS)
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_fields_come_back_bit_for_bit(tmp_path, name, precision):
    at, elsewhere = DISCRETIZATIONS[name](), Discretization.uniform(5)
    dtype = getattr(torch, precision)
    written = field(at, 1, dtype=dtype), field(elsewhere, 2, dtype=dtype)
    write_dataset(tmp_path / "a.h5", [written], **CHANNELS, precision=precision)
    for before, after in zip(written, load_dataset(tmp_path / "a.h5")[0], strict=True):
        assert after.discretization.key == before.discretization.key
        assert after.discretization.shape == before.discretization.shape
        assert (after.discretization.axes is None) == (before.discretization.axes is None)
        for one, other in zip(after.discretization.axes or (), before.discretization.axes or (), strict=True):
            assert one.numpy().tobytes() == other.numpy().tobytes()
        assert after.values.dtype == dtype
        assert torch.equal(after.values, before.values)


def test_a_grid_whose_points_are_not_its_axes_is_refused(tmp_path):
    grid = Discretization.uniform((2, 2))
    broken = Discretization(grid.points.flip(0), grid.weights, grid.bounds, grid.periodic, grid.axes)
    assert unpack(pack(broken)).key != broken.key
    with pytest.raises(InvalidInputError, match="no product of its axes"):
        write_dataset(tmp_path / "a.h5", [(field(broken, 1), field(grid, 2))], **CHANNELS)


def test_equal_points_are_stored_once_and_shared(tmp_path):
    made = [(field(Discretization.uniform(4), 1, i), field(Discretization.uniform(6), 2, i)) for i in range(5)]
    write_dataset(tmp_path / "a.h5", made, **CHANNELS)
    data = load_dataset(tmp_path / "a.h5")
    assert len(data.discretizations) == 2
    assert len({id(f.discretization) for pair in data for f in pair}) == 2
    assert data.select(split="train")[3][0].discretization is data[0][0].discretization
    with h5py.File(tmp_path / "a.h5") as file:
        assert len(file["discretizations"]) == 2


def test_irregular_points_do_not_pile_up_in_memory(tmp_path):
    made = [(field(Discretization.points(np.random.default_rng(i).random((3, 1))), 1),) * 1 for i in range(200)]
    grid = Discretization.uniform(2)
    write_dataset(tmp_path / "a.h5", [(given, field(grid, 2)) for (given,) in made], **CHANNELS)
    data = load_dataset(tmp_path / "a.h5")
    kept = data[0][0].discretization
    for pair in data:
        del pair
    assert len(data._file._alive) <= 66  # those used last, the one that is held here, and the grid
    assert data[0][0].discretization is kept


def test_choosing_and_indexing(tmp_path):
    with file_writer.Writer(tmp_path / "a.h5", CHANNELS["inputs"], CHANNELS["outputs"]) as writer:
        rows = {n: writer.discretization(Discretization.uniform(n)) for n in (4, 8)}
        for sample, split in enumerate(["train", "train", "validation", "test", "test"]):
            for n in (4, 8):
                values = np.full((n, 1), sample), np.full((n, 2), n)
                writer.add(values, (rows[n], rows[n]), sample=sample, record=sample // 2, resolution=n, split=split)
    data = load_dataset(tmp_path / "a.h5")
    assert (len(data), data.samples, data.resolutions) == (10, 5, (4, 8))
    assert data.splits == {"train": 2, "validation": 1, "test": 2}
    assert data.entry(-1) == (4, 2, 8, "test")
    assert [f.values[0, 0].item() for f, _ in data[2:6]] == [1, 1, 2, 2]
    assert data[-1][0].values[0, 0] == 4
    fine = load_dataset(tmp_path / "a.h5", split="test", resolution=8)
    assert [(fine.entry(i).sample, f.discretization.n) for i, (f, _) in enumerate(fine)] == [(3, 8), (4, 8)]
    assert list(data.sample(3)) == [4, 8]
    assert data.sample(3)[8][0].values[0, 0] == 3
    assert fine.sample(0)[8][0].values[0, 0] == 3
    assert [sorted(group.tolist()) for group in data.groups] == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]
    given, wanted = data.batch([9, 1])
    assert given.values.shape == (2, 8, 1)
    assert given.values[:, 0, 0].tolist() == [4, 0]
    assert torch.equal(wanted.values[0], data[9][1].values)
    with pytest.raises(InvalidInputError, match="different points"):
        data.batch([0, 1])
    for wrong in (10, -11):
        with pytest.raises(IndexError):
            data[wrong]
    with pytest.raises(InvalidInputError, match="resolutions \\(4, 8\\)"):
        load_dataset(tmp_path / "a.h5", resolution=5)
    with pytest.raises(InvalidInputError, match="'dev'"):
        load_dataset(tmp_path / "a.h5", split="dev")


# ------------------------------------------------------------------ hashes and bytes


def test_content_hash_sees_content_only(tmp_path, monkeypatch):
    small_file(tmp_path / "a.h5")
    small_file(tmp_path / "same.h5")
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "same.h5").read_bytes()  # no time stamps, no paths
    first = load_dataset(tmp_path / "a.h5").content_hash
    small_file(tmp_path / "origin.h5", provenance={"seed": 1, "command": "by hand"})
    monkeypatch.setattr(streams, "CHUNK", 3)
    monkeypatch.setattr(file_writer, "CHUNK", 3)
    small_file(tmp_path / "chunks.h5")
    assert (tmp_path / "a.h5").read_bytes() != (tmp_path / "chunks.h5").read_bytes()
    assert {load_dataset(tmp_path / f"{name}.h5").content_hash for name in ("origin", "chunks")} == {first}
    small_file(tmp_path / "nu.h5", parameters={"nu": 0.2})
    small_file(tmp_path / "split.h5", splits=["test", "train"])
    small_file(tmp_path / "double.h5", precision="float64")
    hashes = {load_dataset(tmp_path / f"{name}.h5").content_hash for name in ("nu", "split", "double")}
    assert len(hashes | {first}) == 4


def sweep(folder, original, damaged):
    """How many damaged versions of a file are noticed; those read as if nothing were wrong must be unchanged."""

    def look(name, text):
        # Each under a new name: HDF5 would take a file with an open handle for the one it knows.
        path = folder / f"{name}.h5"
        path.write_bytes(text)
        try:
            return content(path)
        finally:
            path.unlink()

    wanted = look("original", original)
    noticed = 0
    for i, (name, text) in enumerate(damaged):
        try:
            found = look(f"damaged {i}", text)
        except CorruptFileError as error:
            noticed += f"damaged {i}.h5" in str(error)
        else:
            assert found == wanted, f"{name}: silent"
        if i % 100 == 0:
            assert look(f"sound {i}", original) == wanted  # what was noticed is damage, not everything
    return noticed


def flipped(original, step=1):
    for i in range(0, len(original), step):
        text = bytearray(original)
        text[i] ^= 1 << (i % 8)
        yield f"byte {i}", bytes(text)


def test_a_flipped_bit_in_any_byte_is_noticed(tmp_path):
    small_file(tmp_path / "a.h5", count=1)
    original = (tmp_path / "a.h5").read_bytes()
    noticed = sweep(tmp_path, original, flipped(original))
    assert noticed > 0.7 * len(original)  # the rest is room that HDF5 leaves between its parts


def test_a_shorter_file_is_noticed(tmp_path):
    small_file(tmp_path / "a.h5", count=1)
    original = (tmp_path / "a.h5").read_bytes()
    lengths = range(0, len(original), 7)
    assert sweep(tmp_path, original, ((f"{n} bytes", original[:n]) for n in lengths)) == len(lengths)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", [3, 16384])
def test_any_damage_to_a_file_of_many_chunks_is_noticed(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(streams, "CHUNK", chunk)
    monkeypatch.setattr(file_writer, "CHUNK", chunk)
    small_file(tmp_path / "a.h5", count=5)
    original = (tmp_path / "a.h5").read_bytes()
    assert sweep(tmp_path, original, flipped(original)) > 0.7 * len(original)
    lengths = range(len(original))
    assert sweep(tmp_path, original, ((f"{n} bytes", original[:n]) for n in lengths)) == len(original)


def test_numbers_that_hdf5_believes_but_the_hash_does_not(tmp_path):
    """Checksums of HDF5 are renewed by whoever changes a file with it; ours are not."""
    for name in ("inputs", "outputs", "coordinates"):
        small_file(tmp_path / "a.h5")
        with h5py.File(tmp_path / "a.h5", "r+") as file:
            file[name][1] += 1
        with pytest.raises(CorruptFileError, match="hash"):
            content(tmp_path / "a.h5")


# ------------------------------------------------------------------ hostile files


def forge(path, edit):
    """Change the parts of a file and renew every hash, as someone would who knows the format."""
    with h5py.File(path, "r+") as file:
        parts = {name: file[name][:] for name in file}
        parts["metadata"] = json.loads(parts["metadata"].tobytes())
        edit(parts)
        parts["metadata"] = np.frombuffer(to_bytes(parts["metadata"]), np.uint8)
        hashes = json.loads(parts["hashes"].tobytes())
        hashes["content"] = content_hash(parts["metadata"].tobytes(), parts["discretizations"], parts["pairs"])
        parts["hashes"] = np.frombuffer(to_bytes(hashes), np.uint8)
        for name, part in parts.items():
            del file[name]
            file.create_dataset(name, data=part, chunks=(len(part),), fletcher32=True)


def edit_huge_grid(parts):
    parts["discretizations"]["shape"][0] = 10**12
    parts["discretizations"]["count"][0] = 2 * 10**12


def edit_overflow(parts):
    parts["discretizations"]["shape"][0] = 2**62
    parts["discretizations"]["count"][0] = 2**63 - 1


def edit_negative_start(parts):
    parts["pairs"]["input_start"][0] = -4


def edit_beyond_the_end(parts):
    parts["pairs"]["output_start"][1] = 10**9


def edit_row_that_is_not_there(parts):
    parts["pairs"]["input_at"][0] = 77


def edit_split(parts):
    parts["pairs"]["split"][0] = 9


def edit_no_channels(parts):
    parts["metadata"]["inputs"] = []


def edit_dimension(parts):
    parts["metadata"]["dimension"] = 10**9


EDITS = [edit_huge_grid, edit_overflow, edit_negative_start, edit_beyond_the_end, edit_row_that_is_not_there]
EDITS += [edit_split, edit_no_channels, edit_dimension]


@pytest.mark.parametrize("edit", EDITS)
def test_impossible_tables_are_refused_without_room_being_made(tmp_path, edit):
    small_file(tmp_path / "a.h5")
    forge(tmp_path / "a.h5", lambda parts: None)
    content(tmp_path / "a.h5")  # the forger's work is accepted as long as it makes sense
    forge(tmp_path / "a.h5", edit)
    before = psutil.Process().memory_info().rss
    with pytest.raises(CorruptFileError):
        content(tmp_path / "a.h5")
    assert psutil.Process().memory_info().rss - before < 20e6


def test_a_small_file_that_claims_much_is_refused(tmp_path):
    for name in ("inputs", "coordinates"):
        small_file(tmp_path / "a.h5")
        with h5py.File(tmp_path / "a.h5", "r+") as file:
            file[name].resize(10**13, axis=0)  # nothing is stored for it
        assert (tmp_path / "a.h5").stat().st_size < 20_000
        before = psutil.Process().memory_info().rss
        with pytest.raises(CorruptFileError, match="claims"):
            load_dataset(tmp_path / "a.h5")
        assert psutil.Process().memory_info().rss - before < 20e6


def replace_by(make):
    def change(folder, file):
        values = file["inputs"][:]
        del file["inputs"]
        make(folder, file, values)

    return change


def external_link(folder, file, values):
    with h5py.File(folder / "secret.h5", "w") as secret:
        secret["inputs"] = values
    file["inputs"] = h5py.ExternalLink("secret.h5", "/inputs")


def external_storage(folder, file, values):
    (folder / "secret.bin").write_bytes(values.tobytes())
    file.create_dataset("inputs", values.shape, values.dtype, external=[(str(folder / "secret.bin"), 0, values.nbytes)])


def virtual(folder, file, values):
    with h5py.File(folder / "secret.h5", "w") as secret:
        secret["inputs"] = values
    layout = h5py.VirtualLayout(values.shape, values.dtype)
    layout[:] = h5py.VirtualSource(str(folder / "secret.h5"), "inputs", values.shape)
    file.create_virtual_dataset("inputs", layout)


def soft_link(folder, file, values):
    file["inputs"] = h5py.SoftLink("/outputs")


def group(folder, file, values):
    file.create_group("inputs")


def compressed(folder, file, values):
    file.create_dataset("inputs", data=values, chunks=(len(values),), fletcher32=True, compression="gzip")


def without_checksum(folder, file, values):
    file.create_dataset("inputs", data=values, chunks=(len(values),))


def large_chunk(folder, file, values):
    file.create_dataset("inputs", data=values, maxshape=(None,), chunks=(2**15,), fletcher32=True)


def objects(folder, file, values):
    file.create_dataset("inputs", data=["x"] * len(values), chunks=(1,), dtype=h5py.string_dtype())


def other_type(folder, file, values):
    file.create_dataset("inputs", data=values.astype("f8"), chunks=(len(values),), fletcher32=True)


def missing(folder, file, values):
    pass


MAKERS = [external_link, external_storage, virtual, soft_link, group, compressed, without_checksum]
MAKERS += [large_chunk, objects, other_type, missing]


@pytest.mark.parametrize("make", MAKERS)
def test_data_that_is_not_plainly_in_the_file_is_refused(tmp_path, make):
    small_file(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        replace_by(make)(tmp_path, file)
    with pytest.raises(CorruptFileError):
        load_dataset(tmp_path / "a.h5")


def test_not_a_data_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text.h5").write_text("a, b\n1, 2\n")
    (tmp_path / "empty.h5").write_bytes(b"")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = [1.0]
    for name in ("pipe", "text.h5", "empty.h5", "other.h5", "."):
        with pytest.raises(CorruptFileError, match="no data file"):
            load_dataset(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        load_dataset(tmp_path / "absent.h5")


def test_a_later_version_is_named(tmp_path):
    small_file(tmp_path / "a.h5")
    forge(tmp_path / "a.h5", lambda parts: parts["metadata"].update(version=5))
    with pytest.raises(InvalidInputError, match="'iaenet data' 5; this version of iaenet reads 'iaenet data' 1 to 4"):
        load_dataset(tmp_path / "a.h5")


# ------------------------------------------------------------------ writing


def nan_at(point, channel):
    def spoil(given, wanted):
        wanted.values[point, channel] = float("nan")
        return given, wanted

    return spoil


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (nan_at(2, 1), "a.h5: sample 1, output: channel v, point 2 is nan"),
        (
            lambda given, wanted: (wanted, wanted),
            "a.h5: sample 1, input must have shape .* = \\(3, 1\\), got \\(3, 2\\)",
        ),
        (lambda given, wanted: (Field(given.discretization, given.values[None]), wanted), "sample 1: .*batch"),
        (lambda given, wanted: (Field(given.discretization, given.values.double() * 1e200), wanted), "1e\\+200|e\\+1"),
    ],
)
def test_bad_samples_are_named_and_nothing_is_left(tmp_path, spoil, message):
    made = list(pairs(3))
    made[1] = spoil(*made[1])
    with pytest.raises(InvalidInputError, match=message):
        write_dataset(tmp_path / "a.h5", made, **CHANNELS)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"splits": ["train"]}, "1 splits, but there are more samples"),
        ({"splits": ["train"] * 3}, "3 splits, but 2 samples"),
        ({"records": [0] * 3}, "3 records, but 2 samples"),
        ({"records": [7, 7], "splits": ["train", "test"]}, "sample 1: record 7 is in train and in test"),
        ({"splits": ["train", "dev"]}, "sample 1: split must be one of .* got 'dev'"),
        ({"parameters": {"f": {"g": [object()]}}}, "parameters: f: g\\[0\\]"),
        ({"parameters": {"nu": float("nan")}}, "parameters: nu must be"),
        ({"inputs": [Channel("a"), Channel("a")]}, "input channels need different names"),
        ({"precision": "float16"}, "precision"),
    ],
)
def test_bad_descriptions_are_refused(tmp_path, options, message):
    with pytest.raises(InvalidInputError, match=message):
        write_dataset(tmp_path / "a.h5", pairs(2), **(CHANNELS | options))
    assert os.listdir(tmp_path) == []


def test_empty_or_missing_places(tmp_path):
    with pytest.raises(InvalidInputError, match="no samples"):
        write_dataset(tmp_path / "a.h5", [], **CHANNELS)
    with pytest.raises(InvalidInputError, match=r"no folder .*nowhere; make it first"):
        write_dataset(tmp_path / "nowhere" / "a.h5", pairs(1), **CHANNELS)
    with pytest.raises(InvalidInputError, match="is a folder"):
        write_dataset(tmp_path, pairs(1), **CHANNELS)
    assert os.listdir(tmp_path) == []


def test_a_file_that_could_not_be_replaced_is_as_it_was(tmp_path):
    small_file(tmp_path / "a.h5")
    before = (tmp_path / "a.h5").read_bytes()

    def broken():
        yield from pairs(2)
        raise RuntimeError("the source failed")

    with pytest.raises(RuntimeError, match="the source failed"):
        write_dataset(tmp_path / "a.h5", broken(), **CHANNELS)
    assert (tmp_path / "a.h5").read_bytes() == before
    assert os.listdir(tmp_path) == ["a.h5"]


FULL_DISK = """
import resource, signal, sys, torch
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.data.problems.problem import Channel
from iaenet.data.file_writer import write_dataset
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
field = Field(Discretization.uniform(1000), torch.ones(1000, 1))
for limit in (3_000, 100_000, 9_000_000):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        write_dataset(sys.argv[1], [(field, field)] * 2000, inputs=[Channel("a")], outputs=[Channel("u")])
    except OSError as error:
        print(error.filename, error.strerror)
"""


def test_a_full_disk_is_told_and_does_not_end_the_process(tmp_path):
    path = tmp_path / "a.h5"
    small_file(path)
    before = path.read_bytes()
    done = subprocess.run([sys.executable, "-c", FULL_DISK, path], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == 3 * f"{path} cannot be written: File too large\n"
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.h5"]


# ------------------------------------------------------------------ processes and memory


def values_in(data, queue):
    queue.put([given.values.sum().item() for given, _ in data])


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_other_processes_open_the_file_themselves(tmp_path, method):
    small_file(tmp_path / "a.h5", count=5)
    data = load_dataset(tmp_path / "a.h5", split="train")
    mine = [given.values.sum().item() for given, _ in data]  # the handle is open and in use
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=values_in, args=(data, queue))
    process.start()
    assert queue.get(timeout=60) == mine
    process.join()
    assert [given.values.sum().item() for given, _ in data] == mine


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_workers_of_a_loader(tmp_path):
    small_file(tmp_path / "a.h5", count=5)
    data = load_dataset(tmp_path / "a.h5")
    wanted = [given.values for given, _ in data]
    loader = DataLoader(data, batch_size=None, num_workers=2, multiprocessing_context="fork")
    assert all(torch.equal(given.values, one) for (given, _), one in zip(loader, wanted, strict=True))


def test_threads_share_a_data_set(tmp_path):
    small_file(tmp_path / "a.h5", count=5)
    data = load_dataset(tmp_path / "a.h5")
    wanted = content(tmp_path / "a.h5")[-1]
    wrong = []

    def read():
        for _ in range(20):
            for i, (given, _) in enumerate(data):
                if given.values.numpy().tobytes() != wanted[2 * i][1]:
                    wrong.append(i)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_file_that_changed_since_is_noticed(tmp_path):
    small_file(tmp_path / "a.h5")
    data = load_dataset(tmp_path / "a.h5")
    sent = pickle.dumps(data)
    small_file(tmp_path / "a.h5", parameters={"nu": 0.3})
    assert data[0][0].values.shape == (4, 1)  # the open handle still has the old file
    with pytest.raises(CorruptFileError, match="has changed"):
        pickle.loads(sent)


def test_memory_does_not_grow_with_the_file(tmp_path):
    grid = Discretization.uniform(20_000)

    def many():
        for i in range(1000):
            one = Field(grid, torch.full((20_000, 1), float(i)))
            yield one, one

    write_dataset(tmp_path / "a.h5", (pair for pair, _ in zip(many(), range(100), strict=False)), inputs=[Channel("a")],
                  outputs=[Channel("u")])  # fmt: skip
    before = psutil.Process().memory_info().rss
    write_dataset(tmp_path / "a.h5", many(), inputs=[Channel("a")], outputs=[Channel("u")])
    data = load_dataset(tmp_path / "a.h5")
    peak = 0
    for i, (given, _) in enumerate(data):
        assert given.values[0, 0] == i
        peak = max(peak, psutil.Process().memory_info().rss)
    assert (tmp_path / "a.h5").stat().st_size > 160e6
    assert peak - before < 50e6


def test_the_table_of_pairs_is_what_the_documentation_says():
    names = (
        "sample",
        "record",
        "resolution",
        "split",
        "input_at",
        "output_at",
        "input_start",
        "output_start",
        "sha256",
    )
    assert PAIR.names == names


def test_a_file_of_version_0_1_is_read():
    data = load_dataset(Path(__file__).parent / "files" / "version1.h5")
    assert (data.splits, data.inputs[0].unit) == ({"train": 1, "test": 1}, "m")
    for given, wanted in data:
        assert torch.equal(given.values, given.discretization.points.float())
        assert torch.equal(wanted.values, 2 * given.values)
        assert given.discretization.cells is None


@pytest.mark.parametrize("dim", [2, 3])
def test_cells_and_rules_come_back(tmp_path, dim):
    """The domain of a sample is what its cells fill: without them a network cannot be told of it."""
    points = np.random.default_rng(0).random((60, dim))
    kinds = [Discretization.points(points), Discretization.points(points, rule="monte-carlo")]
    kinds += [Discretization.mesh(points, kinds[0].cells), Discretization.mesh(points, kinds[0].cells[:1, :2])]
    kinds += [Discretization.uniform((4,) * dim), Discretization.points(points, np.ones(60))]
    pairs = [(Field(at, at.points[:, :1].float()), Field(at, at.points[:, :1].float())) for at in kinds]
    write_dataset(tmp_path / "a.h5", pairs, inputs=[Channel("a")], outputs=[Channel("u")])
    for at, (given, _) in zip(kinds, load_dataset(tmp_path / "a.h5"), strict=True):
        found = given.discretization
        assert (found.key, found.rule) == (at.key, at.rule)
        assert (found.cells is None) == (at.cells is None)
        if at.cells is not None:
            assert torch.equal(found.cells, at.cells)


def test_cells_that_name_no_point_are_damage(tmp_path):
    """Hashes that fit do not make them sound."""
    mesh = Discretization.mesh([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [[0, 1, 2]])
    mesh.cells.numpy()[0, 2] = 7
    field = Field(mesh, torch.ones(3, 1))
    with pytest.raises(ValueError, match="cells must name points 0 to 2"):
        write_dataset(tmp_path / "a.h5", [(field, field)], inputs=[Channel("a")], outputs=[Channel("u")])
