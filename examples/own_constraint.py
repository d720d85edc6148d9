"""Rows of one's own over weights, thresholds and activations, and rows that must be right."""

import numpy as np

import bdnn
from bdnn.constraints import FixedWeight, LinearRows

data = bdnn.datasets.load("iris")
rows = data.y != data.y[0]
X, y = data.X[rows][::4], data.y[rows][::4]


def balanced(v):
    """Each hidden unit weighs as much up as down, and none is on for more than 15 samples."""
    return [v.weights[0].sum(axis=1) == 0, v.activations[0].sum(axis=0) <= 15]


model = bdnn.BDNNClassifier(
    hidden=(2,),
    constraints=[LinearRows(balanced), FixedWeight(0, 0, 3, 1)],
    method="exact",
    limits=bdnn.Limits(seconds=10),
    random_state=0,
)
model.fit(X, y, must=np.arange(len(X)) < 3)

network = model.network_
on = network.activations(model.encoder_.transform(X))[0]
print(f"loss {model.result_.loss:g}, bound {model.result_.bound:g} ({model.result_.status})")
print(f"sums of weights {network.weights[0].sum(axis=1)}, on for {on.sum(axis=0)} samples")
right = np.mean(model.predict(X[:3]) == y[:3])
print(f"fixed weight {network.weights[0][0, 3]:g}, of the first three rows {right:.0%} right")

# What no network can keep is said by name.
try:
    impossible = LinearRows(lambda v: [v.weights[0].sum() >= 1, v.weights[0].sum() <= 0])
    bdnn.BDNNClassifier(hidden=(2,), constraints=impossible, method="exact").fit(X, y)
except bdnn.BDNNError as error:
    print(error)
