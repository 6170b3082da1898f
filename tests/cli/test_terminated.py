"""SIGTERM at any moment of a command: exit code 143, also where a library drops the exception by which it ends."""

import os
import signal
import subprocess
import sys

import pytest

from iaenet.cli import main as cli

ENDS = """
import atexit, os, signal, sys, time
from iaenet.cli import main as cli
{how}
cli._main = lambda argv: {what}
sys.exit(cli.command())
"""


def ended(what, how=""):
    found = subprocess.run([sys.executable, "-c", ENDS.format(what=what, how=how)], capture_output=True, text=True)
    return found.returncode, found.stderr


def test_after_all_is_done_the_exit_code_stays():
    late = "atexit.register(lambda: os.kill(os.getpid(), signal.SIGTERM))"
    assert ended("0", late) == (0, "")
    assert ended("2", late) == (2, "")


def test_nothing_is_taken_apart_after_a_signal():
    assert ended("143", "atexit.register(lambda: time.sleep(60))") == (143, "")


@pytest.mark.parametrize("swallowed_by", ["RecursionError('half imported')", "ImportError('half imported')"])
def test_a_library_that_drops_the_exception(swallowed_by, monkeypatch, capsys):
    def half_imported(_):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except BaseException:
            raise eval(swallowed_by) from None

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(cli, "_main", half_imported)
    assert cli.main([]) == 143
    assert capsys.readouterr().err == "Stopped.\n"
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_mistake_is_none_after_a_signal(monkeypatch):
    def mistaken(_):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except SystemExit:
            return 2

    monkeypatch.setattr(cli, "_main", mistaken)
    assert cli.main([]) == 143


def test_other_errors_are_not_hidden(monkeypatch):
    def broken(_):
        raise RecursionError("no signal came")

    monkeypatch.setattr(cli, "_main", broken)
    with pytest.raises(RecursionError):
        cli.main([])


def test_an_import_is_not_ended_by_an_exception(tmp_path):
    """C++ that loads a library meets it with an abort, and not with the exit code."""
    (tmp_path / "slow.py").write_text(
        "import os, signal, time\ntry:\n    os.kill(os.getpid(), signal.SIGTERM)\n    time.sleep(30)\n"
        "except BaseException:\n    os.abort()\n"
    )
    how = f"sys.path.insert(0, {str(tmp_path)!r})\ndef late(_):\n    import slow"
    assert ended("late(argv)", how) == (143, "")
