import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    confusion_matrix,
    log_loss,
    precision_recall_fscore_support,
    r2_score,
    roc_auc_score,
)

from bdnn.errors import ModelFileError
from bdnn.evaluation.figures import Figures, NumberFigures, area_under_curve, share_error


def random_answers(seed, n_rows=60, n_classes=3):
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n_rows)
    truth[:n_classes] = np.arange(n_classes)
    likely = rng.dirichlet(np.ones(n_classes), size=n_rows).round(2) + 0.01  # with ties
    likely /= likely.sum(axis=1, keepdims=True)
    return truth, likely.argmax(axis=1), likely


@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_figures_are_those_of_scikit_learn(seed, n_classes):
    truth, said, likely = random_answers(seed, n_classes=n_classes)
    figures = Figures.of(truth, said, tuple("abcd"[:n_classes]), likely)
    assert figures.accuracy == (truth == said).mean()
    assert np.array_equal(figures.confusion, confusion_matrix(truth, said))
    wanted = precision_recall_fscore_support(truth, said, zero_division=0)
    told = [(c.precision, c.recall, c.f1, c.rows) for c in figures.classes]
    np.testing.assert_allclose(np.array(told).T, wanted)
    is_true = np.eye(n_classes)[truth]
    assert figures.auc == pytest.approx(roc_auc_score(is_true, likely, average="macro"))
    assert figures.log_loss == pytest.approx(log_loss(truth, likely))
    assert Figures.from_dict(figures.to_dict()) == figures


def test_spread_is_that_of_repeated_draws():
    rng = np.random.default_rng(0)

    def drawn():
        truth = rng.random(200) < 0.3
        scores = np.round(truth + rng.normal(size=200), 1)
        is_true = np.column_stack([~truth, truth])
        return area_under_curve(is_true, np.column_stack([-scores, scores]))

    areas, errors = np.array([drawn() for _ in range(400)]).T
    assert errors.mean() == pytest.approx(areas.std(), rel=0.15)


def test_all_of_a_few_rows_is_no_certainty():
    assert 0.05 < share_error(10, 10) < 0.15
    truth = np.array([0, 1] * 5)
    figures = Figures.of(truth, truth, ("no", "yes"), np.eye(2)[truth] * 0.8 + 0.1)
    assert figures.accuracy == figures.auc == 1
    assert figures.error > 0.05
    assert figures.auc_error > 0.05


def test_a_class_without_rows_has_no_area():
    truth = np.zeros(4, dtype=int)
    figures = Figures.of(truth, truth, ("no", "yes"), np.full((4, 2), 0.5))
    assert figures.auc is figures.auc_error is None
    assert figures.classes[1].recall == 0


def test_numbers():
    rng = np.random.default_rng(0)

    def drawn():
        truth = rng.normal(size=300)
        said = truth + rng.normal(size=300)
        figures = NumberFigures.of(truth, said)
        assert figures.r2 == pytest.approx(r2_score(truth, said))
        return figures.r2, figures.error

    values, errors = np.array([drawn() for _ in range(300)]).T
    assert errors.mean() == pytest.approx(values.std(), rel=0.15)
    assert NumberFigures.of(np.ones(3), np.zeros(3)).r2 is None


@pytest.mark.parametrize("broken", [{}, {"rows": 1}, {"classes": 3}])
def test_damaged_figures_are_refused(broken):
    truth, said, likely = random_answers(0)
    data = Figures.of(truth, said, ("a", "b", "c"), likely).to_dict()
    data = {**data, **broken} if broken else {}
    if broken == {"rows": 1}:
        data["accuracy"] = "high"
    with pytest.raises(ModelFileError, match="figures that cannot be read"):
        Figures.from_dict(data)


def test_the_area_of_a_constant_is_known():
    is_true = np.eye(2, dtype=bool)[[0, 1, 1, 0, 1]]
    assert area_under_curve(is_true, np.ones((5, 2))) == (0.5, 0.0)
