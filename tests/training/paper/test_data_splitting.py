"""Algorithm 2 as a training method: records, choice by validation, limits, variants."""

from __future__ import annotations

import time

import numpy as np
import pytest

from bdnn import BDNNClassifier, Limits, datasets
from bdnn.clock import Slot
from bdnn.constraints import Sparsity
from bdnn.errors import ModelError
from bdnn.mip import NetworkModel
from bdnn.search import random_start
from bdnn.training import Budget, DataSplitting
from bdnn.training.paper import data_splitting, polish
from bdnn.training.paper.clusters import Partition, Sampler
from bdnn.training.paper.epoch import Candidate, EpochProblem
from bdnn.training.phases.trials import noisy_gradients
from bdnn.training.run import Run
from tests.constraints.asking import constrain
from tests.grids import in_turn, long
from tests.problems import random_problem, weighted
from tests.sentences import assert_one_sentence
from tests.training.paper.test_clusters import clouds

FIELDS = {
    "epoch",
    "clusters",
    "loss",
    "bound",
    "train_accuracy",
    "validation_accuracy",
    "seconds",
    "status",
    "solved_by",
}


def iris(method, *, hidden=(10,), **options) -> BDNNClassifier:
    data = datasets.load("iris")
    options = {"validation_fraction": 1 / 3, "random_state": 0, **options}
    return BDNNClassifier(hidden=hidden, method=method, **options).fit(data.X, data.y)


@pytest.mark.parametrize(
    ("weights", "thresholds"),
    in_turn(["continuous", "ternary", "binary", "int:2"], ["neuron", "layer", "zero"]),
)
def test_every_kind_of_network_is_trained(weights, thresholds):
    problem = clouds(120, weights=weights)
    shape = problem.architecture
    shape = type(shape)(5, (6,), 2, shape.weights, thresholds)
    problem = weighted(shape, problem.inputs, problem.loss.label_weight)
    network, result = DataSplitting(epochs=4, batch_size=24).train(
        problem, budget=Budget(seconds=120, seed=0)
    )
    assert result.loss == problem.value(network) >= result.bound
    # Planes through the origin cannot tell much of clouds of which one lies there.
    assert result.error < (0.27 if thresholds == "zero" else 0.15)
    assert [step["epoch"] for step in result.steps] == [1, 2, 3, 4]
    for step in result.steps:
        assert set(step) == FIELDS
        assert step["loss"] >= step["bound"]
        assert (step["status"] == "optimal") == (step["loss"] == step["bound"])


@pytest.mark.parametrize("hidden", [(), (6, 10, 8), *long((8, 8), (8, 8, 8, 8))])
def test_depths_and_several_classes(hidden):
    model = iris(DataSplitting(epochs=5), hidden=hidden, weights="ternary")
    data = datasets.load("iris")
    assert model.score(data.X, data.y) > 0.85 or not hidden
    assert model.result_.method == "data_splitting"


def test_the_network_with_the_fewest_validation_errors_is_returned():
    problem, validation = clouds(200, seed=1), clouds(200, seed=2)
    method = DataSplitting(epochs=8, batch_size=16, polish=False)
    network, result = method.train(problem, validation=validation, budget=Budget(20, seed=0))
    best = max(step["validation_accuracy"] for step in result.steps)
    assert 1 - validation.error(network) == pytest.approx(best)
    assert result.loss == problem.value(network)


def test_a_polish_is_kept_only_if_it_makes_fewer_errors():
    problem, validation = clouds(200, seed=1), clouds(200, seed=2)
    networks = [
        DataSplitting(epochs=4, polish=polish)
        .train(problem, validation=validation, budget=Budget(20, seed=0))
        .network
        for polish in (False, True)
    ]
    errors = [problem.error(network) + validation.error(network) for network in networks]
    assert errors[1] <= errors[0]


@pytest.mark.parametrize("refit", [True, False])
def test_the_polish_trains_on_samples_that_have_chosen_the_epoch(refit, monkeypatch):
    seen = {"epochs": set(), "polish": set()}

    def watched(name, function, place):
        def call(*values, **options):
            seen[name].add(len(values[place].inputs))
            return function(*values, **options)

        return call

    monkeypatch.setattr(data_splitting, "Sampler", watched("epochs", data_splitting.Sampler, 0))
    trains = "noisy_gradients" if refit else "widen_margin"
    monkeypatch.setattr(polish, trains, watched("polish", getattr(polish, trains), 0))
    data = datasets.load("boston-housing")
    model = BDNNClassifier(
        hidden=(10,),
        method=DataSplitting(epochs=3, refit=refit),
        validation_fraction=0.25,
        limits=Limits(seconds=20),
        random_state=0,
    ).fit(data.X, data.y)
    n_known, n_trained = 506, 380
    assert seen == {"epochs": {n_trained}, "polish": {n_known if refit else n_trained}}
    errors = int((model.predict(data.X) != data.y).sum())
    if refit:
        assert model.result_.error == pytest.approx(errors / n_known)
    else:
        assert model.result_.error * n_trained <= errors


