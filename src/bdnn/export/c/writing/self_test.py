"""Self-test vectors: inputs with the classes that Python gives, and a ``main`` to run them."""

from __future__ import annotations

import numpy as np

from bdnn.export.boundary import random_inputs
from bdnn.export.c.text import integer, real
from bdnn.export.inputs import InputFormat
from bdnn.model import Model

_SEED = 0


def self_test(
    model: Model, inputs: InputFormat, name: str, count: int, *, labels: bool, main: bool
) -> list[str]:
    """Write a function that counts wrong answers, and a ``main`` that prints the count.

    ``labels`` says whether the header has a function of labels.
    """
    X = random_inputs(model.encoder, inputs, count, np.random.default_rng(_SEED))
    classes = model.network.predict(inputs.scaled(X, model.encoder)).tolist()
    rows = [[integer(int(v)) if inputs.is_integer else real(v) for v in row] for row in X.tolist()]
    lines = [
        "/* Number of self-test vectors with a wrong answer. */",
        f"static inline int {name}_self_test(void)",
        "{",
        f"    static const {inputs.c_type} INPUT[{count}][{X.shape[1]}] = {{",
        *(f"        {{{', '.join(row)}}}," for row in rows),
        "    };",
        f"    static const int16_t EXPECTED[{count}] = {{",
        "        " + ", ".join(map(str, classes)),
        "    };",
        "    int i, wrong = 0;",
        f"    for (i = 0; i < {count}; ++i) wrong += {name}_predict(INPUT[i]) != EXPECTED[i];",
        "    return wrong;",
        "}",
        "",
    ]
    if main:
        lines += [
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
    return lines
