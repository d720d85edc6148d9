"""Reports say what the results say, and need nothing but themselves."""

import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from bdnn.experiments import plan, write_report
from bdnn.experiments.contents import Pivot
from bdnn.experiments.experiment import Table
from bdnn.experiments.numbers import entries, find_measure, summarise
from bdnn.report.charts import Panel, draw
from tests.experiments.tiny import TINY, tiny


def rows_of(experiment, accuracy):
    """Results as a run would leave them, with chosen accuracies."""
    rows = {}
    for key, cell in plan([experiment]).items():
        work = cell.work
        rows[key] = {
            "key": key,
            "status": "done",
            "work": work,
            "wall_seconds": 2.0,
            "finished": "2026-01-02T03:04:05+00:00",
            "versions": {"bdnn": "0", "python": "3"},
            "machine": {"cores": 2},
            "measures": {"accuracy": accuracy(work), "seconds": 4.0, "gap": 0.0, "attack 0.5": 1.0},
            "notes": {},
            "curves": {"validation_error": [9.0, 5.0 - work["seed"]]},
        }
    return rows


def seeded(work):
    return 90.0 + work["seed"] if work["kind"] == "bdnn" else 50.0


@pytest.fixture
def experiment():
    return tiny()


def entry(listed, **at):
    (found,) = [e for e in listed if at.items() <= e.at.items()]
    return found


def test_numbers_are_means_beside_the_papers(experiment):
    listed = entries(experiment, rows_of(experiment, seeded))
    good = entry(listed, hidden="2", method="DS", measure="accuracy")
    assert (good.ours, good.paper, good.difference, good.found) == (91.0, 10.0, 81.0, 3)
    assert good.error == pytest.approx(1 / 3**0.5)
    bad = entry(listed, hidden="3", method="DS", measure="accuracy")
    assert bad.difference == pytest.approx(-9.1)
    assert entry(listed, hidden="2", method="DS", measure="min accuracy").ours == 90.0
    assert entry(listed, hidden="2", method="DS", measure="seconds").ratio == 250.0
    assert entry(listed, hidden="2", method="tree", measure="accuracy").paper is None


def test_the_summary_counts_what_counts(experiment):
    summary = summarise(entries(experiment, rows_of(experiment, seeded)))
    assert str(summary.accuracy) == "2 of 3 (66.7 %)"
    assert (summary.networks.reached, summary.networks.total) == (1, 2)
    assert (summary.dnn.reached, summary.dnn.total) == (1, 1)
    assert (summary.speedup, summary.missing) == (250.0, 0)


def test_equal_after_rounding_is_at_the_paper():
    accuracy = find_measure("accuracy")
    assert accuracy.difference(96.94, 96.9) == 0
    assert accuracy.difference(96.84, 96.9) < 0
    assert find_measure("gap").difference(0.2, 0.5) > 0
    assert find_measure("classes").difference(3, 2) < 0


