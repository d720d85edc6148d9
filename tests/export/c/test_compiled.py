"""Compiled headers answer like Python, whatever the compiler and its options."""

import os
import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from bdnn.export.boundary import answers, compared_inputs
from bdnn.export.c import export_c
from bdnn.export.c.compiler import (
    STRICT,
    compiled_size,
    count_differences,
    measure,
    run_compiled,
)
from bdnn.export.c.compiler import _source as translation_unit
from tests.encoding.encoders import rescaled
from tests.export.models import any_format, any_model, make_model, number_model
from tests.grids import in_turn

N_NETWORKS = 50
N_INPUTS = 300
SANITIZED = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
CONFIGURATIONS = {
    "gcc-sanitizers": ("gcc", SANITIZED),
    "gcc-fast-math": ("gcc", ("-O3", "-ffast-math", "-march=native")),
    "clang-sanitizers": ("clang", SANITIZED),
    "clang-fast-math": ("clang", ("-O2", "-ffast-math", "-march=native")),
}


def needs(compiler):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")


def questions(model, export, rng, count=N_INPUTS):
    return compared_inputs(model, export.inputs, count, rng=rng)


def is_ordinary(X):
    """Rows without tiny numbers, which -ffast-math lets the processor take for 0."""
    return ((X == 0) | (np.abs(X) > 1e-30)).all(axis=1)


@pytest.fixture(scope="module")
def networks():
    """Exports of all kinds of networks and inputs, with questions and Python's answers."""
    rng = np.random.default_rng(20)
    exports, inputs, wanted = [], [], []
    for i in range(N_NETWORKS):
        model = any_model(rng)
        exports.append(export_c(model, name=f"net{i}", **any_format(rng)))
        inputs.append(questions(model, exports[-1], rng))
        scaled = exports[-1].inputs.scaled(inputs[-1], model.encoder)
        wanted.append(np.argmax(model.network.scores(scaled), axis=1))
    return exports, inputs, wanted


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_answers_equal_python(networks, name):
    compiler, flags = CONFIGURATIONS[name]
    needs(compiler)
    exports, inputs, wanted = networks
    if "-ffast-math" in flags:
        wanted = [a[is_ordinary(X)] for a, X in zip(wanted, inputs, strict=True)]
        inputs = [X[is_ordinary(X)] for X in inputs]
    found = run_compiled(exports, inputs, compiler=compiler, flags=flags)
    wrong = {
        export.name: int(np.count_nonzero(a != b))
        for export, a, b in zip(exports, found, wanted, strict=True)
        if (a != b).any()
    }
    assert not wrong


@pytest.mark.parametrize("name", ["gcc-sanitizers", "gcc-fast-math"])
def test_numbers_equal_python(name):
    compiler, flags = CONFIGURATIONS[name]
    needs(compiler)
    rng = np.random.default_rng(21)
    models = [number_model(rng) for _ in range(25)]
    exports = [export_c(m, name=f"net{i}", **any_format(rng)) for i, m in enumerate(models)]
    inputs = [questions(m, e, rng, 100) for m, e in zip(models, exports, strict=True)]
    inputs = [X[is_ordinary(X)] for X in inputs]
    found = run_compiled(exports, inputs, compiler=compiler, flags=flags)
    for model, export, X, numbers in zip(models, exports, inputs, found, strict=True):
        assert (numbers == answers(model, export.inputs, X)).all(), model.network.architecture


