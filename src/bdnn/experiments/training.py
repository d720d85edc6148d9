"""What a cell trains: binarized networks, the paper's ReLU networks, other classifiers."""

from __future__ import annotations

import copy
import dataclasses
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdnn.encoding import Encoder, Inputs
from bdnn.errors import BDNNError
from bdnn.experiments.experiment import Method
from bdnn.experiments.fields import Fields
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import WeightSet

Labels = NDArray[np.intp]

# Settings that are parts of a parameter.
_GROUPED = {"robust_loss", "scale"}
_PEERS = ("logistic", "forest", "boosting", "tree")
_DNN_DEFAULTS: dict[str, Any] = {
    "epochs": 20,
    "batch_size": 64,
    "learning_rate": 0.001,
    "scale": "auto",
    "refit": False,
}


@dataclass(frozen=True)
class Fitted:
    """A trained classifier, and what is known of it; curves have a number per epoch."""

    model: Any
    facts: Mapping[str, float] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    curves: Mapping[str, list[float]] = field(default_factory=dict)


def parse_hidden(text: str) -> tuple[int, ...]:
    """Widths of hidden layers as in ``50x50``; ``none`` for no hidden layer."""
    widths = () if text == "none" else tuple(map(int, text.split("x")))
    if any(width < 1 for width in widths):
        raise ValueError(text)
    return widths


def check_method(method: Method, grid: Mapping[str, list[Any]], fields: Fields) -> None:
    """Refuse settings that the method does not have, before anything is trained."""
    known: dict[str, set[str]] = {"dnn": set(_DNN_DEFAULTS), "peer": {"model"}, "facts": set()}
    if method.kind == "bdnn":
        from bdnn.estimators import BDNNClassifier

        reserved = {"hidden", "inputs", "limits", "random_state", "validation_fraction", "callback"}
        known["bdnn"] = set(BDNNClassifier().get_params()) - reserved | _GROUPED
    wrong = [name for name in method.settings if name not in known[method.kind]]
    if wrong:
        raise fields.error(
            f"settings has {wrong[0]!r}, which kind {method.kind!r} does not take",
            f"it takes {', '.join(sorted(known[method.kind])) or 'none'}",
        )
    if method.kind == "peer" and method.settings.get("model") not in _PEERS:
        raise fields.error(
            f"model must be one of {', '.join(_PEERS)}, got {method.settings.get('model')!r}",
            "choose one of these",
        )
    if method.kind != "bdnn" and method.options:
        raise fields.error(f"kind {method.kind!r} takes no options", "remove them")
    if "radius" in grid and method.kind in ("dnn", "peer") and "radius" not in method.only:
        raise fields.error(f"kind {method.kind!r} knows no radius", "add only = { radius = [0.0] }")
    if method.kind in ("bdnn", "dnn") and "hidden" not in grid:
        raise fields.error("needs networks to train", "add hidden to [grid]")
    if method.kind == "bdnn":
        try:
            for data in grid["data"]:
                _training_method(*method.on(data))
        except BDNNError as error:
            raise fields.error(f"is refused ({str(error).rstrip('.')})", "mend it") from error


