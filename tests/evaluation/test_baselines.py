import numpy as np
import pytest

from bdnn.encoding import Column
from bdnn.evaluation.baselines import fit_baselines

COLUMNS = (Column("size"), Column("color", "category", ("blue", "red")))


def drawn(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.normal(size=n_rows), rng.integers(-1, 2, n_rows)])
    labels = ((codes[:, 0] > 0) ^ (codes[:, 1] == 1)).astype(int)
    codes[::9, 0] = np.nan
    codes[::11, 1] = np.nan
    return codes, labels


def test_texts_and_gaps_are_taken():
    codes, labels = drawn(300)
    found = fit_baselines(codes[:200], COLUMNS, labels[:200], n_classes=2)
    assert [each.name for each in found] == [
        *("majority class", "logistic regression", "tree of 8 leaves", "forest of 100 trees"),
    ]
    right = [(each.predict(codes[200:]) == labels[200:]).mean() for each in found]
    assert right[2] > 0.75
    assert right[2] > right[0]
    for each in found:
        shares = each.probabilities(codes[200:])
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        assert each.bytes > 0
    assert found[3].bytes > found[2].bytes


def test_a_class_that_was_not_learnt_has_no_chance():
    codes, labels = drawn(100)
    found = fit_baselines(codes, COLUMNS, 2 * labels, n_classes=3)
    assert all((each.probabilities(codes)[:, 1] == 0).all() for each in found)


def test_numbers_and_extremes():
    codes, labels = drawn(100)
    codes[0, 0] = 1e99
    found = fit_baselines(codes, COLUMNS, labels * 1.5, n_classes=0)
    assert found[0].predict(codes)[3] == pytest.approx(1.5 * labels.mean())
