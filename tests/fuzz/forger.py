"""Forged and malformed model files, made from real ones by a seed: the same seed, the same file.

A forger edits what a file says and signs it anew; a vandal damages what the file is. Neither needs
to make sense: whatever they make, the checker must not prove anything that is not so.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bdnn.model_file.data import fingerprint
from tests.fuzz.models import CLASSES, NAMES, Content, X, Y, sign

# Values that belong nowhere.
ODD: list[Any] = [
    None, True, False, 0, -1, 1, 2, 0.5, -0.0, 1e-320, 1e308, -1e308, 2**63, 10**17, "", "x", "1/0",
    "1/3", "0.1", "1e99999999", "1e-99999999", "nan", "-inf", "9" * 500, "1-99999999", "1-", "5,3",
    "\x1b[2J\u202e", "ä\ud800", [], {}, [[1], [2]], [None], {"float": "inf"}, {"float": "-inf"},
    {"float": "nan"}, ["a"] * 50, [[]] * 30, {"kind": "radius"}, "balanced", "certified", "optimal",
]  # fmt: skip
_RAW = ["NaN", "Infinity", "1e999", "9" * 400, "0." + "3" * 5000, "[" * 500, "{" * 90, '"\\ud800"']


@dataclass(frozen=True)
class Case:
    """One file: how it came about, and its bytes."""

    name: str
    data: bytes


def make_case(originals: Mapping[str, bytes], seed: int) -> Case:
    """Forge or damage one of some files."""
    rng = random.Random(seed)
    origin = rng.choice(sorted(originals))
    content = json.loads(originals[origin])
    steps = [rng.choice(_STEPS) for _ in range(rng.choice([1, 1, 1, 2, 3]))]
    for step in steps:
        try:
            step(content, rng)
        except (KeyError, TypeError, IndexError, ValueError, AttributeError):
            continue  # an earlier step has left nothing to change here
    if rng.random() < 0.9:
        sign(content)
    data = json.dumps(content).encode()
    if rng.random() < 0.15:
        steps.append(_damage)
        data = _damage(data, rng)
    name = ", ".join(step.__name__.strip("_").replace("_", " ") for step in steps)
    return Case(f"{seed}: {origin}: {name}", data)


def _damage(data: bytes, rng: random.Random) -> bytes:
    """Change the text itself."""
    place = rng.randrange(len(data))
    kind = rng.randrange(5)
    if kind == 0:
        return data[:place]
    if kind == 1:
        return data[:place] + bytes([rng.randrange(256)]) + data[place + 1 :]
    if kind == 2:
        return data.replace(b": 0", b": " + rng.choice(_RAW).encode(), 1)
    if kind == 3:
        return b'{"classes": [0, 1], ' + data[1:]
    return data[:place] + data[place : place + 40] * 50 + data[place:]


def put_something_odd(content: Content, rng: random.Random) -> None:
    """Replace some value by one that belongs elsewhere or nowhere."""
    holder, key = rng.choice(_places(content))
    value = copy.deepcopy(rng.choice(ODD))
    if rng.random() < 0.3:
        other, other_key = rng.choice(_places(content))
        value = copy.deepcopy(other[other_key])
    holder[key] = value


def _leave_something_out(content: Content, rng: random.Random) -> None:
    holder, key = rng.choice(_places(content))
    del holder[key]


def _move_a_number(content: Content, rng: random.Random) -> None:
    places = [
        (holder, key) for holder, key in _places(content) if type(holder[key]) in (int, float)
    ]
    holder, key = rng.choice(places)
    moves: list[Callable[[Any], Any]] = [
        lambda v: v + 1,
        lambda v: v - 1,
        lambda v: -v,
        lambda v: v * 1.0000001,
        lambda v: v * 1000,
        lambda v: 0,
    ]
    holder[key] = rng.choice(moves)(holder[key])


def _boast(content: Content, rng: random.Random) -> None:
    """State a better result than there is."""
    result = content["result"]
    loss = rng.choice([0, 0.0, result["loss"] / 2, result["loss"] - 1, result["bound"]["value"]])
    result.update(loss=loss, status="optimal")
    if rng.random() < 0.5:
        result.update(error=0)
        result["bound"]["value"] = loss
    if result.get("objective") is not None and rng.random() < 0.5:
        result["objective"] = loss


def _raise_the_bound(content: Content, rng: random.Random) -> None:
    result = content["result"]
    goal = result["loss"] if result.get("objective") is None else result["objective"]
    bound, result["status"] = result["bound"], "optimal"
    bound["value"] = goal + rng.choice([0, 0, 1, 1e-9])
    bound["origin"] = rng.choice(["zero", "data conflicts", "highs", "lines"])
    if rng.random() < 0.4:
        bound["condition"] = {"margin": rng.choice([0, 1e-4]), "tolerance": rng.choice([0, 1e9])}


def _make_constant(content: Content, rng: random.Random) -> None:
    """A network that always says the same, with the result of one that is always right."""
    top = content["network"]["layers"][-1]
    top["weights"] = [[0 for _ in row] for row in top["weights"]]
    top["thresholds"] = rng.choice([[[-1.0], [1.0]], [[1.0], [-1.0]]])
    content["result"].update(loss=0, error=0, status="optimal")
    content["result"]["bound"]["value"] = 0
    if rng.random() < 0.7:
        _weigh_classes(content, rng)


def _weigh_classes(content: Content, rng: random.Random) -> None:
    data = content["certificate"]["data"]
    data["class_weight"] = rng.choice(
        [[1, 0], [0, 1], [1, 1e-300], [5e-324, 1], [1, "1/1000"], [-1, 1], "balanced", [2, 2], None]
    )
    if rng.random() < 0.3:
        content["settings"]["class_weight"] = rng.choice([None, "balanced"])


def _weigh_samples(content: Content, rng: random.Random) -> None:
    data = content["certificate"]["data"]
    weights = [rng.choice([1, 1, 0.1, 1e-12, 1e12]) for _ in Y]
    data["sample_weight"] = rng.choice([True, False, weights, weights[:-1], [0] * len(Y)])


def _swap_names(content: Content, rng: random.Random) -> None:
    names = list(NAMES)
    rng.shuffle(names)
    encoder = content["encoder"]
    encoder["header"] = rng.random() < 0.8
    names = rng.choice([names, names, ["x1", "x2", "x3"], ["a", "b", "c"]])
    for column, name in zip(encoder["columns"], names, strict=True):
        column["name"] = name


def _pick_rows(content: Content, rng: random.Random) -> None:
    """Train on some rows only, as the file says, with a hash that fits."""
    rows = sorted(rng.sample(range(len(Y)), rng.randint(1, len(Y))))
    data = content["certificate"]["data"]
    data["used"] = ",".join(str(row + 1) for row in rows)
    data["rows"] = len(rows) + rng.choice([0, 0, 1])
    labels = np.array([CLASSES.index(label) for label in Y[rows]])
    data["sha256"] = fingerprint(X[rows] + 0.0, labels)
    data["low"], data["high"] = X[rows].min(axis=0).tolist(), X[rows].max(axis=0).tolist()
    if rng.random() < 0.3:
        data["used"] = rng.choice(["", "1-99999999", "2,1", "31", "0", None])


def _promise(content: Content, rng: random.Random) -> None:
    """Promise something that may be true or not."""
    feature = rng.choice([*NAMES, 0, 1, 2, "nothing", -1, 7])
    rows = rng.choice(["1-30", "1", "3,7-9", "", "1-31", "1-99999999", "30,1", None])
    radius = rng.choice([0, 1e-3, 0.01, 0.1, 0.5, 3, 1e9, -1, "1/7", "1e9999999", "1e-300"])
    amount = rng.choice([0, 1, 2, 3, 0.05, 0.5, "1e99999999", "1/3", [2], [None, 1], None])
    label = rng.choice(["yes", "no", "maybe", 1])
    promise = rng.choice(
        [
            {"kind": "radius", "radius": radius, "rows": rows},
            {"kind": "radius", "radius": radius, "space": "scaled"},
            {"kind": "radius", "radius": radius, "norm": "l1", "space": "scaled", "rows": rows},
            {"kind": "radius", "radius": radius, "norm": "l2", "space": "raw", "rows": rows},
            {"kind": "error", "at_most": amount, "class": rng.choice([label, None])},
            {"kind": "sparsity", "at_most": amount, "layer": rng.choice([0, 1, 2, 3, -1])},
            {"kind": "unused", "features": [feature]},
            {"kind": "monotone", "feature": feature, "sign": rng.choice([1, -1]), "class": label},
            {"kind": "right", "rows": rows},
            {
                "kind": "parity",
                "feature": feature,
                "class": label,
                "at_most": amount,
                "only_own": rng.choice([True, False]),
            },
            {
                "kind": "count",
                "what": rng.choice(["per_unit", "per_layer", "total", "units", "features", "?"]),
                "at_most": [amount] * rng.choice([1, 2]),
            },
            {"kind": "weight", "layer": 0, "unit": 0, "input": rng.randint(-1, 3), "value": 0},
            {"kind": "own", "name": "anything"},
        ]
    )
    content["certificate"]["promises"].append({k: v for k, v in promise.items() if v is not None})


def _grow_radii(content: Content, rng: random.Random) -> None:
    for promise in content["certificate"]["promises"]:
        if promise.get("kind") == "radius":
            promise["radius"] = rng.choice([0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1])
            promise["space"] = rng.choice(["raw", "scaled"])


def _change_the_rules(content: Content, rng: random.Random) -> None:
    """Say that the network was trained in another way."""
    shape, certificate = content["network"], content["certificate"]
    shape["ties"] = rng.choice(["score", "first"])
    content["result"]["method"] = rng.choice(["certified", "exact", "auto"])
    certificate["robust"] = {
        "radius": rng.choice([None, 0, 0.1, 5, -1, "1"]),
        "loss": rng.choice(["certified", "average", "pattern"]),
        "norm": rng.choice(["linf", "l1", "l2", "l0"]),
    }


def _change_the_network(content: Content, rng: random.Random) -> None:
    row = rng.choice(rng.choice(content["network"]["layers"])["weights"])
    row[rng.randrange(len(row))] = rng.choice([-1, 0, 1, 0.5, 2])
    line = rng.choice(rng.choice(content["network"]["layers"])["thresholds"])
    line[rng.randrange(len(line))] = rng.choice([-1.5, 0, 0.25, 0.1, 3])


def _change_the_scale(content: Content, rng: random.Random) -> None:
    encoder = content["encoder"]
    encoder["step"] = rng.choice([0, 2**-6, 2**-20, 0.1, 1e-300, 1, 4, -1])
    encoder["numbers"][0]["factor"] = rng.choice([1, 1e-3, 1e3, 1e-300, 1e300, 0, -1])
    encoder["scale"] = rng.choice(["minmax", "standard", None, "other"])


def _make_a_category(content: Content, rng: random.Random) -> None:
    """Take the texts of a column for categories."""
    column = rng.choice(content["encoder"]["columns"])
    column["values"] = rng.choice([["0.0", "1.0"], ["0.0"], ["x", "x"], [], [1, 0]])
    column["kind"] = rng.choice(["category", "number"])
    column["fill"] = rng.choice([None, "0.0", 0, 3.5])


def _forge_the_proof(content: Content, rng: random.Random) -> None:
    """Change the proof of the bound, and state a larger bound."""
    bound = content["result"]["bound"]
    forged = {"proof": bound["certificate"]}
    for _ in range(rng.choice([1, 1, 2, 5])):
        holder, key = rng.choice(_places(forged))
        number = holder[key] if type(holder[key]) is int else 1
        holder[key] = rng.choice(
            [number + 1, max(0, number - 1), 2 * number + 1, number << 24, 0, [], [number], None]
        )
    bound["certificate"] = forged["proof"]
    content["result"]["status"] = "optimal"
    bound["value"] = content["result"]["loss"]


def _places(content: Content) -> list[tuple[Any, Any]]:
    """Every place in a file where a value stands, outermost first."""
    found: list[tuple[Any, Any]] = []
    queue: list[Any] = [content]
    for value in queue:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        for key in keys:
            found.append((value, key))
            if isinstance(value[key], list | dict):
                queue.append(value[key])
    return found


_STEPS: list[Callable[..., Any]] = [
    put_something_odd,
    put_something_odd,
    _leave_something_out,
    _move_a_number,
    _move_a_number,
    _boast,
    _raise_the_bound,
    _forge_the_proof,
    _forge_the_proof,
    _make_constant,
    _weigh_classes,
    _weigh_samples,
    _swap_names,
    _pick_rows,
    _promise,
    _promise,
    _promise,
    _grow_radii,
    _change_the_rules,
    _change_the_network,
    _change_the_scale,
    _make_a_category,
]
