"""Through which files of the package a fit goes: `python -m tests.walk`, `--files` names them.

A file is visited when a function of it is called by the thread that called `fit`; imports and
generated methods of dataclasses count nothing, and compiled functions are seen by their callers.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import numpy as np

import bdnn
from bdnn import BDNNClassifier, BDNNRegressor, Limits

SOURCE = Path(bdnn.__file__).parent
_RNG = np.random.default_rng(0)
_X = _RNG.normal(size=(60, 3))
_NOISY = np.where(_RNG.random(60) < 0.2, _X[:, 0] <= 0, _X[:, 0] > 0)
_LIMITS = Limits(seconds=2)

#: What is fitted: a bound that is met at once, a search and a solver, the default, and numbers.
WALKS: dict[str, Callable[[], object]] = {
    "auto, bound met at once": lambda: BDNNClassifier(
        objective="loss", limits=_LIMITS, random_state=0
    ).fit(_X, _X[:, 0] > 0),
    "auto, noisy labels, 2 units": lambda: BDNNClassifier(
        hidden=2, objective="loss", limits=_LIMITS, random_state=0
    ).fit(_X, _NOISY),
    "default, held-out rows choose": lambda: BDNNClassifier(limits=_LIMITS, random_state=0).fit(
        _X, _NOISY
    ),
    "regressor": lambda: BDNNRegressor(hidden=2, limits=_LIMITS, random_state=0).fit(_X, _X[:, 0]),
}


def visited(walk: Callable[[], object]) -> set[tuple[str, str]]:
    """Files under the package and functions in them that a walk calls."""
    seen: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            code = frame.f_code
            if code.co_filename.startswith(str(SOURCE)):
                name = code.co_qualname.split(".<locals>")[0]
                seen.add((str(Path(code.co_filename).relative_to(SOURCE)), name))

    sys.setprofile(note)
    try:
        walk()
    finally:
        sys.setprofile(None)
    return {(file, name) for file, name in seen if name != "<module>"}


def main() -> None:
    """Print how many files and functions each walk visits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", action="store_true", help="name them, with their functions")
    arguments = parser.parse_args()
    for name, walk in WALKS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            walk()  # imports and compilations are none of a walk
            found = visited(walk)
        files = sorted({file for file, _ in found})
        sys.stdout.write(f"{name}: {len(files)} files, {len(found)} functions\n")
        for file in files if arguments.files else ():
            functions = sorted(function for other, function in found if other == file)
            sys.stdout.write(f"    {file}: {', '.join(functions)}\n")


if __name__ == "__main__":
    main()