@pytest.mark.parametrize("hidden", [(6,), (6, 6)])
@pytest.mark.parametrize("fails", [True, False])
def test_gradients_on_all_samples_are_kept_unless_clearly_worse(hidden, fails, monkeypatch):
    made = []

    def watched(problem, **options):
        network = problem.constant_network() if fails else noisy_gradients(problem, **options)
        made.append((options["start"], network))
        return network

    monkeypatch.setattr(polish, "noisy_gradients", watched)
    training, validation = clouds(200, seed=1, hidden=hidden), clouds(80, seed=2, hidden=hidden)
    whole = weighted(
        training.architecture,
        np.concatenate([training.inputs, validation.inputs]),
        np.concatenate([training.loss.label_weight, validation.loss.label_weight]),
    )
    network, result = DataSplitting(epochs=6, batch_size=16).train(
        whole, validation=validation, training_part=training, budget=Budget(20, seed=0)
    )
    begun, learnt = made[0]
    # A deep network may copy the shallow one that was trained.
    assert (
        network.outputs(whole.inputs) == (begun if fails else learnt).outputs(whole.inputs)
    ).all()
    assert network.architecture.hidden == hidden
    assert result.loss == whole.value(network)


@pytest.mark.parametrize("most", [279, 280])
def test_gradients_polish_only_what_they_see_whole(most, monkeypatch):
    monkeypatch.setattr(polish, "_MOST_INPUTS", most)
    recorder = recorded(clouds(280, seed=1), 60)
    assert not polish.is_learnt(recorder)  # nothing was chosen by samples of the problem
    recorder.training_part = clouds(200, seed=1)
    assert polish.is_learnt(recorder) is (most == 280)


def recorded(problem, seconds) -> Run:
    return Run(problem, Budget(seconds, seed=0))


def test_gradients_do_not_begin_with_a_network_that_says_the_same_for_all_inputs():
    problem = clouds(200, weights="continuous", hidden=(6, 6))
    best = Candidate(problem.constant_network())
    rng = np.random.default_rng(0)
    found = polish.learnt(recorded(problem, 60), best, slot=Slot.of(60), rng=rng)
    assert problem.error(found.network) < 0.05


def test_gradients_without_time_change_nothing():
    problem = clouds(200)
    best = Candidate(random_start(problem, np.random.default_rng(1)))
    rng = np.random.default_rng(0)
    assert polish.learnt(recorded(problem, 60), best, slot=Slot.of(0.0), rng=rng) is None
    # A few steps are taken only where they are better already.
    for _ in range(10):
        found = polish.learnt(recorded(problem, 60), best, slot=Slot.of(1e-3), rng=rng)
        assert found is None or problem.error(found.network) < problem.error(best.network)


def test_a_polish_on_validation_samples_keeps_constraints():
    whole, part = (constrain(clouds(n, seed=1), sparsity=Sparsity(per_unit=1)) for n in (120, 90))
    network, _ = DataSplitting(epochs=3, batch_size=16).train(
        whole, validation=clouds(30, seed=2), training_part=part, budget=Budget(10, seed=0)
    )
    assert whole.is_feasible(network)


@pytest.mark.parametrize("random_state", range(4))
def test_a_loss_to_stop_at_is_not_given_up_again(random_state):
    model = iris(
        DataSplitting(epochs=20),
        weights="ternary",
        limits=Limits(loss=16),
        random_state=random_state,
    )
    assert model.result_.loss <= 16 or len(model.result_.steps) == 20


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, True),
        ({"refit": False}, False),
        ({"polish": False}, False),
        ({"paper": True}, False),
    ],
    ids=str,
)
def test_only_a_polish_trains_on_validation_samples(options, expected):
    assert DataSplitting(**options).refits is expected


def test_a_problem_that_holds_validation_samples_is_refused_where_they_stay_out():
    whole, held_out = clouds(60, seed=1), clouds(20, seed=2)
    with pytest.raises(ModelError) as caught:
        DataSplitting(refit=False).train(
            whole, validation=held_out, training_part=clouds(40, seed=1)
        )
    assert_one_sentence(caught.value)


