"""Headers of models with cuts, texts and gaps answer as Python does."""

import subprocess
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

from bdnn.encoding import Bit, Column, Encoder, Number
from bdnn.errors import UnsupportedFeatureError
from bdnn.export.boundary import answers, compared_inputs
from bdnn.export.c import export_c, header
from bdnn.export.c.columns import least_count
from bdnn.export.c.compiler import native_compiler, run_compiled
from bdnn.model import Model, TargetScaler
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from tests.sentences import assert_one_sentence

needs_compiler = pytest.mark.skipif(native_compiler() is None, reason="no C compiler")


@pytest.fixture
def loops(monkeypatch):
    """Loops over tables even where statements would be smaller."""
    monkeypatch.setattr(header, "_FEW_INPUTS", 0)


def make(rng, *, mixed=False, weights="ternary", hidden=(4,), n_outputs=3):
    """A random model on all kinds of columns, a copy of a bit among its units."""
    columns = [
        Column("age", fill=40.0, missing="bit"),
        Column("dose, mg */", fill=0.3, missing="fill"),
        Column("ok", "boolean", fill=1.0, missing="none"),
        Column("job", "category", ("cook", "it's */", "nurse"), "cook", "bit"),
        Column("town", "category", ("A", "B"), "B", "fill"),
    ]
    # No cut at 0: tiny numbers become 0 with -ffast-math.
    bits = [Bit(0, "ge", float(c)) for c in sorted(rng.integers(1, 90, 3).tolist())]
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


FLAGS = (
    (("-O1",), "size"),
    (("-O2", "-ffast-math"), "speed"),
    (("-Os", "-m64"), "size"),
    (("-O3",), "speed"),
)


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
    for flags, optimise in FLAGS:
        model = make(rng, mixed=mixed, **options)
        export = export_c(
            model, input=kind, per_unit=10 if "int" in kind else None, optimise=optimise
        )
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


def make_halves(rng, parts, *, hidden, last="int:127", numbers=True, ties="score", targets=None):
    """A model whose first units are of some parts: units on numbers, sums of bits, and copies."""
    base = make(rng, mixed=numbers)
    encoder, (n_units, n_sums, n_copies) = base.encoder, parts
    n, width = encoder.n_numbers, encoder.n_inputs
    rows = np.zeros((sum(parts), width))
    rows[:n_units, :n] = rng.integers(-1, 2, (n_units, n))
    rows[n_units : n_units + n_sums, n:] = rng.integers(-1, 2, (n_sums, encoder.n_bits))
    copied = n + rng.integers(0, encoder.n_bits, n_copies)
    rows[n_units + n_sums + np.arange(n_copies), copied] = 1
    order = rng.permutation(len(rows))
    n_outputs = 3 if targets is None else 1
    widths = (len(rows), *hidden)
    shape = Architecture.create(
        width,
        n_outputs,
        hidden=widths,
        weights=["ternary"] * len(widths) + [last],
        ties=ties,
        output="step" if targets is None else "identity",
    )
    values = encoder.transform(random_rows(rng, 200))
    layers = []
    for k, (before, following) in enumerate(pairwise(shape.widths)):
        limit = 127 if last == "int:127" and k == len(widths) else 1
        W = rng.integers(-limit, limit + 1, (following, before)).astype(float)
        if last == "continuous" and k == len(widths):
            W *= rng.random(W.shape)
        W = rows if k == 0 else W
        sums = values @ W.T
        t = sums[rng.integers(0, 200, following), np.arange(following)]
        if k == 0:
            t[n_units + n_sums :] = rng.choice([0.5, 1.0, 0.1], n_copies)
            W, t, sums = W[order], t[order], sums[:, order]
        layers.append((W, t[:, None]))
        values = (sums >= t).astype(float)
    network = Network(shape, *map(tuple, zip(*layers, strict=True)))
    if targets is not None:
        return Model(encoder, network, (), targets)
    return Model(encoder, network, tuple("abc"))


def random_rows(rng, count):
    return np.column_stack(
        [
            rng.integers(0, 90, count),
            rng.normal(0.1, 0.2, count),
            rng.integers(0, 2, count),
            rng.integers(-1, 3, count),
            rng.integers(0, 2, count),
        ]
    ).astype(float)


