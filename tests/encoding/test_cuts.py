"""Cuts against plain Python: every cut is in its gap, and short."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn.encoding import Bit, Column, Encoder
from bdnn.encoding.learning import find_cuts, place_cuts

NUMBERS = st.floats(-1e100, 1e100) | st.integers(-50, 50).map(float)


@given(st.lists(NUMBERS, min_size=1, max_size=30), st.integers(1, 40))
def test_cuts_lie_in_different_gaps(values, most):
    cuts = find_cuts(np.array(values), most)
    distinct = sorted(set(values))
    assert len(cuts) <= most
    patterns = {tuple(v >= c for v in distinct) for c in cuts.tolist()}
    assert len(patterns) == len(cuts)
    assert not any(len(set(pattern)) < 2 for pattern in patterns)
    assert cuts.tolist() == sorted(cuts.tolist())
    if len(distinct) - 1 <= most:
        assert len(cuts) == len(distinct) - 1


@pytest.mark.parametrize(
    ("low", "high", "cut"),
    [(5.1, 5.2, 5.15), (0.0, 1.0, 0.5), (0.1, 0.9, 0.5), (119.0, 1200.5, 700.0), (-3.0, 0.5, -1.0)],
)
def test_cuts_are_short_decimals(low, high, cut):
    assert place_cuts(np.array([low]), np.array([high])).tolist() == [cut]


@pytest.mark.parametrize(("low", "high", "cut"), [(0, 1, 1), (41, 43, 42), (0, 3, 2), (-5, -2, -3)])
def test_cuts_of_whole_numbers_are_whole(low, high, cut):
    assert find_cuts(np.array([low, high, low]), 3).tolist() == [cut]


@given(NUMBERS, st.floats(1e-8, 1e3))
def test_no_shorter_decimal_is_in_the_middle(low, width):
    high = low + width * max(1.0, abs(low))
    (cut,) = place_cuts(np.array([low]), np.array([high])).tolist()
    assert low < cut <= high
    digits = Decimal(repr(cut)).normalize().as_tuple().exponent
    if not 1e-10 < abs(low) < 1e10:
        return
    coarser = Decimal(10) ** (digits + 2)
    third = (Decimal(high) - Decimal(low)) / 3
    nearest = ((Decimal(low) + Decimal(high)) / 2 / coarser).to_integral_value() * coarser
    assert abs(nearest - (Decimal(low) + Decimal(high)) / 2) > third / 2 - coarser


def test_wanted_cuts_move_within_their_gaps():
    values = np.arange(0.0, 100.0) * 10
    cuts = find_cuts(values, 2, wanted=np.array([14.0, 15.5, -5.0, 2000.0, 990.0]))
    for wanted in (14.0, 990.0):
        pattern = (values >= wanted).tolist()
        assert sum((values >= cut).tolist() == pattern for cut in cuts) == 1
    assert len(cuts) == 4


def test_weights_count_like_repetitions():
    rng = np.random.default_rng(0)
    values, weight = rng.normal(size=40), rng.integers(1, 5, 40)
    weighted = find_cuts(values, 5, weight.astype(float))
    assert weighted.tolist() == find_cuts(np.repeat(values, weight), 5).tolist()


def plain_inputs(encoder, row):
    """Bits of a row in plain Python."""
    found = []
    for bit in encoder.bits:
        column, code = encoder.columns[bit.column], row[bit.column]
        gap = code != code
        if bit.kind == "missing":
            found.append(float(gap))
            continue
        if gap and column.missing != "bit":
            code = column.values.index(column.fill) if column.values else column.fill
        if bit.kind == "ge":
            found.append(float(code >= bit.value))
        else:
            found.append(float(code >= 0 and column.values[int(code)] == bit.value))
    return found


@st.composite
def encoders(draw):
    columns, bits = [], []
    for j in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["number", "boolean", "category"]))
        missing = draw(st.sampled_from(["bit", "fill", "none"]))
        values = ("a", "b", "c") if kind == "category" else ()
        fill = draw(st.sampled_from(values) if values else st.floats(-3, 3))
        columns.append(Column(f"c{j}", kind, values, fill, missing))
        if kind == "category":
            bits += [Bit(j, "is", v) for v in sorted(draw(st.sets(st.sampled_from(values))))]
        else:
            cuts = draw(st.sets(st.integers(-3, 3).map(lambda v: v / 2)))
            bits += [Bit(j, "ge", cut) for cut in sorted(cuts)]
        if missing == "bit" and draw(st.booleans()):
            bits.append(Bit(j, "missing"))
    return Encoder(tuple(columns), (), tuple(bits))


@given(encoders(), st.data())
def test_transform_against_plain_python(encoder, data):
    cells = [
        st.sampled_from([-1.0, 0.0, 1.0, 2.0, np.nan])
        if column.kind == "category"
        else st.sampled_from([-1.5, -0.5, 0.0, 1.0, 1.25, np.nan])
        for column in encoder.columns
    ]
    rows = data.draw(st.lists(st.tuples(*cells), min_size=1, max_size=6))
    found = encoder.transform(np.array(rows))
    assert found.tolist() == [plain_inputs(encoder, row) for row in rows]
