"""Pages say what is there, escape all names, and need nothing but themselves."""

import re
from contextlib import contextmanager
from warnings import catch_warnings, simplefilter
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import bdnn
from bdnn.constraints import Sparsity
from bdnn.errors import DataError
from bdnn.report import page
from tests.cli.runner import SMALL, assert_refused, run, run_apart, write
from tests.report.browser import chromium, open_page

HOSTILE = "<script>alert('x')</script>\"&"
X = np.arange(60.0).reshape(30, 2)
Y = np.where(np.arange(30) < 15, HOSTILE, "</title><img src=x onerror=y>")


@pytest.fixture(scope="module")
def hostile():
    model = bdnn.BDNNClassifier(hidden=(1,), objective="loss", inputs="cuts", random_state=0)
    return model.fit(X[::2], Y[::2], feature_names=[HOSTILE, "plain"])


@pytest.fixture(scope="module")
def written(hostile, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "model.html"
    hostile.report(path, X, Y, title=HOSTILE)
    return path


@contextmanager
def _silent():
    """Let a time limit end a run."""
    with catch_warnings():
        simplefilter("ignore", ConvergenceWarning)
        yield


def ids(text):
    return re.findall(r'<section id="(\w+)"', text)


def test_names_of_others_are_escaped(written):
    text = written.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "<img" not in text
    assert "&lt;script&gt;alert" in text
    assert "default-src 'none'" in text
    assert not re.search(r'(?:src|href)="(?!#)', text)
    # Well formed but for the elements of the head, which HTML does not close.
    body = text[text.index("<body>") : text.index("</html>")]
    tree = ElementTree.fromstring(body)
    drawings = [each for each in tree.iter() if each.tag.endswith("}svg")]
    assert len(drawings) >= 4
    for each in drawings:
        assert each.get("role") == "img"
        assert each[0].tag.endswith("}title")
        assert each[0].text
    assert len(list(tree.iter("details"))) == len(drawings)


def test_rows_that_were_trained_on_do_not_count(written):
    text = written.read_text(encoding="utf-8")
    assert "On 15 rows that were not trained on." in text


def test_rows_that_were_all_trained_on_are_told(hostile, tmp_path):
    hostile.report(tmp_path / "m.html", X[::2], Y[::2])
    assert "15 rows that were trained on, which say nothing" in (tmp_path / "m.html").read_text()


def test_without_rows_their_sections_are_absent(hostile, written, tmp_path):
    hostile.report(tmp_path / "m.html")
    bare, full = (ids(p.read_text(encoding="utf-8")) for p in (tmp_path / "m.html", written))
    assert set(full) - set(bare) == {"rows", "importances", "certified"}
    assert {"rules", "network", "proof", "columns", "size"} <= set(bare)
    with pytest.raises(DataError, match="X and y or neither"):
        hostile.report(tmp_path / "m.html", X)
    with pytest.raises(DataError, match="path first, got ndarray"):
        hostile.report(X, Y)


def test_a_page_has_a_limit(tmp_path):
    many = np.random.default_rng(0).integers(0, 9, (30, 400)).astype(float)
    names = [f"{'<&' * 900} {j}" for j in range(400)]
    model = bdnn.BDNNClassifier(hidden=(2,), objective="loss", limits=bdnn.Limits(seconds=1))
    with _silent():
        model.fit(many, Y, feature_names=names)
    model.report(tmp_path / "m.html", many, Y)
    size = (tmp_path / "m.html").stat().st_size
    assert size <= page.MOST_BYTES
    assert "Left out: it is too long" in (tmp_path / "m.html").read_text(encoding="utf-8")


def test_a_scorecard_tells_points_and_risks(tmp_path):
    data = bdnn.datasets.load("breast-cancer")
    model = bdnn.BDNNClassifier(
        inputs="cuts",
        objective="accuracy",
        constraints=Sparsity(per_unit=5),
        limits=bdnn.Limits(seconds=3),
        random_state=0,
    ).fit(data.X[:300], data.y[:300])
    assert model.network_.architecture.hidden == ()
    model.report(tmp_path / "m.html")
    text = (tmp_path / "m.html").read_text(encoding="utf-8")
    card = re.search(r'<section id="scorecard">.*?</section>', text, re.DOTALL)[0]
    assert "points in total" in card
    # The risk of a row is the one of its total.
    row = model.model_
    points = dict(re.findall(r'<th class="side" scope="row">([^<]+)</th><td>([+-]\d+)</td>', card))
    risks = dict(re.findall(r'<th class="side" scope="row">(-?\d+)</th><td>([\d.]+) %', card))
    names = [name.replace(">", "&gt;") for name in row.encoder.input_names]
    inputs = row.inputs(data.X[300:340])
    worth = np.array([int(points.get(name, 0)) for name in names])
    assert np.gcd.reduce(worth) == 1
    for total, share in zip(
        (inputs @ worth).astype(int), row.probabilities(data.X[300:340]), strict=True
    ):
        assert float(risks[str(total)]) == pytest.approx(100 * share[1], abs=0.051)


def test_columns_are_those_that_the_network_looks_at(tmp_path):
    X = np.random.default_rng(0).integers(0, 3, (40, 3)).astype(float)
    model = bdnn.BDNNClassifier(
        hidden=(), inputs="cuts", constraints=[Sparsity(features=1)], limits=bdnn.Limits(seconds=20)
    )
    model.fit(X, X[:, 1] >= 1, feature_names=["a", "b", "c"])
    model.report(tmp_path / "m.html", X, X[:, 1] >= 1)
    text = (tmp_path / "m.html").read_text(encoding="utf-8")
    columns, moving = (
        re.search(rf'<section id="{name}">.*?</section>', text, re.DOTALL)[0]
        for name in ("columns", "importances")
    )
    assert re.findall('class="side"[^>]*>([^<]+)<', columns) == ["b"]
    assert "Not used: a, c" in columns
    assert re.findall('class="side"[^>]*>([^<]+)<', moving) == ["b"]
    assert "Of 2 columns no value changes an answer" in moving


def test_a_regressor_has_a_page(tmp_path):
    model = bdnn.BDNNRegressor(hidden=(2,), limits=bdnn.Limits(seconds=1), random_state=0)
    with _silent():
        model.fit(X, X[:, 0] ** 2)
    model.report(tmp_path / "m.html", X + 0.5, X[:, 0] ** 2)
    found = ids((tmp_path / "m.html").read_text(encoding="utf-8"))
    assert {"rows", "importances", "proof"} <= set(found)
    assert "certified" not in found


def test_the_command_as_a_user_runs_it(tmp_path):
    data = write(tmp_path / "data.csv", SMALL)
    options = ("--hidden", 2, "--objective", "loss", "--seconds", 5, "--out", "model.json")
    assert run("train", data, *options, cwd=tmp_path).returncode == 0
    done = run_apart("report", "model.json", "data.csv", "--out", "model.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "model.html").read_text(encoding="utf-8")
    assert done.stdout == f"model.html: {len(text.encode())} bytes\n"
    assert {"quality", "rows", "certified"} <= set(ids(text))
    assert run("report", "model.json", "--out", "bare.html", cwd=tmp_path).returncode == 0
    assert "rows" not in ids((tmp_path / "bare.html").read_text(encoding="utf-8"))
    gone = run("report", "model.json", "none.csv", "--out", "x.html", cwd=tmp_path)
    assert_refused(gone, "no file 'none.csv'")
    assert not (tmp_path / "x.html").exists()


@pytest.mark.skipif(chromium() is None, reason="there is no chromium")
@pytest.mark.parametrize(("width", "dark"), [(1200, False), (360, True), (320, False)])
def test_a_browser_shows_it(written, tmp_path, width, dark):
    found = open_page(written, tmp_path, width=width, dark=dark)
    assert found["width"] == width
    assert found["overflow"] <= 0
    assert found["drawings"] >= 4
    assert found["tables"] >= 4
    assert min(found["headings"]) > 40  # of one word each, no letter below the other
    assert set(found["bars"]) == {18}  # as drawn, whatever other bars of the page are like
    assert found["fetched"] == 0
    assert found["errors"] == []
    assert found["back"] == ("rgb(13, 17, 23)" if dark else "rgb(255, 255, 255)")
