"""What to try next: at most two suggestions that fit what happened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bdnn.evaluation.assessment import Assessment
from bdnn.evaluation.doubts import Doubt
from bdnn.evaluation.figures import Figures
from bdnn.training.result import TrainingResult

_MOST = 2
# A share of a class that is found, below which weights of classes are worth a try.
_FOUND = 0.8
# Standard errors by which a rival has to lead.
_CERTAIN = 2.0
_STOPPED = ("time limit", "node limit")


def suggest(
    result: TrainingResult,
    found: Assessment | None,
    doubts: Sequence[Doubt],
    *,
    hidden: Sequence[int],
    settings: Mapping[str, Any],
    saved: str | None = None,
) -> tuple[str, ...]:
    """Suggestions for the command line, the most useful first.

    Parameters
    ----------
    result : TrainingResult
    found : Assessment or None
    doubts : sequence of Doubt
    hidden : sequence of int
        Widths of the network's hidden layers.
    settings : mapping
        What was asked for: ``class_weight``, ``hidden``, ``max_bytes``, ``method``.
    saved : str, optional
        The model file.
    """
    every = _every(result, found, doubts, tuple(hidden), settings, saved)
    return tuple(text for text, _ in zip(every, range(_MOST), strict=False))


def _every(
    result: TrainingResult,
    found: Assessment | None,
    doubts: Sequence[Doubt],
    hidden: tuple[int, ...],
    settings: Mapping[str, Any],
    saved: str | None,
) -> Iterator[str]:
    kinds = {doubt.kind for doubt in doubts}
    leaks = [doubt.column for doubt in doubts if doubt.kind == "leak"]
    if leaks:
        yield f"leave {'columns' if len(leaks) > 1 else 'a column'} out: " + " ".join(
            f"--drop {_quoted(name)}" for name in leaks[:3]
        )
    if result.status == "interrupted":
        yield "let it finish, or give a shorter --seconds"
    is_loss = result.held_out is None and result.status != "selected"
    if is_loss and "overfitting" in kinds:
        yield "let held-out rows choose the network: --objective accuracy, without --method"
    if is_loss and _lacks_proof(result, found, settings):
        yield _prove(hidden)
    if "imbalance" in kinds and _is_missed(found) and not settings.get("class_weight"):
        yield "let every class count the same: --class-weight balanced"
    better = _better(found)
    if better and not is_loss:
        if settings.get("max_bytes") is not None:
            yield f"{better} is better: give more --max-bytes"
        elif settings.get("hidden") is not None:
            yield f"{better} is better: let the shape be chosen, without --hidden"
        else:
            yield f"{better} is better: give more time, --seconds {_longer(result)}"
    elif "overfitting" in kinds and not is_loss and result.held_out is not None:
        half = max(256, result.held_out.bytes // 2 // 100 * 100)
        yield f"a smaller network may be as good on new rows: --max-bytes {half}"
    elif better:
        wider = ",".join(str(2 * width) for width in hidden) or "10"
        yield f"{better} is better: try --inputs both, or a wider network, --hidden {wider}"
    elif "majority" in kinds:
        yield "no model here tells much: other columns or more rows may tell the class"
    if is_loss and result.is_proven and result.loss == 0 and hidden and sum(hidden) > 1:
        yield "no mistake on the training rows: --smallest finds the narrowest such network"
    if is_loss and result.status in _STOPPED and result.bound > 0:
        yield f"more time may close the gap: --seconds {_longer(result)}"
    if found is None:
        yield "nothing is known of new rows: --test-size 0.2 or --cv 5"
    elif found.origin == "test rows" and found.figures.rows < 100:
        yield f"only {found.figures.rows} rows were tested on: --cv 5 judges by all of them"
    if saved is None:
        yield "keep the network: --out model.json"
    elif "majority" not in kinds:
        yield f"write it in C: bdnn export {saved} --self-test 20 --verify 1000"


def _lacks_proof(
    result: TrainingResult, found: Assessment | None, settings: Mapping[str, Any]
) -> bool:
    """Whether a proof was wanted of a classifier, and nothing at all came of it."""
    is_number = found is not None and not isinstance(found.figures, Figures)
    is_ended = result.status in (*_STOPPED, "feasible")
    is_wanted = settings.get("method") in (None, "auto", "exact")
    return is_ended and is_wanted and not is_number and result.bound <= 0 < result.minimised


def _prove(hidden: tuple[int, ...]) -> str:
    narrower = ",".join(str(max(1, width // 4)) for width in hidden)
    told = "the gap is 100 % because the bound is still 0, which rules nothing out"
    if not hidden or narrower == ",".join(map(str, hidden)):
        return f"{told}: fewer rows or more time may give a proof"
    return f"{told}: a narrower network can be proven, --hidden {narrower} or --smallest"


def _is_missed(found: Assessment | None) -> bool:
    """Whether some class is mostly missed."""
    if found is None or not isinstance(found.figures, Figures):
        return False
    return min(each.recall for each in found.figures.classes if each.rows) < _FOUND


def _better(found: Assessment | None) -> str | None:
    """The best rival, if it is better for certain."""
    known = [] if found is None else found.rivals
    leads = [
        (rival.lead, rival.name)
        for rival in known
        if rival.lead is not None
        and rival.lead_error is not None
        and rival.lead < -_CERTAIN * rival.lead_error
    ]
    return min(leads)[1] if leads else None


def _longer(result: TrainingResult) -> int:
    return max(60, 4 * round(result.seconds))


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f'"{name}"'
