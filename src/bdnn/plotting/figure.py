"""New figures and the colours all pictures share; the one file that imports matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bdnn.errors import UnsupportedFeatureError
from bdnn.progress import is_notebook

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which people of any colour vision tell apart; markers for print.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#666666")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
# Purple below and orange above zero, equally dark on both sides.
DIVERGING = "PuOr_r"
# Fonts with Chinese, Japanese or Korean letters, as systems bring them.
_FONTS = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Source Han Sans",
    "Hiragino Sans",
    "PingFang SC",
    "Apple SD Gothic Neo",
    "Yu Gothic",
    "Microsoft YaHei",
    "Malgun Gothic",
    "WenQuanYi Zen Hei",
    "Arial Unicode MS",
)


def new_axes(
    columns: int, rows: int = 1, *, size: tuple[float, float] = (4.5, 3.2)
) -> tuple[Figure, list[Axes]]:
    """Make a new figure of so many panels, each of a size in inches.

    Only in a notebook it is one of pyplot's, which keeps its figures until they are closed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UnsupportedFeatureError(
            "plots need the package matplotlib, which is not installed: run pip install "
            "'bdnn[plot]'."
        ) from error
    inches = size[0] * columns, size[1] * rows
    if is_notebook():  # which shows the figures of pyplot below the cell
        from matplotlib import pyplot

        figure = pyplot.figure(figsize=inches, layout="constrained")
    else:
        figure = Figure(figsize=inches, layout="constrained")
    return figure, list(np.atleast_1d(figure.subplots(rows, columns)).ravel())


def use_fonts(ax: Axes) -> None:
    """Let the texts of a figure take letters that the usual font lacks from installed ones."""
    from matplotlib import rcParams
    from matplotlib.font_manager import fontManager

    installed = set(fontManager.get_font_names())
    families = [*rcParams["font.family"], *(font for font in _FONTS if font in installed)]
    for text in ax.figure.findobj(lambda part: hasattr(part, "set_fontfamily")):
        text.set_fontfamily(families)  # type: ignore[attr-defined]
