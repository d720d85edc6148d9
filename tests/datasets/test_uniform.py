import numpy as np
import pytest

from bdnn import datasets
from bdnn.errors import DataError


def test_three_kinds_take_turns():
    data = datasets.load("uniform", n_samples=90, n_features=5)
    first, second, third = (data.X[start::3] for start in range(3))
    assert first.min() >= 0
    assert 9 < first.max() <= 10
    assert second.max() <= 0
    assert -10 <= second.min() < -9
    assert np.abs(third).max() <= 1
    assert (data.y[0::3] == 1).all()
    assert (data.y[1::3] == 0).all()
    assert set(data.y[2::3].tolist()) == {0, 1}


def test_seed_decides():
    one, again, other = (datasets.load("uniform", random_state=seed) for seed in (3, 3, 4))
    assert (one.X == again.X).all()
    assert (one.y == again.y).all()
    assert (one.X != other.X).any()


@pytest.mark.parametrize("options", [{"n_samples": 0}, {"n_features": -1}, {"n_samples": 2.5}])
def test_bad_sizes(options):
    with pytest.raises(DataError, match="whole number of at least 1"):
        datasets.load("uniform", **options)
