"""The self-test of a header: inputs with Python's answers, and a ``main`` that runs it."""

from __future__ import annotations

import numpy as np

from bdnn.export.boundary import answers, column_inputs, random_inputs
from bdnn.export.c.text import integer, real
from bdnn.export.inputs import InputFormat
from bdnn.model import Model


def write_self_test(model: Model, inputs: InputFormat, name: str, count: int) -> list[str]:
    """Write inputs with Python's answers, and a function that counts wrong answers."""
    rng = np.random.default_rng(0)
    if model.encoder.is_plain:
        X = random_inputs(model.encoder, inputs, count, rng)
    else:
        X = np.nan_to_num(column_inputs(model, inputs, count, rng))
    wanted = answers(model, inputs, X).tolist()
    rows = [[integer(int(v)) if inputs.is_integer else real(v) for v in row] for row in X.tolist()]
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
        *(f"        {{{', '.join(row)}}}," for row in rows),
        "    };",
        *expected,
        "    };",
        "    int i, wrong = 0;",
        f"    for (i = 0; i < {count}; ++i) {loop}",
        "    return wrong;",
        "}",
        "",
    ]


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
