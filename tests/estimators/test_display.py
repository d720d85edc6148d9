"""What a fit and a fitted model show."""

import sys
import types

import numpy as np
import pytest

import bdnn
from bdnn.export.rules import to_rules
from bdnn.plotting import plot_weights

X = np.arange(24.0).reshape(12, 2)
Y = np.arange(12) // 6


def make(**options):
    return bdnn.BDNNClassifier(hidden=(1,), objective="loss", random_state=0, **options)


def test_a_fit_tells_how_far_it_is(capsys):
    make(verbose=1).fit(X, Y)
    told = capsys.readouterr()
    assert "loss 0" in told.err
    assert told.out == ""
    make().fit(X, Y)
    assert capsys.readouterr().err == ""


def test_a_callback_is_called_beside_it(capsys):
    moments = []
    make(verbose=1, callback=moments.append).fit(X, Y)
    assert moments
    assert capsys.readouterr().err


def test_a_learner_tells_too(capsys):
    bdnn.BDNNClassifier(verbose=1, limits=bdnn.Limits(seconds=1), random_state=0).fit(X, Y)
    assert "learn" in capsys.readouterr().err


def test_a_card_of_a_fitted_model():
    model = make()
    before = model._repr_html_()
    assert "BDNNClassifier" in before
    assert "bdnn-model" not in before
    model.fit(X, Y)
    bundle = model._repr_mimebundle_()
    assert "bdnn-model" in bundle["text/html"]
    assert "training loss" in bundle["text/html"]
    assert "otherwise class 0" in bundle["text/html"]
    learnt = bdnn.BDNNClassifier(limits=bdnn.Limits(seconds=1), random_state=0).fit(X, Y)
    assert "expected accuracy" in learnt._repr_html_()


def test_pictures_of_a_notebook_are_shown(monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    model = make().fit(X, Y)
    plot_weights(model)
    assert pyplot.get_fignums() == []
    shell = types.SimpleNamespace(kernel=object())
    notebook = types.SimpleNamespace(get_ipython=lambda: shell, version_info=(9, 0))
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    plot_weights(model)
    assert len(pyplot.get_fignums()) == 1
    pyplot.close("all")


def test_reprs_are_short():
    model = make().fit(X, Y)
    parts = [model.result_, model.network_, model.encoder_, model.model_, model.to_c()]
    for part in [*parts, model.attack(X, radius=0.1), model.certify(X)]:
        assert repr(part).startswith(f"<{type(part).__name__}: ")
        assert len(repr(part)) < 200
    assert repr(model.explain(X[0])) == str(model.explain(X[0]))
    assert repr(model.rules()) == str(model.rules())  # no '\\n' of a text in quotes
    assert model.rules() == to_rules(model.model_)


def test_a_line_of_a_table_is_explained_by_its_names():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])])
    table["text"] = ["a", "b"] * (len(X) // 2) + ["a"] * (len(X) % 2)
    model = make().fit(table, Y)
    assert str(model.explain(table.iloc[0])) == str(model.explain(table.iloc[[0]]))
