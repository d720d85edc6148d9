"""Hidden units of more values than 0 and 1: what they gain, and where the trained network can go.

Run: python examples/discrete_activations.py
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bdnn import Activation, Architecture, BDNNClassifier, Limits
from bdnn.mip import NetworkModel
from bdnn.network.expansion import unrolled
from bdnn.problem.losses.output import classification

# Five stripes of a plane, white and black in turn: four cuts, which two steps do not have.
rng = np.random.default_rng(0)
X = rng.integers(0, 9, (60, 2)).astype(float)
stripe = np.digitize(X.sum(axis=1), (4, 7, 10, 13))
y = np.where(stripe % 2 == 0, "white", "black")

warnings.simplefilter("ignore", ConvergenceWarning)  # a time limit may come before the proof
ACTIVATIONS = ("step", "sign", "ternary", "levels:4", Activation((-1, 0, 3)))

print("activation                   0/1 variables  loss  bound  thresholds of the first unit")
for activation in ACTIVATIONS:
    model = BDNNClassifier(
        hidden=(2,), activation=activation, limits=Limits(seconds=10), random_state=0
    ).fit(X, y)
    result, network = model.result_, model.network_
    shape = network.architecture
    problem = classification(
        shape, model.encoder_.transform(X), np.unique(y, return_inverse=True)[1]
    )
    blocks = NetworkModel.build(problem).program.variable_blocks
    binaries = sum(block.columns.size for block in blocks if block.name.startswith("u"))
    name = shape.activation_of(0).name
    limits = network.thresholds[0][0].round(3).tolist()
    print(f"{name:28} {binaries:13d}  {result.loss:4g}  {result.bound:5g}  {limits}")
    assert problem.value(network) == result.loss
    # Networks of several values are steps of shared sums, with the same scores bit by bit.
    steps = unrolled(network, "an example")
    assert np.array_equal(steps.scores(problem.inputs), network.scores(problem.inputs))

# One activation per hidden layer, here with thresholds that nothing learns.
shape = Architecture.create(
    2, 2, hidden=(3, 2), thresholds="zero", activation=("ternary", "levels:3")
)
print(shape)
