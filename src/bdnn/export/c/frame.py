"""What stands around the lines of a C function: its heading, signature, sizes and labels."""

from __future__ import annotations

from collections.abc import Sequence

from bdnn.export.c.text import comment, string
from bdnn.export.inputs import InputFormat
from bdnn.export.plan import Plan
from bdnn.model import Model

_MOST_NAMES = 64


def write_heading(
    model: Model,
    inputs: InputFormat,
    name: str,
    plan: Plan,
    *,
    needs_real: bool,
    has_products: bool,
) -> list[str]:
    """The comment at the top: what the function takes and returns, and how exact it is."""
    shape = model.network.architecture
    names: Sequence[str] = model.names or ()
    lines = [
        f"{name}.h: binarized network {shape}.",
        "",
        write_signature(name, inputs, plan, str(model.n_features))
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


def write_signature(name: str, inputs: InputFormat, plan: Plan, size: str) -> str:
    """The function as it is declared, with an array of so many inputs."""
    taken = f"const {inputs.c_type} x[{size}]"
    if plan.n_numbers:
        return f"void {name}_predict({taken}, double y[{plan.n_numbers}])"
    given = f", uint16_t weight[{plan.n_weights}]" if plan.n_weights else ""
    return f"int {name}_{verb_of(plan)}({taken}{given})"


def verb_of(plan: Plan) -> str:
    """What the function does, as its name says."""
    return "weights" if plan.n_weights else "predict"


def write_sizes(model: Model, name: str) -> list[str]:
    """Numbers of inputs and outputs as constants."""
    kind = "CLASSES" if model.targets is None else "NUMBERS"
    return [
        f"#define {name.upper()}_FEATURES {model.n_features}",
        f"#define {name.upper()}_{kind} {model.network.architecture.n_outputs}",
        "",
    ]


def write_opening(name: str, inputs: InputFormat, plan: Plan) -> list[str]:
    """The first lines of the function."""
    what = (
        "Numbers predicted for"
        if plan.n_numbers
        else "Index of the class of"
        if not plan.n_weights
        else "Weights of all classes, over their sum the probabilities, and index of the class of"
    )
    signature = write_signature(name, inputs, plan, f"{name.upper()}_FEATURES")
    return [f"/* {what} a sample. */", f"static inline {signature}", "{"]


def write_closing(name: str, inputs: InputFormat, plan: Plan) -> list[str]:
    """Its end, and a function of the class alone where it weighs all of them."""
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


def write_labels(model: Model, name: str) -> list[str]:
    """A function that names classes."""
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


def write_real_guard() -> list[str]:
    """Lines that refuse targets whose doubles are not those of Python."""
    return [
        "#include <float.h>",
        "",
        "#if DBL_MANT_DIG != 53 || (FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 1)",
        '#error "double arithmetic of this target is not that of Python: export integer inputs"',
        "#endif",
    ]
