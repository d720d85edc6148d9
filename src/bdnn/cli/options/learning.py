"""What network is trained, how, and when a command has to stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from bdnn.cli.options import option
from bdnn.errors import ModelError

_OF_REGRESSORS = ("loss", "ridge", "smoothing")


@dataclass(frozen=True)
class Shape:
    """Layers and weights; what is not given is the estimator's choice."""

    hidden: list[str] | None = option(
        "Width of a hidden layer, once per layer; or all as in 50,50; or none.",
        shown="chosen for accuracy; 25 for a small loss; 50 for --regression",
    )
    weights: str | None = option(
        "continuous, ternary, binary or int:P; one for all layers, or one per layer as in "
        "int:3,ternary.",
        shown="ternary",
    )
    thresholds: str | None = option("neuron, layer or zero.", shown="neuron")
    activation: str | None = option(
        "step, sign, ternary, levels:N or values:V/V/...; one for all hidden layers, or one per "
        "hidden layer as in ternary,step.",
        shown="step",
    )
    ties: str | None = option("score or first.", shown="score")

    def parameters(self) -> dict[str, Any]:
        """Parameters of the estimator."""
        given: dict[str, Any] = {
            "weights": _listed(self.weights),
            "thresholds": self.thresholds,
            "activation": _listed(self.activation),
            "ties": self.ties,
        }
        given = {name: value for name, value in given.items() if value is not None}
        if self.hidden:
            given["hidden"] = _widths(self.hidden)
        return given


def _listed(text: str | None) -> str | list[str] | None:
    return text.split(",") if text and "," in text else text


def _widths(values: list[str]) -> tuple[int, ...]:
    words = [word.strip() for value in values for word in value.split(",")]
    if words == ["none"]:
        return ()
    try:
        return tuple(int(word) for word in words)
    except ValueError:
        raise ModelError(
            f"--hidden must be whole numbers, got {', '.join(values)!r}: give for example 25 or "
            "50,50."
        ) from None


@dataclass(frozen=True)
class Learning:
    """Method and task; what is not given is the estimator's choice."""

    objective: str | None = option(
        "accuracy (on new rows, by cross-validation) or loss (on the training rows, with a proof).",
        shown="accuracy, unless a method or constraint is named",
    )
    max_bytes: int | None = option(
        "Most bytes of flash of the C export, tables and code, for --objective accuracy.",
        shown="none",
    )
    method: str | None = option(
        "auto, exact, descent, gradients, local_search or data_splitting.", shown="auto"
    )
    settings: list[str] | None = option(
        "A setting of the method, as epochs=5, batch_size=32, starts=2 or paper=true; of "
        "--regression also loss=absolute, ridge=1 or smoothing=0.",
        None,
        "--set",
        metavar="KEY=VALUE",
        shown=False,
    )
    solver: str | None = option("auto, or one of 'bdnn solvers'.", shown="auto")
    class_weight: str | None = option("balanced: every class counts the same.", shown="none")
    validation: float | None = option(
        "Share of the training rows kept aside to choose by.", shown="0"
    )
    smallest: bool = option("Find the narrowest hidden layer that does.", False)
    max_error: float | None = option(
        "Share of training rows whose outputs may be wrong with --smallest.", shown="0"
    )
    regression: bool = option("Predict a number: identity outputs, a distance as loss.", False)

    def __post_init__(self) -> None:
        if self.class_weight not in (None, "balanced", "none"):
            raise ModelError(
                f"--class-weight must be balanced or none, got {self.class_weight!r}: choose one."
            )
        if self.max_error is not None and not self.smallest:
            raise ModelError(
                "--max-error is for --smallest, which was not given: add it or leave both."
            )

    def parameters(self) -> dict[str, Any]:
        """Parameters of the estimator."""
        settings = dict(map(_pair, self.settings or ()))
        own = {key: settings.pop(key) for key in _OF_REGRESSORS if key in settings}
        if own and not self.regression:
            raise ModelError(
                f"--set {next(iter(own))} is for --regression, which was not given: add it."
            )
        given = {
            "objective": self.objective,
            "max_bytes": self.max_bytes,
            "method": self._configured(settings) if settings else self.method,
            "solver": self.solver,
            "class_weight": self.class_weight,
            "validation_fraction": self.validation,
            **own,
        }
        return {name: value for name, value in given.items() if value not in (None, "none")}

    def _configured(self, settings: Mapping[str, Any]) -> object:
        """Make the method with its settings."""
        from bdnn.training.base import METHODS

        name = self.method or "auto"
        known = _scalars(METHODS[name]) if name in METHODS else {}
        for key, value in settings.items():
            if key not in known:
                owners = [f"--method {m}" for m, kind in METHODS.items() if key in _scalars(kind)]
                raise ModelError(
                    f"--set {key} is for {' or '.join(owners) or 'no method'}, got method "
                    f"{name!r}: choose among {', '.join(known) or 'other methods'}."
                )
            # A whole number is a number too, and nothing else stands for something else.
            if not isinstance(value, (float, int) if known[key] is float else known[key]) or (
                isinstance(value, bool) and known[key] is not bool
            ):
                wanted = _NAMES[known[key]]
                raise ModelError(f"--set {key} must be {wanted}, got {value!r}: correct it.")
        return METHODS[name](**settings)


_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}


def _scalars(method: type) -> dict[str, type]:
    """Settings of a method that a word on the command line can give, and their types."""
    return {
        field.name: type(field.default) for field in fields(method) if type(field.default) in _NAMES
    }


def _pair(text: str) -> tuple[str, Any]:
    key, equals, word = text.partition("=")
    if not equals or not key:
        raise ModelError(f"--set must be KEY=VALUE, got {text!r}: give for example epochs=5.")
    return key.strip().replace("-", "_"), _value(word.strip())


def _value(word: str) -> Any:
    if word.lower() in ("true", "false"):
        return word.lower() == "true"
    for read in (int, float):
        try:
            return read(word)
        except ValueError:
            continue
    return word


@dataclass(frozen=True)
class Effort:
    """Time and threads."""

    panel: ClassVar[str] = "Limits"

    seconds: float = option("Time after which the best so far has to do.", 60.0)
    jobs: int = option("Threads; -1 for all cores.", 1)

    def __post_init__(self) -> None:
        if self.jobs == 0:
            raise ModelError(
                "--jobs must be 1 or more, or -1 for all cores, got 0: give one of these."
            )


@dataclass(frozen=True)
class SeededEffort(Effort):
    """Time, threads, and what chance begins with."""

    seed: int = option("Of all random choices.", 0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.seed < 2**32:
            raise ModelError(
                f"--seed must be from 0 to {2**32 - 1}, got {self.seed}: give such a number."
            )


@dataclass(frozen=True)
class Limits(SeededEffort):
    """When training stops."""

    gap: float = option("Relative gap that is good enough.", 0.0)
    loss_limit: float | None = option("Loss that is good enough.", shown="none")
    nodes: int | None = option("Branch-and-bound nodes of the solver.", shown="none")

    def parameters(self) -> dict[str, Any]:
        """Parameters of the estimator."""
        from bdnn.training.limits import Limits

        limits = Limits(self.seconds, self.gap, self.nodes, self.loss_limit)
        return {"limits": limits, "random_state": self.seed, "n_jobs": self.jobs}