def _training_method(settings: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
    from bdnn.errors import ModelError
    from bdnn.training.base import METHODS, get_method

    chosen = get_method(settings.get("method", "auto"))
    known = {entry.name for entry in dataclasses.fields(chosen)}
    wrong = [name for name in options if name not in known]
    if wrong:
        raise ModelError(
            f"method '{chosen.name}' has no option {wrong[0]!r}: it has {', '.join(sorted(known))}."
        )
    return METHODS[chosen.name](**options)


def fit(work: Mapping[str, Any], X: FloatArray, y: Labels, validation: float) -> Fitted:
    """Train what a cell asks for; ``validation`` is a share of these samples."""
    return _FITS[work["kind"]](work, X, y, validation)


def _fit_bdnn(work: Mapping[str, Any], X: FloatArray, y: Labels, validation: float) -> Fitted:
    from bdnn.estimators import BDNNClassifier, Robust
    from bdnn.training.limits import Limits

    settings, radius = work["settings"], work["radius"]
    loss = settings.get("robust_loss", "certified")
    own = {name: value for name, value in settings.items() if name not in _GROUPED}
    model = BDNNClassifier(
        **{
            "objective": "loss",
            **own,
            "inputs": Inputs(scale=settings.get("scale", "auto")),
            "hidden": parse_hidden(work["hidden"]),
            "method": _training_method(settings, work["options"]),
            "limits": Limits(seconds=work["seconds"]),
            "validation_fraction": validation,
            "random_state": work["seed"],
            "robust": Robust(radius, loss=loss) if radius else None,
        }
    ).fit(X, y)
    result = model.result_
    facts = {
        "loss": result.loss,
        "gap": 100 * result.gap,
        "proven": 100.0 * result.is_proven,
        "train_accuracy": 100 * (1 - result.error),
    }
    notes = {"status": result.status, "bound_origin": result.bound_origin, "solver": result.solver}
    return Fitted(model, facts, notes, _epoch_curves(result.steps))


def _epoch_curves(steps: tuple[Mapping[str, Any], ...]) -> dict[str, list[float]]:
    epochs = [step for step in steps if "epoch" in step]
    curves = {
        "train_error": [100 * (1 - step["train_accuracy"]) for step in epochs],
        "epoch_seconds": [step["seconds"] for step in epochs],
        "validation_error": [
            100 * (1 - step["validation_accuracy"])
            for step in epochs
            if step["validation_accuracy"] is not None
        ],
    }
    return {name: values for name, values in curves.items() if values}


def _fit_dnn(work: Mapping[str, Any], X: FloatArray, y: Labels, validation: float) -> Fitted:
    """Train the paper's ReLU network: Adam, cross entropy, the epoch of least validation error.

    Few validation samples leave many epochs equal, of which the last is kept; without validation
    samples it is the last of all. With ``refit`` another network is trained for so many epochs on
    all samples.
    """
    from sklearn.model_selection import train_test_split
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer
    from sklearn.utils import check_random_state

    wanted, seed = {**_DNN_DEFAULTS, **work["settings"]}, work["seed"]
    classes = np.unique(y)
    known = X, y
    X_val, y_val = X[:0], y[:0]
    if validation:
        X, X_val, y, y_val = train_test_split(X, y, test_size=validation, random_state=seed)
    scaler = _dnn_scaler(wanted["scale"], X, y)
    inputs, held_out = scaler.transform(X), scaler.transform(X_val)

    def begun(n_samples: int) -> Any:
        return MLPClassifier(
            parse_hidden(work["hidden"]),
            activation="relu",
            solver="adam",
            alpha=0.0,
            batch_size=min(int(wanted["batch_size"]), n_samples),
            learning_rate_init=float(wanted["learning_rate"]),
            random_state=check_random_state(seed),  # a number would shuffle every epoch alike
        )

    network = begun(len(X))
    curves: dict[str, list[float]] = {"train_error": [], "epoch_seconds": []}
    if validation:
        curves["validation_error"] = []
    best, kept, n_epochs = np.inf, network, 0
    for epoch in range(int(wanted["epochs"])):
        began = time.perf_counter()
        _one_epoch(network, inputs, y, classes)
        curves["epoch_seconds"].append(time.perf_counter() - began)
        curves["train_error"].append(100 * (1 - float(network.score(inputs, y))))
        if validation:
            error = 100 * (1 - float(network.score(held_out, y_val)))
            curves["validation_error"].append(error)
            if error <= best:  # of equal epochs the last, which has learnt longest
                best, kept, n_epochs = error, copy.deepcopy(network), epoch + 1
    if wanted["refit"] and validation:
        X, y = known
        scaler = _dnn_scaler(wanted["scale"], X, y)
        inputs, kept = scaler.transform(X), begun(len(X))
        for _ in range(n_epochs):
            _one_epoch(kept, inputs, y, classes)
    facts = {"train_accuracy": 100 * float(kept.score(inputs, y))}
    scaling = FunctionTransformer(scaler.transform)
    return Fitted(make_pipeline(scaling, kept), facts, {}, curves)


def _dnn_scaler(scale: str, X: FloatArray, y: Labels) -> Encoder:
    """Scale inputs as those of binarized networks."""
    kind = None if scale == "none" else scale
    return Encoder.fit(X, kind, weights=WeightSet.parse("continuous"), labels=y)


def _one_epoch(network: Any, inputs: FloatArray, y: Labels, classes: Labels) -> None:
    """Train for an epoch; scikit-learn makes a warning of Ctrl-C, which is undone here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="Training interrupted by user")
        try:
            network.partial_fit(inputs, y, classes=classes)
        except UserWarning as warning:
            raise KeyboardInterrupt from warning


def _fit_peer(work: Mapping[str, Any], X: FloatArray, y: Labels, validation: float) -> Fitted:
    """Train a usual classifier with its default settings on standardised inputs."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    seed = work["seed"]
    peers = {
        "logistic": lambda: LogisticRegression(max_iter=2000),
        "forest": lambda: RandomForestClassifier(200, random_state=seed),
        "boosting": lambda: HistGradientBoostingClassifier(random_state=seed),
        "tree": lambda: DecisionTreeClassifier(random_state=seed),
    }
    pipeline = make_pipeline(StandardScaler(), peers[work["settings"]["model"]]()).fit(X, y)
    return Fitted(pipeline, {"train_accuracy": 100 * float(pipeline.score(X, y))})


_FITS = {"bdnn": _fit_bdnn, "dnn": _fit_dnn, "peer": _fit_peer}
