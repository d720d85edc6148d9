import subprocess
import sys

import numpy as np
import pytest

from bdnn import datasets
from bdnn.errors import DataError

OFFLINE = [name for name in datasets.names() if name != "credit-default"]


@pytest.mark.parametrize("name", OFFLINE)
def test_data_are_as_the_record_says(name):
    record = datasets.DATASETS[name]
    data = datasets.load(name)
    assert data.name == name
    assert data.X.shape == (record.rows, record.attributes)
    assert data.X.dtype == float
    assert np.isfinite(data.X).all()
    assert data.y.shape == (record.rows,)
    assert len(np.unique(data.y)) == record.classes
    assert len(set(data.feature_names)) == record.attributes
    assert data.description
    assert record.is_offline()


def test_all_six_are_listed_with_source_and_licence():
    records = datasets.describe()
    assert [record["name"] for record in records] == list(datasets.names())
    assert len(records) == 6
    for record in records:
        assert record["source"]
        assert record["licence"]


def test_unknown_name():
    with pytest.raises(DataError, match=r"'wine' is no built-in data set: choose one of breast"):
        datasets.load("wine")


def test_import_is_cheap():
    code = (
        "import sys, bdnn.datasets; print([m for m in ('sklearn', 'pandas') if m in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert printed.stdout.strip() == "[]", printed.stderr
