import hashlib

import numpy as np
import pytest

from bdnn import datasets
from bdnn.errors import DataError


def test_breast_cancer_is_filled_with_four():
    data = datasets.load("breast-cancer")
    labels, counts = np.unique(data.y, return_counts=True)
    assert dict(zip(labels.tolist(), counts.tolist(), strict=True)) == {
        "benign": 458,
        "malignant": 241,
    }
    assert set(np.unique(data.X)) == set(range(1, 11))
    # Row 24 is the first of the 16 with a gap; 19 rows hold a 4 of their own.
    bare_nuclei = data.X[:, data.feature_names.index("bare_nuclei")]
    assert bare_nuclei[23] == 4
    assert np.count_nonzero(bare_nuclei == 4) == 19 + 16


def test_boston_housing_has_the_split_of_the_paper():
    data = datasets.load("boston-housing")
    assert np.count_nonzero(data.y == "low") == 256
    assert round(100 * np.mean(data.y == "low"), 1) == 50.6


def test_boston_housing_as_regression():
    data = datasets.load("boston-housing", target="medv")
    assert data.target_name == "medv"
    assert data.y[:3].tolist() == [24.0, 21.6, 34.7]
    classes = datasets.load("boston-housing").y
    assert ((data.y > 21.2) == (classes == "high")).all()


def test_boston_housing_unknown_target():
    with pytest.raises(DataError, match="must be 'class' or 'medv', got 'price'"):
        datasets.load("boston-housing", target="price")


def test_breast_cancer_is_the_file_of_the_authors():
    """The checksum was taken from the paper's own file, whose rows are in another order."""
    data = datasets.load("breast-cancer")
    rows = np.column_stack([data.X, data.y == "malignant"]).astype(int)
    text = "\n".join(sorted(";".join(map(str, row)) for row in rows.tolist()))
    assert (
        hashlib.sha256(text.encode()).hexdigest()
        == "32332e3df326cb516bb566dacca057c909204922b48cda8dcb4da8a859a532fe"
    )
