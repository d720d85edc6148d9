"""Learning for the worst case: what an estimator promises of balls around rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bdnn import BDNNClassifier, Inputs, Limits, Robust, load
from bdnn.checker import check_model, read_model
from bdnn.errors import ModelError
from tests.checker.models import samples_of
from tests.grids import long

LIMITS = Limits(seconds=600)


def noisy_table(n_rows: int = 90, n_classes: int = 2, seed: int = 0) -> tuple[np.ndarray, ...]:
    """One column that tells the classes apart with room to spare, and four of noise."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=n_rows)
    X = rng.random((n_rows, 5))
    X[:, 2] = labels + 0.1 * rng.random(n_rows)
    return X, labels


@pytest.mark.parametrize("norm", ["linf", *long("l1", "l2")])
def test_the_loss_is_what_certify_says(norm: str) -> None:
    X, y = noisy_table(n_classes=3)
    X[::7, 2] += 0.8
    model = BDNNClassifier(robust=Robust(0.3, norm, units="raw"), limits=LIMITS, random_state=0)
    model.fit(X, y)
    found = model.certify(X, y, radius=0.3, norm=norm, units="raw")
    assert found.accuracy == pytest.approx(1.0 - model.result_.loss / len(y))
    assert found.accuracy > 0.8
    assert model.result_.held_out.is_worst_case
    assert model.result_.held_out.chosen in {c.name for c in model.result_.held_out.candidates}


def test_columns_have_radii_of_their_own() -> None:
    X, y = noisy_table()
    X[:, 0] = y + 0.05 * X[:, 0]  # tells the classes apart, too, but moves by all of that
    lengths = {0: 1.0, 2: 0.3}
    model = BDNNClassifier(robust=Robust(1.0, units=lengths), limits=LIMITS, random_state=0)
    assert model.fit(X, y).result_.loss == 0
    assert model.certify(X, y, radius=1.0, units=lengths).accuracy == 1.0


def test_texts_and_gaps_stay_what_they_are() -> None:
    rng = np.random.default_rng(0)
    kind = rng.choice(["oak", "elm"], 80)
    size = rng.random(80)
    table = np.array(list(zip(kind, size, strict=True)), dtype=object)
    table[rng.random(80) < 0.2, 1] = None
    y = kind == "oak"
    model = BDNNClassifier(robust=Robust(3.0), limits=LIMITS, random_state=0).fit(table, y)
    assert model.result_.loss == 0
    assert model.certify(table, y, radius=3.0).accuracy == 1.0


def test_the_file_is_checked_again(tmp_path: Path) -> None:
    X, y = noisy_table()
    X[::9, 2] = 0.6
    model = BDNNClassifier(robust=Robust(0.3), limits=LIMITS, random_state=0).fit(X, y)
    path = tmp_path / "model.json"
    model.save(path)
    again = load(path)
    assert again.result_.held_out.is_worst_case
    assert (again.predict(X) == model.predict(X)).all()
    record = read_model(path)
    claims = {claim.name: claim for claim in check_model(record, samples_of(record, X, y, None))}
    assert claims["loss"].verdict == "proven"
    assert "false" not in {claim.verdict for claim in claims.values()}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_no_class_alone_where_one_column_is_better() -> None:
    """A shape on many numbers, of which one is worth something, and hardly any time."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=120)
    X = rng.random((120, 30))
    X[:, 7] = y + 0.1 * X[:, 7]
    limits = Limits(seconds=0.5)
    model = BDNNClassifier(
        hidden=(4,), robust=Robust(0.3), inputs=Inputs(scale="minmax"), limits=limits
    )
    model.fit(X, y)
    assert model.result_.loss < 10 < min(np.bincount(y))


def test_what_cannot_be_is_refused() -> None:
    X, y = noisy_table()
    with pytest.raises(ModelError, match="chooses how to train by itself"):
        BDNNClassifier(hidden=(3,), objective="accuracy", robust=Robust(0.1)).fit(X, y)
    with pytest.raises(ModelError, match="units are for loss 'certified'"):
        Robust(0.1, loss="average", units="raw")
