"""Few weights, few units, few features; and a price per weight instead of a limit."""

import numpy as np

import bdnn
from bdnn.constraints import Sparsity

data = bdnn.datasets.load("iris")
rows = data.y != data.y[0]
X, y = data.X[rows][::2], data.y[rows][::2]

for constraints in (
    [],
    [Sparsity(features=1)],
    [Sparsity(units=1, per_unit=2)],
    [Sparsity(total=6)],
    [Sparsity(price=0.5)],
):
    model = bdnn.BDNNClassifier(
        hidden=(2,),
        constraints=constraints,
        method="exact",
        limits=bdnn.Limits(seconds=30),
        random_state=0,
    )
    model.fit(X, y)
    weights = sum(np.count_nonzero(W) for W in model.network_.weights)
    features = int(model.network_.weights[0].any(axis=0).sum())
    result = model.result_
    print(
        f"{model.network_.architecture.hidden[0]} units, {weights:2} weights, {features} features: "
        f"loss {result.loss:g}, minimised {result.minimised:g}, bound {result.bound:g} "
        f"({result.status})"
    )
