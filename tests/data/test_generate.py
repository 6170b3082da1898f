"""Generated data sets: the same content however, and however often, the work was cut into pieces."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iaenet.data.dataset import load_dataset
from iaenet.data.generate import allot, generate, unfinished_records
from iaenet.data.journal import Journal
from iaenet.data.pool import pool
from iaenet.data.problems import PROBLEMS
from iaenet.data.problems.burgers import Burgers
from iaenet.data.problems.fetal_ecg import FetalECG
from iaenet.data.problems.problem import Channel, Sample
from iaenet.data.problems.scattering import Scattering
from iaenet.errors import CorruptFileError, InvalidInputError
from iaenet.functions.discretization import Discretization


@dataclass(frozen=True)
class Noise:
    """White noise on points of its own, two samples to a record; leaves a mark for every record that is made.

    marks: folder for the marks.
    bad: this record is not finite.
    """

    marks: str = ""
    bad: int = -1

    name: ClassVar[str] = "noise"
    inputs: ClassVar[tuple[Channel, ...]] = (Channel("a"),)
    outputs: ClassVar[tuple[Channel, ...]] = (Channel("u"), Channel("v"))

    @property
    def windows(self) -> int:
        return 2

    def record(self, rng: np.random.Generator, resolutions: Sequence[int]) -> list[dict[int, Sample]]:
        first = int(rng.bit_generator.seed_seq.entropy[1])
        if self.marks:
            (Path(self.marks) / f"{first}-{time.time_ns()}").touch()
        samples = []
        for _ in range(2):
            numbers = rng.random((max(resolutions), 3))
            if first == self.bad:
                numbers[1, 2] = np.inf
            at = {s: Discretization.points(np.sort(numbers[:s, :1], axis=0)) for s in resolutions}
            samples.append({s: Sample(numbers[:s, :1], numbers[:s, 1:], at[s], at[s]) for s in resolutions})
        return samples


def content_hash(path):
    return load_dataset(path).content_hash


def decoded(path):
    """Hash of all that comes out of a file, independent of the one that it carries."""
    digest = hashlib.sha256()
    data = load_dataset(path)
    for i, pair in enumerate(data):
        digest.update(repr(data.entry(i)).encode())
        for field in pair:
            digest.update(field.discretization.key.encode() + field.values.numpy().tobytes())
    return digest.hexdigest()


# ------------------------------------------------------------------ same seed, same bytes


@pytest.mark.parametrize(
    ("problem", "samples", "resolutions"),
    [(Burgers(points="random"), 12, [16, 64]), (FetalECG(duration=8.0, leads=(1, 8)), 7, [250])],
)
def test_any_number_of_workers_gives_the_same_bytes(tmp_path, problem, samples, resolutions):
    for workers in (1, 2):
        generate(problem, tmp_path / f"{workers}.h5", samples, resolutions, seed=3, workers=workers)
    assert content_hash(tmp_path / "1.h5") == content_hash(tmp_path / "2.h5")
    assert (tmp_path / "1.h5").read_bytes() == (tmp_path / "2.h5").read_bytes()
    generate(problem, tmp_path / "other.h5", samples, resolutions, seed=4)
    assert content_hash(tmp_path / "other.h5") != content_hash(tmp_path / "1.h5")


THREADS = """
import sys
from iaenet.data.dataset import load_dataset
from iaenet.data.generate import generate
from iaenet.data.problems.darcy_notch import DarcyNotch
if __name__ == "__main__":
    generate(DarcyNotch(), sys.argv[1], 3, [16], precision="float64", splits=(1, 0, 0))
    print(load_dataset(sys.argv[1]).content_hash)
