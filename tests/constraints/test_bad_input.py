"""What makes no sense is refused in one sentence that names the option."""

import numpy as np
import pytest

from bdnn import BDNNClassifier, Inputs, Limits
from bdnn.constraints import (
    DemographicParity,
    EqualOpportunity,
    FixedWeight,
    Forbid,
    LinearRows,
    Monotone,
    MustClassify,
    Regularizer,
    Sparsity,
)
from bdnn.errors import BDNNError, InfeasibleError, ModelError, UnsupportedFeatureError
from bdnn.training import Auto

X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
Y = np.array(["no", "yes", "yes", "no", "yes"])


def fit(**options):
    rows = {key: options.pop(key) for key in ("must", "groups", "radius") if key in options}
    defaults = {"hidden": (2,), "objective": "loss", "random_state": 0}
    options = {**defaults, "inputs": Inputs(scale=None)} | options
    return BDNNClassifier(**options).fit(X, Y, feature_names=("a", "b"), **rows)


def rows(function):
    return {"constraints": LinearRows(function)}


def broken(v):
    return v.weights[7].sum() <= 1


CASES = [
    ({"constraints": [Sparsity(per_unit=3)]}, "per_unit=3.*from 0 to 2, got 3"),
    ({"constraints": [Sparsity(per_layer=(9, 1))]}, "per_layer=.*layer 0.*from 0 to 4, got 9"),
    ({"constraints": [Sparsity(per_unit=(1, 1, 1))]}, "got 3 for 2 layers"),
    ({"constraints": [Sparsity(total=9)]}, "total must be a whole number from 0 to 8, got 9"),
    ({"constraints": [Sparsity(units=3)]}, "units must be .* from 0 to 2, got 3"),
    ({"constraints": [Sparsity(features=True)]}, "features must be .* got True"),
    ({"constraints": [Sparsity(price=-1)]}, "price must be a number from 0 or more, got -1"),
    (
        {"constraints": [Sparsity(forbidden=["c"])]},
        r"Forbid\('c'\) names the feature 'c'.*\(a, b\)",
    ),
    ({"constraints": [Sparsity(per_unit=1)], "weights": "binary"}, "none of which is zero"),
    (
        {"constraints": [Regularizer(l1=float("nan"))]},
        "l1 must be a number from 0 or more, got nan",
    ),
    ({"constraints": [Regularizer(biases=2)]}, "biases must be True or False, got 2"),
    ({"constraints": [Regularizer(biases=True)]}, "biases=True is for l1 or l2"),
    ({"constraints": [Regularizer(wanted_margin=2.0)]}, "wanted_margin=2 is for saturated_margin"),
    ({"constraints": [Forbid("a"), 3]}, "constraints must be constraints .* got 3"),
    ({"constraints": "monotone"}, "constraints must be constraints .* got 'monotone'"),
    ({"constraints": Forbid(2)}, "from 0 to 1, got 2"),
    ({"constraints": Forbid("a"), "weights": "binary"}, "none of which is zero"),
    ({"constraints": Monotone("a", 2)}, r"Monotone\('a', \+2\): sign must be 1 or -1, got 2"),
    ({"constraints": Monotone("a", label="maybe")}, "names the class 'maybe'.*'no', 'yes'"),
    ({"constraints": FixedWeight(2, 0, 0, 1)}, "layer must be .* from 0 to 1, got 2"),
    ({"constraints": FixedWeight(0, 2, 0, 1)}, "unit must be .* from 0 to 1, got 2"),
    ({"constraints": FixedWeight(0, 0, "z", 1)}, "names the feature 'z'"),
    ({"constraints": FixedWeight(0, 0, 0, 0.5)}, "value must be of the weight set 'ternary'"),
    ({"constraints": DemographicParity("a", 2)}, "eps must be a number from 0 to 1, got 2"),
    (
        {"constraints": DemographicParity(np.zeros(5), 0.1)},
        "names a group per row",
    ),
    ({"constraints": DemographicParity(None, 0.1)}, "give groups to fit, or name a feature"),
    ({"groups": [0, 1]}, r"groups must be one value per sample, got shape \(2,\) for 5"),
    (
        {"constraints": DemographicParity(None, 0.1), "groups": np.zeros(5)},
        "must have 2 to 20 values",
    ),
    (
        {"constraints": EqualOpportunity(None, 0.1), "groups": [0, 1, 1, 0, 1]},
        "group '0' has no sample",
    ),
    ({"constraints": MustClassify([0])}, "names rows of one table.*give fit a mask"),
    ({"must": [0, 1]}, r"must must be one value per sample, got shape \(2,\)"),
    ({"must": [0, 1, 2, 3, 4]}, "True or False for every sample"),
    ({"must": [0, 0, 0, 1, 1]}, "samples 3 and 4 have equal inputs"),
    ({"radius": [0.1] * 5}, "a radius per sample without"),
    (rows(lambda v: None), "LinearRows.*failed with TypeError"),
    (rows(lambda v: []), "must return comparisons of expressions, got nothing"),
    (rows(lambda v: [True]), "must return comparisons of expressions, got a bool"),
    (rows(lambda v: v.weights[0][0, 0] * v.weights[0][0, 1] <= 1), "rows must be linear"),
    (rows(lambda v: 0 <= v.weights[0][0, 0] <= 1), "neither true nor false"),
    (rows(lambda v: v.weights[0].sum() <= np.inf), "which is no finite number"),
    (rows(broken), r"LinearRows\(broken\) failed with IndexError"),
    ({"constraints": LinearRows(3)}, "must be given a function"),
    (
        {"constraints": [Forbid("a"), FixedWeight(0, 1, "a", 1)]},
        r"Forbid\('a'\) and FixedWeight\(.*\) contradict each other",
    ),
    (
        {"constraints": [Sparsity(total=4)], "method": Auto(objectives=("error",))},
        r"objectives=\('error',\) cannot be combined with Sparsity\(total=4\)",
    ),
]


