import pytest

from tests.attacks.base import copy_base, make_base


@pytest.fixture(scope="session")
def base(tmp_path_factory):
    return make_base(tmp_path_factory.mktemp("base"))


@pytest.fixture
def here(base, tmp_path, monkeypatch):
    """A folder of one's own with the data and the run in it."""
    monkeypatch.chdir(copy_base(base, tmp_path / "here"))
    return tmp_path / "here"
