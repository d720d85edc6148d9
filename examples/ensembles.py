"""Ensembles of scikit-learn around the classifier: votes, bagging, calibrated probabilities."""

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsOneClassifier

import bdnn


def network(width, **options):
    """A small network of ternary weights, trained by the search alone."""
    defaults = {"method": "descent", "limits": bdnn.Limits(seconds=2), "random_state": 0}
    return bdnn.BDNNClassifier(hidden=(width,), **{**defaults, **options})


# One network for every pair of four digits, each of which votes, beside one network for all.
digits = bdnn.datasets.load("digits")
few = np.isin(digits.y, np.unique(digits.y)[[3, 5, 8, 9]])
split = train_test_split(digits.X[few], digits.y[few], test_size=0.5, random_state=0)
X, X_test, y, y_test = split
alone = network(12).fit(X, y)
votes = OneVsOneClassifier(network(12, limits=bdnn.Limits(seconds=1))).fit(X, y)
print(f"digits 3, 5, 8, 9: one network of 12 units {alone.score(X_test, y_test):.3f}")
print(f"  votes of {len(votes.estimators_)} such networks {votes.score(X_test, y_test):.3f}")

# The same architecture, trained on samples drawn with repetition.
housing = bdnn.datasets.load("boston-housing")
X, X_test, y, y_test = train_test_split(housing.X, housing.y, test_size=0.5, random_state=0)
alone = network(10).fit(X, y)
bagged = BaggingClassifier(
    network(10, limits=bdnn.Limits(seconds=1)), n_estimators=7, random_state=0
).fit(X, y)
print(f"boston-housing: one network {alone.score(X_test, y_test):.3f}")
print(f"  bagging of {len(bagged.estimators_)} networks {bagged.score(X_test, y_test):.3f}")

# Scores are no probabilities; calibration makes some of them.
cancer = bdnn.datasets.load("breast-cancer")
X, X_test, y, y_test = train_test_split(cancer.X, cancer.y, test_size=0.5, random_state=0)
calibrated = CalibratedClassifierCV(network(5, limits=bdnn.Limits(seconds=1)), cv=3).fit(X, y)
probability = calibrated.predict_proba(X_test)[:, 1]
malignant = y_test == calibrated.classes_[1]
print(f"breast-cancer, calibrated: accuracy {calibrated.score(X_test, y_test):.3f}")
score = brier_score_loss(malignant, probability)
frequency = brier_score_loss(malignant, np.full(len(malignant), malignant.mean()))
print(f"  Brier score {score:.3f}, of the class frequency alone {frequency:.3f}")
