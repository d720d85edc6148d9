"""What a user waits for: import, the first fit of a process, and the first fit on a machine.

Every figure is CPU time in a fresh process; of several the median is printed. Compiled code is
cached beside the package, or where NUMBA_CACHE_DIR points; a cold cache is simulated by an empty
folder. What compiles is counted where it does: fits that train longer hide it otherwise.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile

FIT = """
import json, sys, threading, time
started = time.process_time()
import bdnn
imported = time.process_time() - started
options = json.loads(sys.argv[1])
data = bdnn.datasets.load("breast-cancer")
compiled, begun, names = [], threading.local(), []
def listen():
    from numba.core import event
    class Compiling(event.Listener):
        def on_start(self, event):
            begun.at = [*getattr(begun, "at", []), time.thread_time()]
        def on_end(self, event):
            *begun.at, started = begun.at
            names.append((str(event.data["dispatcher"]), str(event.data["args"])))
            if not begun.at:
                compiled.append(time.thread_time() - started)
    event.register("numba:compile", Compiling())
def fit():
    started = time.process_time()
    bdnn.BDNNClassifier(random_state=0, **options).fit(data.X, data.y)
    return time.process_time() - started
listen()
first = fit()
twice = len(names) - len(set(names))
told = {"import": imported, "first": first, "compile": sum(compiled), "twice": twice}
print(json.dumps({**told, "second": fit()}))
"""

FITS = {
    "default": {},
    "loss": {"objective": "loss", "hidden": [3], "weights": "ternary"},
}


def measure(options: dict[str, object], cache: str) -> dict[str, float]:
    """CPU seconds of import, first and second fit in a fresh process."""
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FIT, json.dumps(options)],
        env={**os.environ, "NUMBA_CACHE_DIR": cache, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(answer.stdout.splitlines()[-1]))


def main() -> None:
    """Measure and print."""
    heads = ("import", "cold", "warm", "second", "compile", "twice")
    print(f"{'CPU seconds':12}" + "".join(f"{head:>9}" for head in heads))
    for name, options in FITS.items():
        with tempfile.TemporaryDirectory() as cache:
            cold = measure(options, cache)
            runs = [measure(options, cache) for _ in range(3)]
        warm = {key: statistics.median(run[key] for run in runs) for key in cold}
        figures = warm["import"], cold["first"], warm["first"], warm["second"]
        line = "".join(f"{figure:9.2f}" for figure in (*figures, cold["compile"]))
        print(f"{name:12}{line}{cold['twice']:9.0f}", flush=True)


if __name__ == "__main__":
    main()
