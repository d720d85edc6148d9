"""Rules say what the model says, in raw units."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from bdnn.encoding import Bit, Column, Encoder, Number
from bdnn.errors import ModelError
from bdnn.export.rules import is_small, make_rules, to_rules
from bdnn.export.simplified import simplify
from bdnn.model import Model
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from tests.encoding.encoders import make_encoder
from tests.export.models import make_model

COLUMNS = (
    Column("age"),
    Column("dose"),
    Column("ok", "boolean"),
    Column("job", "category", ("cook", "nurse")),
)
BITS = (
    *(Bit(0, "ge", c) for c in (10.0, 20.0, 30.5)),
    *(Bit(1, "ge", c) for c in (-1.0, 2.0)),
    Bit(2, "ge", 1.0),
    *(Bit(3, "is", text) for text in ("cook", "nurse")),
)


def rows(count=300, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [
            rng.choice([0, 9.99, 10, 20, 30, 30.5, 50], count),
            rng.choice([-3, -1, 0, 2, 5.0], count),
            rng.integers(0, 2, count),
            rng.integers(-1, 2, count),
        ]
    )


def make(rng, hidden, n_outputs=2, ties="score", weights="ternary", numbers=False):
    encoder = Encoder(COLUMNS, (), BITS)
    if numbers:
        scaled = (Number(0), Number(2), Number(3, "cook"))
        encoder = Encoder(COLUMNS, scaled, BITS)
        encoder = encoder.scaled_by([20.0, 0.5, 0.3], [0.125, 2.0, 2.0], 2.0**-6)
    shape = Architecture.create(
        encoder.n_inputs, n_outputs, hidden=hidden, weights=weights, ties=ties
    )
    values, layers = encoder.transform(rows(60)), []
    for inputs, units in pairwise(shape.widths):
        W = rng.choice(shape.weights[0].values, (units, inputs))
        W *= rng.random(W.shape) < 0.5
        sums = values @ W.T
        t = sums[rng.integers(0, 60, units), np.arange(units)] - rng.choice([0, 0.5], units)
        layers.append((W, t[:, None]))
        values = (sums >= t).astype(float)
    network = Network(shape, *map(tuple, zip(*layers, strict=True)))
    return Model(encoder, network, tuple("abcd"[:n_outputs]))


def holds(text, known):
    """Whether a condition in words holds for a row."""
    if text in ("always", "never"):
        return text == "always"
    if match := re.fullmatch(r"at least (\d+) of: (.*)", text):
        return sum(holds(part, known) for part in match[2].split(", ")) >= int(match[1])
    for word, every in ((" and ", all), (" or ", any)):
        if word in text:
            return every(holds(part.strip("()"), known) for part in text.split(word))
    if match := re.fullmatch(r"(\w+) is not (\w+)", text):
        return known[match[1]] != match[2]
    if match := re.fullmatch(r"(\w+) = (\w+)", text):
        return known[match[1]] == match[2]
    if match := re.fullmatch(r"(.*) (>=|>) (\S+)", text):
        value, limit = total(match[1], known), float(match[3])
        return value >= limit if match[2] == ">=" else value > limit
    if match := re.fullmatch(r"(\w+) < (\S+)", text):
        return known[match[1]] < float(match[2])
    return not known[text[4:]] if text.startswith("not ") else bool(known[text])


def total(text, known):
    """Value of a sum in words."""
    found = 0.0
    for sign, factor, inner, name in re.findall(
        r"([-+]?) ?((?:\d[\d.e+-]* )?)(?:\[(.*?)\]|([A-Za-z_][\w.]*))", text
    ):
        value = float(holds(inner, known)) if inner else float(known[name])
        found += (-1 if sign == "-" else 1) * float(factor or 1) * value
    tail = re.search(r" ([-+]) ([\d.e+-]+)$", text)
    return found + (0 if tail is None else float(tail[1] + tail[2])) if text != "0" else 0.0


def answers(model, X):
    rules = make_rules(model)
    return [answer(model, rules, row) for row in X]


def answer(model, rules, row):
    known = dict(zip(model.feature_names, row.tolist(), strict=True))
    known["job"] = {-1: "other", 0: "cook", 1: "nurse"}[int(row[3])]
    for name, text in rules.units:
        known[name] = holds(text.removeprefix("if "), known)
    labels = list(model.classes)
    if model.network.architecture.ties == "first":
        on = [holds(line.split(" if ", 1)[1], known) for line in rules.outputs[:-1]]
        return labels[on.index(True) if any(on) else 0]
    if len(labels) == 2:
        return labels[holds(rules.outputs[0].split(" if ", 1)[1], known)]
    points = [total(line.split(" = ", 1)[1], known) for line in rules.outputs[:-1]]
    return labels[int(np.argmax(points))]


@pytest.mark.parametrize("hidden", [(), (3,), (4, 3)])
@pytest.mark.parametrize(("n_outputs", "ties"), [(2, "score"), (3, "first"), (3, "score")])
def test_rules_say_what_the_model_says(hidden, n_outputs, ties):
    rng = np.random.default_rng(1)
    for weights in ("ternary", "int:3"):
        for _ in range(4):
            model = make(rng, hidden, n_outputs, ties, weights)
            X = rows(60)
            assert answers(model, X) == model.predict(X).tolist(), str(make_rules(model))


def test_scaled_numbers_in_raw_units():
    rng = np.random.default_rng(2)
    for _ in range(8):
        model = make(rng, (3,), numbers=True)
        X = rows(60)
        X[:, 0] += 0.11  # what is not on a boundary
        assert answers(model, X) == model.predict(X).tolist()


def test_rules_of_a_tiny_network():
    model = make_model(
        np.random.default_rng(0),
        n_features=2,
        n_outputs=2,
        hidden=(2,),
        classes=("no", "yes"),
        names=("size", "age"),
    )
    shape = Architecture.create(2, 2, hidden=(2,), weights="int:3")
    network = Network(
        shape,
        (np.array([[1.0, -1.0], [0.0, -3.0]]), np.array([[-1.0, 0.0], [1.0, 1.0]])),
        (np.array([0.5, 2.0]), np.array([0.0, 1.0])),
    )
    scaler = make_encoder([3.0, 1.5], [0.5, 2.0], 2.0**-6, names=("size", "age"))
    model = replace(model, network=network, encoder=scaler)
    text = to_rules(model).splitlines()
    assert text[:2] == [
        "Sums are of rounded numbers: size to 0.0312, age to 0.00781.",
        "h1 if 0.5 size - 2 age >= -1",
    ]
    (cut,) = re.findall(r"age < (\S+)\]", text[2])
    X = np.array([[3.0, np.nextafter(float(cut), -np.inf)], [3.0, float(cut)]])
    assert np.array_equal(network.activations(scaler.transform(X))[0][:, 1], [True, False])
    assert text[2:] == [f"class yes if 2 h1 + [age < {cut}] >= 2", "otherwise class no"]
    table = to_rules(model, "table").splitlines()[2:]
    assert [line.split()[-1] for line in table] == ["class", "yes", "no"]


def tree():
    """Leaves: age < 10; 10 <= age and a cook; 10 <= age and no cook."""
    shape = Architecture.create(2, 2, hidden=(3,), weights="int:3")
    weights = np.array([[-1.0, 0.0], [1.0, 1.0], [1.0, -1.0]]), np.array([[0.0] * 3, [2, -3, 1]])
    network = Network(shape, weights, (np.array([0.0, 2.0, 1.0]), np.array([0.5, 0.5])))
    return Model(Encoder(COLUMNS, (), (BITS[0], BITS[6])), network, ("no", "yes"))


def random_bits(seed):
    rng = np.random.default_rng(seed)
    shape = Architecture.create(len(BITS), 2, hidden=(4,), weights="ternary")
    weights = rng.integers(-1, 2, (4, len(BITS))) * 1.0, rng.integers(-1, 2, (2, 4)) * 1.0
    network = Network(shape, weights, (rng.integers(-1, 3, 4) * 1.0, rng.integers(-1, 2, 2) * 1.0))
    return Model(Encoder(COLUMNS, (), BITS), network, ("no", "yes"))


def test_every_row_fits_one_line_of_a_table_and_every_line_a_row():
    cells = [(5, 10, 25, 31, np.nan), (-2, 0, 3, np.nan), (0, 1, np.nan), (-1, 0, 1, np.nan)]
    codes = np.stack(np.meshgrid(*map(np.array, cells)), axis=-1).reshape(-1, 4)
    counts = []
    for model in (tree(), *map(random_bits, range(30))):
        table, simple = make_rules(model).table, simplify(model)
        if table is None:  # no unit is left
            continue
        hidden = simple.network.activations(simple.inputs(codes))[-2]
        fits = np.ones((len(codes), len(table) - 1), dtype=bool)
        for k, (*line, _) in enumerate(table[1:]):
            for cell, on in zip(line, hidden.T, strict=True):
                fits[:, k] &= (cell == "-") | ((cell == "yes") == on)
        assert (fits.sum(axis=1) == 1).all()
        assert fits.any(axis=0).all()
        answers = np.array([line[-1] for line in table[1:]])[fits.argmax(axis=1)]
        classes = model.network.predict(model.inputs(codes))
        assert answers.tolist() == model.labels[classes].tolist()
        counts.append(fits.shape[1])
    assert counts[0] == 2  # "no" in one leaf, "yes" in two
    assert len(counts) > 20


def test_html_is_escaped():
    model = make_model(np.random.default_rng(0), names=("<b>", "a & b", "c", "d"), hidden=(2,))
    assert "<b>" not in to_rules(model, "html").replace("<body>", "")


def test_deep_network_without_scaling():
    model = make_model(np.random.default_rng(0), hidden=(2, 2), scale=None, ties="first")
    text = to_rules(model)
    assert "h1.1 if" in text
    assert text.endswith("several classes: the first one; none: the first of all")


def test_what_is_refused():
    model = make_model(np.random.default_rng(0), hidden=(12,), weights="continuous")
    with pytest.raises(ModelError, match="few hidden units"):
        to_rules(model, "table")
    with pytest.raises(ModelError, match="form must be"):
        to_rules(model, "picture")


def test_only_small_networks_are_readable():
    rng = np.random.default_rng(0)
    assert is_small(make_model(rng).network)
    assert not is_small(make_model(rng, hidden=(40, 40)).network)
