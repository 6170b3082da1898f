import os

# Virtual machines may announce AMX without allowing it; bfloat16 products would then end in an illegal instruction.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

import pytest
import torch
from hypothesis import settings

settings.register_profile("iaenet", deadline=None, max_examples=20, derandomize=True)
settings.load_profile("iaenet")


@pytest.fixture(autouse=True)
def _seeded():
    """One thread and a fixed seed, so that a failure can be seen again."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
