"""One C99 header that answers like the network does."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bdnn.encoding.encoder import Encoder
from bdnn.errors import ModelError, UnsupportedFeatureError
from bdnn.export.c.code import lay_out, write_code
from bdnn.export.c.columns import (
    ColumnCode,
    column_format,
    inner_model,
    with_all_columns,
    with_used_inputs,
)
from bdnn.export.c.flash import Flash, estimate_flash
from bdnn.export.c.frame import (
    verb_of,
    write_closing,
    write_heading,
    write_labels,
    write_opening,
    write_real_guard,
    write_signature,
    write_sizes,
)
from bdnn.export.c.halves import has_ordinary_scale, split
from bdnn.export.c.mains import INCLUDES, write_csv_main, write_main, write_self_test
from bdnn.export.c.text import Code, check_name
from bdnn.export.c.words import write_halves
from bdnn.export.inputs import INTEGER_TYPES, InputFormat, choose_format
from bdnn.export.plan import Plan, make_plan
from bdnn.export.plan.plan import Table
from bdnn.model import Model
from bdnn.network.activation import FloatArray
from bdnn.network.expansion import unrolled

_STACK_OF_CALLS = 32
_FEW_INPUTS = 24


@dataclass(frozen=True)
class CExport:
    """A model as C.

    Attributes
    ----------
    text : str
        The header.
    function : str
        The header without self-test and ``main``.
    name : str
        Before every name of the header; the function is ``NAME_predict``.
    inputs : InputFormat
        What the function takes.
    plan : Plan
        What it computes.
    is_integer : bool
        Whether it uses no floating point.
    has_products : bool
        Whether it multiplies by anything but powers of two.
    stack : int
        Bytes of arrays and variables on the stack, about.
    """

    text: str
    function: str
    name: str
    inputs: InputFormat
    plan: Plan
    is_integer: bool
    has_products: bool
    stack: int

    def __repr__(self) -> str:
        kind = "integers only" if self.is_integer else "integers and doubles"
        return f"<CExport: {self.signature}, {kind}, about {self.flash_estimate} bytes of flash>"

    @cached_property
    def flash(self) -> Flash:
        """Bytes of code and tables on a 32-bit ARM, about."""
        return estimate_flash(self.function)

    @property
    def flash_estimate(self) -> int:
        """Bytes of code and tables together."""
        return self.flash.total

    @property
    def signature(self) -> str:
        """What to call."""
        size = str(len(self.inputs.per_unit))
        return write_signature(self.name, self.inputs, self.plan, size)


def export_c(
    model: Model,
    *,
    data: Mapping[str, Any] | None = None,
    name: str = "model",
    input: str = "auto",
    per_unit: int | str | None = None,
    limits: tuple[int, int] | str | None = None,
    class_names: bool = False,
    probabilities: bool = False,
    tests: int = 0,
    main: bool | str = False,
    rows: FloatArray | None = None,
    optimise: str = "size",
) -> CExport:
    """Write a model as one C99 header whose every answer equals Python's.

    Parameters
    ----------
    model : Model
    data : mapping, optional
        Ranges and units of the training data, as the certificate of a model file has them.
    name : str
        Before every name in the header.
    input : str
        Type of the inputs: ``auto``, ``uint8``, ``int8``, ``uint16``, ``int16``, ``int32``,
        ``double``, ``float``, or ``scaled`` for inputs that are multiples of the scaler's step.
    per_unit : int or "data", optional
        Counts per unit of integer inputs, for example 10 for tenths.
    limits : pair of int or "data", optional
        Range of integer inputs for which the answers are proven; all of the type if not given.
    class_names : bool
        Whether to add a table of the class labels.
    probabilities : bool
        Whether to add ``NAME_weights(x, weight)``, which writes an integer per class and returns
        the class. Weights over their sum are the probabilities of ``predict_proba``.
    tests : int
        Number of self-test vectors to add.
    main : bool or "csv"
        Whether to add a ``main`` that runs the self-test; or ``NAME_encode``, which reads cells of
        texts, and a ``main`` that reads rows of a CSV file and prints the answers.
    rows : array of shape (n_rows, n_features), optional
        Rows to take self-test vectors of, instead of random ones.
    optimise : {"size", "speed"}
        Few bytes, or few nanoseconds: weights of 16 bits in rows that compilers multiply as
        vectors, and no branch that depends on the data.

    Returns
    -------
    CExport
    """
    check_name(name)
    if class_names and not model.classes:
        raise ModelError("a regressor has no class labels to add: leave class_names out.")
    if probabilities and model.calibration is None:
        raise ModelError(
            "probabilities are for classifiers with a table of them, got a model that has none: "
            "leave them out, or train it again with this version."
        )
    if not probabilities:
        model = replace(model, calibration=None)
    if main == "csv":
        class_names = bool(model.classes)
    elif tests < 0 or (main and not tests):
        raise ModelError(f"main runs the self-test, got {tests} test vectors: ask for some.")
    if optimise not in ("size", "speed"):
        raise ModelError(f"optimise must be 'size' or 'speed', got {optimise!r}: choose one.")
    is_fast = optimise == "speed"
    if input in INTEGER_TYPES:
        model = with_all_columns(model)
    if not model.encoder.is_plain:
        inputs = column_format(model, input, per_unit)
        return _of_columns(
            model,
            inputs,
            name,
            class_names=class_names,
            tests=tests,
            main=main,
            rows=rows,
            is_fast=is_fast,
        )
    inputs = choose_format(model.encoder, data or {}, kind=input, per_unit=per_unit, limits=limits)
    _check_scaler(model.encoder, inputs)
    steps = unrolled(model.network, "export to C")
    plan = make_plan(steps, model.encoder, inputs, model.targets, model.calibration)
    plan = lay_out(plan, model.encoder, inputs, is_fast=is_fast)
    code = write_code(plan, model.encoder, inputs, name, is_fast=is_fast)
    options: dict[str, Any] = {"class_names": class_names, "tests": tests}
    return _header(model, inputs, name, plan, code, **options, main=main, rows=rows)


def _header(
    model: Model,
    inputs: InputFormat,
    name: str,
    plan: Plan,
    code: Code,
    before: Sequence[str] = (),
    *,
    class_names: bool,
    tests: int,
    main: bool | str,
    rows: FloatArray | None,
) -> CExport:
    """Put the lines of a function, and what comes before it, into a header."""
    has_copies = any("memcpy(" in line for line in code.helpers)
    return _framed(
        model,
        inputs,
        name,
        plan,
        [
            *(["#include <string.h>"] if has_copies else []),
            *(write_real_guard() if code.needs_real else []),
        ],
        [*before, *code.helpers],
        [
            *code.tables,
            *([f"    int {', '.join(sorted(code.counters))};"] if code.counters else []),
            *code.body,
        ],
        needs_real=code.needs_real,
        has_products=code.has_products,
        stack=code.stack + _STACK_OF_CALLS,
        class_names=class_names,
        tests=tests,
        main=main,
        rows=rows,
    )


def _framed(
    model: Model,
    inputs: InputFormat,
    name: str,
    plan: Plan,
    includes: Sequence[str],
    before: Sequence[str],
    body: Sequence[str],
    *,
    needs_real: bool,
    has_products: bool,
    stack: int,
    class_names: bool,
    tests: int,
    main: bool | str,
    rows: FloatArray | None,
) -> CExport:
    """Put a heading, a guard and tests around what is included, helpers and a function's body."""
    opening = [
        *write_heading(model, inputs, name, plan, needs_real=needs_real, has_products=has_products),
        f"#ifndef {name.upper()}_H",
        f"#define {name.upper()}_H",
        "",
        "#include <stdint.h>",
        *includes,
    ]
    if not any(re.search(r"\bx\b", line) for line in body):
        body = ["    (void)x;", *body]
    function = [
        "",
        *write_sizes(model, name),
        *(write_labels(model, name) if class_names else []),
        *before,
        *write_opening(name, inputs, plan),
        *body,
        *write_closing(name, inputs, plan),
    ]
    if rows is not None and len(rows):
        tests = min(tests, len(rows))
    tested = write_self_test(model, inputs, name, tests, rows) if tests else []
    printing: list[str] = []
    if main == "csv":
        tested += write_csv_main(model, inputs, name)
        printing = [line for line in INCLUDES if line not in includes]
    elif main:
        tested += write_main(name, tests, labels=class_names)
        printing = ["#include <stdio.h>"]
    return CExport(
        _joined(*opening, *printing, *function, *tested, "#endif"),
        _joined(*opening, *function, "#endif"),
        name,
        inputs,
        plan,
        inputs.is_integer and not needs_real,
        has_products,
        stack,
    )


