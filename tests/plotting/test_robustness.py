from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from bdnn.errors import DataError
from bdnn.plotting import plot_robustness
from bdnn.robustness import certify, verify
from tests.robustness.cases import random_case


def test_curves_show_the_numbers():
    around = random_case(4, samples=8)
    around = replace(around, labels=np.where(np.arange(8) == 3, -1, around.classes))
    certified = certify(around)
    verified = verify(around, method="boxes")
    ax = plot_robustness({"bound": certified, "exact": verified}, largest=0.4)
    bound, exact = ax.get_lines()
    assert bound.get_ydata()[0] == 7 / 8
    assert (np.asarray(exact.get_ydata()) >= np.asarray(bound.get_ydata())).all()
    _, share = certified.curve(bound.get_xdata())
    assert (share == bound.get_ydata()).all()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["bound", "exact"]


def test_nothing_to_draw():
    with pytest.raises(DataError, match="nothing to draw"):
        plot_robustness({})
