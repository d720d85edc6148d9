"""The table of sizes: our networks beside the exports of others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.model_selection import train_test_split

import bdnn
from deployed.candidates import our_candidates, their_candidates
from deployed.compiled import Candidate

LAYOUT = "{:15} {:30} {:>8} {:>7} {:>7}  {:30} {:>8} {:>6} {:>7} {:>7} {:>6}"
HEAD = ("data", "model", "accuracy", "flash", "ns", "ours", "accuracy", "flash", "ns")


def sizes(names: Sequence[str], seconds: float, seed: int) -> None:
    """Print the candidates of every data set and the ratios to ours."""
    print(LAYOUT.format(*HEAD, "flash x", "ns x"))
    for name in names:
        X, y = eight_bits(name)
        split = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
        ours = sorted(our_candidates(*split, seconds), key=lambda c: c.flash)
        for candidate in ours:
            print(LAYOUT.format(name, *_figures(candidate), *[""] * 6), flush=True)
        smaller = []
        others = list(their_candidates(*split))
        for other in others:
            match = next((c for c in ours if c.accuracy >= other.accuracy), None)
            row = [name, *_figures(other)]
            if match is None:
                row += ["not reached", *[""] * 5]
            else:
                ratios = other.flash / match.flash, other.nanoseconds / match.nanoseconds
                row += [*_figures(match), *(f"{ratio:.3g}" for ratio in ratios)]
            if match is None or other.flash <= match.flash:
                smaller.append(other.name)
            print(LAYOUT.format(*row), flush=True)
        print(
            f"{name}: {len(smaller)} of {len(others)} peers are not larger than our smallest of "
            f"at least their accuracy: {', '.join(smaller) or 'none'}",
            flush=True,
        )


def eight_bits(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features as an 8-bit sensor gives them: grades and tenths, others in 255 steps."""
    data = bdnn.datasets.load(name)
    X = data.X * (10 if name == "iris" else 1)
    if name == "boston-housing":
        low, high = X.min(axis=0), X.max(axis=0)
        X = (X - low) / (high - low) * 255
    return np.rint(X), np.unique(data.y, return_inverse=True)[1]


def _figures(candidate: Candidate) -> tuple[str, str, str, str]:
    accuracy, speed = f"{candidate.accuracy:.1%}", f"{candidate.nanoseconds:.1f}"
    return candidate.name, accuracy, str(candidate.flash), speed
