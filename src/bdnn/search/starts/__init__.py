"""Networks to begin a search with."""

from bdnn.search.starts.simple import (
    Start,
    StartName,
    best_single_features,
    linear_start,
    make_start,
    random_start,
    separating_start,
)
from bdnn.search.starts.straight_through import straight_through

__all__ = [
    "Start",
    "StartName",
    "best_single_features",
    "linear_start",
    "make_start",
    "random_start",
    "separating_start",
    "straight_through",
]
