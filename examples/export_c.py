"""Train a small network and write it as C for a device.

Run: python examples/export_c.py
"""

import bdnn

data = bdnn.datasets.load("breast-cancer")
model = bdnn.BDNNClassifier(
    hidden=(2,), method="descent", limits=bdnn.Limits(seconds=5), random_state=0
)
model.fit(data.X[:400], data.y[:400], feature_names=data.feature_names)

header = model.to_c(name="tumour", class_names=True)
print(header.text)
print(f"call      {header.signature}")
print(f"answers   proven for inputs {header.inputs.ranges[0][0]} to {header.inputs.ranges[0][1]}")
print(f"integers  {header.is_integer}")
print(f"accuracy  {model.score(data.X[400:], data.y[400:]):.1%} of {len(data.X) - 400} new rows")
