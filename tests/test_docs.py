"""What the documentation shows works: Python blocks and examples run, links lead somewhere."""

import inspect
import json
import pkgutil
import re
import runpy
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
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


def name(path):
    return str(path.relative_to(ROOT))


def python_blocks(page):
    """Blocks with the line they start at, so that a traceback points into the page."""
    text = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        if match[1] == "python":
            yield text.count("\n", 0, match.start(2)), match[2]


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


def by_length(page):
    """What newcomers read first is run by the quick tests, all else by the long ones."""
    is_first = page.name in FIRST or page.parent.name == "contributing"
    return pytest.param(page, id=name(page), marks=[] if is_first else [pytest.mark.long])


@pytest.mark.parametrize("page", [by_length(page) for page in PAGES])
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    with strict_warnings():
        for line, block in python_blocks(page):
            exec(compile("\n" * line + block, name(page), "exec"), namespace)


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
    assert sum(1 for page in PAGES for _ in python_blocks(page)) >= 5


@pytest.mark.parametrize("page", PAGES + NOTEBOOKS, ids=name)
def test_links_resolve(page):
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name(page)} links to {link}"
        if anchor and target.suffix in (".md", ".ipynb"):
            assert anchor in anchors(target), f"{name(page)} links to {link}"


@pytest.mark.parametrize("example", [by_length(example) for example in EXAMPLES])
def test_examples_run(example, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with strict_warnings():
        runpy.run_path(str(example), run_name="__main__")
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