def test_a_regressor_tests_itself(tmp_path):
    needs("gcc")
    export = export_c(number_model(np.random.default_rng(2)), tests=20, main=True)
    source, program = tmp_path / "model.c", tmp_path / "model"
    source.write_text(export.text)
    subprocess.run(["gcc", *STRICT, source, "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    assert done.stdout == "0 of 20 self-test vectors wrong\n"


@pytest.mark.parametrize(
    ("weights", "kind"), in_turn(["ternary", "int:2", "continuous"], ["float", "double"])
)
def test_units_that_no_number_switches(kind, weights):
    """Factors so small that the largest numbers just reach the thresholds, or just do not."""
    needs("gcc")
    rng = np.random.default_rng(7)
    size = 1e38 if kind == "float" else 1e100
    exports, inputs, wanted = [], [], []
    for i in range(40):
        shape = {"n_features": 1 + i % 2, "hidden": [(), (1,), (5,)][i % 3], "n_outputs": 2}
        model = make_model(rng, weights=weights, scale=["standard", "minmax"][i % 2], **shape)
        factor = 10.0 ** rng.uniform(-1, 2, 1 + i % 2) / size
        model = replace(model, encoder=rescaled(model.encoder, factor=factor))
        exports.append(export_c(model, name=f"net{i}", input=kind))
        inputs.append(questions(model, exports[-1], rng, 100))
        scaled = exports[-1].inputs.scaled(inputs[-1], model.encoder)
        wanted.append(model.network.predict(scaled))
    found = run_compiled(exports, inputs, flags=SANITIZED)
    assert all((a == b).all() for a, b in zip(found, wanted, strict=True))
    assert any(len(set(a.tolist())) > 1 for a in wanted)


def test_levels_beyond_32_bits():
    """A feature of a tiny spread, whose counts go far beyond it."""
    needs("gcc")
    rng = np.random.default_rng(3)
    exports, inputs, wanted = [], [], []
    for i in range(12):
        model = make_model(rng, n_features=4, hidden=(), thresholds="layer")
        model = replace(model, encoder=rescaled(model.encoder, factor=np.array([21234.5, 1, 1, 1])))
        exports.append(export_c(model, name=f"net{i}", input="uint16", per_unit=10))
        inputs.append(questions(model, exports[-1], rng, 100))
        scaled = exports[-1].inputs.scaled(inputs[-1], model.encoder)
        wanted.append(model.network.predict(scaled))
    found = run_compiled(exports, inputs, flags=SANITIZED)
    assert all((a == b).all() for a, b in zip(found, wanted, strict=True))
    assert any("q0 = (int64_t)(" in export.text for export in exports)


def test_infinities_and_nan_give_some_class():
    needs("gcc")
    rng = np.random.default_rng(9)
    X = np.array([[np.nan] * 4, [np.inf] * 4, [-np.inf, np.inf, np.nan, 0.0], [1e308] * 4])
    for scale, factor in (("standard", 1.0), ("standard", 1e-40), (None, 1.0)):
        exports = []
        for i, kind in enumerate(["double", "float"]):
            model = make_model(rng, hidden=(5,), weights="int:300", scale=scale)
            scaler = rescaled(model.encoder, factor=model.encoder.factor * factor)
            exports.append(export_c(replace(model, encoder=scaler), name=f"net{i}", input=kind))
        with np.errstate(over="ignore"):
            for classes in run_compiled(exports, [X, X], flags=SANITIZED):
                assert set(classes.tolist()) <= {0, 1, 2}


def test_the_networks_are_of_all_kinds(networks):
    exports, _, wanted = networks
    assert {layer.is_real for e in exports for layer in e.plan.layers} == {True, False}
    decisions = [e.plan.decision for e in exports]
    kinds = {(type(d).__name__, getattr(d, "units", None) and d.units.is_real) for d in decisions}
    scored = {(name, is_real) for name in ("LargestScore", "FirstOn") for is_real in (True, False)}
    assert kinds == {("Table", None), *scored}
    assert sum(len(set(a.tolist())) > 1 for a in wanted) > N_NETWORKS // 2


def test_32_bit_arm(networks, tmp_path):
    needs("arm-none-eabi-gcc")
    flags = ("-mcpu=cortex-m0", "-mthumb", *STRICT[1:])
    size = compiled_size(translation_unit(networks[0]), "arm-none-eabi-gcc", flags)
    assert size.flash > 1000
    assert size.target == "Cortex-M0"


def test_wide_network_uses_words_of_32_bits():
    needs("gcc")
    rng = np.random.default_rng(3)
    models = [
        make_model(rng, n_features=40, hidden=(70, 35), weights=weights, n_outputs=4)
        for weights in ("ternary", "binary", "int:3")
    ]
    exports = [export_c(model, name=f"wide{i}", input="uint8") for i, model in enumerate(models)]
    inputs = [questions(r, e, rng, 200) for r, e in zip(models, exports, strict=True)]
    for model, export, X, found in zip(
        models, exports, inputs, run_compiled(exports, inputs, flags=SANITIZED), strict=True
    ):
        assert export.is_integer
        assert "uint32_t h1[3]" in export.text
        wanted = model.network.predict(export.inputs.scaled(X, model.encoder))
        assert (found == wanted).all()


def test_speed_sums_rows_of_whole_vectors():
    needs("gcc")
    rng = np.random.default_rng(5)
    wide = {"n_features": 43, "hidden": (70, 35), "n_outputs": 4}
    models = [
        make_model(rng, **wide, weights=weights, scale=scale, ties=ties)
        for weights, scale, ties in (
            ("ternary", None, "score"),
            ("binary", "standard", "first"),
            ("int:300", "standard", "score"),
        )
    ]
    exports = [
        export_c(model, name=f"fast{i}", input="uint8", optimise="speed")
        for i, model in enumerate(models)
    ]
    inputs = [questions(r, e, rng, 200) for r, e in zip(models, exports, strict=True)]
    for flags in (SANITIZED, ("-O2",)):
        answers = run_compiled(exports, inputs, flags=flags)
        for model, export, X, found in zip(models, exports, inputs, answers, strict=True):
            assert "WEIGHT1[70][48]" in export.text
            wanted = model.network.predict(export.inputs.scaled(X, model.encoder))
            assert (found == wanted).all()


@pytest.mark.parametrize("hidden", [(), (40,)])
def test_levels_in_tables(hidden):
    """A factor that makes halves, which are rounded to even."""
    needs("gcc")
    rng = np.random.default_rng(8)
    model = make_model(rng, hidden=hidden, n_features=3)
    scaler = rescaled(model.encoder, shift=np.full(3, 64.0), factor=np.full(3, 2.0**-8))
    model = replace(model, encoder=scaler)
    exports = [
        export_c(model, name="whole", input="int8"),
        export_c(model, name="part", input="uint16", limits=(3, 900)),
        export_c(model, name="tiny", input="uint16", limits=(0, 900)),
    ]
    inputs = [questions(model, export, rng) for export in exports]
    found = run_compiled(exports, inputs, flags=SANITIZED)
    for export, X, classes in zip(exports, inputs, found, strict=True):
        assert "LEVEL0" in export.text
        assert (classes == model.network.predict(export.inputs.scaled(X, scaler))).all()


@pytest.mark.parametrize("hidden", [(), (12,), (40, 3)])
def test_ternary_is_free_of_products_and_floating_point(hidden):
    model = make_model(np.random.default_rng(0), scale=None, hidden=hidden, n_features=6)
    export = export_c(model, input="int8")
    assert export.is_integer
    assert not export.has_products
    assert "No multiplication" in export.text
    code = export.text[export.text.index("#ifndef") :]
    code = re.sub(r"\b(2|4|8|32) \* | \* 2\b", "", code)  # which are shifts
    assert " * " not in code
    assert "double" not in code
    assert "float" not in code


def test_products_are_told():
    for options in ({"scale": "standard"}, {"scale": None, "weights": "int:3"}):
        model = make_model(np.random.default_rng(3), hidden=(12,), **options)
        export = export_c(model, input="uint8")
        assert export.has_products
        assert "No multiplication" not in export.text


@pytest.mark.parametrize("weights", ["ternary", "int:9"])
def test_multiples_of_scores_fit_their_type(weights):
    """Scores that break ties are multiples of sums, and may need more bits than these."""
    needs("gcc")
    rng = np.random.default_rng(4)
    model = make_model(rng, hidden=(), n_features=6, n_outputs=5, weights=weights)
    t = model.network.output_thresholds + 0.001 * np.arange(5)
    model = replace(model, network=replace(model.network, thresholds=(t,)))
    scaler = rescaled(model.encoder, factor=np.full(6, 25.0 if weights == "ternary" else 3.0))
    model = replace(model, encoder=scaler)
    export = export_c(model, input="int32", limits=(-100_000, 150_000))
    assert export.plan.decision.units.factor == 8
    assert "int64_t best" in export.text
    X = questions(model, export, rng)
    (found,) = run_compiled([export], [X], flags=SANITIZED)
    assert (found == model.network.predict(export.inputs.scaled(X, scaler))).all()


def test_size_and_check_leave_self_test_and_main_out():
    needs("gcc")
    rng = np.random.default_rng(1)
    model = make_model(rng)
    plain = export_c(model, input="uint8")
    tested = export_c(model, input="uint8", tests=50, main=True, class_names=True)
    assert measure(tested) == measure(plain)
    assert count_differences(model, tested, 100) == 0


def test_measured_size():
    needs("gcc")
    size = measure(export_c(make_model(np.random.default_rng(1)), input="uint8"))
    assert 20 < size.flash < 600
    assert 0 <= size.stack < 200


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_self_test_with_main(tmp_path, compiler):
    needs(compiler)
    export = export_c(
        make_model(np.random.default_rng(2)), input="double", tests=30, main=True, class_names=True
    )
    source, program = tmp_path / "model.c", tmp_path / "model"
    source.write_text(export.text)
    subprocess.run([compiler, *STRICT, source, "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "0 of 30 self-test vectors wrong\n")
    broken = export.text.replace("EXPECTED[30] = {\n        ", "EXPECTED[30] = {\n        9 + ")
    source.write_text(broken)
    subprocess.run([compiler, "-std=c99", source, "-o", program], check=True)
    assert subprocess.run([program], capture_output=True, check=False).returncode == 1


AVR_MAIN = """
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
int main(void)
{
    const int wrong = model_self_test();
    UCSR0B = 1 << TXEN0;
    UDR0 = (uint8_t)(wrong ? 'n' : 'y');
    while (!(UCSR0A & 1 << UDRE0)) continue;
    UDR0 = '\\n';
    cli();
    sleep_mode();
    return 0;
}
"""


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("input", ["uint8", "int16"])
def test_8_bit_avr(tmp_path, seed, input):
    """An Arduino's processor in simulation, whose int has 16 bits."""
    needs("avr-gcc")
    needs("simavr")
    rng = np.random.default_rng(seed)
    hidden = [(), (3,), (12,), (40, 7)][seed]
    model = make_model(rng, hidden=hidden, weights=["ternary", "int:300"][seed % 2])
    export = export_c(model, input=input, tests=30)
    source, program = tmp_path / "model.c", tmp_path / "model.elf"
    source.write_text(export.text + AVR_MAIN)
    chip = "atmega328p"
    subprocess.run(["avr-gcc", f"-mmcu={chip}", "-Os", *STRICT, source, "-o", program], check=True)
    command = ["simavr", "-m", chip, "-f", "16000000", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "y." in done.stderr, done.stderr


def test_a_compiler_without_its_headers_is_passed_over(tmp_path, monkeypatch):
    needs("gcc")
    export = export_c(make_model(np.random.default_rng(1)), input="uint8")
    broken = tmp_path / "arm-none-eabi-gcc"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert measure(export).target.endswith("on this machine")
