from __future__ import annotations

import pytest

from bdnn.mip import Reductions
from bdnn.network.architecture import Architecture

ALL, NONE = Reductions(), Reductions.none()


@pytest.mark.parametrize(
    ("n_outputs", "thresholds", "hidden", "one_output", "signed"),
    [
        (2, "neuron", (3,), True, True),
        (2, "neuron", (3, 3), True, True),
        (2, "neuron", (), True, False),
        (2, "layer", (3,), False, False),
        (2, "zero", (3,), False, False),
        (3, "neuron", (3,), False, False),
        (1, "neuron", (3,), False, False),
        (3, "zero", (), False, False),
    ],
)
def test_where_reductions_are_valid(n_outputs, thresholds, hidden, one_output, signed):
    shape = Architecture.create(4, n_outputs, thresholds=thresholds, hidden=hidden)
    valid = ALL.valid_for(shape)
    assert valid == Reductions(one_output=one_output, signed=signed)
    assert NONE.valid_for(shape) == NONE


def test_signed_outputs_need_one_output():
    shape = Architecture.create(4, 2, hidden=(3,))
    assert not Reductions(one_output=False).valid_for(shape).signed
    assert Reductions(signed=False).valid_for(shape) == Reductions(signed=False)


def test_none_switches_everything_off():
    assert Reductions(merge=False, one_output=False, one_sided=False, signed=False) == NONE
