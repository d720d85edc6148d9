"""Samples that come in later: the network, its bound and its program are continued."""

import tempfile
import time
from pathlib import Path

import bdnn

data = bdnn.datasets.load("breast-cancer")
options = {"hidden": (10,), "limits": bdnn.Limits(seconds=20), "random_state": 0}

model = bdnn.BDNNClassifier(**options).fit(data.X[:200], data.y[:200])
print(f"200 rows: loss {model.result_.loss:g}, bound {model.result_.bound:g}")

for first in range(200, 600, 100):
    rows = slice(first, first + 100)
    began = time.perf_counter()
    model.extend(data.X[rows], data.y[rows])
    seconds = time.perf_counter() - began
    result = model.result_
    print(f"{first + 100} rows: loss {result.loss:g}, bound {result.bound:g}, {seconds:.2f} s")
print(f"on the {len(data.y) - 600} other rows: {model.score(data.X[600:], data.y[600:]):.3f}")

# A model file holds no data; to go on, it wants to see the rows it was trained on.
path = Path(tempfile.mkdtemp()) / "model.json"
model.save(path)
loaded = bdnn.load(path)
loaded.extend(data.X[600:], data.y[600:], old=(data.X[:600], data.y[:600]))
print(f"all rows, from a file: loss {loaded.result_.loss:g}, {loaded.result_.status}")

# The same with scikit-learn's contract: all classes are named in the first call.
stream = bdnn.BDNNClassifier(**options)
for first in range(0, 200, 50):
    rows = slice(first, first + 50)
    stream.partial_fit(data.X[rows], data.y[rows], classes=["benign", "malignant"])
print(f"in parts of 50: loss {stream.result_.loss:g} on 200 rows")
