"""What a notebook is shown while a cell runs."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from html import escape
from typing import Any


def is_notebook() -> bool:
    """Whether this runs in the kernel of a notebook."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return hasattr(shell, "kernel")


class Words(str):
    """A text that is shown as it is read, line by line."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Bar:
    """A bar with a line of text: HTML where that is shown, else the text."""

    text: str
    seconds: float
    share: float  # of the way, NaN if nobody knows how long it is

    def __repr__(self) -> str:
        return f"{self.seconds:.1f} s  {self.text}"

    def _repr_html_(self) -> str:
        # Without a value the browser shows that something goes on.
        value = "" if math.isnan(self.share) else f' value="{min(self.share, 1.0):.3f}"'
        return f"<progress{value}></progress> <code>{escape(repr(self))}</code>"

    def show(self) -> Any:
        """Show it below the cell; ``update`` of what is returned shows another in its place."""
        return sys.modules["IPython"].display.display(self, display_id=True)
