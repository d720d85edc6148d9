"""What the documentation shows works: Python blocks and examples run, links lead somewhere."""

import inspect
import pkgutil
import re
import warnings
from contextlib import contextmanager
from pathlib import Path

import pytest
from sklearn.exceptions import ConvergenceWarning

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md"]
PAGES += sorted((ROOT / "docs").rglob("*.md"))
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
FIRST = ("README.md", "first_steps.py", "certify.py", "export_c.py", "monotone.py", "regression.py")

_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SECONDS = re.compile(r"\bseconds=\d+")
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


def links(page):
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return [link for link in _LINK.findall(text) if "://" not in link and "mailto:" not in link]


def anchors(page):
    headings = _HEADING.findall(_FENCE.sub("", page.read_text(encoding="utf-8")))
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
        if page.name in FIRST or page.parent.name in ("tutorials", "contributing"):
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


def test_there_are_blocks_to_run():
    assert sum(1 for page in PAGES if python_of(page)) >= 5


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_resolve(page):
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name(page)} links to {link}"
        if anchor and target.suffix == ".md":
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
