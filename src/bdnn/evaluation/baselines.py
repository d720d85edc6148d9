"""What else could be used: plain models of scikit-learn on the same raw columns."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from bdnn.encoding import Column, Encoder, Inputs
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.architecture import WeightSet

# Leaves of the small tree, and trees of the forest.
LEAVES, TREES = 8, 100
# Rows that they learn from at most; more change little and take long.
MOST_ROWS = 20_000
# What a device would store: a float per coefficient, and per node of a tree a feature, a limit and
# a child, or a class.
_COEFFICIENT, _NODE = 4, 8
# Trees compare single floats.
_LARGEST = 1e30


@dataclass(frozen=True, eq=False)
class Baseline:
    """A fitted model.

    Parameters
    ----------
    name : str
    model : estimator of scikit-learn
    encoder : Encoder
        Texts become 0/1 columns and gaps are filled.
    has_gaps : array of bool
        Columns with gaps, each of which has one more input that says so.
    n_classes : int
        0 where a number is predicted.
    """

    name: str
    model: Any
    encoder: Encoder
    has_gaps: BoolArray
    n_classes: int

    def inputs(self, codes: FloatArray) -> FloatArray:
        """What the model is given for codes of raw columns."""
        known = np.nan_to_num(self.encoder.transform(codes)).clip(-_LARGEST, _LARGEST)
        return np.hstack([known, np.isnan(codes[:, self.has_gaps])])

    def probabilities(self, codes: FloatArray) -> FloatArray:
        """Of all classes, 0 for one that was not learnt."""
        found = np.zeros((len(codes), self.n_classes))
        found[:, self.model.classes_] = self.model.predict_proba(self.inputs(codes))
        return found

    def predict(self, codes: FloatArray) -> NDArray[Any]:
        """Numbers of classes, or numbers."""
        return np.asarray(self.model.predict(self.inputs(codes)))

    @property
    def bytes(self) -> int:
        """Of its tables on a device, about."""
        last = self.model[-1] if hasattr(self.model, "steps") else self.model
        if hasattr(last, "coef_"):
            return _COEFFICIENT * (int(np.size(last.coef_)) + int(np.size(last.intercept_)))
        trees = getattr(last, "estimators_", [last] if hasattr(last, "tree_") else [])
        return _NODE * sum(int(tree.tree_.node_count) for tree in trees) or 1


def fit_baselines(
    codes: FloatArray,
    columns: Sequence[Column],
    target: NDArray[Any],
    *,
    n_classes: int,
    class_weight: str | None = None,
    seed: int = 0,
    n_jobs: int = 1,
) -> list[Baseline]:
    """Train the majority, a linear model, a small tree and a forest.

    Parameters
    ----------
    codes : array of shape (n_rows, n_columns)
    columns : sequence of Column
    target : array of shape (n_rows,)
        Numbers of classes, or numbers.
    n_classes : int
        0 where a number is predicted.
    class_weight : {"balanced"} or None
    seed, n_jobs : int
    """
    if len(codes) > MOST_ROWS:
        rows = np.random.default_rng(seed).permutation(len(codes))[:MOST_ROWS]
        codes, target = codes[rows], target[rows]
    plain = Inputs("scaled", scale=None)
    encoder = Encoder.learn(codes, columns, plain, weights=WeightSet.parse("ternary"))
    has_gaps: BoolArray = np.isnan(codes).any(axis=0)  # type: ignore[assignment]
    found = []
    with threadpool_limits(max(1, n_jobs)), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        kinds = _classifiers if n_classes else _regressors
        for name, model in kinds(class_weight, seed, n_jobs).items():
            baseline = Baseline(name, model, encoder, has_gaps, n_classes)
            model.fit(baseline.inputs(codes), target)
            found.append(baseline)
    return found


def _classifiers(class_weight: str | None, seed: int, n_jobs: int) -> dict[str, Any]:
    weighted: dict[str, Any] = {"class_weight": class_weight}
    linear = LogisticRegression(max_iter=200, **weighted)
    seeded: dict[str, Any] = {**weighted, "random_state": seed}
    return {
        "majority class": DummyClassifier(strategy="most_frequent"),
        "logistic regression": make_pipeline(StandardScaler(), linear),
        f"tree of {LEAVES} leaves": DecisionTreeClassifier(max_leaf_nodes=LEAVES, **seeded),
        f"forest of {TREES} trees": RandomForestClassifier(TREES, n_jobs=n_jobs, **seeded),
    }


def _regressors(class_weight: str | None, seed: int, n_jobs: int) -> dict[str, Any]:
    del class_weight
    tree = DecisionTreeRegressor(max_leaf_nodes=LEAVES, random_state=seed)
    return {
        "mean": DummyRegressor(),
        "ridge regression": make_pipeline(StandardScaler(), Ridge()),
        f"tree of {LEAVES} leaves": tree,
        f"forest of {TREES} trees": RandomForestRegressor(TREES, n_jobs=n_jobs, random_state=seed),
    }
