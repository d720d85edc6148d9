"""All pairs of what a user may ask for: what means something works, the rest is refused."""

from __future__ import annotations

import pytest

from bdnn.errors import BDNNError
from tests.combinations.outcome import contradictions, run
from tests.combinations.page import PAGE, page
from tests.combinations.reasons import REASONS, reason_of
from tests.combinations.values import VALUES, pairs
from tests.sentences import assert_one_sentence

# For the whole module: code that is loaded in the background restores the filters it found.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# Short, because a fit that proves nothing takes all of it.
SECONDS = 0.1
# A pair with a default value is the other value alone.
ALONE = [(value,) for value in VALUES if not value.is_default]
PAIRS = [(a, b) for a, b in pairs() if not a.is_default and not b.is_default]
WORKING = [pair for pair in PAIRS if not reason_of(*pair)]
REFUSED = [pair for pair in PAIRS if reason_of(*pair)]
# What both can do; held-out rows may make another loss of each.
METHODS = [value for value in VALUES if str(value) in ("method auto", "method exact")]
COMPARED = [
    pair
    for pair in WORKING
    if not {"method", "held-out rows"} & {value.dimension for value in pair}
]


def name(values):
    return " + ".join(map(str, values))


def one_in(every, values):
    """All of them, of which only one in so many is for the quick run."""
    return [
        pytest.param(value, marks=pytest.mark.long if i % every else ())
        for i, value in enumerate(values)
    ]


@pytest.mark.parametrize("values", ALONE, ids=name)
def test_alone(values):
    outcome = run(*values, seconds=SECONDS)
    assert outcome.kind == "works", outcome


@pytest.mark.parametrize("values", one_in(23, WORKING), ids=name)
def test_together(values):
    outcome = run(*values, seconds=SECONDS)
    assert outcome.kind == "works", outcome


@pytest.mark.parametrize("values", one_in(41, COMPARED), ids=name)
def test_no_network_refutes_a_bound(values):
    assert not list(contradictions(*values, methods=METHODS, seconds=SECONDS))


@pytest.mark.parametrize("values", REFUSED, ids=name)
def test_what_means_nothing_is_refused(values):
    outcome = run(*values, seconds=SECONDS)
    assert outcome.kind == "refused", outcome
    assert_one_sentence(BDNNError(outcome.text))


def test_every_reason_is_needed():
    for reason in REASONS:
        assert any(reason.speaks_of(*pair) for pair in PAIRS), reason


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tests.combinations.page"
