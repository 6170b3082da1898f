"""What any reader, writer and command promises by being registered."""

import os

import pytest

from iaenet.cli.main import COMMANDS, main
from iaenet.data.formats import FORMATS
from iaenet.data.problems import PROBLEMS
from iaenet.errors import CorruptFileError, InvalidInputError
from tests.attacks.base import contents, mistake


def read(kind, path):
    options = {name: "a" for name, needed in kind.options.items() if needed}
    imported = kind.read(str(path), **options)
    return [imported.pairs[i] for i in range(len(imported.pairs))]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FORMATS)
def test_every_reader_refuses_by_name(name, tmp_path):
    """What is not there, empty, no file, or noise; and it leaves nothing behind."""
    kind = FORMATS[name]
    suffix = (kind.suffixes or ("",))[0]
    noise = tmp_path / f"noise{suffix}"
    noise.write_bytes(bytes(range(256)) * 8)
    (tmp_path / f"empty{suffix}").write_bytes(b"")
    os.mkfifo(tmp_path / f"pipe{suffix}")
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.iterdir())
    for path in (
        noise,
        tmp_path / f"empty{suffix}",
        tmp_path / f"pipe{suffix}",
        tmp_path / f"nowhere{suffix}",
        tmp_path / "folder",
    ):
        with pytest.raises((InvalidInputError, CorruptFileError, OSError)) as refused:
            read(kind, path)
        assert type(refused.value) is not OSError or path.name in str(refused.value)
    assert sorted(tmp_path.iterdir()) == before
    assert noise.read_bytes() == bytes(range(256)) * 8


@pytest.mark.parametrize(
    "name", [name for name, kind in FORMATS.items() if (kind.write or kind.write_sample) and kind.suffixes]
)
def test_every_writer_is_all_or_nothing(name, here, capsys):
    """Not over its input, not over a file of another kind, not into a folder that is not there."""
    suffix = FORMATS[name].suffixes[0]
    (here / f"other{suffix}").write_text("words of mine")
    before = contents(here)
    for output in (f"nowhere/out{suffix}", f"other{suffix}"):
        if output.startswith("other") and name in ("csv",):  # words are replaced by words
            continue
        mistake(capsys, "predict", "run", "--input", "csv/s0.csv", "--coordinates", "x", "--output", output)
    assert contents(here) == before


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command(name, here, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([name, "--help"])
    assert stopped.value.code == 0
    capsys.readouterr()
    before = contents(here)
    first = [next(iter(PROBLEMS))] if name == "generate" else []
    for wrong in (["--no_such_option", "1"], ["--config", "nowhere.yaml"], ["bad\x07name"], ["a\udcff"]):
        mistake(capsys, name, *first, *wrong)
    assert contents(here) == before
