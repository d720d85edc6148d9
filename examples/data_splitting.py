"""Train on batches whose clusters share their activations, and watch the epochs.

Run: python examples/data_splitting.py
"""

import bdnn
from bdnn.training import DataSplitting

data = bdnn.datasets.load("iris")
model = bdnn.BDNNClassifier(
    hidden=(20,),
    weights="ternary",
    method=DataSplitting(epochs=8, batch_size=32),
    validation_fraction=0.3,
    limits=bdnn.Limits(seconds=10),
    random_state=0,
)
model.fit(data.X[::2], data.y[::2])

print("epoch clusters  loss bound  validation  status     solved by")
for step in model.result_.steps:
    print(
        f"{step['epoch']:5} {step['clusters']:8} {step['loss']:5g} {step['bound']:5g}"
        f" {step['validation_accuracy']:11.1%}  {step['status']:9}  {step['solved_by']}"
    )
print(f"test accuracy  {model.score(data.X[1::2], data.y[1::2]):.1%}")
assert all(step["loss"] >= step["bound"] for step in model.result_.steps)
