"""Prices on weights and on margins, as part of what is minimised and proven."""

import numpy as np

import bdnn
from bdnn.constraints import Regularizer

data = bdnn.datasets.load("iris")
rows = data.y != data.y[0]
X, y = data.X[rows][::3], data.y[rows][::3]

for regularizer in (
    Regularizer(),
    Regularizer(l1=0.1),
    Regularizer(l2=0.1),
    Regularizer(saturated_margin=0.05, wanted_margin=1.5),
    Regularizer(max_margin=1.0),
):
    model = bdnn.BDNNClassifier(
        hidden=(2,),
        constraints=[regularizer],
        method="exact",
        limits=bdnn.Limits(seconds=5),
        random_state=0,
    )
    model.fit(X, y)
    result = model.result_
    sizes = sum(float(np.abs(W).sum()) for W in model.network_.weights)
    asked = {name: value for name, value in vars(regularizer).items() if value}
    print(
        f"{asked!s:60} loss {result.loss:g}, objective {result.minimised:.4g}, "
        f"bound {result.bound:.4g}, sum of weights {sizes:g}"
    )
