"""``python -m tests.fuzz``: all kinds for some time; exit code 1 if a claim is broken."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.fuzz.c_code import CompiledCode
from tests.fuzz.driver import fuzz, summary
from tests.fuzz.forged_files import ForgedFiles
from tests.fuzz.kills import Kills
from tests.fuzz.radii import Radii
from tests.fuzz.time_limits import TimeLimits
from tests.fuzz.trained import Trained

KINDS = [Trained(), Radii(), ForgedFiles(), CompiledCode(), TimeLimits(), Kills()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1800.0)
    parser.add_argument("--state", type=Path, default=Path("fuzz-state.json"))
    parser.add_argument("--kinds", nargs="+", choices=[kind.name for kind in KINDS])
    given = parser.parse_args()
    kinds = [kind for kind in KINDS if given.kinds is None or kind.name in given.kinds]
    tallies = fuzz(kinds, given.seconds, given.state)
    sys.stdout.write(summary(tallies) + "\n")
    return int(any(tally.broken for tally in tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