"""


def where(i):
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return i, os.getpid(), {os.environ.get(name) for name in names}


@pytest.mark.parametrize("workers", [1, 2])
def test_work_is_done_in_processes_of_one_thread(workers):
    found = list(pool(workers)(where, range(5)))
    assert sorted(i for i, _, _ in found) == list(range(5))
    assert all(process != os.getpid() and threads == {"1"} for _, process, threads in found)


def dies(i):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_worker_that_is_killed_is_told(workers):
    with pytest.raises(ChildProcessError, match="a worker process was ended from outside"):
        list(pool(workers)(dies, range(5)))
    assert sorted(pool(workers)(abs, [-1, -2])) == [1, 2]


@pytest.mark.slow
def test_threads_of_linear_algebra_make_no_difference(tmp_path):
    """On two threads the same record differs in its last bits, if it is made in a process that uses them."""
    found = set()
    for threads in ("1", "2"):
        environment = os.environ | {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        command = [sys.executable, "-c", THREADS, tmp_path / f"{threads}.h5"]
        found.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(found) == 1


def test_a_sample_depends_on_the_seed_and_its_number_alone(tmp_path):
    generate(Burgers(), tmp_path / "few.h5", 3, [16, 32], splits=(1, 0, 0))
    generate(Burgers(), tmp_path / "many.h5", 6, [32], splits=(0.5, 0.5, 0))
    few, many = load_dataset(tmp_path / "few.h5", resolution=32), load_dataset(tmp_path / "many.h5")
    for i in range(3):
        for one, other in zip(few[i], many[i], strict=True):
            assert one.values.numpy().tobytes() == other.values.numpy().tobytes()
            assert one.discretization.key == other.discretization.key


def test_whole_and_decimal_numbers_are_the_same_parameter(tmp_path):
    for name, wavelengths in (("whole", 3), ("decimal", 3.0)):
        problem = Scattering(wavelengths=wavelengths, spread=0.1, pml_cells=4)
        generate(problem, tmp_path / f"{name}.h5", 1, [27], splits=(1, 0, 0))
    assert content_hash(tmp_path / "whole.h5") == content_hash(tmp_path / "decimal.h5")


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_dask_cluster_gives_the_same_bytes(tmp_path):
    distributed = pytest.importorskip("dask.distributed")
    generate(Burgers(), tmp_path / "here.h5", 12, [16, 64])
    options = {"n_workers": 2, "processes": True, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        there = {"backend": "dask", "scheduler": cluster.scheduler_address}
        generate(Burgers(), tmp_path / "there.h5", 12, [16, 64], **there)
        used = client.run(lambda: "iaenet.data.records" in __import__("sys").modules)
    assert len(used) == 2
    assert any(used.values())  # in processes of the cluster
    assert (tmp_path / "here.h5").read_bytes() == (tmp_path / "there.h5").read_bytes()


# ------------------------------------------------------------------ stopped and repeated

COMMAND = ["generate", "darcy", "--fine", "43", "--samples", "60", "--resolutions", "22,43", "--seed", "5", "--out"]


def start(path, workers):
    command = [sys.executable, "-m", "iaenet", *COMMAND, path, "--workers", str(workers)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def killed(path, workers, delay):
    """Start a command and kill it this long after the first record that it finishes; whether it was still at work."""
    process = start(path, workers)
    before = kept(path)
    while process.poll() is None and kept(path) <= before:
        time.sleep(0.01)
    time.sleep(delay)
    process.kill()
    process.stdout.close()
    return process.wait() == -9


def kept(path):
    return unfinished_records(path).stat().st_size if unfinished_records(path).exists() else 0


def finished(path):
    process = start(path, workers=1)
    process.communicate()
    assert process.returncode == 0
    return content_hash(path), decoded(path)


def test_killed_three_times_gives_the_same_content(tmp_path):
    generate(PROBLEMS["darcy"](fine=43), tmp_path / "whole.h5", 60, [22, 43], seed=5)
    delays = random.Random(0)
    stopped = [killed(tmp_path / "killed.h5", workers, delays.uniform(0, 0.1)) for workers in (1, 2, 1)]
    assert sum(stopped) >= 2
    assert finished(tmp_path / "killed.h5") == (content_hash(tmp_path / "whole.h5"), decoded(tmp_path / "whole.h5"))
    assert sorted(os.listdir(tmp_path)) == ["killed.h5", "whole.h5"]


@pytest.mark.slow
def test_twenty_tries_of_killing(tmp_path):
    wanted = finished(tmp_path / "whole.h5")
    process = start(tmp_path / "timed.h5", workers=1)
    while not kept(tmp_path / "timed.h5"):
        time.sleep(0.01)
    begin = time.monotonic()
    process.communicate()
    duration = time.monotonic() - begin
    delays, stopped = random.Random(1), 0
    for attempt in range(40):
        path = tmp_path / f"{attempt}.h5"
        stopped += killed(path, 1 + attempt % 2, delays.uniform(0, duration))
        assert finished(path) == wanted
        assert not list(tmp_path.glob(f"*{path.name}.*"))
        if stopped == 20:
            break
    assert stopped == 20


DIES = """
import os, signal, sys
from pathlib import Path
import iaenet.data.atomic, iaenet.data.generate
from iaenet.cli.main import main

def die(*arguments, **options):
    os.kill(os.getpid(), signal.SIGKILL)

add, calls, replace = iaenet.data.generate.Writer.add, [], os.replace

