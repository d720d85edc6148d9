"""What is said of single rows belongs to them in every fold of a cross-validation."""

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    cross_val_score,
    cross_validate,
)

from bdnn import BDNNClassifier, Robust
from bdnn.constraints import DemographicParity, Sparsity
from bdnn.errors import DataError

FOLDS = KFold(3, shuffle=True, random_state=0)


def small(**options):
    # One unit is wrong on many rows that are not asked for.
    defaults = {"hidden": (1,), "method": "exact", "random_state": 0}
    return BDNNClassifier(**{**defaults, **options})


@pytest.fixture(scope="module")
def data():
    """Noise, and two rows that nobody gets right without being asked."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.integers(0, 2, 30)
    wrong = small().fit(X, y).predict(X) != y
    assert wrong.sum() >= 2
    return X, y, wrong & (np.cumsum(wrong) <= 2)


def test_rows_that_must_be_right_stay_themselves_in_cross_validation(data):
    X, y, must = data
    options = {"cv": FOLDS, "error_score": "raise", "params": {"must": must}}
    found = cross_validate(small(), X, y, return_estimator=True, **options)
    for model, (train, _) in zip(found["estimator"], FOLDS.split(X), strict=True):
        part = train[must[train]]
        assert len(part)
        assert (model.predict(X[part]) == y[part]).all()
    assert cross_val_score(small(), X, y, **options).tolist() == found["test_score"].tolist()


def test_radii_of_rows_are_cut_with_them(data):
    X, y, _ = data
    radius = np.linspace(0.0, 0.4, 30)
    options = {"cv": FOLDS, "error_score": "raise", "params": {"radius": radius}}
    model = small(robust=Robust(loss="pattern"))
    found = cross_validate(model, X, y, return_estimator=True, **options)
    for fold, (train, _) in zip(found["estimator"], FOLDS.split(X), strict=True):
        assert fold._certificate["robust"]["radius"] == radius[train].tolist()


def test_a_grid_search_hands_rows_on(data):
    X, y, must = data
    grid = {"constraints": [(), [Sparsity(per_unit=1)]]}
    search = GridSearchCV(small(), grid, cv=FOLDS, error_score="raise").fit(X, y, must=must)
    assert (search.predict(X[must]) == y[must]).all()


def shares_differ(model, X, group):
    said = model.predict(X) == 1
    return abs(said[group == 0].mean() - said[group == 1].mean())


def test_groups_are_routed_to_splitter_and_estimator(data):
    """A grid search takes groups for its splitter unless metadata are routed."""
    X, y, must = data
    group = np.arange(30) % 2
    fair = small(constraints=[DemographicParity(None, 0.1)])
    found = cross_validate(
        fair, X, y, cv=FOLDS, params={"groups": group}, return_estimator=True, error_score="raise"
    )
    for model, (train, _) in zip(found["estimator"], FOLDS.split(X), strict=True):
        assert shares_differ(model, X[train], group[train]) <= 0.1
    search = GridSearchCV(fair, {"hidden": [(1,)]}, cv=FOLDS, error_score="raise")
    with (
        pytest.warns(UserWarning, match="ignored by KFold"),
        pytest.raises(DataError, match="give groups to fit"),
    ):
        search.fit(X, y, groups=group)
    with sklearn.config_context(enable_metadata_routing=True):
        fair.set_fit_request(groups=True)
        plain = GridSearchCV(fair, {"hidden": [(1,), (2,)]}, cv=FOLDS, error_score="raise")
        assert shares_differ(plain.fit(X, y, groups=group), X, group) <= 0.1
        fifths = np.arange(30) % 5
        grouped = GridSearchCV(
            small().set_fit_request(must=True, groups=False), {"hidden": [(1,)]}, cv=GroupKFold(5)
        )
        assert grouped.fit(X, y, groups=fifths, must=must).n_splits_ == 5


def test_what_must_be_right_is_not_held_out(data):
    X, y, must = data
    model = small(method="data_splitting", validation_fraction=0.4).fit(X, y, must=must)
    assert not model._memory.samples.held_out[must].any()
    assert (model.predict(X[must]) == y[must]).all()