def _of_columns(
    model: Model,
    inputs: InputFormat,
    name: str,
    *,
    class_names: bool,
    tests: int,
    main: bool | str,
    rows: FloatArray | None,
    is_fast: bool,
) -> CExport:
    """A function of raw columns: in halves, or around that of the network, whichever is smaller."""
    model = with_used_inputs(model)
    options: dict[str, Any] = {"class_names": class_names, "tests": tests}
    options |= {"main": main, "rows": rows}
    loops = _in_halves(model, inputs, name, is_fast, **options)
    # Loops over tables pay from some inputs on.
    if loops is None or (model.encoder.n_inputs <= _FEW_INPUTS and not loops.plan.is_constant):
        around = _around_network(model, inputs, name, is_fast, **options)
        if loops is None or around.flash_estimate < loops.flash_estimate:
            return around
    return loops


def _in_halves(
    model: Model, inputs: InputFormat, name: str, is_fast: bool, **options: Any
) -> CExport | None:
    """Loops over tables, None if the network or its numbers do not allow them."""
    writer, halves = ColumnCode(model.encoder, inputs, name), split(model)
    written = None if halves is None else write_halves(model, halves, inputs, name, is_fast=is_fast)
    if _is_constant(model):
        (found,) = model.network.predict(np.zeros((1, model.encoder.n_inputs))).tolist()
        plan = Plan({}, (), None, (), Table((found,)))
        written = plan, write_code(plan, model.encoder, inputs, name)
    if written is None:
        return None
    plan, code = written
    if any("_is_missing(" in line for line in code.body):
        code.helpers = [*writer.helpers(), *code.helpers]
    return _header(model, inputs, name, plan, code, writer.constants(), **options)


