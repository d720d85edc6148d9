"""What a user waits for: import, the first fit of a process, and the first fit on a machine.

Every figure is taken in a fresh process, several times, and the median is printed. The compiled
kernels are cached beside the package, or where NUMBA_CACHE_DIR points; a cold cache is simulated by
an empty folder.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile

FIT = """
import json, time
started = time.perf_counter()
import bdnn
imported = time.perf_counter() - started
data = bdnn.datasets.load("breast-cancer")
def fit():
    started = time.perf_counter()
    bdnn.BDNNClassifier(random_state=0).fit(data.X, data.y)
    return time.perf_counter() - started
print(json.dumps({"import": imported, "first": fit(), "second": fit()}))
"""


def measure(cache: str | None = None) -> dict[str, float]:
    """Seconds of import, first and second fit in a fresh process."""
    environment = dict(os.environ)
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = cache
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FIT],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(answer.stdout.splitlines()[-1]))


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as cache:
        cold = measure(cache)
        warm = [measure(cache) for _ in range(3)]
    middle = {key: statistics.median(run[key] for run in warm) for key in warm[0]}
    print(f"{'':28}{'seconds':>9}")
    print(f"{'import bdnn':28}{middle['import']:9.2f}")
    print(f"{'first fit, warm cache':28}{middle['first']:9.2f}")
    print(f"{'second fit':28}{middle['second']:9.2f}")
    print(f"{'first fit, cold cache':28}{cold['first']:9.2f}")
    print(f"first fit minus second, warm cache: {middle['first'] - middle['second']:.2f} s")


if __name__ == "__main__":
    main()
