"""Headers of models with cuts, texts and gaps answer as Python does."""

import subprocess
from itertools import pairwise

import numpy as np
import pytest

from bdnn.encoding import Bit, Column, Encoder, Number
from bdnn.errors import UnsupportedFeatureError
from bdnn.export.boundary import answers, compared_inputs
from bdnn.export.c import export_c
from bdnn.export.c.columns import least_count
from bdnn.export.c.compiler import native_compiler, run_compiled
from bdnn.model import Model
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network

needs_compiler = pytest.mark.skipif(native_compiler() is None, reason="no C compiler")


def make(rng, *, mixed=False, weights="ternary", hidden=(4,), n_outputs=3):
    """A random model on all kinds of columns, a copy of a bit among its units."""
    columns = [
        Column("age", fill=40.0, missing="bit"),
        Column("dose, mg */", fill=0.3, missing="fill"),
        Column("ok", "boolean", fill=1.0, missing="none"),
        Column("job", "category", ("cook", "it's */", "nurse"), "cook", "bit"),
        Column("town", "category", ("A", "B"), "B", "fill"),
    ]
    bits = [Bit(0, "ge", float(c)) for c in sorted(rng.integers(0, 90, 3).tolist())]
    bits += [Bit(0, "missing"), *(Bit(1, "ge", c) for c in (-0.1, 0.1, 0.35)), Bit(2, "ge", 1.0)]
    bits += [Bit(3, "is", "it's */"), Bit(3, "is", "nurse"), Bit(3, "missing"), Bit(4, "is", "A")]
    encoder = Encoder(tuple(columns), (), tuple(dict.fromkeys(bits)))
    if mixed:
        numbers = (Number(0), Number(1), Number(4, "A"), Number(4, "B"))
        encoder = Encoder(encoder.columns, numbers, encoder.bits)
        encoder = encoder.scaled_by([40.0, 0.1, 0.3, 0.7], [0.1, 3.7, 2.0, 2.0], 2.0**-6)
    shape = Architecture.create(encoder.n_inputs, n_outputs, hidden=hidden, weights=weights)
    raw = np.column_stack(
        [
            rng.integers(0, 90, 60),
            rng.normal(0.1, 0.2, 60),
            rng.integers(0, 2, 60),
            rng.integers(-1, 3, 60),
            rng.integers(0, 2, 60),
        ]
    )
    values, layers = encoder.transform(raw), []
    for k, (width, following) in enumerate(pairwise(shape.widths)):
        W = rng.integers(-1, 2, (following, width)).astype(float)
        if weights == "continuous":
            W *= rng.random(W.shape)
        if k == 0 and hidden:
            W[0] = np.eye(width)[-1]
        sums = values @ W.T
        t = sums[rng.integers(0, 60, following), np.arange(following)]
        if k == 0 and hidden:
            t[0] = 0.5
        layers.append((W, t[:, None]))
        values = (sums >= t).astype(float)
    network = Network(shape, *map(tuple, zip(*layers, strict=True)))
    return Model(encoder, network, tuple("abcdef"[:n_outputs]))


@needs_compiler
@pytest.mark.parametrize(
    ("kind", "mixed", "options"),
    [
        ("double", False, {}),
        ("double", True, {}),
        ("double", True, {"weights": "continuous"}),
        ("double", False, {"hidden": ()}),
        ("float", False, {}),
        ("int16", False, {}),
        ("uint8", False, {}),
        ("int8", False, {"hidden": (3, 3)}),
    ],
)
def test_answers_equal_those_of_python(kind, mixed, options):
    rng, seen = np.random.default_rng(0), set()
    for flags in (("-O1",), ("-O2", "-ffast-math"), ("-Os", "-m64")):
        model = make(rng, mixed=mixed, **options)
        export = export_c(model, input=kind, per_unit=10 if "int" in kind else None)
        X = compared_inputs(model, export.inputs, 400, rng=rng)
        assert (np.isnan(X) if export.inputs.missing is None else export.inputs.missing == X).any()
        (found,) = run_compiled([export], [X], flags=flags)
        wanted = answers(model, export.inputs, X)
        assert (found == wanted).all()
        seen.update(wanted.tolist())
    assert len(seen) > 1


@needs_compiler
def test_self_test_and_labels(tmp_path):
    model = make(np.random.default_rng(1))
    export = export_c(model, class_names=True, tests=20, main=True, name="card")
    assert "CARD_X3_1 = 1, /* it's .. */" in export.text
    (tmp_path / "card.c").write_text(export.text)
    compiler = native_compiler()
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    program = tmp_path / "card"
    subprocess.run([compiler, *flags, tmp_path / "card.c", "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "0 of 20 self-test vectors wrong\n")


@pytest.mark.parametrize("unit", [1, 3, 10, 100])
def test_the_least_count_is_that_of_doubles(unit):
    for k in range(-300, 300):
        for cut in (k / unit, np.nextafter(k / unit, 9e9), np.nextafter(k / unit, -9e9)):
            first = least_count(float(cut), unit, -1000, 1000)
            assert first / unit >= cut
            assert (first - 1) / unit < cut
    assert least_count(1e9, unit, 0, 255) == 256


def test_cuts_are_not_multiplied():
    export = export_c(make(np.random.default_rng(0)), input="int16", name="card")
    assert export.is_integer
    assert not export.has_products
    assert "*" not in export.function.split("int card_predict(const")[-1]


def test_numbers_beside_bits_need_doubles():
    with pytest.raises(UnsupportedFeatureError, match="export with input 'double'"):
        export_c(make(np.random.default_rng(0), mixed=True), input="int16")
