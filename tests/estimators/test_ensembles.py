"""scikit-learn's ensembles and meta-estimators around the classifier."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    learning_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.tree import DecisionTreeClassifier

from bdnn import BDNNClassifier, Inputs, Limits

FOLDS = StratifiedKFold(2)


def blobs(n_classes=3, n_samples=30):
    rng = np.random.default_rng(0)
    labels = np.arange(n_samples) % n_classes
    centres = np.array([[0.0, 0.0, 0.0], [6.0, 0.0, 3.0], [0.0, 6.0, -3.0]])
    return centres[labels] + rng.normal(size=(n_samples, 3)), np.array(["x", "y", "z"])[labels]


def small(**options):
    defaults = {
        "hidden": (3,),
        "method": "descent",
        "random_state": 0,
        "limits": Limits(seconds=60.0),
    }
    return BDNNClassifier(**{**defaults, **options})


def voters():
    return [("net", small()), ("tree", DecisionTreeClassifier(max_depth=3, random_state=0))]


META = {
    "one against one": lambda: OneVsOneClassifier(small()),
    "one against the rest": lambda: OneVsRestClassifier(small()),
    "output code": lambda: OutputCodeClassifier(small(), code_size=2, random_state=0),
    "bagging": lambda: BaggingClassifier(small(), n_estimators=3, max_samples=0.8, random_state=0),
    "bagging of features": lambda: BaggingClassifier(
        small(), n_estimators=3, max_features=2, random_state=0
    ),
    "voting": lambda: VotingClassifier(voters()),
    "voting by probability": lambda: VotingClassifier(
        [("net", CalibratedClassifierCV(small(), cv=2)), *voters()[1:]], voting="soft"
    ),
    "stacking": lambda: StackingClassifier(voters(), LogisticRegression(), cv=FOLDS),
    "boosting": lambda: AdaBoostClassifier(small(), n_estimators=2, random_state=0),
    "calibration": lambda: CalibratedClassifierCV(small(), cv=2),
    "isotonic calibration": lambda: CalibratedClassifierCV(small(), cv=2, method="isotonic"),
    "grid search": lambda: GridSearchCV(small(), {"hidden": [(2,), (3,)]}, cv=FOLDS),
    "pipeline": lambda: make_pipeline(
        MinMaxScaler(), SelectKBest(k=2), small(inputs=Inputs(scale=None))
    ),
}


@pytest.mark.parametrize("name", META)
def test_meta_estimators(name):
    X, y = blobs()
    model = META[name]()
    assert clone(model).fit(X, y).score(X, y) >= 0.9


def test_probabilities_after_calibration():
    X, y = blobs()
    found = CalibratedClassifierCV(small(), cv=2).fit(X, y).predict_proba(X)
    assert found.shape == (30, 3)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_votes_are_counted():
    X, y = blobs()
    model = OneVsOneClassifier(small()).fit(X, y)
    assert [len(part.classes_) for part in model.estimators_] == [2, 2, 2]
    votes = model.decision_function(X)
    assert votes.shape == (30, 3)
    assert (np.argmax(votes, axis=1) == np.searchsorted(model.classes_, model.predict(X))).all()


def test_scores_of_folds_are_reproducible_in_processes():
    X, y = blobs()
    one, two = (cross_val_score(small(), X, y, cv=FOLDS, n_jobs=n) for n in (1, 2))
    assert one.tolist() == two.tolist()
    assert one.min() > 0.8
    assert cross_val_predict(small(), X, y, cv=FOLDS, method="decision_function").shape == (30, 3)


def test_parts_of_the_samples_one_after_the_other():
    X, y = blobs()
    sizes, _, scores = learning_curve(
        small(method="exact"),
        X,
        y,
        cv=FOLDS,
        train_sizes=[6, 15],
        exploit_incremental_learning=True,
    )
    assert sizes.tolist() == [6, 15]
    assert scores[-1].min() >= 0.8
    model = MultiOutputClassifier(small(method="exact"))
    model.partial_fit(X[:6], np.column_stack([y, y])[:6], classes=[np.unique(y)] * 2)
    assert model.predict(X).shape == (30, 2)
    rest = OneVsRestClassifier(small(method="exact"))
    rest.partial_fit(X[:6], y[:6], classes=np.unique(y)).partial_fit(X[6:], y[6:])
    assert rest.score(X, y) >= 0.8
