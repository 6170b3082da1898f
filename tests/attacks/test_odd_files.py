"""Links and pipes where a run writes, other files beside its own, tags and sizes that parsers stumble over."""

import os
import shutil
import signal

import pytest

from iaenet import InvalidInputError, load
from iaenet.cli.main import main
from iaenet.data.atomic import kind_of
from iaenet.outside import memory_limit
from iaenet.training.run_folder import RunFolder
from tests.attacks.base import MODEL, contents, mistake

TRAIN = ("train", "--data", "waves.h5", "--run", "new", "--epochs", "1", "--model.name", MODEL["name"])
SMALL = ("--model.width", "4", "--model.modes", "3")


@pytest.mark.parametrize("tagged", ["!!bool x", "!!timestamp x", '!!int ""', '!!float ""'])
def test_tags_that_do_not_fit_their_values(tagged, here, capsys):
    (here / "tagged.yaml").write_text(f"seed: {tagged}\n")
    assert "tagged.yaml: cannot be read as YAML" in mistake(capsys, "train", "--config", "tagged.yaml")
    (here / "tables").mkdir()
    (here / "tables" / "one.yaml").write_text(f"title: {tagged}\n")
    assert "one.yaml: cannot be read as YAML" in mistake(capsys, "reproduce", "one", "--folder", "tables")
    given = ("import", "csv", "csv", "--coordinates", "x", "--inputs", "a", "--outputs", "u", "--bounds", tagged)
    mistake(capsys, *given, "--out", "i.h5")


@pytest.mark.parametrize("name", ["lock", "log.jsonl"])
@pytest.mark.parametrize("there", [True, False])
def test_a_run_writes_through_no_link(name, there, here):
    (here / "new").mkdir()
    outside = here / "notes.txt"
    if there:
        outside.write_text("notes of mine")
    (here / "new" / name).symlink_to(outside)
    main([*TRAIN, *SMALL])
    assert (outside.read_text() == "notes of mine") if there else not outside.exists()


@pytest.mark.parametrize("name", ["lock", "log.jsonl"])
def test_a_pipe_where_a_run_writes(name, here, capsys):
    def waits(*_):
        raise AssertionError("a pipe without a reader waits for ever")

    (here / "new").mkdir()
    os.mkfifo(here / "new" / name)
    before = signal.signal(signal.SIGALRM, waits)
    signal.alarm(60)
    try:
        assert f"new/{name}: is " in mistake(capsys, *TRAIN, *SMALL)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", ["config.yaml", "metrics.json", "log.jsonl", "curves.png"])
@pytest.mark.parametrize("members", ["1", "2"])
def test_a_run_in_a_folder_of_others(name, members, here, capsys):
    (here / "new").mkdir()
    (here / "new" / name).write_text("# notes of mine\ndata: waves.h5\nepochs: 1\n")
    before = contents(here / "new")
    options = ("--config", "new/config.yaml") if name == "config.yaml" else ()
    assert f"new/{name}: is of no run of ours" in mistake(capsys, *TRAIN, *SMALL, *options, "--members", members)
    assert contents(here / "new").items() >= before.items()


def test_a_run_that_ended_before_its_first_checkpoint_begins_again(here):
    assert main([*TRAIN, *SMALL]) == 0
    whole = contents(here / "new")
    for path in (here / "new" / "checkpoints").iterdir():
        shutil.rmtree(path)
    assert main([*TRAIN, *SMALL]) == 0
    assert contents(here / "new")["metrics.json"] == whole["metrics.json"]


def test_folders_with_names_like_those_of_members(here):
    for name in ("member-1.bak", "member-0 (copy)", "member-x"):
        (here / "run" / name).mkdir()
    assert RunFolder(here / "run").members == []
    load(here / "run")


def test_an_export_does_not_take_the_place_of_text(here, tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"\x08\x08\x12\x07pytorch\x1a\x052.6.0:" + b"graph " * 20)
    assert kind_of(tmp_path / "model.onnx") == "a binary file"
    assert kind_of(here / "run" / "config.yaml") == "text"


@pytest.mark.parametrize("given", ["1" + 400 * "0", "9" * 310 + "T"])
def test_limits_beyond_all_numbers(given, monkeypatch):
    monkeypatch.setenv("IAENET_MEMORY", given)
    with pytest.raises(InvalidInputError, match="give a size"):
        memory_limit()