def rows_at_cuts(model, inputs, rng):
    """Every cut with its neighbours, in rows some of whose other cells are missing or unknown."""
    rows = []
    for bit in model.encoder.bits:
        if bit.kind != "ge":
            continue
        for side in (-1, 0, 1):
            X = random_rows(rng, 20) * np.array(inputs.per_unit)
            if inputs.is_integer:
                X = np.clip(np.rint(X), *inputs.ranges[0])
            X[:, 3][rng.random(20) < 0.2] = 77
            gap = np.nan if inputs.missing is None else inputs.missing
            X[rng.random(X.shape) < 0.2] = gap
            at = bit.value * inputs.per_unit[bit.column]
            if inputs.is_integer:
                X[:, bit.column] = np.clip(np.rint(at) + side, *inputs.ranges[0])
            else:
                kind = inputs.reals.dtype.type
                near = kind(at) if side == 0 else np.nextafter(kind(at), kind(side * np.inf))
                X[:, bit.column] = float(near)
            rows.append(X)
    return np.concatenate(rows)


def _looks_at_bits(function):
    """Whether bits stand in words, or keys say what they are."""
    return "uint32_t h0" in function or " k0[" in function


@needs_compiler
@pytest.mark.parametrize(
    ("kind", "parts", "options"),
    [
        ("double", (6, 0, 9), {"hidden": ()}),
        ("double", (40, 0, 30), {"hidden": (9,)}),
        ("double", (40, 0, 30), {"hidden": (40, 7), "ties": "first"}),
        pytest.param("double", (8, 5, 9), {"hidden": (9,)}, marks=pytest.mark.long),
        pytest.param("double", (30, 20, 9), {"hidden": ()}, marks=pytest.mark.long),
        ("double", (7, 0, 9), {"hidden": (), "last": "continuous"}),
        pytest.param("double", (12, 0, 0), {"hidden": ()}, marks=pytest.mark.long),
        ("double", (0, 12, 0), {"hidden": (8,), "numbers": False}),
        ("float", (0, 12, 5), {"hidden": (), "numbers": False}),
        ("int16", (0, 40, 5), {"hidden": (8,), "numbers": False}),
        *(
            pytest.param(kind, parts, {"hidden": hidden, "numbers": False}, marks=pytest.mark.long)
            for kind, parts, hidden in [
                ("int16", (0, 0, 40), ()),
                ("uint16", (0, 0, 12), (8,)),
                ("int32", (0, 9, 0), (8,)),
            ]
        ),
    ],
)
def test_halves_answer_as_python_does(loops, kind, parts, options):
    rng, seen, n_written = np.random.default_rng(3), set(), 0
    for flags, optimise in FLAGS:
        model = make_halves(rng, parts, **options)
        export = export_c(
            model, input=kind, per_unit=10 if "int" in kind else None, optimise=optimise
        )
        n_written += _looks_at_bits(export.function)
        X = compared_inputs(model, export.inputs, 400, rng=rng)
        X = np.concatenate([X, rows_at_cuts(model, export.inputs, rng)])
        (found,) = run_compiled([export], [X], flags=flags)
        wanted = answers(model, export.inputs, X)
        assert (found == wanted).all()
        seen.update(wanted.tolist())
    assert n_written == len(FLAGS)
    assert len(seen) > 1


@needs_compiler
@pytest.mark.parametrize("kind", ["double", "float", "int8", "uint16"])
def test_votes_on_bits_are_counted_in_words(loops, kind):
    rng = np.random.default_rng(4)
    for weights, optimise in product(("ternary", "int:127"), ("size", "speed")):
        model = make(rng, hidden=(), weights=weights)
        export = export_c(
            model, input=kind, per_unit=10 if "int" in kind else None, optimise=optimise
        )
        assert _looks_at_bits(export.function)
        X = rows_at_cuts(model, export.inputs, rng)
        (found,) = run_compiled([export], [X])
        wanted = answers(model, export.inputs, X)
        assert (found == wanted).all()
        assert len(set(wanted.tolist())) > 1


