"""Run folders: the newest sound checkpoint, the lock, and what is kept."""

import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time

import pytest
import torch

from iaenet.errors import CorruptFileError, InvalidInputError
from iaenet.training.run_folder import RunFolder


def names(run):
    return sorted(os.listdir(run.checkpoints))


def damage(folder):
    path = next(folder.glob("*.safetensors"))
    path.write_bytes(path.read_bytes()[:-1] + b"\x7f")


@pytest.fixture
def run(tmp_path):
    """A run with three saves."""
    folder = RunFolder(tmp_path / "run")
    for step in (5, 10, 20):
        folder.save("step", step, {"step": step}, weights={"w": torch.tensor(float(step))})
        folder.save("best", step, {"step": step}, weights={"w": torch.tensor(float(step))})
    return folder


# ------------------------------------------------------------------ checkpoints


def test_the_two_newest_and_the_best_are_kept(run):
    assert names(run) == ["best-000000020", "step-000000010", "step-000000020"]
    state, parts = run.newest("step")
    assert (state["step"], parts["weights"]["w"].item()) == (20, 20)


def test_a_damaged_one_is_told_and_the_one_before_taken(run, caplog):
    damage(run.checkpoints / "step-000000020")
    assert run.newest("step")[0]["step"] == 10
    assert "step-000000020 is damaged" in caplog.text
    assert "going back to the one before" in caplog.text


def test_all_damaged_is_one_clear_error(run, caplog):
    for folder in run.checkpoints.glob("step-*"):
        damage(folder)
    with pytest.raises(CorruptFileError, match="every step checkpoint is damaged"):
        run.newest("step")
    with pytest.raises(InvalidInputError, match="no other checkpoint"):
        run.newest("other")


def test_a_damaged_one_gives_way_to_those_made_after_it(run):
    damage(run.checkpoints / "step-000000020")
    run.save("step", 15, {"step": 15})
    assert names(run) == ["best-000000020", "step-000000010", "step-000000015"]
    assert run.newest("step")[0]["step"] == 15


def test_the_same_step_again_stands_beside_the_old_one_until_it_is_there(run):
    run.save("step", 20, {"step": 20, "again": 1})
    assert names(run) == ["best-000000020", "step-000000020", "step-000000020.1"]
    assert run.newest("step")[0]["again"] == 1
    run.save("step", 20, {"step": 20, "again": 2})
    assert run.newest("step")[0]["again"] == 2
    run.save("best", 20, {"again": 1})
    assert [name for name in names(run) if name.startswith("best")] == ["best-000000020.1"]


def test_steps_are_sorted_as_numbers(tmp_path):
    run = RunFolder(tmp_path)
    for step in (999_999_999, 1_000_000_000):
        run.save("step", step, {"step": step})
    assert run.newest("step")[0]["step"] == 1_000_000_000


def test_a_folder_of_checkpoints_names_only_its_own(tmp_path):
    run = RunFolder(tmp_path)
    for name in ("step-x", "step-000000003.bak", "best-", "other-1"):
        (run.checkpoints / name).mkdir(parents=True)
    assert not run.has("step")
    assert not run.has("best")


# ------------------------------------------------------------------ the lock


def hold(path, ready):
    with RunFolder(path).locked():
        ready.set()
        time.sleep(600)


@pytest.fixture
def holder(tmp_path):
    """Another process that has the lock."""
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    process = context.Process(target=hold, args=(tmp_path / "run", ready))
    process.start()
    assert ready.wait(120)
    yield process
    process.kill()
    process.join()


def test_a_second_trainer_is_refused_by_the_name_of_the_first(holder, tmp_path):
    before = (tmp_path / "run" / "lock").read_text()
    message = f"process {holder.pid} on {socket.gethostname()} is training here"
    with pytest.raises(InvalidInputError, match=message), RunFolder(tmp_path / "run").locked():
        pytest.fail("two trainers in one folder")
    assert (tmp_path / "run" / "lock").read_text() == before
    os.kill(holder.pid, signal.SIGKILL)  # nothing can be tidied up
    holder.join()
    with RunFolder(tmp_path / "run").locked():
        assert (tmp_path / "run" / "lock").read_text() == f"process {os.getpid()} on {socket.gethostname()}"


def test_a_second_trainer_through_a_symbolic_link_is_refused_too(holder, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "run")
    message = f"link: process {holder.pid} on {socket.gethostname()} is training here"
    with pytest.raises(InvalidInputError, match=message), RunFolder(tmp_path / "link").locked():
        pytest.fail("two trainers in one folder")


def test_the_package_needs_no_locks_of_unix():
    """`fcntl` is not there on Windows."""
    code = (
        "import sys, filelock; sys.modules['fcntl'] = None\n"
        "import iaenet.training.fit, iaenet.data.generate, iaenet.cli.main"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_lock_is_lifted_after_an_error(tmp_path):
    run = RunFolder(tmp_path)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), run.locked():
            raise ZeroDivisionError


def test_leftovers_of_a_killed_save_are_removed(run):
    (run.checkpoints / ".step-000000021.abcd.tmp").mkdir()
    (run.checkpoints / ".step-000000021.abcd.tmp" / "state.json").write_text("{")
    (run.path / ".metrics.json.abcd.tmp").write_text("{")
    with run.locked():
        assert names(run) == ["best-000000020", "step-000000010", "step-000000020"]
        assert sorted(os.listdir(run.path)) == [".lock", "checkpoints", "lock"]


def fail_in(run, *, after_a_save):
    with run.locked():
        if after_a_save:
            run.save("step", 1, {})
        raise ZeroDivisionError


def test_a_new_folder_without_a_checkpoint_is_not_left_behind(tmp_path):
    run = RunFolder(tmp_path / "runs" / "one")
    with pytest.raises(ZeroDivisionError):
        fail_in(run, after_a_save=False)
    assert os.listdir(tmp_path) == []
    with pytest.raises(ZeroDivisionError):
        fail_in(run, after_a_save=True)
    assert run.has("step")
    old = RunFolder(tmp_path / "mine")
    old.path.mkdir()
    with pytest.raises(ZeroDivisionError):
        fail_in(old, after_a_save=False)
    assert old.path.exists()  # it was there before


def test_a_file_in_the_way_is_told(tmp_path):
    (tmp_path / "run").write_text("")
    with pytest.raises(OSError, match="run"), RunFolder(tmp_path / "run").locked():
        pass


# ------------------------------------------------------------------ log and metrics


def test_the_log_is_cut_where_training_goes_on(run):
    for epoch in range(4):
        run.append_log({"epoch": epoch})
    with open(run.path / "log.jsonl", "a") as file:
        file.write('{"epo')  # killed in the middle of a line
    run.rewind(2)
    run.append_log({"epoch": "again"})
    lines = [json.loads(line) for line in (run.path / "log.jsonl").read_text().splitlines()]
    assert lines == [{"epoch": 0}, {"epoch": 1}, {"epoch": "again"}]
    assert run.has("best")


def test_a_new_start_forgets_what_was_best(run):
    run.rewind(0)
    assert not run.has("best")


def test_json_is_there_in_full_or_not_at_all(run):
    assert run.read_json("metrics.json") is None
    run.write_json("metrics.json", {"a": [1.5]})
    assert run.read_json("metrics.json") == {"a": [1.5]}
    with pytest.raises(TypeError):
        run.write_json("metrics.json", {"a": object()})
    assert run.read_json("metrics.json") == {"a": [1.5]}
    (run.path / "metrics.json").write_text("{")
    with pytest.raises(CorruptFileError, match=r"metrics\.json"):
        run.read_json("metrics.json")
