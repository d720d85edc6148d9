"""A feature that only ever speaks for a class, and one that must not be looked at."""

import numpy as np

import bdnn
from bdnn.constraints import Forbid, Monotone

data = bdnn.datasets.load("breast-cancer")
names = list(data.feature_names)

model = bdnn.BDNNClassifier(
    hidden=(3,),
    constraints=[*(Monotone(name, +1) for name in names[:-1]), Forbid(names[-1])],
    limits=bdnn.Limits(seconds=3),
    random_state=0,
)
model.fit(data.X[:300], data.y[:300], feature_names=names)
print(f"accuracy on other rows {model.score(data.X[300:], data.y[300:]):.3f}")

# Raising any feature never lowers the score of the second class, wherever one starts.
rng = np.random.default_rng(0)
X = rng.integers(1, 11, (1000, 9)).astype(float)
higher = X + rng.integers(0, 5, X.shape)
rises = model.decision_function(higher) >= model.decision_function(X)
print(f"{rises.sum()} of {len(X)} random changes moved the score the right way")

model.save("monotone.json")  # the promises are in the file: bdnn check monotone.json DATA
