"""How a network is trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any

from typer import Option

from bdnn.errors import ModelError

_OF_REGRESSORS = ("loss", "ridge", "smoothing")


@dataclass(frozen=True)
class Learning:
    """Method and task; what is not given is the estimator's choice."""

    method: Annotated[
        str | None,
        Option(
            help="auto, exact, descent, gradients, local_search or data_splitting.",
            show_default="auto",
        ),
    ] = None
    settings: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting of the method, as epochs=5, batch_size=32, starts=2 or paper=true; of "
            "--regression also loss=absolute, ridge=1 or smoothing=0.",
            show_default=False,
        ),
    ] = None
    solver: Annotated[
        str | None, Option(help="auto, or one of 'bdnn solvers'.", show_default="auto")
    ] = None
    class_weight: Annotated[
        str | None, Option(help="balanced: every class counts the same.", show_default="none")
    ] = None
    validation: Annotated[
        float | None,
        Option(help="Share of the training rows kept aside to choose by.", show_default="0"),
    ] = None
    smallest: Annotated[
        bool, Option("--smallest", help="Find the narrowest hidden layer that does.")
    ] = False
    max_error: Annotated[
        float | None,
        Option(
            help="Share of training rows whose outputs may be wrong with --smallest.",
            show_default="0",
        ),
    ] = None
    regression: Annotated[
        bool,
        Option("--regression", help="Predict a number: identity outputs, a distance as loss."),
    ] = False

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

        wanted = "numbers" if self.regression else "classes"
        methods = {name: kind for name, kind in METHODS.items() if wanted in kind.handles}
        name = self.method or "auto"
        known = _scalars(methods[name]) if name in methods else {}
        for key, value in settings.items():
            if key not in known:
                owners = [f"--method {m}" for m, kind in methods.items() if key in _scalars(kind)]
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
        return methods[name](**settings)


_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}


def _scalars(method: type) -> dict[str, type]:
    """Settings of a method that a word on the command line can give, and their types."""
    return {
        field.name: type(field.default)
        for field in fields(method)
        # The norm comes with the radius, from options of their own.
        if type(field.default) in _NAMES and not field.name.startswith("robust")
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
