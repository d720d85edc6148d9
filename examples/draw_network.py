"""A network as a picture: the one that the documentation begins with."""

from pathlib import Path

import bdnn
from bdnn.constraints import Sparsity
from bdnn.report.drawings import draw_network

STYLE = """<style>
svg { color: #3c4456; }
line { stroke: #3f51b5; } .minus { stroke: #c2410c; stroke-dasharray: 5 3; }
.end { text-anchor: end; }
</style>"""

data = bdnn.datasets.load("breast-cancer")
model = bdnn.BDNNClassifier(
    hidden=(3,),
    constraints=[Sparsity(per_unit=3)],
    limits=bdnn.Limits(seconds=10),
    random_state=0,
)
model.fit(data.X, data.y, feature_names=data.feature_names)

drawing = draw_network(model.model_, "A network of three units on the breast-cancer table")
opening, _, rest = str(drawing).partition(">")
Path("network.svg").write_text(f"{opening}>{STYLE}{rest}", encoding="utf-8")
print(f"network.svg: {model.network_.describe()}, loss {model.result_.loss:g}")
