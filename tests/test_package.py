"""The public names."""

import subprocess
import sys

import pytest

import iaenet


def test_every_public_name_is_there():
    for name in iaenet.__all__:
        assert getattr(iaenet, name).__doc__
    assert {"evaluate", "certify", "predict", "predict_files", "import_data", "generate"} <= set(iaenet.__all__)
    assert set(iaenet.__all__) <= set(dir(iaenet))
    assert sorted(iaenet._HOME) == sorted(iaenet.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = iaenet.nothing


def test_help_needs_no_pytorch():
    code = "import sys; from iaenet.cli.main import main; main(['--help']); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0
