import numpy as np
import pytest

from bdnn.datasets import load
from bdnn.encoding import Column
from bdnn.evaluation.leaks import Leak, find_leaks

N = 90
RNG = np.random.default_rng(0)
LABELS = np.sort(RNG.integers(3, size=N))


def leaks(values, column=None, labels=LABELS):
    noise = RNG.normal(size=N).round(1)
    codes = np.column_stack([noise, values])
    return find_leaks(codes, (Column("noise"), column or Column("x")), labels)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        pytest.param(np.arange(N), "row", id="number of the row"),
        pytest.param(1e9 - 60.0 * np.arange(N), "row", id="falling times"),
        pytest.param(np.cumsum(RNG.random(N)), "row", id="rising numbers"),
        pytest.param(1000 + RNG.permutation(N), "row", id="shuffled names"),
        pytest.param(LABELS * 7, "class", id="the class in other words"),
        pytest.param(LABELS + RNG.random(N) / 2, "class", id="the class and noise"),
    ],
)
def test_columns_that_know_too_much(values, kind):
    assert leaks(values) == [Leak("x", kind)]


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(RNG.normal(size=N), id="noise"),
        pytest.param(LABELS + 1.5 * RNG.random(N), id="a good feature"),
        pytest.param(np.where(RNG.random(N) < 0.1, np.nan, np.arange(N)), id="gaps"),
        pytest.param(RNG.integers(0, 1000, N), id="whole numbers"),
        pytest.param(np.ones(N), id="constant"),
    ],
)
def test_others_are_left_alone(values):
    assert leaks(values) == []


def test_texts():
    three = Column("x", "category", ("a", "b", "c"))
    assert leaks(LABELS, three) == [Leak("x", "class")]
    assert leaks(np.where(np.arange(N) % 3 == 0, 0, -1), three) == [Leak("x", "name")]
    names = Column("x", "category", tuple(f"n{i:02}" for i in range(N)))
    assert leaks(np.arange(N), names) == []


def test_numbers_as_targets_and_few_rows():
    assert leaks(np.arange(N), labels=None) == [Leak("x", "row")]
    assert find_leaks(np.arange(10.0)[:, None], (Column("x"),), np.arange(10) % 2) == []


@pytest.mark.parametrize("name", ["breast-cancer", "iris", "digits"])
def test_known_tables_have_none(name):
    data = load(name)
    columns = tuple(map(Column, data.feature_names))
    labels = np.unique(data.y, return_inverse=True)[1]
    assert find_leaks(data.X, columns, labels) == []