def dies_while_writing(self, *arguments, **options):
    calls.append(1)
    return die() if len(calls) == 50 else add(self, *arguments, **options)

def dies_when_written(source, target):
    replace(source, target)
    die()

if sys.argv[1] == "writing":
    iaenet.data.generate.Writer.add = dies_while_writing
elif sys.argv[1] == "complete":
    iaenet.data.atomic.sync = die
else:
    iaenet.data.atomic.os.replace = dies_when_written
main(sys.argv[2:])
"""


@pytest.mark.slow
def test_killed_while_the_file_is_put_together(tmp_path):
    wanted = finished(tmp_path / "whole.h5")
    path = tmp_path / "a.h5"
    for moment in ("writing", "complete", "renamed"):
        done = subprocess.run([sys.executable, "-c", DIES, moment, *COMMAND, path], capture_output=True, check=False)
        assert done.returncode == -9
        assert path.exists() == (moment == "renamed")
        assert unfinished_records(path).exists()
    assert finished(path) == wanted
    assert sorted(os.listdir(tmp_path)) == ["a.h5", "whole.h5"]


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    """What a run of 5 records leaves if it is stopped after 4."""
    path = tmp_path_factory.mktemp("stopped") / "a.h5"

    def stop(done, total):
        if done >= 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(Noise(), path, 10, [4], progress=stop)
    assert not path.exists()
    return unfinished_records(path).read_bytes()


@pytest.fixture
def stopped(tmp_path, journal):
    """A file whose generation was stopped."""
    unfinished_records(tmp_path / "a.h5").write_bytes(journal)
    return tmp_path / "a.h5"


def test_finished_records_are_not_made_again(tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()
    problem = Noise(str(marks))

    def stop(done, total):
        if done >= 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(problem, tmp_path / "a.h5", 40, [4], progress=stop)
    for mark in marks.iterdir():
        mark.unlink()
    seen = []
    generate(problem, tmp_path / "a.h5", 40, [4], progress=lambda done, total: seen.append((done, total)))
    assert seen == [(done, 40) for done in range(6, 41, 2)]
    assert sorted(int(mark.name.split("-")[0]) for mark in marks.iterdir()) == list(range(3, 20))


def test_a_damaged_journal_is_made_good(tmp_path, journal):
    whole = tmp_path / "whole.h5"
    generate(Noise(), whole, 10, [4])
    damaged = [journal[:length] for length in range(0, len(journal), 211)]
    for place in range(131, len(journal), 131):  # with another beginning it is no file of ours
        text = bytearray(journal)
        text[place] ^= 1 << (place % 8)
        damaged.append(bytes(text))
    for i, text in enumerate(damaged):
        unfinished_records(tmp_path / f"{i}.h5").write_bytes(text)
        generate(Noise(), tmp_path / f"{i}.h5", 10, [4])
        assert (tmp_path / f"{i}.h5").read_bytes() == whole.read_bytes()
        assert not unfinished_records(tmp_path / f"{i}.h5").exists()


def run_of(path):
    text = unfinished_records(path).read_bytes()
    return json.loads(text[48 : 48 + int.from_bytes(text[4:8], "little")])["run"]


def test_damage_after_the_journal_was_read_is_told(stopped):
    path = unfinished_records(stopped)
    with Journal(path, run_of(stopped)) as journal:
        text = bytearray(path.read_bytes())
        text[-1] ^= 1
        path.write_bytes(bytes(text))
        with pytest.raises(CorruptFileError, match="damaged"):
            journal.record(max(journal.records))


def test_leftovers_of_a_killed_assembly_are_removed(tmp_path, journal):
    unfinished_records(tmp_path / "a[1].h5").write_bytes(journal)
    (tmp_path / ".a[1].h5.0123abcd.tmp").write_bytes(b"half a file")
    (tmp_path / ".other.h5.0123abcd.tmp").write_bytes(b"of another command")
    generate(Noise(), tmp_path / "a[1].h5", 10, [4])
    assert sorted(os.listdir(tmp_path)) == [".other.h5.0123abcd.tmp", "a[1].h5"]


def test_other_commands_do_not_take_over(stopped):
    with pytest.raises(InvalidInputError, match=r"unfinished run that differs: seed is 0, not 1\. Repeat"):
        generate(Noise(), stopped, 10, [4], seed=1)
    with pytest.raises(InvalidInputError, match="parameters bad is -1, not 99"):
        generate(Noise(bad=99), stopped, 10, [4])
    generate(Noise(), stopped, 14, [4])  # more of the same is no other run
    with pytest.raises(InvalidInputError, match=r"is there already, and differs: samples is 14, not 10"):
        generate(Noise(), stopped, 10, [4])


def test_a_finished_command_can_be_repeated(tmp_path):
    path = tmp_path / "a.h5"
    generate(Noise(), path, 10, [4])
    before = path.stat().st_mtime_ns, path.read_bytes()
    unfinished_records(path).write_bytes(b"left by a process killed after the file was complete")
    generate(Noise(), path, 10, [4])
    assert (path.stat().st_mtime_ns, path.read_bytes()) == before
    assert os.listdir(tmp_path) == ["a.h5"]


def test_two_processes_do_not_write_the_same_file(stopped):
    path = unfinished_records(stopped)
    with Journal(path, run_of(stopped)), pytest.raises(InvalidInputError, match="another process is generating"):
        generate(Noise(), stopped, 10, [4])
    generate(Noise(), stopped, 10, [4])


# ------------------------------------------------------------------ splits and mistakes


@given(st.integers(1, 300), st.integers(1, 40), st.sampled_from([(0.8, 0.1, 0.1), (1, 0, 0), (0.5, 0.0, 0.5)]))
def test_shares_are_kept_and_records_stay_whole(samples, windows, splits):
    plan = allot(samples, windows, splits)
    assert sum(count for _, count in plan) == samples
    assert all(1 <= count <= windows for _, count in plan)
    assert all(count == windows for _, count in plan[:-1])
    for name, share in zip(("train", "validation", "test"), splits, strict=True):
        records = sum(split == name for split, _ in plan)
        assert (records == 0) if share == 0 else abs(records - share * len(plan)) < 2
        if len(plan) >= 3:
            assert (records > 0) == (share > 0)


@given(st.tuples(*[st.integers(0, 100)] * 3).filter(lambda counts: sum(counts) > 1), st.integers(1, 40))
def test_numbers_are_kept_exactly(counts, windows):
    plan = allot(sum(counts), windows, counts)
    found = [sum(n for split, n in plan if split == name) for name in ("train", "validation", "test")]
    assert tuple(found) == counts


def test_no_record_is_in_two_splits(tmp_path):
    problem = FetalECG(duration=16.0, leads=(1, 8, 11))
    generate(problem, tmp_path / "a.h5", 25, [250], splits=(13, 5, 7))
    data = load_dataset(tmp_path / "a.h5")
    assert data.splits == {"train": 13, "validation": 5, "test": 7}
    splits_of = {}
    for i in range(len(data)):
        splits_of.setdefault(data.entry(i).record, set()).add(data.entry(i).split)
    assert len(splits_of) == 6
    assert all(len(found) == 1 for found in splits_of.values())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"samples": 0}, "samples must be at least 1"),
        ({"resolutions": []}, "resolutions must be one or more"),
        ({"resolutions": [4, 4]}, "resolutions must be one or more different"),
        ({"splits": (0.5, 0.5)}, "three shares or numbers"),
        ({"splits": (0.9, 0.2, 0.1)}, "sum 1, or numbers with sum 10"),
        ({"splits": (5, 4, 2)}, "sum 1, or numbers with sum 10"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"workers": 0}, "workers at least 1"),
        ({"precision": "float16"}, "precision"),
        ({"backend": "slurm"}, "backend must be 'dask'"),
        ({"scheduler": "tcp://host:1"}, "belongs to backend 'dask'"),
    ],
)
def test_mistakes_are_named(tmp_path, options, message):
    with pytest.raises(InvalidInputError, match=message):
        generate(Noise(), tmp_path / "a.h5", **({"samples": 10, "resolutions": [4]} | options))
    assert not (tmp_path / "a.h5").exists()


def test_a_record_that_is_not_finite_is_named(tmp_path):
    with pytest.raises(
        InvalidInputError, match="noise: record 3, sample 0, resolution 4, output: channel v, point 1 is inf"
    ):
        generate(Noise(bad=3), tmp_path / "a.h5", 10, [4])


def test_a_resolution_that_a_problem_cannot_have(tmp_path):
    with pytest.raises(InvalidInputError, match="resolution 5 is no subsampling of 43 points"):
        generate(PROBLEMS["darcy"](fine=43), tmp_path / "a.h5", 3, [22, 5], workers=2)


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_every_problem_is_what_the_registry_says(name):
    problem = PROBLEMS[name]()
    assert problem.windows >= 1
    assert problem.inputs
    assert problem.outputs
    assert PROBLEMS.meaning(name)
