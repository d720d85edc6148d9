"""A page in headless Chromium: what the browser makes of it."""

import json
import re
import shutil
import subprocess
from html import unescape

# Runs in the page; a policy that forbids scripts is taken out for it.
PROBE = """<script>
const told = []; addEventListener("error", e => told.push(e.message));
addEventListener("load", () => {
  const size = e => e.getBoundingClientRect();
  const all = name => [...document.querySelectorAll(name)];
  parent.postMessage(JSON.stringify({
    tables: all("table").filter(e => size(e).height > 20).length,
    drawings: all("svg").filter(e => size(e).width > 100 && size(e).height > 50).length,
    lines: all("polyline").length,
    headings: all("thead th").filter(e => /^[a-z]+$/i.test(e.textContent)).map(e => size(e).width),
    bars: all("rect.bar").map(e => size(e).height),
    overflow: document.documentElement.scrollWidth - innerWidth,
    width: innerWidth,
    fetched: performance.getEntriesByType("resource").length,
    summary: document.querySelector("#summary")?.textContent ?? "",
    back: getComputedStyle(document.body).backgroundColor,
    errors: told,
  }), "*");
});</script>"""

# A window is 500 pixels wide at least; a frame is not.
FRAME = """<!doctype html><title>none</title><style>body { margin: 0 }</style>
<script>addEventListener("message", e => { document.title = e.data; });</script>
<iframe src="%s" style="border:0;width:%dpx;height:%dpx"></iframe>"""


_HEIGHT = 5000


def chromium():
    """Chromium's command, if there is one."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


def open_page(page, folder, *, width=1200, dark=False, picture=None):
    """Open a page in a frame of a width, and return what the browser made of it."""
    text = page.read_text(encoding="utf-8")
    bare = re.sub(r'<meta http-equiv="Content-Security-Policy".*?>', "", text)
    probed = folder / "probed.html"
    probed.write_text(bare.replace("</head>", f"{PROBE}</head>"), encoding="utf-8")
    frame = folder / "frame.html"
    frame.write_text(FRAME % (probed.name, width, _HEIGHT), encoding="utf-8")
    flags = [
        *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
        *("--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND"),
        *(f"--user-data-dir={folder / 'profile'}", f"--window-size={max(500, width)},{_HEIGHT}"),
        *(["--blink-settings=preferredColorScheme=0"] if dark else []),
    ]
    options = {"capture_output": True, "timeout": 120, "check": True}
    command = [chromium(), *flags, "--virtual-time-budget=5000", "--dump-dom", frame.as_uri()]
    done = subprocess.run(command, text=True, **options)
    if picture is not None:
        command = [chromium(), *flags, f"--screenshot={picture}", frame.as_uri()]
        subprocess.run(command, **options)
    title = re.search(r"<title>(\{.*?\})</title>", done.stdout, re.DOTALL)
    assert title, "the page did not load"
    return json.loads(unescape(title[1]))
