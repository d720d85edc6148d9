"""``bdnn attack``: accuracy on perturbed inputs."""

from __future__ import annotations

from bdnn.cli.options import option, options
from bdnn.cli.options.data import LabelledTable, ModelFile
from bdnn.cli.options.limits import SeededEffort
from bdnn.cli.output import Output, as_csv, percent, print_pairs
from bdnn.cli.perturbation import Perturbation, ask


@options
def attack(
    file: ModelFile,
    table: LabelledTable,
    perturbation: Perturbation,
    effort: SeededEffort,
    output: Output,
    method: str = option("random-sign (the paper's), greedy, boundary or optimal.", "greedy"),
    draws: int = option("Random attacks per row.", 1),
) -> None:
    """Perturb the rows of DATA within a radius and count the classes that change.

    The random attack moves every column by the radius, up or down. The others look for a class
    that changes; 'optimal' finds one whenever there is one, as far as the time limit allows. --out
    takes the perturbed features, as CSV.
    """
    from bdnn.files import write_whole
    from bdnn.robustness import attack as perturb
    from bdnn.robustness.attack import check_attack

    name = method.replace("-", "_")
    check_attack(name, draws)
    question = ask(file, table, perturbation)
    output.tell(question.notes)
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
    facts = question.facts | {
        "out": output.place,
        "method": method,
        "changed_rows": int(found.success.sum()),
        "attacked_accuracy": found.accuracy,
        "lengths": found.lengths.tolist(),
        "notes": question.notes,
    }
    pairs = [
        ("rows", str(facts["rows"])),
        ("attack", f"{method}, {perturbation}"),
        ("accuracy", percent(facts["accuracy"])),
        ("attacked", f"{percent(found.accuracy)}, {facts['changed_rows']} classes changed"),
        ("written", output.place),
    ]
    output.show(facts, lambda: print_pairs(pairs))
