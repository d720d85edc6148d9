"""Classifiers as C: our networks, and the exports of m2cgen and emlearn."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir
from itertools import product
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

import bdnn
from bdnn.constraints import Sparsity
from bdnn.training import Descent
from deployed.compiled import Candidate, candidate


def our_candidates(X, X_test, y, y_test, seconds: float) -> Iterator[Candidate]:
    """Train the networks of every recipe and compile them, for size and for speed."""
    for label, settings in recipes(seconds, many=len(set(y)) > 4):
        settings = {"objective": "loss", "random_state": 0} | settings
        model = bdnn.BDNNClassifier(**settings).fit(X, y)
        for optimise in ("size", "speed"):
            header = model.to_c(name="ours", input="uint8", optimise=optimise)
            source = header.text + "int classify(const uint8_t *x) { return ours_predict(x); }\n"
            name, answers = f"{label} {optimise}", model.predict(X_test)
            yield candidate(name, "uint8_t", source, X_test, y_test, answers)


def recipes(seconds: float, *, many: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Networks of several widths, scalings and weight sets, for few or for many classes."""
    seconds *= 6 if many else 1
    wide = ((), (2,), (4,), (8,), (16,), (32,), (64,), (128,))
    widths = wide if many else ((), (1,), (2,), (3,), (5,), (8,), (16,))
    for hidden, scale, weights in product(widths, ("standard", None), ("ternary", "int:3")):
        if weights != "ternary" and (many or (len(hidden) and hidden[0] > 2)):
            continue
        shape = "-".join(map(str, hidden)) or "none"
        settings = {
            "hidden": hidden,
            "inputs": bdnn.Inputs(scale=scale),
            "weights": weights,
            "limits": bdnn.Limits(seconds=seconds),
        }
        yield f"{shape} {weights} {scale or 'raw'}", settings
    for width, cuts in product((32, 64, 128) if many else (4, 16), (5, 7)):
        # Keys of columns say for C what all cuts of one add to all units.
        yield (
            f"{width} ternary learnt {cuts} cuts",
            {
                "hidden": (width,),
                "inputs": bdnn.Inputs("cuts", cuts=cuts),
                "objective": "accuracy",
                "limits": bdnn.Limits(seconds=seconds),
            },
        )
    plain = {"inputs": bdnn.Inputs(scale=None), "weights": "ternary"}
    for units in (2, 3, 4, 5, 6):
        # Such a unit compares a feature with a number, as a node of a tree does.
        sparse = {
            "constraints": [Sparsity(per_unit=(1, None))],
            "limits": bdnn.Limits(seconds=seconds),
        }
        yield f"{units} one feature each", plain | sparse | {"hidden": (units,)}
    if many:
        # A part of the training rows chooses between networks of the same width.
        chosen = {"validation_fraction": 0.2, "limits": bdnn.Limits(seconds=2 * seconds)}
        yield "200 ternary raw validated", plain | chosen | {"hidden": (200,)}
        # Wide margins at the price of training errors.
        margins = {
            "method": Descent(objectives=("margin",)),
            "limits": bdnn.Limits(seconds=3 * seconds),
        }
        yield "300 ternary raw margins", plain | margins | {"hidden": (300,)}


def their_candidates(X, X_test, y, y_test) -> Iterator[Candidate]:
    """Trees, forests and MLPs by m2cgen and emlearn, those that are installed."""
    models = {
        "tree depth 2": DecisionTreeClassifier(max_depth=2, random_state=0),
        "tree depth 4": DecisionTreeClassifier(max_depth=4, random_state=0),
        "tree": DecisionTreeClassifier(random_state=0),
        "forest 5x3": RandomForestClassifier(5, max_depth=3, random_state=0),
        "forest 20": RandomForestClassifier(20, random_state=0),
        "MLP 5": MLPClassifier((5,), max_iter=3000, random_state=0),
        "MLP 25": MLPClassifier((25,), max_iter=3000, random_state=0),
    }
    exporters: dict[str, tuple[str, Callable]] = {}
    try:
        import m2cgen

        exporters["m2cgen"] = ("double", lambda model: _m2cgen_source(m2cgen, model))
    except ImportError:
        print("m2cgen is not installed")
    try:
        with np.errstate():  # whose import makes every underflow an error
            import emlearn

        exporters["emlearn"] = ("int16_t", lambda model: _emlearn_source(emlearn, model))
    except ImportError:
        print("emlearn is not installed")
    for (label, model), (exporter, (kind, write)) in product(models.items(), exporters.items()):
        is_net = isinstance(model, MLPClassifier)
        if is_net and exporter == "m2cgen":
            continue  # which does not know MLPs
        # emlearn cuts the fraction of a tree's thresholds off, which are halves here.
        unit = 2 if exporter == "emlearn" and not is_net else 1
        model.fit(unit * X, y)
        source = write(model)
        name, kind = f"{exporter} {label}", "float" if is_net else kind
        yield candidate(name, kind, source, unit * X_test, y_test, None)


def _m2cgen_source(m2cgen, model) -> str:
    sys.setrecursionlimit(20_000)
    n_classes = len(model.classes_)
    return (
        m2cgen.export_to_c(model)
        + f"\nint classify(const double *x) {{ double p[{n_classes}]; int i, c = 0;"
        + f" score((double *)x, p); for (i = 1; i < {n_classes}; ++i) if (p[i] > p[c]) c = i;"
        + " return c; }\n"
    )


def _emlearn_source(emlearn, model) -> str:
    n_features = model.n_features_in_
    is_net = isinstance(model, MLPClassifier)
    options = {} if is_net else {"method": "inline", "dtype": "int16_t"}
    kind = "float" if is_net else "int16_t"
    # It compiles what it converts in a folder of the current one.
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        code = emlearn.convert(model, **options).save(name="them")
    call = f"them_predict(x, {n_features})"
    return f"{code}\nint classify(const {kind} *x) {{ return (int){call}; }}\n"
