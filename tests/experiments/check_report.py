"""A report in a real browser, headless: ``make check-report``.

The page is opened by Chromium with a script added that writes down what the browser made of it:
tables and drawings that have a size, no width beyond the window, nothing fetched. Without Chromium
the check is skipped and says so. A picture of the page stays in the folder.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bdnn.experiments import ResultFile, plan, read_results, run_cells, write_report
from tests.experiments.tiny import tiny

PROBE = """<script>addEventListener("load", () => {
  const size = e => e.getBoundingClientRect();
  const all = name => [...document.querySelectorAll(name)];
  const found = {
    tables: all("table").filter(e => size(e).height > 20).length,
    drawings: all("svg").filter(e => size(e).width > 100 && size(e).height > 100).length,
    lines: all("polyline").length,
    overflow: document.documentElement.scrollWidth - innerWidth,
    fetched: performance.getEntriesByType("resource").length,
    summary: document.querySelector("#summary")?.textContent ?? "",
  };
  document.title = JSON.stringify(found);
});</script>"""


def browser() -> str | None:
    """Chromium's command, if there is one."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


def open_page(command: str, page: Path, folder: Path) -> dict:
    """Open a page and return what the browser made of it."""
    probed = folder / "probed.html"
    probed.write_text(page.read_text(encoding="utf-8").replace("</head>", f"{PROBE}</head>"))
    picture = folder / "report.png"
    flags = [
        *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
        *("--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND"),
        *(f"--user-data-dir={folder / 'profile'}", "--window-size=1500,2400"),
    ]
    done = subprocess.run(
        [command, *flags, "--virtual-time-budget=5000", "--dump-dom", probed.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    subprocess.run(
        [command, *flags, f"--screenshot={picture}", page.as_uri()],
        capture_output=True,
        timeout=120,
        check=True,
    )
    title = re.search(r"<title>(\{.*?\})</title>", done.stdout)
    assert title, "the page did not load"
    return json.loads(title[1].replace("&amp;", "&"))


def main() -> None:
    """Check the report of the tiny experiment, or of a folder."""
    command = browser()
    if command is None:
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
    found = open_page(command, page.resolve(), folder)
    sys.stdout.write(f"{json.dumps(found)}\npicture: {folder / 'report.png'}\n")
    assert all(found[name] >= least for name, least in wanted.items()), found
    assert found["overflow"] <= 0, "the page is wider than the window"
    assert found["fetched"] == 0, "the page fetches something"
    assert "at or above the paper" in found["summary"], found


if __name__ == "__main__":
    main()
