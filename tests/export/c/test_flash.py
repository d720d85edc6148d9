"""The estimate of flash against what compilers make of the same functions."""

import shutil

import numpy as np
import pytest

from bdnn.export.c import export_c
from bdnn.export.c.compiler import _source as translation_unit
from bdnn.export.c.compiler import compiled_size, measure
from bdnn.export.c.flash import estimate_flash
from tests.export.c.test_columns import make as make_columns
from tests.export.c.test_entries import calibrated
from tests.export.models import any_format, any_model


@pytest.fixture(scope="module")
def exports():
    rng = np.random.default_rng(77)
    found = [export_c(any_model(rng), **any_format(rng)) for _ in range(30)]
    for i in range(10):
        model = make_columns(rng, mixed=bool(i % 2), hidden=[(12,), (20, 8)][i % 2])
        found.append(export_c(calibrated(model, rng), probabilities=i % 3 == 0))
    return found


def ratios(exports, compile_):
    pairs = [(export.flash_estimate, compile_(export).flash) for export in exports]
    # Where constants are folded into a handful of instructions no share says much.
    return np.array([told / real for told, real in pairs if real > 200])


@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="no compiler for ARM")
def test_flash_on_a_cortex_m0(exports):
    found = ratios(exports, measure)
    assert len(found) > 15
    assert 0.9 < np.median(found) < 1.12
    assert found.min() > 0.6
    assert found.max() < 1.8
    assert (np.abs(found - 1) <= 0.25).mean() > 0.8


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_flash_of_other_machines_is_of_that_size(exports):
    found = ratios(exports, lambda export: compiled_size(translation_unit([export]), "gcc"))
    assert 0.5 < np.median(found) < 1.5


def test_tables_count_as_they_are():
    text = """/* static const int8_t NO[9] = {0}; */
static inline int f_predict(const double x[2])
{
    static const double A[3] = {
        0x1.8p+1, 2, 3,
    };
    static const uint16_t B[2][5] = {
    };
    return 0;
}
"""
    flash = estimate_flash(text)
    assert flash.tables == 3 * 8 + 2 * 5 * 2
    assert flash.total == flash.tables + flash.code
    longer = text.replace(
        "return 0;", "int i, s = 0;\n for (i = 0; i < 3; ++i) s = s + 1; return s;"
    )
    assert estimate_flash(longer).code > flash.code
