"""A handful of real model files and the table they were trained on, for forgers to begin with."""

from __future__ import annotations

import hashlib
import json
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from bdnn import BDNNClassifier, Inputs, Limits, Robust
from bdnn.constraints import Forbid, Monotone, Regularizer, Sparsity
from bdnn.datasets import Samples, read_table

Content = dict[str, Any]

NAMES = ("age", "size", "rate")
CLASSES = ("no", "yes")
_RNG = np.random.default_rng(11)
X = np.column_stack(
    [_RNG.integers(0, 6, 30), np.round(_RNG.normal(size=30), 2), _RNG.integers(0, 2, 30)]
).astype(float)
Y = np.where((X[:, 0] + 2 * X[:, 1] > 2.5) ^ (_RNG.random(30) < 0.1), "yes", "no")

_RADII = [
    {"kind": "radius", "radius": 0.01, "space": "scaled", "rows": "1-30"},
    {"kind": "radius", "radius": 0.02, "norm": "l1"},
    {"kind": "radius", "radius": "1/100", "norm": "l2", "space": "raw", "rows": "2,5-9"},
]
_OTHERS = [
    {"kind": "error", "at_most": 0.5},
    {"kind": "error", "at_most": 1, "class": "yes"},
    {"kind": "sparsity", "at_most": 3},
    {"kind": "unused", "features": []},
    {"kind": "count", "what": "total", "at_most": [40]},
    {"kind": "parity", "feature": "rate", "class": "yes", "at_most": 1.0, "only_own": False},
]
# Options, weights of samples, and what else is promised.
RECIPES = {
    "exact": ({"hidden": (1,), "method": "exact"}, None, _OTHERS),
    "two units": ({"hidden": (2,), "inputs": Inputs(scale="minmax")}, None, _RADII),
    "continuous": ({"hidden": (2,), "weights": "continuous"}, None, _RADII),
    "levels": ({"hidden": (2,), "activation": "ternary"}, None, _RADII),
    "two layers": ({"hidden": (2, 2), "ties": "first", "inputs": Inputs(scale=None)}, None, _RADII),
    "balanced": ({"hidden": (1,), "class_weight": "balanced"}, None, _OTHERS),
    "class weights": ({"hidden": (), "class_weight": {"no": 0.3, "yes": 2}}, None, _OTHERS),
    "sample weights": ({"hidden": (1,)}, 10.0 ** _RNG.integers(-6, 6, 30), _OTHERS),
    "certified": ({"hidden": (2,), "method": "auto", "robust": Robust(0.05)}, None, []),
    "constraints": (
        {
            "hidden": (2,),
            "method": "exact",
            "constraints": [Sparsity(per_unit=2), Monotone(0, +1, "yes"), Forbid(2)],
        },
        None,
        [{"kind": "unused", "features": ["rate"]}],
    ),
    "prices": (
        {"hidden": (1,), "method": "exact", "constraints": [Regularizer(l1=0.01)]},
        None,
        [],
    ),
}


def train_all() -> dict[str, bytes]:
    """Train and save every recipe, one of them with what the command line adds."""
    Path("data.csv").write_text(table())
    samples = Samples.from_table(read_table("data.csv"), "kind")
    found = {}
    for name, (options, weight, promises) in RECIPES.items():
        settings = {"method": "descent", "limits": Limits(seconds=1), "random_state": 0} | options
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = BDNNClassifier(**settings).fit(X, Y, weight, encoder=samples.encoder)
        path = Path(f"{name}.json")
        target = {"name": samples.target, "place": samples.target_place}
        extra = {"data": "data.csv", "target": target, "rows": f"1-{len(Y)}"}
        kept = [promise for promise in promises if _holds(model, promise)]
        model.save(path, promises=kept, extra=extra if name == "exact" else None)
        content = json.loads(path.read_text())
        content["result"]["history"] = content["result"]["history"][:2]
        sign(content)
        found[name] = json.dumps(content).encode()
    return found


def _holds(model: BDNNClassifier, promise: Content) -> bool:
    """Whether radii that are promised are those of the network, which hangs on the time it had."""
    if promise["kind"] != "radius":
        return True
    around = {"norm": promise.get("norm", "linf"), "units": promise.get("space", "raw")}
    radii = model.certify(X, **around).radii
    return bool((radii > 1.01 * float(Fraction(promise["radius"]))).all())


def table() -> str:
    """The data as a CSV file."""
    lines = [",".join([*map(repr, row), label]) for row, label in zip(X.tolist(), Y, strict=True)]
    return "\n".join([",".join([*NAMES, "kind"]), *lines, ""])


def sign(content: Content) -> None:
    """Write the right checksum into a file."""
    content.pop("checksum", None)
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    content["checksum"] = hashlib.sha256(text.encode()).hexdigest()
