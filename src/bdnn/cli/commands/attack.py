"""``bdnn attack``: accuracy on perturbed inputs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bdnn.cli.console import percent, print_pairs
from bdnn.cli.options import options
from bdnn.cli.options.data import LabelledTable, ModelArgument
from bdnn.cli.options.guarantee import Perturbation
from bdnn.cli.options.limits import SeededEffort
from bdnn.cli.options.output import Output


@options
def attack(
    model: ModelArgument,
    table: LabelledTable,
    perturbation: Perturbation,
    effort: SeededEffort,
    output: Output,
    method: Annotated[
        str, typer.Option(help="random-sign (the paper's), greedy, boundary or optimal.")
    ] = "greedy",
    draws: Annotated[int, typer.Option(help="Random attacks per row.")] = 1,
) -> None:
    """Perturb the rows of DATA within a radius and count the classes that change.

    The random attack moves every column by the radius, up or down. The others look for a class
    that changes; 'optimal' finds one whenever there is one, as far as the time limit allows. --out
    takes the perturbed features, as CSV.
    """
    from bdnn.cli.output import as_csv
    from bdnn.cli.question import ask, describe
    from bdnn.files import write_whole
    from bdnn.robustness import attack as perturb
    from bdnn.robustness.attack import check_attack

    name = method.replace("-", "_")
    check_attack(name, draws)
    question = ask(model, table, perturbation, output)
    found = perturb(
        question.around,
        perturbation.radius,
        method=name,
        draws=draws,
        seed=effort.seed,
        time_limit=effort.seconds,
        n_jobs=effort.jobs,
    )
    if output.out is not None:
        write_whole(output.out, as_csv(question.record.model.feature_names, found.X.tolist()))
    report: dict[str, Any] = {
        **describe(question, perturbation),
        "method": method,
        "changed_rows": int(found.success.sum()),
        "attacked_accuracy": found.accuracy,
    }
    pairs = [
        ("rows", str(report["rows"])),
        ("attack", f"{method}, {report['radius']:g} ({report['norm']}, {report['units']} inputs)"),
        ("accuracy", percent(report["accuracy"])),
        ("attacked", f"{percent(found.accuracy)}, {report['changed_rows']} classes changed"),
        *([] if output.place is None else [("written", output.place)]),
    ]
    facts = {"model": str(model), "data": table.data, "out": output.place, **report}
    more = {"lengths": found.lengths.tolist(), "notes": question.notes}
    output.show(facts | more, lambda: print_pairs(pairs))
