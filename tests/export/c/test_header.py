"""The text of a header: what a model file says stays text, and options are checked."""

import re
from dataclasses import replace

import numpy as np
import pytest

from bdnn.errors import BDNNError
from bdnn.export.c import export_c
from bdnn.export.c.compiler import STRICT
from bdnn.export.c.text import check_name, comment, integer, integer_type, make_name, string
from bdnn.export.inputs import choose_format
from tests.encoding.encoders import make_encoder, rescaled
from tests.export.models import make_model
from tests.sentences import assert_one_sentence

HOSTILE = (
    '*/ int main(void){return system("true");} /*',
    "\\\n#include </etc/passwd>\n",
    '"; system("x"); "',
    "??/\n*??/ evil",
    "\u2028\r\nint x;",
    "%s%n\0end",
)


def hostile_model():
    return make_model(
        np.random.default_rng(0),
        n_features=len(HOSTILE),
        n_outputs=len(HOSTILE),
        classes=HOSTILE,
        names=HOSTILE,
    )


def test_hostile_names_stay_in_comments_and_strings():
    text = export_c(hostile_model(), input="uint8", class_names=True).text
    assert text.isascii()
    assert text.count("/*") == text.count("*/")
    _, code = text.split("*/", 1)
    assert "??/" not in text
    assert "\\\n" not in text
    without_strings = re.sub(r'"(?:[^"\\]|\\.)*"', "", code)
    for word in ("system", "main", "passwd", "evil"):
        assert word not in without_strings
    assert "#include <stdint.h>" in code
    assert code.count("#include") == 1


def test_hostile_header_compiles(tmp_path):
    import shutil
    import subprocess

    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    source = tmp_path / "model.c"
    text = export_c(hostile_model(), input="uint8", class_names=True).text
    call = "int main(void) { uint8_t x[6] = {0}; return model_label(model_predict(x))[0] == 0; }\n"
    source.write_text(text + call)
    subprocess.run(["gcc", *STRICT, source, "-o", tmp_path / "model"], check=True)


@pytest.mark.parametrize("text", HOSTILE)
def test_pieces(text):
    assert re.fullmatch(r"[ -~]*", comment(text))
    assert not set(comment(text)) & set("*/\\?")
    assert re.fullmatch(r'"([A-Za-z0-9 _.,-]|\\[0-7]{3})*"', string(text))
    check_name(make_name(text))


def test_names():
    assert make_name("My model-3") == "my_model_3"
    assert make_name("3d") == "model_3d"
    assert make_name("int") == "model_int"
    for name in ("int", "3d", "a-b", "", "a" * 50, "a;b"):
        with pytest.raises(BDNNError) as caught:
            check_name(name)
        assert_one_sentence(caught.value)


def test_numbers():
    assert integer_type([0, 255]) == "uint8_t"
    assert integer_type([-1, 127]) == "int8_t"
    assert integer_type([0, 70000]) == "int32_t"
    assert integer_type([2**40]) == "int64_t"
    assert [integer(v) for v in (-5, 40000, 2**40)] == ["-5", "40000L", "1099511627776LL"]


DATA = {"low": [0.0, 1.5], "high": [9.0, 7.3], "per_unit": [1, 10]}
SCALER = make_encoder(np.zeros(2), np.ones(2), 2.0**-6)


def test_the_smallest_type_that_holds_the_data():
    whole = {**DATA, "per_unit": [1, 1], "low": [0, 1], "high": [9, 7]}
    assert choose_format(SCALER, whole).kind == "uint8"
    assert choose_format(SCALER, {**whole, "low": [-3, 1]}).kind == "int8"
    assert choose_format(SCALER, {**whole, "high": [900, 7]}).kind == "uint16"
    assert choose_format(SCALER, {**whole, "high": [10**6, 7]}).kind == "double"
    assert choose_format(SCALER, DATA).kind == "double"
    assert choose_format(SCALER, {}).kind == "double"


def test_units_and_ranges_of_the_data():
    found = choose_format(SCALER, DATA, per_unit="data", limits="data")
    assert found.kind == "uint8"
    assert found.per_unit == (1, 10)
    assert found.ranges == ((0, 9), (15, 73))
    assert choose_format(SCALER, DATA, kind="uint8", per_unit=10).ranges == ((0, 255),) * 2


@pytest.mark.parametrize(
    "options",
    [
        {"kind": "int64"},
        {"kind": "double", "per_unit": 10},
        {"kind": "uint8", "limits": (0, 256)},
        {"kind": "uint8", "limits": (5, 4)},
        {"kind": "uint8", "per_unit": 0},
        {"kind": "int32"},
        {"kind": "uint8", "limits": "data", "per_unit": 3},
    ],
    ids=str,
)
def test_bad_formats(options):
    with pytest.raises(BDNNError) as caught:
        choose_format(SCALER, DATA, **options)
    assert_one_sentence(caught.value)


def test_bad_models():
    model = make_model(np.random.default_rng(0))
    steep = rescaled(model.encoder, factor=np.full(4, 1e300))
    for bad, options in (
        (replace(model, encoder=steep), {}),
        (model, {"main": True}),
        (model, {"name": "a b"}),
    ):
        with pytest.raises(BDNNError) as caught:
            export_c(bad, **options)
        assert_one_sentence(caught.value)


def test_flash_is_estimated_near_what_compilers_make():
    export = export_c(make_model(np.random.default_rng(6), hidden=(25,)), input="uint8")
    assert 100 < export.flash_estimate < 1500
