"""Balls in exact arithmetic: what a radius means, against the doubles around every sample."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from bdnn.checker import check_model, read_model
from bdnn.checker.guarantee import Ball, Guarantee
from bdnn.model import Model
from bdnn.model_file import ModelRecord, write_model
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.robustness import PerturbationSet
from bdnn.robustness.certify import certify
from tests.checker.models import samples_of
from tests.encoding.encoders import make_encoder
from tests.export.models import level_model
from tests.grids import in_turn
from tests.robustness.cases import NORMS, WEIGHTS, random_network, random_scaler


def saved(network, scaler, path, promises=(), data=None):
    classes = tuple(range(network.architecture.n_outputs))
    result = {"loss": 0, "bound": 0, "error": 0, "status": "feasible"}
    certificate = {"promises": list(promises)}
    model = Model(scaler, network, classes)
    write_model(ModelRecord(model, result=result, certificate=certificate), path)
    return read_model(path)


def verdict_of(network, scaler, path, x, radius, norm="linf", space="scaled"):
    """What the checker says of one radius around one raw input."""
    promise = {"kind": "radius", "radius": radius, "norm": norm, "space": space}
    model = saved(network, scaler, path, [promise])
    label = int(network.predict(scaler.transform(np.array([x])))[0])
    claims = check_model(model, samples_of(model, [x], [label], None))
    return {claim.name: claim.verdict for claim in claims}["promise radius"]


def one_threshold(threshold):
    """Class 1 from a threshold on, in one dimension."""
    shape = Architecture.create(1, 2, hidden=(), weights="ternary")
    return Network(shape, (np.array([[0.0], [1.0]]),), (np.array([2.0**-7, threshold]),))


GRID = make_encoder(np.array([0.0]), np.array([1.0]), 2.0**-6)


@pytest.mark.parametrize(
    ("x", "threshold", "first"),
    [
        # Out of the cell 6 / 64, above its middle and below it. Its ends 5.5 / 64 and 6.5 / 64
        # belong to it, since it is an even one.
        (0.1, 7 / 64, math.nextafter(13 / 128, 1)),
        (0.09, 7 / 64, math.nextafter(13 / 128, 1)),
        (0.1, 6 / 64, math.nextafter(11 / 128, 0)),
        (0.09, 6 / 64, math.nextafter(11 / 128, 0)),
    ],
)
def test_scaled_radii_are_measured_from_the_raw_row(tmp_path, x, threshold, first):
    """Judged from the grid point 6 / 64 they were wrong both ways."""
    network = one_threshold(threshold)
    least = abs(Fraction(first) - Fraction(x))
    below = f"{least.numerator * 2**80 - least.denominator}/{least.denominator * 2**80}"
    exactly = f"{least.numerator}/{least.denominator}"
    path = tmp_path / "model.json"
    assert verdict_of(network, GRID, path, [x], below) == "proven"
    assert verdict_of(network, GRID, path, [x], exactly) == "false"
    near, far = float(least) * (1 - 1e-9), float(least) * (1 + 1e-9)
    assert verdict_of(network, GRID, path, [x], near) == "proven"
    assert verdict_of(network, GRID, path, [x], far) == "false"


def test_factor_and_shift_are_exact(tmp_path):
    """A scaled radius divided by the factor is a raw one."""
    scaler = make_encoder(np.array([0.3]), np.array([0.7]), 2.0**-6)
    network = one_threshold(7 / 64)
    x = 0.3 + 0.1 / 0.7
    first = next_change(scaler, x, 7)
    move = Fraction(first) - Fraction(x)
    for radius, space in ((move * Fraction(0.7), "scaled"), (move, "raw")):
        for share, verdict in ((1, "false"), (Fraction(2**90 - 1, 2**90), "proven")):
            text = f"{(radius * share).numerator}/{(radius * share).denominator}"
            found = verdict_of(network, scaler, tmp_path / "m.json", [x], text, space=space)
            assert found == verdict


def next_change(scaler, x, cell):
    """The first double from x upwards that is rounded to a cell or beyond, by bisection."""
    low, high = x, x + 10.0
    while math.nextafter(low, math.inf) < high:
        middle = (low + high) / 2
        middle = middle if low < middle < high else math.nextafter(low, math.inf)
        if scaler.transform([[middle]])[0, 0] >= cell * scaler.step:
            high = middle
        else:
            low = middle
    return high


def nearest(network, scaler, x, norm, units):
    """Exact (for l2: squared) distance of the nearest double vector of another class, in a window.

    Every feature moves to the nearest double of each of the cells around it.
    """
    own = network.predict(scaler.transform([x]))[0]
    options = []
    for j, value in enumerate(x):
        alone = make_encoder(scaler.shift[[j]], scaler.factor[[j]], scaler.step)
        mirrored = make_encoder(-scaler.shift[[j]], scaler.factor[[j]], scaler.step)
        now = round(alone.transform([[value]])[0, 0] / scaler.step)
        weight = Fraction(scaler.factor[j]) if units == "scaled" else Fraction(1)
        cells = [(now * scaler.step, Fraction(0))]
        for k in range(1, 9):
            up = Fraction(next_change(alone, value, now + k)) - Fraction(value)
            down = Fraction(next_change(mirrored, -value, k - now)) - Fraction(-value)
            cells += [
                ((now + k) * scaler.step, up * weight),
                ((now - k) * scaler.step, down * weight),
            ]
        options.append(cells)
    points = list(product(*options))
    changed = network.predict(np.array([[z for z, _ in point] for point in points])) != own
    length = {"linf": max, "l1": sum, "l2": lambda moves: sum(m * m for m in moves)}[norm]
    lengths = [
        length([m for _, m in p]) for p, is_other in zip(points, changed, strict=True) if is_other
    ]
    return own, min(lengths, default=None)


@pytest.mark.parametrize(("norm", "units"), in_turn(NORMS, ["scaled", "raw"]))
def test_random_models_against_the_edges_of_cells(tmp_path, norm, units):
    decided = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        n_features = int(rng.integers(1, 3))
        network = random_network(rng, n_features, str(rng.choice(WEIGHTS)))
        scaler = random_scaler(rng, n_features)
        model = saved(network, scaler, tmp_path / "model.json")
        x = tuple((scaler.shift + rng.random(n_features) / scaler.factor).tolist())
        own, least = nearest(network, scaler, x, norm, units)
        if least is None or not least:
            continue
        if norm == "l2":
            root = Fraction(math.sqrt(least))
            beyond, within = root * Fraction(2**40 + 1, 2**40), root * Fraction(2**40 - 1, 2**40)
        else:
            beyond, within = least, least * Fraction(2**90 - 1, 2**90)
        assert not Guarantee(model, Ball(beyond, norm, units)).holds(x, own)
        inside = Guarantee(model, Ball(within, norm, units))
        assert inside.counter_example(x, own) is None
        outside = Guarantee(model, Ball(beyond, norm, units))
        found = outside.counter_example(x, own)
        if found is not None:
            assert network.predict(scaler.transform([found]))[0] != own
        decided += inside.holds(x, own) and found is not None
        if norm != "l2":
            still = Guarantee(model, Ball(least, norm, units, closed=False))
            assert still.holds(x, own) == inside.holds(x, own)
    assert decided >= (10 if norm == "linf" else 2)


@pytest.mark.parametrize("norm", NORMS)
def test_what_certify_guarantees_is_proven(tmp_path, norm):
    """Radii of the package's bounds, as promises of a file."""
    rng = np.random.default_rng(0)
    for seed in range(20):
        if seed % 2:
            model = level_model(rng)
            network, scaler = model.network, model.encoder
        else:
            network = random_network(rng, 3, str(rng.choice(WEIGHTS)))
            scaler = random_scaler(rng, 3, step=2.0**-6)
        n_features = network.architecture.n_features
        X = scaler.shift + rng.random((3, n_features)) / scaler.factor
        units = "raw" if seed % 3 else "scaled"
        radii = certify(
            PerturbationSet.create(Model(scaler, network), X, norm=norm, units=units)
        ).radii
        labels = network.predict(scaler.transform(X))
        promises = [
            {"kind": "radius", "radius": min(r, 1e9), "norm": norm, "space": units, "rows": f"{i}"}
            for i, r in enumerate(radii.tolist(), start=1)
        ]
        model = saved(network, scaler, tmp_path / "model.json", promises)
        claims = check_model(model, samples_of(model, X, labels, None))
        assert {c.verdict for c in claims if c.name == "promise radius"} == {"proven"}


def test_balls_end_where_models_have_answers(tmp_path):
    """Beyond 1e100 no input is taken, however large the radius."""
    network = one_threshold(2.0**29)
    scaler = make_encoder(np.array([0.0]), np.array([1e-92]), 2.0**-6)
    path = tmp_path / "model.json"
    assert verdict_of(network, scaler, path, [0.0], 1e300, space="raw") == "proven"
    wider = make_encoder(np.array([0.0]), np.array([1e-91]), 2.0**-6)
    assert verdict_of(network, wider, path, [0.0], 1e300, space="raw") == "false"
