"""A report in a real browser, headless: ``make check-report``.

The page is opened by Chromium with a script added that writes down what the browser made of it:
tables and drawings that have a size, no width beyond the window, nothing fetched. Without Chromium
the check is skipped and says so. A picture of the page stays in the folder.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from bdnn.experiments import ResultFile, plan, read_results, run_cells, write_report
from tests.experiments.tiny import tiny
from tests.report.browser import chromium, open_page


def main() -> None:
    """Check the report of the tiny experiment, or of a folder."""
    if chromium() is None:
        sys.stdout.write("skipped: there is no chromium (apt-get install chromium)\n")
        return
    folder = Path(tempfile.mkdtemp(prefix="bdnn-report-"))
    if len(sys.argv) > 1:
        page = Path(sys.argv[1]) / "report.html"
        wanted = {"tables": 1, "drawings": 1, "lines": 2}
    else:
        experiment = tiny()
        with ResultFile(folder) as file:
            run_cells(plan([experiment]), file)
        rows = read_results(folder)
        write_report(folder, [experiment], rows, title="Tiny", command="make check-report")
        page = folder / "report.html"
        wanted = {"tables": 1, "drawings": 1, "lines": 4}
    found = open_page(page.resolve(), folder, width=1500, picture=folder / "report.png")
    sys.stdout.write(f"{json.dumps(found)}\npicture: {folder / 'report.png'}\n")
    assert all(found[name] >= least for name, least in wanted.items()), found
    assert found["overflow"] <= 0, "the page is wider than the window"
    assert found["fetched"] == 0, "the page fetches something"
    assert "at or above the paper" in found["summary"], found


if __name__ == "__main__":
    main()
