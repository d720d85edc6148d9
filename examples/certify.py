"""How far an input may move: a guarantee, the exact answer, an attack, and a certificate."""

import bdnn

data = bdnn.datasets.load("iris")
model = bdnn.BDNNClassifier(
    hidden=(5,),
    objective="loss",
    inputs=bdnn.Inputs(scale="minmax"),
    limits=bdnn.Limits(seconds=5),
    random_state=0,
)
model.fit(data.X, data.y)

# A sound bound for all rows at once, in units of inputs scaled to [0, 1].
bound = model.certify(data.X, data.y, radius=0.05)
print(f"accuracy {model.score(data.X, data.y):.3f}, certified at 0.05 {bound.accuracy:.3f}")

# The smallest perturbation that changes the class of some rows.
rows = slice(0, 150, 15)
exact = model.verify(data.X[rows], data.y[rows], time_limit=30)
for lower, upper, guaranteed in zip(exact.lower, exact.upper, bound.radii[rows], strict=True):
    print(
        f"guaranteed {guaranteed:.4f}  nearest counter-example between {lower:.4f} and {upper:.4f}"
    )

# The paper's attack beside the best possible one.
for method in ("random_sign", "optimal"):
    attacked = model.attack(data.X, data.y, radius=0.05, method=method, random_state=0)
    print(f"{method:12} leaves an accuracy of {attacked.accuracy:.3f}")

# What was found can be checked again without a solver.
statements = exact.certificates(0)
print([(s.kind, s.check(model.model_)) for s in statements])
