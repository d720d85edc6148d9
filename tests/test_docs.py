"""What the documentation shows works: Python blocks and examples run, links lead somewhere."""

import inspect
import json
import pkgutil
import re
import warnings
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest
from sklearn.exceptions import ConvergenceWarning

from tests.notebooks import NOTEBOOKS, printed, run

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md"]
PAGES += sorted((ROOT / "docs").rglob("*.md"))
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
FIRST = ("README.md", "first_steps.py", "certify.py", "export_c.py", "monotone.py", "regression.py")

# Those whose solvers take their time, or that learn for seconds, are run by the long tests.
QUICK_NOTEBOOKS = ("csv-to-c", "prove-it", "certify")

_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Longer limits are far above what is needed.
_SECONDS = re.compile(r"\bseconds=\d{1,2}(?<![6-9]\d)\b")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


def name(path):
    return str(path.relative_to(ROOT))


def python_of(page):
    """The Python blocks of a page, each on its own lines, so that a traceback points there."""
    text = page.read_text(encoding="utf-8")
    found = ""
    for match in _FENCE.finditer(text):
        if match[1] == "python":
            found += "\n" * (text.count("\n", 0, match.start(2)) - found.count("\n")) + match[2]
    return found


def text_of(page):
    text = page.read_text(encoding="utf-8")
    if page.suffix != ".ipynb":
        return text
    cells = json.loads(text)["cells"]
    return "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")


def links(page):
    text = _FENCE.sub("", text_of(page))
    return [link for link in _LINK.findall(text) if "://" not in link and "mailto:" not in link]


def anchors(page):
    headings = _HEADING.findall(_FENCE.sub("", text_of(page)))
    return {
        re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings
    }


@contextmanager
def strict_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def by_length(pages):
    """What newcomers read first is run quickly too, with limits of a second; all as it stands."""
    for page in pages:
        if page.name in FIRST or page.parent.name == "contributing":
            yield pytest.param(page, 1, id=f"{name(page)} quickly")
        yield pytest.param(page, None, id=name(page), marks=pytest.mark.long)


def run_text(text, path, seconds):
    """Run what a file shows, under another time limit where one is given."""
    if seconds is not None:
        text = _SECONDS.sub(f"seconds={seconds}", text)
    namespace = {"__name__": "__main__"}
    with strict_warnings():
        exec(compile(text, name(path), "exec"), namespace)


@pytest.mark.parametrize(("page", "seconds"), list(by_length(PAGES)))
def test_python_blocks_run(page, seconds, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_text(python_of(page), page, seconds)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path, id=name(path), marks=[] if path.stem in QUICK_NOTEBOOKS else [pytest.mark.long]
        )
        for path in NOTEBOOKS
    ],
)
def test_notebooks_show_what_they_print(path, tmp_path):
    kept, found = nbformat.read(path, as_version=4), run(path, tmp_path)
    for before, after in zip(kept.cells, found.cells, strict=True):
        if before.cell_type == "code" and "varies" not in before.metadata.get("tags", ()):
            assert printed(after) == printed(before), before.source


def test_there_are_blocks_to_run():
    assert sum(1 for page in PAGES if python_of(page)) >= 5


@pytest.mark.parametrize("page", PAGES + NOTEBOOKS, ids=name)
def test_links_resolve(page):
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name(page)} links to {link}"
        if anchor and target.suffix in (".md", ".ipynb"):
            assert anchor in anchors(target), f"{name(page)} links to {link}"


@pytest.mark.parametrize(("example", "seconds"), list(by_length(EXAMPLES)))
def test_examples_run(example, seconds, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run_text(example.read_text(encoding="utf-8"), example, seconds)
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    "path", re.findall(r"^::: (\S+)", (ROOT / "docs/reference/api.md").read_text(), re.MULTILINE)
)
def test_what_the_reference_lists_is_documented(path):
    found = pkgutil.resolve_name(re.sub(r"\.(\w+)$", r":\1", path))
    members = vars(found) if inspect.isclass(found) else {}
    public = [part for part in members if not part.startswith("_")]
    documented = [part for part in public if callable(getattr(found, part))]
    documented += [part for part in public if isinstance(members[part], property)]
    assert inspect.getdoc(found)
    for part in documented:
        assert inspect.getdoc(getattr(found, part)), f"{path}.{part}"
