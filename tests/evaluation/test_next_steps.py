from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from bdnn.evaluation.assessment import Assessment, Rival, by_shares
from bdnn.evaluation.doubts import Doubt
from bdnn.evaluation.figures import NumberFigures
from bdnn.evaluation.next_steps import suggest
from bdnn.learning.held_out import HeldOut
from bdnn.problem.bound import Bound
from bdnn.training.result import TrainingResult

TRUTH = np.arange(200) % 2
GOOD = by_shares(TRUTH, np.eye(2)[TRUTH], ("no", "yes"))
POOR = by_shares(TRUTH, np.tile([0.6, 0.4], (200, 1)), ("no", "yes"))
BEATEN = replace(GOOD, rivals=(Rival("forest", 0.9, 0.01, lead=-0.1, lead_error=0.02),))


def result(status="time limit", loss=4.0, bound=0):
    return TrainingResult(status, loss, Bound(Fraction(bound), "zero"), 0.1, 1.0, "auto")


def suggested(known=None, found=GOOD, doubts=(), hidden=(8,), settings=None, saved="model.json"):
    return suggest(
        known or result("selected"),
        found,
        [Doubt(kind, "", "row id") for kind in doubts],
        hidden=hidden,
        settings=settings or {},
        saved=saved,
    )


@pytest.mark.parametrize(
    ("case", "first"),
    [
        ({}, "write it in C: bdnn export model.json"),
        ({"saved": None}, "keep the network: --out model.json"),
        ({"found": None}, "nothing is known of new rows"),
        ({"doubts": ["leak"]}, 'leave a column out: --drop "row id"'),
        ({"known": result("interrupted")}, "let it finish"),
        ({"known": result()}, "the gap is 100 % because the bound is still 0"),
        ({"known": result(bound=2)}, "more time may close the gap"),
        ({"known": result("optimal", 0.0)}, "no mistake on the training rows: --smallest"),
        ({"known": result(), "doubts": ["overfitting"]}, "let held-out rows choose"),
        ({"found": POOR, "doubts": ["imbalance"]}, "let every class count the same"),
        ({"found": BEATEN}, "forest is better: give more time"),
        ({"doubts": ["majority"]}, "no model here tells much: other columns"),
        ({"found": BEATEN, "settings": {"max_bytes": 9}}, "forest is better: give more --max"),
        ({"found": BEATEN, "known": result(bound=2)}, "forest is better: try --inputs both"),
    ],
)
def test_the_first_suggestion_fits_what_happened(case, first):
    told = suggested(**case)
    assert told[0].startswith(first)
    assert len(told) <= 2


def test_a_network_that_tells_nothing_is_not_put_into_c():
    assert "bdnn export" not in " ".join(suggested(doubts=["majority"]))


def test_a_narrower_network_can_be_proven():
    assert "--hidden 2 or --smallest" in suggested(result())[0]
    assert "fewer rows" in suggested(result(), hidden=(1,))[0]


def test_weights_that_were_asked_for_are_not_suggested():
    told = suggested(found=POOR, doubts=["imbalance"], settings={"class_weight": "balanced"})
    assert "class-weight" not in " ".join(told)


def test_a_smaller_network_is_suggested_where_a_learnt_one_overfits():
    learnt = replace(result("selected"), held_out=HeldOut(0.9, 0.01, (), size=5053))
    first, *_ = suggested(learnt, doubts=["overfitting"])
    assert first == "a smaller network may be as good on new rows: --max-bytes 2500"


def test_a_proof_is_spoken_of_where_one_was_wanted():
    for status in ("time limit", "feasible"):
        assert "can be proven, --hidden 2" in suggested(result(status))[0]
        assert "proven" not in " ".join(suggested(result(status), settings={"method": "descent"}))
    numbers = Assessment("test rows", 1, NumberFigures(9, 0.5, 0.1, 1.0, 1.0))
    assert "proven" not in " ".join(suggested(result("feasible"), numbers))
