"""Networks to begin a search with."""

from bdnn.search.embedding import as_levels, of_steps
from bdnn.search.starts.simple import (
    Start,
    StartName,
    linear_start,
    make_start,
    random_start,
    separating_start,
)
from bdnn.search.starts.single_features import best_single_features
from bdnn.search.starts.straight_through import straight_through

__all__ = [
    "Start",
    "StartName",
    "as_levels",
    "best_single_features",
    "linear_start",
    "make_start",
    "of_steps",
    "random_start",
    "separating_start",
    "straight_through",
]
