"""C sources as programs: answers and speed on this machine, bytes on a small ARM."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from deployed.equality import ARM

LINK = ("-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections")
SPECS = ("--specs=nano.specs", "--specs=nosys.specs")


@dataclass
class Candidate:
    """A classifier as C: how right, how large, how fast."""

    name: str
    accuracy: float
    flash: int
    nanoseconds: float


def candidate(name, kind: str, source: str, X_test, y_test, expected) -> Candidate:
    """Compile, run on the test rows, measure."""
    classes, nanoseconds = run(kind, source, X_test)
    if expected is not None and (classes != expected).any():
        raise AssertionError(f"{name} does not answer like Python")
    return Candidate(
        name, float(np.mean(classes == y_test)), linked_bytes(kind, source), nanoseconds
    )


def _include() -> list[str]:
    found = find_spec("emlearn")
    return [] if found is None or found.origin is None else [f"-I{Path(found.origin).parent}"]


def linked_bytes(kind: str, source: str) -> int:
    """Flash of a program that calls the classifier, less that of one that calls nothing."""
    stub = f"int classify(const {kind} *x) {{ (void)x; return 0; }}\n"
    return _linked(kind, source) - _linked(kind, stub)


def _linked(kind: str, source: str) -> int:
    program = (
        f"#include <stdint.h>\n{source}\nvolatile {kind} buffer[64]; volatile int answer;\n"
        f"int main(void) {{ answer = classify((const {kind} *)buffer); return 0; }}\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        file, target = Path(folder) / "p.c", Path(folder) / "p.elf"
        file.write_text(program)
        command = [*ARM, *_include(), *LINK, *SPECS, file, "-o", target, "-lm"]
        subprocess.run(command, check=True, capture_output=True)
        told = subprocess.run(
            ["arm-none-eabi-size", target], check=True, capture_output=True, text=True
        ).stdout
    text, data = re.findall(r"\d+", told.splitlines()[1])[:2]
    return int(text) + int(data)


def run(kind: str, source: str, X: np.ndarray) -> tuple[np.ndarray, float]:
    """Classes of rows, and ns of CPU time per prediction on this machine (best of five passes)."""
    rows = ",".join("{" + ",".join(str(int(v)) for v in row) + "}" for row in X)
    program = f"""
#define _POSIX_C_SOURCE 199309L
#include <stdint.h>
#include <stdio.h>
#include <time.h>
{source}
static const {kind} ROWS[{len(X)}][{X.shape[1]}] = {{{rows}}};
static volatile int sink;
int main(void) {{
    int i, r, t; double best = 1e18;
    for (i = 0; i < {len(X)}; ++i) printf("%d\\n", classify(ROWS[i]));
    for (t = 0; t < 5; ++t) {{
        struct timespec a, b; double ns;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
        for (r = 0; r < 500; ++r) for (i = 0; i < {len(X)}; ++i) sink = classify(ROWS[i]);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
        ns = ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / (500.0 * {len(X)});
        if (ns < best) best = ns;
    }}
    printf("%f\\n", best);
    return 0;
}}
"""
    with tempfile.TemporaryDirectory() as folder:
        file, target = Path(folder) / "p.c", Path(folder) / "p"
        file.write_text(program)
        command = ["gcc", "-std=c99", "-O2", *_include(), file, "-o", target, "-lm"]
        subprocess.run(command, check=True, capture_output=True)
        told = subprocess.run([target], check=True, capture_output=True, text=True).stdout.split()
    return np.array(told[:-1], dtype=int), float(told[-1])
