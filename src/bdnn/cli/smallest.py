"""Training of the narrowest network on the command line."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bdnn import BDNNClassifier
    from bdnn.datasets import Samples


def fit_smallest(
    model: BDNNClassifier,
    samples: Samples,
    chosen: NDArray[np.intp],
    max_error: float,
    *,
    quiet: bool,
) -> tuple[BDNNClassifier, dict[str, Any]]:
    """Find the narrowest network, and what is known of the widths on the way."""
    from bdnn import smallest_network
    from bdnn.cli.progress import ProgressDisplay

    display = None if quiet else ProgressDisplay(model.time_limit)
    started = time.perf_counter()
    parameters = model.get_params()
    for name in ("hidden", "start", "callback"):
        del parameters[name]
    with display or nullcontext():
        found = smallest_network(
            samples.X[chosen],
            samples.y[chosen],
            max_error=max_error,
            feature_names=samples.encoding.feature_names,
            callback=display,
            **parameters,
        )
    return found.classifier, {
        "seconds": time.perf_counter() - started,
        "width": found.width,
        "insufficient_width": found.insufficient,
        "widths": [vars(attempt) for attempt in found.attempts],
    }
