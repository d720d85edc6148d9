"""Inputs at boundaries are neighbours that the network tells apart."""

import numpy as np
import pytest

from bdnn.export.boundary import boundary_inputs
from bdnn.export.inputs import InputFormat
from tests.export.models import make_model


@pytest.mark.parametrize("kind", ["uint8", "double"])
@pytest.mark.parametrize("hidden", [(), (3,)])
def test_neighbours_differ_in_a_unit_or_the_class(kind, hidden):
    rng = np.random.default_rng(3)
    model = make_model(rng, hidden=hidden)
    ranges = ((0, 255),) * 4 if kind == "uint8" else ()
    inputs = InputFormat(kind, (1,) * 4, ranges)
    X = boundary_inputs(model.network, model.encoder, inputs, 200, rng)
    before, after = np.split(X, 2)
    assert len(before) > 50
    assert (np.count_nonzero(before != after, axis=1) == 1).all()
    largest = np.maximum(np.abs(before), np.abs(after)).max(axis=1)
    step = 1.0 if kind == "uint8" else np.spacing(largest)
    assert (np.abs(after - before).sum(axis=1) <= step).all()
    below, above = (inputs.scaled(side, model.encoder) for side in (before, after))
    units = (model.network.activations(below)[0] != model.network.activations(above)[0]).any(1)
    classes = model.network.predict(below) != model.network.predict(above)
    assert (units | classes).all()
    assert classes.any()
    if not hidden:
        assert (classes & ~units).any()
