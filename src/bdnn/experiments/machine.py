"""What a result depends on beside its cell: versions of packages, and the machine."""

from __future__ import annotations

import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = ("bdnn", "numpy", "scipy", "scikit-learn", "numba", "highspy", "ortools")


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the packages that results depend on, as far as installed."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@cache
def machine() -> dict[str, str | int | None]:
    """Processor, number of cores and operating system; no names of machines or users."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()
