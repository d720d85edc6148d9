"""One C99 header that answers like the network does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bdnn.encoding.encoder import Encoder
from bdnn.errors import ModelError, UnsupportedFeatureError
from bdnn.export.c.code import lay_out, write_code
from bdnn.export.c.columns import ColumnCode, column_format, inner_model, with_used_inputs
from bdnn.export.c.flash import Flash, estimate_flash
from bdnn.export.c.halves import has_ordinary_scale, split
from bdnn.export.c.self_test import write_main, write_self_test
from bdnn.export.c.text import Code, check_name, comment, string
from bdnn.export.c.words import write_halves
from bdnn.export.inputs import InputFormat, choose_format
from bdnn.export.plan import Plan, make_plan
from bdnn.export.plan.plan import Table
from bdnn.model import Model
from bdnn.network.expansion import unrolled

_MOST_NAMES = 64
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
        return _signature(self.name, self.inputs, self.plan, size)


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
    main: bool = False,
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
    main : bool
        Whether to add a ``main`` that runs the self-test.

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
    if tests < 0 or (main and not tests):
        raise ModelError(f"main runs the self-test, got {tests} test vectors: ask for some.")
    if not model.encoder.is_plain:
        inputs = column_format(model, input, per_unit)
        return _of_columns(model, inputs, name, class_names=class_names, tests=tests, main=main)
    inputs = choose_format(model.encoder, data or {}, kind=input, per_unit=per_unit, limits=limits)
    _check_scaler(model.encoder, inputs)
    steps = unrolled(model.network, "export to C")
    plan = make_plan(steps, model.encoder, inputs, model.targets, model.calibration)
    plan = lay_out(plan, model.encoder, inputs)
    code = write_code(plan, model.encoder, inputs, name)
    return _header(model, inputs, name, plan, code, class_names=class_names, tests=tests, main=main)


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
    main: bool,
) -> CExport:
    """Put the lines of a function, and what comes before it, into a header."""
    is_real = code.needs_real or not inputs.is_integer
    opening = [
        *_heading(
            model,
            inputs,
            name,
            plan,
            needs_real=code.needs_real,
            has_products=code.has_products,
        ),
        f"#ifndef {name.upper()}_H",
        f"#define {name.upper()}_H",
        "",
        "#include <stdint.h>",
        *(["#include <string.h>"] if any("memcpy(" in line for line in code.helpers) else []),
        *(_real_guard() if code.needs_real else []),
    ]
    function = [
        "",
        *_sizes(model, name),
        *(_class_names(model, name) if class_names else []),
        *before,
        *code.helpers,
        *_opening(name, inputs, plan),
        *code.tables,
        *([f"    int {', '.join(sorted(code.counters))};"] if code.counters else []),
        *code.body,
        *_closing(name, inputs, plan),
    ]
    tested = write_self_test(model, inputs, name, tests) if tests else []
    tested += write_main(name, tests, labels=class_names) if main else []
    printing = ["#include <stdio.h>"] if main else []
    return CExport(
        _joined(*opening, *printing, *function, *tested, "#endif"),
        _joined(*opening, *function, "#endif"),
        name,
        inputs,
        plan,
        not is_real,
        code.has_products,
        code.stack + _STACK_OF_CALLS,
    )


def _of_columns(
    model: Model, inputs: InputFormat, name: str, *, class_names: bool, tests: int, main: bool
) -> CExport:
    """A function of raw columns: in halves, or around that of the network, whichever is smaller."""
    model = with_used_inputs(model)
    options: dict[str, Any] = {"class_names": class_names, "tests": tests, "main": main}
    loops = _in_halves(model, inputs, name, **options)
    # Loops over tables pay from some inputs on.
    if loops is None or (model.encoder.n_inputs <= _FEW_INPUTS and not loops.plan.is_constant):
        around = _around_network(model, inputs, name, **options)
        if loops is None or around.flash_estimate < loops.flash_estimate:
            return around
    return loops


def _in_halves(model: Model, inputs: InputFormat, name: str, **options: Any) -> CExport | None:
    """Loops over tables, None if the network or its numbers do not allow them."""
    writer, halves = ColumnCode(model.encoder, inputs, name), split(model)
    written = None if halves is None else write_halves(model, halves, inputs, name)
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
    model: Model, inputs: InputFormat, name: str, *, class_names: bool, tests: int, main: bool
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
    )
    plan = inner.plan
    given = ", y" if plan.n_numbers else ", weight" if plan.n_weights else ""
    call = f"{name}_network_{_verb(plan)}(q{given});"
    q_type = "double" if model.encoder.numbers else "uint8_t"
    opening = [
        *_heading(
            model,
            inputs,
            name,
            plan,
            needs_real=not inner.is_integer,
            has_products=inner.has_products or bool(model.encoder.numbers),
        ),
        f"#ifndef {name.upper()}_H",
        f"#define {name.upper()}_H",
        "",
        "#include <stdint.h>",
        *([] if inputs.is_integer else ["#include <string.h>"]),
        "",
        inner.function.rstrip(),
    ]
    function = [
        "",
        *_sizes(model, name),
        *(_class_names(model, name) if class_names else []),
        *writer.constants(),
        *writer.helpers(),
        *_opening(name, inputs, plan),
        f"    {q_type} q[{n_inputs}];",
        *(["    volatile double v;"] if model.encoder.step else []),
        *writer.body(),
        f"    {'' if plan.n_numbers else 'return '}{call}",
        *_closing(name, inputs, plan),
    ]
    tested = write_self_test(model, inputs, name, tests) if tests else []
    tested += write_main(name, tests, labels=class_names) if main else []
    printing = ["#include <stdio.h>"] if main else []
    return CExport(
        _joined(*opening, *printing, *function, *tested, "#endif"),
        _joined(*opening, *function, "#endif"),
        name,
        inputs,
        plan,
        inner.is_integer and inputs.is_integer,
        inner.has_products or bool(model.encoder.numbers),
        inner.stack + n_inputs * (8 if model.encoder.numbers else 1),
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


def _verb(plan: Plan) -> str:
    return "weights" if plan.n_weights else "predict"


def _signature(name: str, inputs: InputFormat, plan: Plan, size: str) -> str:
    taken = f"const {inputs.c_type} x[{size}]"
    if plan.n_numbers:
        return f"void {name}_predict({taken}, double y[{plan.n_numbers}])"
    given = f", uint16_t weight[{plan.n_weights}]" if plan.n_weights else ""
    return f"int {name}_{_verb(plan)}({taken}{given})"


def _sizes(model: Model, name: str) -> list[str]:
    kind = "CLASSES" if model.targets is None else "NUMBERS"
    return [
        f"#define {name.upper()}_FEATURES {model.n_features}",
        f"#define {name.upper()}_{kind} {model.network.architecture.n_outputs}",
        "",
    ]


def _opening(name: str, inputs: InputFormat, plan: Plan) -> list[str]:
    what = (
        "Numbers predicted for"
        if plan.n_numbers
        else "Index of the class of"
        if not plan.n_weights
        else "Weights of all classes, over their sum the probabilities, and index of the class of"
    )
    signature = _signature(name, inputs, plan, f"{name.upper()}_FEATURES")
    return [f"/* {what} a sample. */", f"static inline {signature}", "{"]


def _closing(name: str, inputs: InputFormat, plan: Plan) -> list[str]:
    if not plan.n_weights:
        return ["}", ""]
    return [
        "}",
        "",
        "/* Index of the class of a sample. */",
        f"static inline int {name}_predict(const {inputs.c_type} x[{name.upper()}_FEATURES])",
        "{",
        f"    uint16_t weight[{plan.n_weights}];",
        f"    return {name}_weights(x, weight);",
        "}",
        "",
    ]


def _heading(
    model: Model,
    inputs: InputFormat,
    name: str,
    plan: Plan,
    *,
    needs_real: bool,
    has_products: bool,
) -> list[str]:
    shape = model.network.architecture
    names: Sequence[str] = model.names or ()
    lines = [
        f"{name}.h: binarized network {shape}.",
        "",
        _signature(name, inputs, plan, str(model.n_features))
        + (
            " writes numbers to y."
            if plan.n_numbers
            else " returns the index of the class, from 0."
        ),
        *(
            ["The probability of class i is weight[i] over the sum of all of them."]
            if plan.n_weights
            else []
        ),
    ]
    if inputs.kind == "scaled":
        lines.append(f"Inputs are multiples of {model.encoder.step or 1.0!r} of scaled features.")
    elif inputs.is_integer:
        units = set(inputs.per_unit)
        each = f"1/{units.pop()}" if len(units) == 1 else "the fraction given with each"
        lines.append(
            f"Inputs are counts of {each} of a unit."
            if each != "1/1"
            else "Inputs are whole numbers."
        )
    else:
        lines += [
            f"Inputs are numbers up to {inputs.largest:g} in size; others give some class.",
            "NaN gives some class." if model.encoder.is_plain else "NaN is a missing value.",
            "Flags that flush subnormal numbers to zero, as -ffast-math does, make tiny inputs 0.",
        ]
    if inputs.is_integer:
        low, high = min(r[0] for r in inputs.ranges), max(r[1] for r in inputs.ranges)
        lines.append(f"Answers equal those of the Python package for all inputs in {low}..{high}.")
    else:
        lines.append("Answers equal those of the Python package.")
    lines.append(
        "No floating point."
        if not needs_real and inputs.is_integer
        else "Floating point is used to compare inputs only."
        if not needs_real
        else "Uses double arithmetic with every rounding as in Python, under any compiler flags."
    )
    if not has_products:
        lines.append("No multiplication but by powers of two, and in addresses of tables.")
    lines.append("")
    for j in range(min(model.n_features, _MOST_NAMES)):
        unit = f", in 1/{inputs.per_unit[j]}" if inputs.per_unit[j] != 1 else ""
        span = ""
        if inputs.is_integer and len(set(inputs.ranges)) > 1:
            span = f", {inputs.ranges[j][0]}..{inputs.ranges[j][1]}"
        title = comment(names[j], 60) if names else "feature"
        lines.append(f"x[{j}] {title}{unit}{span}")
    lines += [
        f"class {i}: {comment(str(label), 60)}"
        for i, label in enumerate(model.classes[:_MOST_NAMES])
    ]
    first, *rest = (line.rstrip() for line in lines)
    return [f"/* {first}", *(f"   {line}".rstrip() for line in rest), "*/"]


def _real_guard() -> list[str]:
    return [
        "#include <float.h>",
        "",
        "#if DBL_MANT_DIG != 53 || (FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 1)",
        '#error "double arithmetic of this target is not that of Python: export integer inputs"',
        "#endif",
    ]


def _class_names(model: Model, name: str) -> list[str]:
    labels = [f"    {string(str(label))}," for label in model.classes]
    return [
        "/* Label of a class, empty for an index that is none. */",
        f"static inline const char *{name}_label(int index)",
        "{",
        f"    static const char *const LABEL[{len(labels)}] = {{",
        *(f"    {line}" for line in labels),
        "    };",
        f'    return index >= 0 && index < {len(labels)} ? LABEL[index] : "";',
        "}",
        "",
    ]
