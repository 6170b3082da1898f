"""What figures were measured on."""

import os
import platform
from typing import Any

import torch

import iaenet


def machine(threads: int) -> dict[str, Any]:
    """Processor, cores, system and versions."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": threads or torch.get_num_threads(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "iaenet": iaenet.__version__,
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
