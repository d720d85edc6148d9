"""Train a small network on the breast cancer data, look at the result, save and load it.

Run: python examples/first_steps.py
"""

import tempfile
from pathlib import Path

import bdnn

data = bdnn.datasets.load("breast-cancer")
train, test = slice(0, 100), slice(100, None)

model = bdnn.BDNNClassifier(hidden=(3,), weights="ternary", method="exact", random_state=0)
model.fit(data.X[train], data.y[train], feature_names=data.feature_names)

result = model.result_
print(model.network_.describe())
print(f"status         {result.status} after {result.seconds:.1f} s ({result.method})")
print(f"loss           {result.loss:g}")
print(f"bound          {result.bound:g} ({result.bound_origin})")
print(f"gap            {result.gap:.0%}")
print(f"test accuracy  {model.score(data.X[test], data.y[test]):.1%}")

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.json"
    model.save(path)
    again = bdnn.load(path)
    print(f"model file     {path.stat().st_size} bytes")

assert again.network_ == model.network_
assert (again.predict(data.X) == model.predict(data.X)).all()
