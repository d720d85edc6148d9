"""Programs as files that people and other solvers can read."""

from __future__ import annotations

from pathlib import Path

from bdnn.errors import ModelError
from bdnn.program import Program
from bdnn.solvers.highs import Highs
from bdnn.solvers.scip import Scip


def write_program(program: Program, path: str | Path) -> None:
    """Write a program to a file, with the names of its blocks.

    Parameters
    ----------
    program : Program
    path : str or path
        Ends in ``.lp`` for people or ``.mps`` for solvers. Cones and squares are written by SCIP,
        everything else by HiGHS.
    """
    path = Path(path)
    if path.suffix not in (".lp", ".mps"):
        raise ModelError(f"a program is written to .lp or .mps, got '{path}': choose one of these.")
    is_linear = not program.cones and not program.quadratic.any()
    if not is_linear and not Scip.is_available():
        raise ModelError(
            "a program with cones or squares is written by SCIP, which is not installed: run "
            "pip install 'bdnn[scip]'."
        )
    try:
        path.open("w").close()
    except OSError as error:
        raise ModelError(
            f"'{path}' cannot be written ({error.strerror}): choose another place."
        ) from error
    writer = Highs() if is_linear else Scip()
    writer.write(program, str(path))