class Page(HTMLParser):
    """Checks that tags match, and collects ids and where links lead."""

    VOID = ("meta", "br", "line", "polyline")

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.tags = [], set(), [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        values = dict(attrs)
        self.ids.add(values.get("id"))
        self.links += [values[name] for name in ("href", "src") if name in values]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_stands_alone(experiment, tmp_path):
    rows = rows_of(experiment, seeded)
    failed = next(key for key in rows if rows[key]["work"]["kind"] == "peer")
    rows[failed] = {**rows[failed], "status": "failed", "error": "<script>alert(1)</script>"}
    write_report(tmp_path, [experiment], rows, title="A <title>", command="bdnn reproduce x")
    text = (tmp_path / "report.html").read_text()
    page = Page(text)
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert "url(" not in text
    assert "@import" not in text
    assert "Cells at or above the paper: 2 of 3 (66.7 %)" in text
    assert "17 of 18 done, 1 failed" in text
    assert "A &lt;title&gt;" in text
    assert "&lt;script&gt;" in text
    assert page.tags.count("svg") == 1
    assert {"tiny", "summary", "below", "failed"} <= page.ids


def test_markdown_has_the_same_numbers(experiment, tmp_path):
    write_report(tmp_path, [experiment], rows_of(experiment, seeded), title="T", command="c")
    text = (tmp_path / "report.md").read_text()
    assert "Cells at or above the paper: 2 of 3 (66.7 %)" in text
    assert "| 2 | DS | 91.0 ± 0.58 / 10.0 ▲81.0 | 90.0 |" in text
    assert "4 ± 0 / 1000 250x" in text
    assert "<b>91.0 ± 0.58</b>" in (tmp_path / "report.html").read_text()
    assert "91.0, paper 100.1: standard error 0.6 over 3 splits, a difference beyond chance" in text
    (figure,) = re.findall(r"\]\((figures/[^)]+)\)", text)
    ElementTree.parse(tmp_path / figure)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "figures",
        "report.html",
        "report.md",
    ]


def test_a_report_of_a_part_says_so(experiment, tmp_path):
    rows = rows_of(experiment, seeded)
    some = dict(list(rows.items())[:5])
    write_report(tmp_path, [experiment], some, title="T", command="c")
    assert "5 of 18 cells are done." in (tmp_path / "report.md").read_text()
    write_report(tmp_path, [experiment], {}, title="T", command="c")
    assert "0 of 18 cells are done." in (tmp_path / "report.html").read_text()


def test_a_quick_report_says_so(experiment, tmp_path):
    quick = tiny(quick=True)
    remark = "Quick run: a part of the full run"
    for name in ("report.md", "report.html"):
        write_report(tmp_path, [quick], rows_of(quick, seeded), title="T", command="c")
        assert remark in (tmp_path / name).read_text()
        assert "Every number is of one run" in (tmp_path / name).read_text()
        write_report(tmp_path, [experiment], rows_of(experiment, seeded), title="T", command="c")
        assert remark not in (tmp_path / name).read_text()
        assert "Numbers are means over 3 seeds" in (tmp_path / name).read_text()


def test_values_of_the_grid_over_columns_have_their_name_with_them(experiment):
    table = Table(rows=("method",), columns=("hidden", "measure"), measures=("accuracy",))
    pivot = Pivot.of(table, entries(experiment, rows_of(experiment, seeded)))
    assert ("hidden layers 2", "accuracy (%)") in pivot.columns


def points(svg):
    (line,) = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}polyline")
    return [tuple(map(float, pair.split(","))) for pair in line.get("points").split()]


def test_lines_are_drawn_to_scale():
    drawn = points(draw([Panel("p", {"a": [(0, 0), (5, 5), (10, 10)]})], x_label="x", y_label="y"))
    (x0, y0), (x1, y1), (x2, y2) = drawn
    assert x1 - x0 == pytest.approx(x2 - x1)
    assert y0 - y1 == pytest.approx(y1 - y2)
    assert x2 > x0
    assert y2 < y0


def test_logarithms_leave_out_what_has_none():
    panel = Panel("p", {"a": [(0, 0.0), (1, 0.1), (2, 1.0), (3, 10.0), (4, float("nan"))]})
    drawn = points(draw([panel], x_label="x", y_label="y", log=True))
    assert len(drawn) == 3
    assert drawn[0][1] - drawn[1][1] == pytest.approx(drawn[1][1] - drawn[2][1])


def test_experiments_without_numbers_of_the_paper(tmp_path):
    experiment = tiny(TINY[: TINY.index("[[paper]]")])
    contents = write_report(
        tmp_path, [experiment], rows_of(experiment, seeded), title="T", command="c"
    )
    assert contents.summary.accuracy.total == 0
    assert "paper" not in (tmp_path / "report.md").read_text()
    assert json.dumps(contents.facts)
