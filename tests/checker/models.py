"""Model files for the checker: trained for real, then edited with a right checksum."""

from __future__ import annotations

import hashlib
import json

import numpy as np

from bdnn import BDNNClassifier, Limits
from bdnn.checker import check_model, make_samples, read_model, training_samples

NAMES = ("a", "b")
RNG = np.random.default_rng(7)
X = RNG.integers(0, 4, (24, 2)).astype(float)
# A line explains most labels, and equal inputs carry different ones.
Y = np.where((X.sum(axis=1) > 3) ^ (RNG.random(24) < 0.15), "yes", "no")


def train(path, **options):
    """Train on the small data and save; the promises are given as an option."""
    promises = options.pop("promises", ())
    defaults = {"objective": "loss", "hidden": (1,), "method": "exact"}
    options = {"limits": Limits(seconds=200), **defaults} | options
    model = BDNNClassifier(random_state=0, **options).fit(X, Y, feature_names=NAMES)
    model.save(path, promises=promises)
    return model


def edit(path, change, target):
    """Change the content of a model file and sign it anew."""
    content = json.loads(path.read_text())
    change(content)
    content.pop("checksum", None)
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    content["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    target.write_text(json.dumps(content))
    return target


def state(content, **result):
    """Write a result into a file, what is about the bound in its place."""
    moved = {"bound": "value", "bound_origin": "origin", "condition": "condition"}
    for key, value in result.items():
        if key in moved:
            content["result"]["bound"][moved[key]] = value
        else:
            content["result"][key] = value


def last_thresholds(content, *values):
    """Give the outputs other thresholds."""
    content["network"]["layers"][-1]["thresholds"] = [[value] for value in values]


def samples_of(model, features=X, labels=Y, names=NAMES):
    """The data as the checker holds them."""
    rows = zip(np.asarray(features).tolist(), np.asarray(labels).tolist(), strict=True)
    return make_samples(model, rows, names=names)


def claims_of(path, features=X, labels=Y, *, names=NAMES, **options):
    """Verdicts and details by the name of the claim."""
    model = read_model(path)
    samples = training_samples(model, samples_of(model, features, labels, names))
    return {claim.name: claim for claim in check_model(model, samples, **options)}


def verdicts(path, *data, **options):
    return {name: claim.verdict for name, claim in claims_of(path, *data, **options).items()}