def _around_network(
    model: Model, inputs: InputFormat, name: str, is_fast: bool, **options: Any
) -> CExport:
    """A statement per input, and a function of the network that takes them."""
    writer, n_inputs = ColumnCode(model.encoder, inputs, name), model.encoder.n_inputs
    network, kind, limits = inner_model(model)
    inner = export_c(
        network,
        name=f"{name}_network",
        input=kind,
        limits=limits,
        probabilities=model.calibration is not None,
        optimise="speed" if is_fast else "size",
    )
    plan, has_numbers = inner.plan, bool(model.encoder.numbers)
    given = ", y" if plan.n_numbers else ", weight" if plan.n_weights else ""
    call = f"{name}_network_{verb_of(plan)}(q{given});"
    lines = writer.body()
    return _framed(
        model,
        inputs,
        name,
        plan,
        [
            *([] if inputs.is_integer else ["#include <string.h>"]),
            "",
            inner.function.rstrip(),
        ],
        [*writer.constants(), *writer.helpers()],
        [
            f"    {'double' if has_numbers else 'uint8_t'} q[{n_inputs}];",
            *(["    volatile double v;"] if any(" v = " in line for line in lines) else []),
            *lines,
            f"    {'' if plan.n_numbers else 'return '}{call}",
        ],
        needs_real=not inner.is_integer,
        has_products=inner.has_products or has_numbers,
        stack=inner.stack + n_inputs * (8 if has_numbers else 1),
        **options,
    )


def _is_constant(model: Model) -> bool:
    """Whether no unit looks at anything and only the class is asked for."""
    is_class = model.targets is None and model.calibration is None
    return is_class and not model.network.weights[0].any()


def _joined(*lines: str) -> str:
    return "\n".join(lines) + "\n"


def _check_scaler(scaler: Encoder, inputs: InputFormat) -> None:
    if not scaler.step or inputs.kind == "scaled":
        return
    if not has_ordinary_scale(scaler):
        raise UnsupportedFeatureError(
            "the scaler has a factor or step of extraordinary size: scale the features before "
            "training, and train again."
        )