def make_cuts(
    rng, n_columns, n_cuts, hidden, *, ties="score", last="ternary", unused=0, has_gaps=True
):
    """A model on cuts alone, the last columns unused."""
    bits = [
        Bit(j, "ge", float(c))
        for j in range(n_columns - unused)
        for c in sorted(rng.choice(np.arange(1, 100), n_cuts, replace=False).tolist())
    ]
    missing = "fill" if has_gaps else "none"
    columns = [Column(f"c{j}", fill=50.0, missing=missing) for j in range(n_columns)]
    if has_gaps:
        bits.append(Bit(0, "missing"))
        columns[0] = Column("c0", fill=50.0, missing="bit")
    encoder = Encoder(tuple(columns), (), tuple(bits))
    weights = ["ternary"] * len(hidden) + [last]
    shape = Architecture.create(encoder.n_inputs, 5, hidden=hidden, weights=weights, ties=ties)
    values, layers = encoder.transform(rng.integers(0, 100, (200, n_columns)).astype(float)), []
    for k, (before, width) in enumerate(pairwise(shape.widths)):
        limit = 127 if last != "ternary" and k == len(hidden) else 1
        W = rng.integers(-limit, limit + 1, (width, before)).astype(float)
        sums = values @ W.T
        t = sums[rng.integers(0, 200, width), np.arange(width)]
        layers.append((W, t[:, None]))
        values = (sums >= t).astype(float)
    return Model(encoder, Network(shape, *map(tuple, zip(*layers, strict=True))), tuple("abcde"))


@needs_compiler
@pytest.mark.parametrize(
    ("kind", "columns", "options", "sources"),
    [
        # Keys of columns; of units that are compared side by side, and of few units.
        ("uint8", (20, 5, (30, 12)), {}, (" k0[", " k1[", " k2[")),
        ("int16", (6, 20, (70,)), {"ties": "first"}, (" k0[", " k1[")),
        ("int16", (6, 20, (70,)), {"last": "int:127"}, (" k0[", " k1[")),
        # More changes than a statement has; columns that nothing looks at.
        ("uint8", (16, 90, ()), {}, (" k0[",)),
        ("uint8", (20, 5, (9,)), {"unused": 3}, (" k0[", "x[i]")),
        ("uint8", (20, 5, (9,)), {"unused": 15}, (" k0[", "COLUMN[i]")),
        ("int32", (3, 40, (9,)), {}, (" k0[",)),
        # Keys of the bits of words.
        ("double", (20, 5, (30,)), {}, ("uint32_t h0", " k0[", " k1[")),
        ("double", (2, 5, (30,)), {}, ("uint32_t h0", " k1[")),
    ],
)
def test_speed_adds_rows_that_keys_say(kind, columns, options, sources):
    rng, seen = np.random.default_rng(6), set()
    model = make_cuts(rng, *columns, **options)
    export = export_c(model, input=kind, optimise="speed")
    assert [source for source in sources if source not in export.function] == []
    X = compared_inputs(model, export.inputs, 2000, rng=rng)
    gap = np.nan if export.inputs.missing is None else export.inputs.missing
    X[rng.random(X.shape) < 0.1] = gap
    wanted = answers(model, export.inputs, X)
    for flags in (("-O1",), ("-O3", "-ffast-math")):
        (found,) = run_compiled([export], [X], flags=flags)
        assert (found == wanted).all()
        seen.update(wanted.tolist())
    assert len(seen) > 1


@needs_compiler
@pytest.mark.parametrize("optimise", ["size", "speed"])
@pytest.mark.parametrize(("kind", "end"), [("uint8", 255), ("int8", -128)])
@pytest.mark.parametrize("columns", [(20, 5, (9,)), (3, 2, ()), (20, 5, (9,), 3)])
def test_every_integer_is_a_value_where_training_had_no_gaps(optimise, kind, end, columns):
    rng = np.random.default_rng(2)
    columns, unused = columns[:3], (*columns, 0)[3]
    model = make_cuts(rng, *columns, unused=unused, has_gaps=False)
    export = export_c(model, input=kind, optimise=optimise)
    assert "MISSING" not in export.text
    X = compared_inputs(model, export.inputs, 2000, rng=rng)
    X[rng.random(X.shape) < 0.1] = end
    wanted = model.outcomes(X)
    assert (wanted == answers(model, export.inputs, X)).all()
    assert len(set(wanted.tolist())) > 1
    (found,) = run_compiled([export], [X])
    assert (found == wanted).all()


