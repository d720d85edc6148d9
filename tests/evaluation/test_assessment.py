import numpy as np
import pytest

from bdnn import BDNNClassifier
from bdnn.errors import ModelFileError
from bdnn.evaluation.assessment import Assessment, assess, by_shares
from bdnn.evaluation.doubts import find_doubts
from bdnn.evaluation.leaks import Leak


def drawn(n_rows=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3)).round(2)
    y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    return X, y


def fitted(X, y, hidden=(1,)):
    return BDNNClassifier(hidden=hidden, objective="loss", method="descent", random_state=0).fit(
        X, y
    )


def test_models_are_judged_by_their_own_rows():
    X, y = drawn()
    folds = np.arange(200) % 2
    parts = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(2)]
    models = [fitted(X[trained], y[trained]).model_ for trained, _ in parts]
    found = assess(models, parts, X, y)
    right = [(m.predict(X[rows]) == y[rows]) for m, (_, rows) in zip(models, parts, strict=True)]
    assert found.origin == "cross-validation"
    assert found.folds == 2
    assert found.figures.accuracy == np.concatenate(right).mean()
    assert found.is_right.tolist() == np.concatenate(right).tolist()
    assert found.rivals[0].name == "majority class"
    for rival in found.rivals:
        assert rival.lead == pytest.approx(found.figures.accuracy - rival.score)
        assert 0 < rival.lead_error < 0.1
    assert Assessment.from_dict(found.to_dict()) == found


def test_shares_of_the_learner():
    shares = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    found = by_shares(np.array([0, 1, 1]), shares, ("no", "yes"))
    assert found.score == 2 / 3
    assert found.rivals == ()


@pytest.mark.parametrize("broken", [{"rivals": [{}]}, {"figures": None}, {"more": 1}])
def test_damaged_ones_are_refused(broken):
    found = by_shares(np.array([0, 1]), np.eye(2), ("no", "yes"))
    with pytest.raises(ModelFileError, match="figures that cannot be read"):
        Assessment.from_dict({**found.to_dict(), **broken})


def judged(X, y, trained, rows, hidden=(1,)):
    parts = [(trained, rows)]
    found = assess([fitted(X[trained], y[trained], hidden).model_], parts, X, y)
    return found, parts


def test_doubts():
    X, y = drawn()
    found, parts = judged(X, y, np.arange(100), np.arange(100, 200))
    assert find_doubts(found, [], X, parts) == []
    (doubt,) = find_doubts(found, [Leak("id", "row")], X, parts)
    assert (doubt.kind, doubt.column) == ("leak", "id")


def test_noise_is_overfitted_and_no_better_than_the_majority():
    X, y = drawn(120)
    y = np.random.default_rng(0).choice(["no", "yes"], size=120, p=[0.7, 0.3])
    found, parts = judged(X, y, np.arange(40), np.arange(40, 120), hidden=(8,))
    kinds = [doubt.kind for doubt in find_doubts(found, [], X, parts)]
    assert kinds == ["overfitting", "majority"]
    weighted = find_doubts(found, [], X, parts, is_weighted=True)
    assert [doubt.kind for doubt in weighted] == ["overfitting"]


def test_equal_rows_on_both_sides():
    X, y = drawn(100)
    X[60:80], y[60:80] = X[:20], y[:20]
    found, parts = judged(X, y, np.arange(50), np.arange(50, 100))
    (doubt,) = find_doubts(found, [], X, parts)
    assert doubt.kind == "duplicates"
    without = found.is_right[np.r_[:10, 30:50]].mean()
    assert doubt.text.startswith("20 of 50 test rows are equal")
    assert f"{100 * without:.1f} %" in doubt.text


def test_rare_classes():
    X, y = drawn(400)
    y[:] = "usual"
    y[X[:, 2] > 1.8] = "rare"
    found, parts = judged(X, y, np.arange(200), np.arange(200, 400))
    doubts = find_doubts(found, [], X, parts)
    assert "imbalance" in [doubt.kind for doubt in doubts]
