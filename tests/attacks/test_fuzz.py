"""A few cases for each boundary; `make fuzz` throws thousands."""

import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.attacks.sound_files import make_sound_files
from tests.attacks.targets import SHARES, TARGETS, one_case


@pytest.fixture(scope="module")
def folder(base, tmp_path_factory):
    made = tmp_path_factory.mktemp("fuzz")
    make_sound_files(made, base)
    return made


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.filterwarnings("ignore")
def test_a_case_ends_in_a_result_or_a_named_error(name, folder):
    seen = set()

    @settings(max_examples=6 * SHARES[name])
    @given(st.integers(0, 2**32 - 1))
    def cases(seed):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seen.add(one_case(name, seed, folder))

    cases()
    assert seen
