import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn.datasets.holdout import split_holdout
from bdnn.errors import ModelError


@given(
    counts=st.lists(st.integers(1, 40), min_size=2, max_size=4),
    share=st.floats(0, 0.99),
    seed=st.integers(0, 5),
)
def test_every_class_gives_its_share(counts, share, seed):
    y = np.repeat(np.arange(len(counts)), counts)
    train, test = split_holdout(y, share, seed)
    assert sorted([*train, *test]) == list(range(len(y)))
    for label, count in enumerate(counts):
        n_test = np.count_nonzero(y[test] == label)
        assert n_test == min(round(share * count), count - 1)
    again, _ = split_holdout(y, share, seed)
    assert (train == again).all()


def test_seed_decides():
    y = np.repeat([0, 1], 50)
    assert (split_holdout(y, 0.2, 0)[1] != split_holdout(y, 0.2, 1)[1]).any()


def test_no_test():
    train, test = split_holdout(np.array(["a", "b"]), 0.0, 0)
    assert len(train) == 2
    assert len(test) == 0


@pytest.mark.parametrize("share", [-0.1, 1.0, 2, float("nan")])
def test_bad_share(share):
    with pytest.raises(ModelError, match="at least 0 and less than 1"):
        split_holdout(np.array([0, 1]), share, 0)
