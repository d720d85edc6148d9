"""Predict house prices by step units, beside linear regression, and prove a tiny network optimal.

Run: python examples/regression.py
"""

import numpy as np
from sklearn.linear_model import LinearRegression

import bdnn

data = bdnn.datasets.load("boston-housing", target="medv")
rows = np.random.default_rng(0).permutation(len(data.y))
train, test = rows[:300], rows[300:]

model = bdnn.BDNNRegressor(hidden=(12,), random_state=0)
model.fit(data.X[train], data.y[train], feature_names=data.feature_names)
line = LinearRegression().fit(data.X[train], data.y[train])
print(model.network_.describe())
print(f"test R2        {model.score(data.X[test], data.y[test]):.3f}")
print(f"of a line      {line.score(data.X[test], data.y[test]):.3f}")

# One unit on a few districts: the smallest absolute loss that any such network has.
few = train[:20]
exact = bdnn.BDNNRegressor(hidden=(1,), loss="absolute", method="exact", random_state=0)
exact.fit(data.X[few][:, [5, 12]], data.y[few], feature_names=("rooms", "lower status"))
result = exact.result_
print(f"status         {result.status}, loss {result.loss:.3f} ({result.bound_origin})")
