"""What promises are checked with: the model, the training data, the answers on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bdnn.checker.claims import Deadline, Verdict, key_of, parse_rows, place, shown
from bdnn.checker.evaluation import Evaluation
from bdnn.checker.model import CheckedModel
from bdnn.checker.samples import Samples


class PromiseError(Exception):
    """Why a promise is false, or why nobody knows."""

    def __init__(self, verdict: Verdict, why: str) -> None:
        super().__init__(why)
        self.verdict: Verdict = verdict


def require(holds: bool, why: str) -> None:
    """Call a promise false unless something holds."""
    if not holds:
        raise PromiseError("false", why)


@dataclass(frozen=True)
class Known:
    """What promises are checked with."""

    model: CheckedModel
    deadline: Deadline
    samples: Samples | None = None  # None where the training data were not given
    found: Evaluation | None = None  # answers on the samples
    # What is told of claims about training data where there are none.
    why: str = "cannot be checked on other data than it was trained on"

    def training(self) -> tuple[Samples, Evaluation]:
        """Training data and the answers on them."""
        if self.samples is None or self.found is None:
            raise PromiseError("claimed", self.why)
        return self.samples, self.found

    def rows(self, text: Any) -> list[int]:
        """Numbers of training samples, from 0; all for None."""
        samples, _ = self.training()
        if text is None:
            return list(range(len(samples)))
        rows = parse_rows(text)
        require(len(rows) > 0, "it is about no rows")
        require(rows.last < len(samples), f"there are {len(samples)} rows and no {rows.last + 1}")
        return list(rows)

    def feature(self, wanted: Any) -> int:
        """Place of a column that is given by its place, or by the name that DATA have for it."""
        if not isinstance(wanted, str):
            j, encoder = place(wanted), self.model.encoder
            n_places = len(encoder.numbers if encoder.of_features else encoder.columns)
            require(j < n_places, f"there is no feature {j}")
            return j
        if self.samples is None or self.samples.names is None:
            raise PromiseError("claimed", f"{shown(wanted)} is no name that the given data tell")
        names = self.samples.names
        require(wanted in names, f"the data have no feature {shown(wanted)}")
        j = names.index(wanted)
        stated = self.model.names
        is_same = stated is None or stated[j] == wanted
        require(is_same, f"{shown(wanted)} is another feature of the data than of the file")
        return j

    def name(self, j: int) -> str:
        """Write a column as the data call it."""
        names = None if self.samples is None else self.samples.names
        return f"feature {j}" if names is None else shown(names[j])

    def output(self, label: Any) -> int:
        """Place of a class."""
        keys = list(map(key_of, self.model.classes))
        require(key_of(label) in keys, f"{shown(label)} is no class of the model")
        return keys.index(key_of(label))
