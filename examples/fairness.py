"""Equal shares of an answer for two groups, and what that costs."""

import numpy as np

import bdnn
from bdnn.constraints import DemographicParity, EqualOpportunity

rng = np.random.default_rng(0)
group = rng.integers(0, 2, 200)
skill = rng.normal(size=200)
X = np.column_stack([skill + 0.8 * group, rng.normal(size=200)])
y = np.where(skill + 0.6 * group + 0.3 * rng.normal(size=200) > 0.5, "hired", "not hired")


def shares(model, rows):
    """How many of each group's rows are hired."""
    said = model.predict(X) == "hired"
    return [float(said[rows & (group == g)].mean()) for g in (0, 1)]


for constraint in (
    None,
    DemographicParity(None, eps=0.05, label="hired"),
    EqualOpportunity(None, eps=0.05, label="hired"),
):
    model = bdnn.BDNNClassifier(
        hidden=(3,), constraints=constraint or (), limits=bdnn.Limits(seconds=2), random_state=0
    )
    model.fit(X, y, groups=group)
    hired, found = shares(model, np.full(200, True)), shares(model, y == "hired")
    print(
        f"{constraint.name if constraint else 'no constraint':32} accuracy {model.score(X, y):.3f}"
        f"  hired {hired[0]:.2f} and {hired[1]:.2f}  found {found[0]:.2f} and {found[1]:.2f}"
    )
