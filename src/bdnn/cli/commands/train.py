"""``bdnn train``: train a network on a table and save it."""

from __future__ import annotations

from bdnn.cli.options import options
from bdnn.cli.options.constraints import Constraints
from bdnn.cli.options.data import Data
from bdnn.cli.options.guarantee import Guarantee
from bdnn.cli.options.learning import Learning
from bdnn.cli.options.limits import Limits
from bdnn.cli.options.output import Output
from bdnn.cli.options.shape import Shape


@options
def train(
    data: Data,
    shape: Shape,
    learning: Learning,
    limits: Limits,
    guarantee: Guarantee,
    constraints: Constraints,
    output: Output,
) -> None:
    """Train a binarized network and say how far from optimal it is.

    DATA is a CSV file (separator , ; or tab, with or without header) or a built-in data set. Text
    columns are one-hot encoded. Ctrl-C ends training and keeps the best network so far.
    """
    from bdnn.cli.fitting import Task
    from bdnn.cli.source import training_samples
    from bdnn.cli.summary import print_summary, summarise
    from bdnn.errors import DataError

    parameters = {
        name: value
        for group in (shape, learning, limits, guarantee, constraints)
        for name, value in group.parameters().items()
    }
    task = Task.create(learning, parameters)
    samples = training_samples(data, regression=learning.regression)
    chosen, kept = data.split(samples, seed=limits.seed, regression=learning.regression)
    output.tell(samples.notes)
    fitted = task.fit(samples, chosen, data.data, limits, output)
    output.tell(fitted.warnings)
    summary = {
        **summarise(fitted.model, samples, chosen, kept),
        **fitted.facts,
        "out": None if fitted.path is None else str(fitted.path),
        "notes": [*samples.notes, *fitted.warnings],
    }
    output.show(summary, lambda: print_summary(summary))
    if fitted.problem is not None:
        raise DataError(f"{fitted.problem}: the network is in {fitted.path} instead.")
