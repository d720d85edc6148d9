"""The self-test of a header: inputs with Python's answers, and a ``main`` that runs it."""

from __future__ import annotations

import numpy as np

from bdnn.export.boundary import answers, column_inputs, random_inputs
from bdnn.export.c.text import integer, real
from bdnn.export.inputs import InputFormat
from bdnn.model import Model
from bdnn.network.activation import FloatArray


def write_self_test(
    model: Model, inputs: InputFormat, name: str, count: int, rows: FloatArray | None = None
) -> list[str]:
    """Write inputs with Python's answers, and a function that counts wrong answers.

    Inputs are those of some of the rows of raw codes, or random ones.
    """
    rng = np.random.default_rng(0)
    if rows is not None and len(rows):
        X = _taken(model, inputs, rows[:: max(1, len(rows) // count)][:count])
        count = len(X)
    elif model.encoder.is_plain:
        X = random_inputs(model.encoder, inputs, count, rng)
    else:
        X = np.nan_to_num(column_inputs(model, inputs, count, rng))
    wanted = answers(model, inputs, X).tolist()
    lines = [[integer(int(v)) if inputs.is_integer else real(v) for v in row] for row in X.tolist()]
    if model.targets is None:
        expected = [
            f"    static const int16_t EXPECTED[{count}] = {{",
            "        " + ", ".join(map(str, wanted)),
        ]
        loop = f"wrong += {name}_predict(INPUT[i]) != EXPECTED[i];"
    else:
        n_numbers = len(wanted[0])
        expected = [
            f"    static const double EXPECTED[{count}][{n_numbers}] = {{",
            *(f"        {{{', '.join(map(real, row))}}}," for row in wanted),
        ]
        different = " || ".join(f"y[{i}] != EXPECTED[i][{i}]" for i in range(n_numbers))
        head = f"{{ double y[{n_numbers}]; {name}_predict(INPUT[i], y);"
        loop = f"{head} wrong += {different}; }}"
    return [
        "/* Number of self-test vectors with a wrong answer. */",
        f"static inline int {name}_self_test(void)",
        "{",
        f"    static const {inputs.c_type} INPUT[{count}][{X.shape[1]}] = {{",
        *(f"        {{{', '.join(line)}}}," for line in lines),
        "    };",
        *expected,
        "    };",
        "    int i, wrong = 0;",
        f"    for (i = 0; i < {count}; ++i) {loop}",
        "    return wrong;",
        "}",
        "",
    ]


def _taken(model: Model, inputs: InputFormat, rows: FloatArray) -> FloatArray:
    """Rows of raw codes as the function takes them; a gap of a real type has no constant."""
    if inputs.kind == "scaled":
        X = np.rint(model.inputs(rows) / (model.encoder.step or 1.0))
    elif not inputs.is_integer:
        X = np.where(np.isnan(rows), model.encoder.fills, rows)
        return np.nan_to_num(X).astype(inputs.reals.dtype).astype(float)
    else:
        X = np.rint(rows * np.array(inputs.per_unit))
        for j, column in enumerate(model.encoder.columns):
            if column.kind == "category" and inputs.ranges[j][0] >= 0:
                X[rows[:, j] < 0, j] = len(column.values)
        X = np.where(np.isnan(rows), float(inputs.missing or 0), X)
    low, high = np.array(inputs.ranges, dtype=float).T if inputs.ranges else (-(2**15), 2**15 - 1)
    return np.clip(X, low, high)


def write_main(name: str, count: int, *, labels: bool) -> list[str]:
    """Write a ``main`` that runs the self-test and prints the count of wrong answers."""
    return [
        "int main(void)",
        "{",
        f"    const int wrong = {name}_self_test();",
        # In a file with a main, clang warns of functions that nobody calls.
        *([f"    (void){name}_label;"] if labels else []),
        f'    printf("%d of {count} self-test vectors wrong\\n", wrong);',
        "    return wrong != 0;",
        "}",
        "",
    ]
