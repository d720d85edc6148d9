"""Pictures: loss and bound against time, decision regions, weights as images."""

import tempfile
from pathlib import Path

import bdnn
from bdnn.plotting import plot_decision_regions, plot_progress, plot_weights

folder = Path(tempfile.mkdtemp(prefix="bdnn-plots-"))

iris = bdnn.datasets.load("iris")
model = bdnn.BDNNClassifier(
    hidden=(10,), objective="loss", limits=bdnn.Limits(seconds=10), random_state=0
)
model.fit(iris.X, iris.y, feature_names=iris.feature_names)
plot_progress(model).figure.savefig(folder / "progress.png", dpi=120)
regions = plot_decision_regions(model, iris.X, iris.y, features=(2, 3))
regions.figure.savefig(folder / "regions.png", dpi=120)
plot_weights(model)[0].figure.savefig(folder / "matrix.png", dpi=120)

# Eight by eight pixels: one image per unit shows what it looks for.
digits = bdnn.datasets.load("digits")
rows = digits.y.astype(int) < 3
model = bdnn.BDNNClassifier(
    hidden=(12,), method="descent", limits=bdnn.Limits(seconds=10), random_state=0
)
model.fit(digits.X[rows], digits.y[rows])
plot_weights(model, shape=(8, 8))[0].figure.savefig(folder / "digits.png", dpi=120)

print(f"status {model.result_.status}, pictures in {folder}:")
print(*sorted(path.name for path in folder.iterdir()), sep="\n")