def make_texts(n_texts, missing="none"):
    """A model of the first text, the last one, and all others."""
    texts = tuple(f"t{i:03d}" for i in range(n_texts))
    column = Column("job", "category", texts, texts[0], missing)
    encoder = Encoder((column,), bits=(Bit(0, "is", texts[0]), Bit(0, "is", texts[-1])))
    shape = Architecture.create(2, 3, hidden=(), weights="ternary")
    weights = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    network = Network(shape, (weights,), (np.array([[0.3], [0.2], [0.1]]),))
    return Model(encoder, network, ("p", "q", "r"))


@needs_compiler
@pytest.mark.parametrize(
    ("kind", "missing", "most"),
    [("uint8", "none", 255), ("uint8", "fill", 254), ("int8", "none", 128), ("int8", "fill", 128)],
)
@pytest.mark.parametrize("optimise", ["size", "speed"])
def test_every_text_has_a_code_of_its_own(kind, missing, most, optimise):
    model = make_texts(most, missing)
    export = export_c(model, input=kind, optimise=optimise)
    other = -1.0 if kind == "int8" else float(most)
    X = np.array([*range(most), other])[:, None]
    wanted = model.outcomes(np.where(other == X, -1.0, X))
    assert wanted.tolist() == [0, *[2] * (most - 2), 1, 2]
    (found,) = run_compiled([export], [X])
    assert (found == wanted).all()
    with pytest.raises(UnsupportedFeatureError, match="no room for the") as refused:
        export_c(make_texts(most + 1, missing), input=kind)
    assert_one_sentence(refused.value)


@needs_compiler
@pytest.mark.parametrize("optimise", ["size", "speed"])
@pytest.mark.parametrize("has_gaps", [True, False])
def test_inputs_that_change_nothing_are_no_warning(optimise, has_gaps):
    """Cuts beyond the type; compilers are asked for all warnings as errors."""
    rng = np.random.default_rng(0)
    model = make_cuts(rng, 3, 4, (9,), has_gaps=has_gaps)
    bits = tuple(replace(b, value=b.value and b.value + 1e6) for b in model.encoder.bits)
    model = replace(model, encoder=replace(model.encoder, bits=bits))
    export = export_c(model, input="uint8", optimise=optimise)
    X = compared_inputs(model, export.inputs, 200, rng=rng)
    (found,) = run_compiled([export], [X])
    assert (found == answers(model, export.inputs, X)).all()


@needs_compiler
@pytest.mark.parametrize("kind", ["uint8", "int16"])
@pytest.mark.parametrize("n_columns", [20, 36, 70])
@pytest.mark.parametrize(
    "flags",
    [("-O3", "-march=native"), ("-O2", "-ftree-slp-vectorize", "-fno-tree-loop-vectorize")],
)
def test_vectorisers_of_compilers_are_not_misled(kind, n_columns, flags):
    """Keys that were sums of comparisons came out wrong after gcc 12."""
    rng = np.random.default_rng(0)
    model = make_cuts(rng, n_columns, 16, (9,), has_gaps=False)
    export = export_c(model, input=kind, optimise="speed")
    X = rng.integers(0, 100, (500, n_columns)) + 0.0
    (found,) = run_compiled([export], [X], flags=flags)
    assert (found == answers(model, export.inputs, X)).all()


@needs_compiler
@pytest.mark.parametrize(("weights", "n_outputs"), [("ternary", 3), ("ternary", 2), ("int:127", 2)])
def test_outputs_on_numbers_of_columns_are_integers(weights, n_outputs):
    rng = np.random.default_rng(7)
    base = make(rng, mixed=True)
    encoder = base.encoder.subset(np.arange(base.encoder.n_numbers))
    shape = Architecture.create(encoder.n_inputs, n_outputs, hidden=(), weights=weights)
    limit = 127 if weights == "int:127" else 1
    W = rng.integers(-limit, limit + 1, (n_outputs, encoder.n_inputs)).astype(float)
    network = Network(shape, (W,), (rng.normal(size=(n_outputs, 1)),))
    model = Model(encoder, network, tuple("abc"[:n_outputs]))
    export = export_c(model)
    assert "int64_t q[" in export.function
    X = compared_inputs(model, export.inputs, 2000, rng=rng)
    (found,) = run_compiled([export], [X], flags=("-O2", "-ffast-math"))
    wanted = answers(model, export.inputs, X)
    assert (found == wanted).all()
    assert len(set(wanted.tolist())) > 1