@pytest.mark.parametrize(("options", "message"), CASES, ids=lambda value: str(value)[:50])
def test_refused(options, message):
    with pytest.raises(BDNNError, match=message) as caught:
        fit(**options)
    text = str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert "\n" not in text
    assert text.endswith(".")


@pytest.mark.parametrize("solver", ["highs", "cpsat"])
def test_a_solver_without_squares_refuses_continuous_l2(solver):
    options = {"constraints": [Regularizer(l2=0.1)], "weights": "continuous", "method": "exact"}
    with pytest.raises(UnsupportedFeatureError, match=f"solver '{solver}' cannot handle"):
        fit(solver=solver, **options)


def test_a_constraint_that_cannot_hold_is_named_alone():
    """One unit cannot tell an exclusive or, whatever else is asked."""
    with pytest.raises(InfeasibleError, match=r"can keep MustClassify\(\[0, 1, 2, 3\]\):"):
        fit(hidden=(1,), constraints=[Monotone("a")], must=np.arange(5) < 4, method="exact")


def test_constraints_that_cannot_hold_together_are_named_together():
    with pytest.raises(InfeasibleError) as caught:
        fit(
            constraints=[Sparsity(units=1, per_layer=4), Monotone("a", label="no")],
            must=np.arange(5) < 4,
            method="exact",
        )
    text = str(caught.value)
    assert "MustClassify([0, 1, 2, 3])" in text
    assert "together" in text
    assert "per_layer" not in text


def test_further_samples_take_constraints():
    asked = [Sparsity(total=4), Forbid(0)]
    model = fit(constraints=asked, method="exact").extend(X, Y)
    assert not model.network_.weights[0][:, 0].any()
    assert sum(np.count_nonzero(W) for W in model.network_.weights) <= 4
    again = BDNNClassifier(hidden=(2,), constraints=asked, method="exact", limits=Limits(seconds=5))
    again.partial_fit(X, Y, classes=["no", "yes"]).partial_fit(X, Y)
    assert again.result_.loss == model.result_.loss


def test_smallest_network_takes_no_constraints():
    from bdnn import smallest_network

    with pytest.raises(ModelError, match="constraints cannot be combined"):
        smallest_network(X, Y, constraints=[Sparsity(total=4)])
