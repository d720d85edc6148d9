"""Experiment files: what is valid, and one sentence for what is not."""

import tomllib

import pytest

from bdnn.errors import DataError
from bdnn.experiments import load_experiment, names, plan
from tests.experiments.tiny import TINY, tiny
from tests.sentences import assert_one_sentence

EVERYTHING = [(folder, name) for folder in ("tables", "benchmarks") for name in names(folder)]


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize(("folder", "name"), EVERYTHING)
def test_files_of_the_package_are_valid(folder, name, quick):
    experiment = load_experiment(name, quick=quick, folder=folder)
    assert plan([experiment])
    assert experiment.table is not None or experiment.figures


def test_every_table_and_figure_of_the_paper_is_there():
    titles = " ".join(load_experiment(name).title for name in names())
    figures = [f.title for name in names() for f in load_experiment(name).figures]
    for number in range(1, 7):
        assert f"Table {number}" in titles
    for number in range(1, 5):
        assert any(title.startswith(f"Figure {number}") for title in figures)


@pytest.mark.parametrize(
    ("name", "numbers", "total", "seconds"),
    [
        # Sums over the tables in the paper's own source: scores, then seconds.
        ("table2", 40, 3054.0, 0.0),
        ("table3", 6, 541.5, 0.0),
        ("table4", 36, 3044.7, 17145.5),
        ("table5", 36, 2573.1, 151337.6),
        ("table6", 105, 6755.5, 0.0),
    ],
)
def test_the_papers_numbers(name, numbers, total, seconds):
    paper = load_experiment(name).paper
    scores = [n.value for n in paper if n.measure not in ("seconds", "gap")]
    assert len(scores) == numbers
    assert sum(scores) == pytest.approx(total)
    assert sum(n.value for n in paper if n.measure == "seconds") == pytest.approx(seconds)


def test_cells_are_a_product_and_named_by_what_they_do():
    cells = plan([tiny()])
    assert len(cells) == 2 * 3 * 3
    assert list(cells) == list(plan([tiny()]))
    assert {cell.work["options"].get("batch_size") for cell in cells.values()} == {16, None}
    other = plan([tiny(TINY.replace("epochs = 3", "epochs = 4"))])
    assert len(set(cells) & set(other)) == 2 * 2 * 3
    assert not set(cells) & set(plan([tiny(TINY.replace("rows = 60", "rows = 61"))]))


def test_words_do_not_name_cells():
    renamed = TINY.replace('name = "DS"', 'name = "data splitting"').replace("Tiny", "Small")
    assert set(plan([tiny()])) == set(plan([tiny(renamed)]))


def test_quick_takes_the_place_of_what_it_names():
    experiment = tiny(quick=True)
    assert experiment.seeds == (0,)
    assert experiment.grid["hidden"] == ["2"]
    assert experiment.grid["data"] == ["iris"]
    assert set(plan([experiment])) < set(plan([tiny()]))


def test_a_data_file_is_found_beside_the_experiment(tmp_path):
    (tmp_path / "my.csv").write_text("a,b,kind\n" + "1,2,x\n3,4,y\n" * 10)
    path = tmp_path / "mine.toml"
    path.write_text(TINY.replace('data = ["iris"]', 'data = ["my.csv"]'))
    cells = plan([load_experiment(path)])
    assert {cell.work["data"] for cell in cells.values()} == {str(tmp_path / "my.csv")}
    (tmp_path / "my.csv").write_text("a,b,kind\n" + "1,2,x\n3,5,y\n" * 10)
    from bdnn.experiments.experiment import _fingerprint

    _fingerprint.cache_clear()
    assert not set(cells) & set(plan([load_experiment(path)]))


BAD = {
    "title is missing": ('title = "Tiny"', ""),
    "unknown entries 'colour'": ('title = "Tiny"', 'title = "Tiny"\ncolour = "red"'),
    "seeds must be": ("seeds = [0, 1, 2]", "seeds = [0, 0]"),
    "seeds must be whole": ("seeds = [0, 1, 2]", "seeds = [-1]"),
    "attacks must be a list": ("attacks = [0.5]", 'attacks = "all"'),
    "test must be a positive number": ("test = 0.3", "test = -1"),
    "nothing to train on": ("test = 0.3", "test = 0.85"),
    "validation must be from 0": ("validation = 0.2", "validation = 1.5"),
    "no data set and no file 'tulips'": ('data = ["iris"]', 'data = ["tulips"]'),
    "hidden has 'wide'": ('hidden = ["2", "3"]', 'hidden = ["wide"]'),
    "hidden has '0x2'": ('hidden = ["2", "3"]', 'hidden = ["0x2"]'),
    "kind must be one of": ('kind = "dnn"', 'kind = "svm"'),
    "settings has 'speed'": ('weights = "ternary"', "speed = 3"),
    "settings has 'time_limit'": ('weights = "ternary"', "time_limit = 3"),
    "has no option 'patiance'": ("patience = 1e-9", "patiance = 1e-9"),
    "method must be one of": ('method = "data_splitting"', 'method = "magic"'),
    "model must be one of": ('model = "tree"', 'model = "bush"'),
    "seconds must be a positive number": ("seconds = 300.0", "seconds = 0"),
    "place each of": ('rows = ["hidden", "method"]', 'rows = ["method"]'),
    "unknown measure 'beauty'": ('"gap", "seconds"]', '"beauty"]'),
    "unknown measure 'attack much'": ('"gap", "seconds"]', '"attack much"]'),
    "cannot draw": ('y = "validation_error"', 'y = "accuracy"'),
    "for the unknown hidden '9'": ('method = "DNN"\nhidden = "2"', 'method = "DNN"\nhidden = "9"'),
    "for the unknown method 'RNN'": ('method = "DNN"\nhidden', 'method = "RNN"\nhidden'),
    "accuracy must have 2 numbers": ("[10.0, 100.1]", "[10.0]"),
    "accuracy holds 'ten'": ("[10.0, 100.1]", '["ten", 1.0]'),
    "runs twice": ('name = "tree"', 'name = "DNN"'),
    "only names 'colour'": ('model = "tree" }', 'model = "tree" }\nonly = { colour = [1] }'),
    "has no methods": ("[[methods]]", "[[figures]]"),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_files_are_refused_in_one_sentence(message):
    old, new = BAD[message]
    assert old in TINY
    if message == "has no methods":
        text = TINY[: TINY.index("[[methods]]")]
    else:
        text = TINY.replace(old, new)
    with pytest.raises(DataError) as caught:
        tiny(text)
    assert message in str(caught.value)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize(
    "content", [b"title = ", b"\xff\xfe", b"[[methods]]\nname = 1", b"grid = 3", b"methods = 3"]
)
def test_hostile_files(content, tmp_path):
    path = tmp_path / "bad.toml"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        load_experiment(path)
    assert_one_sentence(caught.value)


def test_unknown_names_and_missing_files(tmp_path):
    with pytest.raises(DataError, match="no experiment 'table9'"):
        load_experiment("table9")
    with pytest.raises(FileNotFoundError):
        load_experiment(tmp_path / "none.toml")


def test_the_tiny_experiment_is_toml():
    assert tomllib.loads(TINY)["title"] == "Tiny"