@needs_compiler
@pytest.mark.parametrize("last", ["int:127", "continuous"])
def test_numbers_of_halves_equal_those_of_python(last):
    rng = np.random.default_rng(5)
    targets = TargetScaler(*np.array([[3.1], [0.7], [1.0]]))
    model = make_halves(rng, (9, 0, 12), hidden=(), last=last, targets=targets)
    export = export_c(model)
    assert "uint32_t h0" in export.function
    X = rows_at_cuts(model, export.inputs, rng)
    (found,) = run_compiled([export], [X])
    assert (found == answers(model, export.inputs, X)).all()
    assert len(np.unique(found)) > 9


@needs_compiler
def test_a_fill_that_no_count_tells_from_a_cut_has_statements():
    # No whole number lies between the cuts 0.1 and 0.35, but the fill 0.3 does.
    model = make(np.random.default_rng(0))
    export = export_c(model, input="int16", per_unit=1)
    assert "uint32_t h0" not in export.function
    X = compared_inputs(model, export.inputs, 400)
    (found,) = run_compiled([export], [X])
    assert (found == answers(model, export.inputs, X)).all()


def test_copied_bits_cost_little_flash():
    rng = np.random.default_rng(6)
    columns = tuple(Column(f"c{j}", fill=0.0) for j in range(20))
    bits = tuple(Bit(j, "ge", float(c)) for j in range(20) for c in range(5))
    encoder = Encoder(columns, tuple(Number(j) for j in range(20)), bits)
    encoder = encoder.scaled_by(np.zeros(20), np.ones(20), 2.0**-6)
    shape = Architecture.create(120, 2, hidden=(200, 60))
    W = np.zeros((200, 120))
    W[:100, :20] = rng.integers(-1, 2, (100, 20))
    W[100:, 20:] = np.eye(100)
    weights = [W, rng.integers(-1, 2, (60, 200)), rng.integers(-1, 2, (2, 60))]
    thresholds = [np.repeat([0.0, 0.5], 100)[:, None], np.zeros((60, 1)), np.zeros((2, 1))]
    network = Network(shape, tuple(weights), tuple(thresholds))
    export = export_c(Model(encoder, network, ("a", "b")))
    assert export.flash_estimate < 8000
    assert export.stack < 1000


def test_cuts_are_not_multiplied():
    export = export_c(make(np.random.default_rng(0)), input="int16", name="card")
    assert export.is_integer
    assert not export.has_products
    assert "*" not in export.function.split("int card_predict(const")[-1]


def test_numbers_beside_bits_need_doubles():
    with pytest.raises(UnsupportedFeatureError, match="export with input 'double'"):
        export_c(make(np.random.default_rng(0), mixed=True), input="int16")


def test_of_loops_and_statements_the_smaller_is_taken(monkeypatch):
    rng = np.random.default_rng(11)
    taken = []
    for i in range(12):
        model = make(rng, hidden=[(), (3,), (9,)][i % 3])
        kind = ("double", "int8", "uint16", "float")[i % 4]
        found = export_c(model, input=kind)
        with monkeypatch.context() as patched:
            patched.setattr(header, "_FEW_INPUTS", 0)
            loops = export_c(model, input=kind)
        assert found.flash_estimate <= loops.flash_estimate
        taken.append(found.function == loops.function)
    assert len(set(taken)) == 2


def test_only_columns_in_use_have_a_fill():
    columns = tuple(Column(f"x{j}", fill=0.1 * j) for j in range(40))
    bits = tuple(Bit(j, "ge", c / 8) for j in (3, 31) for c in range(1, 20))
    shape = Architecture.create(len(bits), 2, hidden=(), weights="int:9")
    weights = np.random.default_rng(0).integers(1, 9, (2, len(bits))).astype(float)
    network = Network(shape, (weights,), (np.zeros((2, 1)),))
    export = export_c(Model(Encoder(columns, (), bits), network, ("a", "b")))
    assert "FILL[2]" in export.function
