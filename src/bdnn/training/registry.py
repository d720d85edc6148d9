"""The training methods by name."""

from __future__ import annotations

from bdnn.errors import ModelError
from bdnn.training.auto import Auto
from bdnn.training.base import AbstractMethod
from bdnn.training.certified import Certified
from bdnn.training.descent import Descent
from bdnn.training.exact import Exact
from bdnn.training.gradients import Gradients
from bdnn.training.paper.data_splitting import DataSplitting
from bdnn.training.paper.local_search import LocalSearch

METHODS: dict[str, type[AbstractMethod]] = {
    method.name: method
    for method in (Auto, Exact, Descent, LocalSearch, DataSplitting, Certified, Gradients)
}


def get_method(method: str | AbstractMethod) -> AbstractMethod:
    """Turn a name into a method with its default settings; a method is returned as it is."""
    if isinstance(method, AbstractMethod):
        return method
    if not isinstance(method, str) or method not in METHODS:
        raise ModelError(
            f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}: "
            "choose one of these."
        )
    return METHODS[method]()
