"""The table of sizes: our networks beside the exports of others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.model_selection import train_test_split

import bdnn
from deployed.candidates import our_candidates, their_candidates
from deployed.compiled import Candidate

LAYOUT = "{:15} {:32} {:>8} {:>7} {:>7}" + 2 * "  {:32} {:>8} {:>6} {:>7} {:>7}"
FIGURES = ("accuracy", "flash", "ns")
HEAD = ("data", "model", *FIGURES, "our smallest", *FIGURES, "flash x", "our fastest", *FIGURES)


def sizes(names: Sequence[str], seconds: float, seed: int) -> None:
    """Print the candidates of every data set and the ratios to ours."""
    print(LAYOUT.format(*HEAD, "ns x"))
    for name in names:
        X, y = eight_bits(name)
        split = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
        ours = sorted(our_candidates(*split, seconds), key=lambda c: c.flash)
        for candidate in ours:
            print(LAYOUT.format(name, *_figures(candidate), *[""] * 10), flush=True)
        fastest = sorted(ours, key=lambda c: c.nanoseconds)
        smaller, faster = [], []
        others = list(their_candidates(*split))
        for other in others:
            row = [name, *_figures(other)]
            for mine, figure, better in (
                (ours, "flash", smaller),
                (fastest, "nanoseconds", faster),
            ):
                match = next((c for c in mine if c.accuracy >= other.accuracy), None)
                if match is None:
                    row += ["not reached", *[""] * 4]
                    better.append(other.name)
                    continue
                ratio = getattr(other, figure) / getattr(match, figure)
                row += [*_figures(match), f"{ratio:.3g}"]
                if ratio <= 1:
                    better.append(other.name)
            print(LAYOUT.format(*row), flush=True)
        for what, better in (
            ("larger than our smallest", smaller),
            ("slower than our fastest", faster),
        ):
            print(
                f"{name}: {len(better)} of {len(others)} peers are not {what} of at least their "
                f"accuracy: {', '.join(better) or 'none'}",
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