def test_under_constraints_validation_samples_stay_out(monkeypatch):
    sizes = []
    train = DataSplitting.train

    def watched(self, problem, *, training_part, **options):
        sizes.append((problem.loss.label_weight.sum(), training_part))
        return train(self, problem, training_part=training_part, **options)

    monkeypatch.setattr(DataSplitting, "train", watched)
    iris(DataSplitting(epochs=2), constraints=[Sparsity(per_unit=2)], limits=Limits(seconds=10))
    assert sizes == [(102, None)]  # of 150, with as many of each class


@pytest.mark.parametrize(
    "options",
    [
        {"batches": "contiguous"},
        {"batches": "all"},
        {"split": "kmeans"},
        {"split_first": False},
        {"paper": True},
        {"construct": False, "batch_size": 12},
    ],
    ids=lambda options: next(iter(options)),
)
def test_variants(options):
    problem = clouds(90)
    method = DataSplitting(**{"epochs": 3, "batch_size": 30, "polish": False, **options})
    network, result = method.train(problem, budget=Budget(seconds=60, seed=0))
    clusters = [step["clusters"] for step in result.steps]
    first = 1 if not method.split_first or method.paper else 2
    assert clusters == [first, first + 1, first + 2]
    assert result.loss == problem.value(network)
    assert bool(result.solver) or method.construct


def test_papers_setting_is_kmeans_on_random_batches_without_polish():
    settled = DataSplitting(paper=True, split="labels", batches="all", epochs=7)._settled()
    assert (settled.split, settled.batches, settled.epochs) == ("kmeans", "random", 7)
    assert not settled.split_first
    assert not settled.polish


def test_records_survive_a_model_file(tmp_path):
    model = iris(DataSplitting(epochs=3, polish=False))
    model.save(tmp_path / "model.json")
    from bdnn import load

    steps = load(tmp_path / "model.json").result_.steps
    assert [dict(step) for step in steps] == [dict(step) for step in model.result_.steps]


def test_losses_are_in_the_users_units():
    problem = clouds(90)
    light = weighted(
        problem.architecture, problem.inputs, problem.loss.label_weight * 2.0**-20 * 1.1
    )
    _, result = DataSplitting(epochs=2, polish=False).train(light, budget=Budget(10, seed=0))
    assert all(step["loss"] < 1e-3 for step in result.steps)


def test_the_same_seed_gives_the_same_network():
    problem = clouds(150)
    one, two = (
        DataSplitting(epochs=4, polish=False).train(problem, budget=Budget(60, seed=4))
        for _ in range(2)
    )
    assert one.network == two.network


@pytest.mark.parametrize("method", [DataSplitting(), DataSplitting(paper=True, construct=False)])
def test_the_time_limit_holds(method):
    problem = clouds(3000)
    DataSplitting(epochs=1).train(clouds(60), budget=Budget(60))  # compiled code is loaded before
    started = time.perf_counter()
    _, result = method.train(problem, budget=Budget(seconds=1.0, seed=0))
    assert time.perf_counter() - started < 12  # generous: machines may be busy
    assert np.isfinite(result.loss)


def test_no_time_limit_is_needed():
    _, result = DataSplitting(epochs=2).train(clouds(60))
    assert len(result.steps) == 2


def test_a_callback_ends_the_run_and_the_network_is_kept():
    problem = random_problem(0, n_samples=200, n_features=3, hidden=(3,))
    network, result = DataSplitting().train(
        problem, budget=Budget(60, seed=0), on_progress=lambda moment: moment.phase == "epoch"
    )
    assert result.status == "interrupted"
    assert result.loss == problem.value(network)


@pytest.mark.parametrize("n_samples", [500, 30_000])
def test_the_program_of_an_epoch_is_bounded_by_batch_and_clusters(n_samples):
    problem = clouds(n_samples)
    partition, rng = Partition(problem), np.random.default_rng(0)
    for _ in range(4):
        partition.split_worst(np.ones(len(problem.inputs)), "labels", rng)
    ((rows, batch),) = Sampler(problem, 64).draw("random", 0, rng)
    model = NetworkModel.build(
        batch, groups=EpochProblem.create(batch, partition.cluster[rows]).groups
    )
    clusters, (n, d, _) = 5, problem.architecture.widths
    assert model.program.n_variables <= n * d + 2 * d + 1 + clusters * (2 * d + 1)
    assert model.program.n_rows <= 64 * d * 2 + clusters * (4 * d + 2)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"epochs": 0}, "epochs"),
        ({"batch_size": 2.5}, "batch_size"),
        ({"patience": 0}, "patience"),
        ({"batches": "some"}, "batches"),
        ({"split": "thirds"}, "split"),
    ],
)
def test_bad_settings_are_named(options, word):
    with pytest.raises(ModelError, match=word) as caught:
        DataSplitting(**options).train(random_problem(0), budget=Budget(seconds=5))
    assert_one_sentence(caught.value)
