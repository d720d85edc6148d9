"""Choice by held-out samples: who competes."""

from dataclasses import replace

import numpy as np
import pytest

import bdnn
from bdnn import BDNNClassifier, Limits
from bdnn.clock import Slot
from bdnn.network.architecture import Architecture
from bdnn.problem.losses.output import classification
from bdnn.search import embed
from bdnn.search.embedding import shallow_problem
from bdnn.search.starts import straight_through
from bdnn.training import Auto, Budget, Descent, Run
from bdnn.training.phases import choice, search, trials
from bdnn.training.phases.search import epoch_seconds
from tests.grids import in_turn
from tests.problems import weighted


def parts(hidden):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 3))
    y = (X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=120) > 0).astype(int)
    shape = Architecture.create(3, 2, hidden=hidden, weights="ternary")
    return [classification(shape, X[p], y[p]) for p in (slice(80), slice(80, None))]


def test_a_deep_problem_has_a_shallow_one_whose_networks_it_can_copy():
    problem, _ = parts((6, 6, 6))
    shallow = shallow_problem(problem)
    assert shallow.architecture.hidden == (6,)
    network = straight_through(shallow, rng=np.random.default_rng(0), slot=Slot.of(5), epochs=5)
    assert problem.value(embed(network, problem.architecture)) == shallow.value(network)
    for hidden, weights in (((6,), "ternary"), ((6, 6), "binary")):
        other = Architecture.create(3, 2, hidden=hidden, weights=weights)
        assert shallow_problem(replace(problem, architecture=other)) is None


@pytest.mark.parametrize("is_slow", [False, True])
def test_copies_of_a_shallow_network_compete_with_a_deep_one_and_few_where_time_is_short(
    is_slow, monkeypatch
):
    trained = []

    def watched(problem, **options):
        trained.append(problem.architecture.hidden)
        return straight_through(problem, **options)

    monkeypatch.setattr(trials, "straight_through", watched)
    epoch = 0.1 if is_slow else 0.0
    monkeypatch.setattr(search, "epoch_seconds", lambda *_: epoch)
    training, validation = parts((8, 8))
    # Enough for everything even beside other work, but for what the slow case is about.
    budget = Budget(seconds=3 if is_slow else 60, seed=3)
    network, result = Auto(patience=1.0).train(training, validation=validation, budget=budget)
    assert trained == [(8,), (8, 8)]
    assert network.architecture.hidden == (8, 8)
    assert result.loss == training.value(network)


@pytest.mark.parametrize("thresholds", ["neuron", "layer", "zero"])
@pytest.mark.parametrize("weights", ["continuous", "ternary", "int:3"])
@pytest.mark.parametrize("hidden", [(6, 3, 5), (3, 6, 2)])
def test_what_a_narrow_deep_network_copies_fits_into_it(hidden, weights, thresholds):
    problem, _ = parts(hidden)
    shape = Architecture.create(3, 2, hidden=hidden, weights=weights, thresholds=thresholds)
    problem = replace(problem, architecture=shape)
    shallow = shallow_problem(problem)
    network = straight_through(shallow, rng=np.random.default_rng(0), slot=Slot.of(5), epochs=5)
    assert problem.value(embed(network, shape)) == shallow.value(network)


@pytest.mark.parametrize(
    ("method", "hidden"), in_turn([Auto(patience=1.0), Descent(patience=1.0)], [[8], [8, 8]])
)
def test_held_out_samples_show_how_to_train_and_are_then_trained_on(hidden, method, monkeypatch):
    seen = []

    def watched(problem, **options):
        seen.append((len(problem.inputs), options["jitter"]))
        return straight_through(problem, **options)

    monkeypatch.setattr(trials, "straight_through", watched)
    monkeypatch.setattr(search, "epoch_seconds", lambda *_: 0.0)  # also on a busy machine
    training, validation = parts(hidden)
    whole = weighted(
        training.architecture,
        np.concatenate([training.inputs, validation.inputs]),
        np.concatenate([training.loss.label_weight, validation.loss.label_weight]),
    )
    network, result = method.train(
        whole, validation=validation, training_part=training, budget=Budget(seconds=20, seed=1)
    )
    assert result.loss == whole.value(network)
    assert result.bound >= whole.floor
    # A third of the samples is held out in turn.
    tried = [jitter for size, jitter in seen if size == 80]
    assert 0.0 in tried
    assert len(set(tried)) >= 3
    # The usual way has begun on all samples before; any other one is gone again with all of them.
    again = seen[len(tried) :]
    assert all(size == 120 and jitter in tried for size, jitter in again)


@pytest.mark.parametrize(("hidden", "is_copied"), [((8,), False), ((8, 8), False), ((8, 8), True)])
def test_of_networks_trained_on_all_samples_that_of_the_least_loss_is_kept(
    hidden, is_copied, monkeypatch
):
    losses = []

    def watched(problem, **options):
        network = straight_through(problem, **{**options, "epochs": 1})
        losses.append(problem.value(network))
        return network

    recipe = trials.Recipe(is_copied, 0.3)
    monkeypatch.setattr(choice, "_best_recipe", lambda *_: (recipe, 2.0))
    monkeypatch.setattr(trials, "straight_through", watched)
    training, validation = parts(hidden)
    network, result = Descent().train(
        training, validation=validation, training_part=training, budget=Budget(seconds=60, seed=1)
    )
    assert min(losses) < max(losses)
    assert result.loss == min(losses) == training.value(network)


def test_only_what_is_clearly_better_replaces_the_best_bet():
    def rows(*wrong):
        return np.array([[float(i in each) for i in range(20)] for each in wrong])

    # The first has 3 mistakes; chance alone often gives one or two fewer, or others.
    assert choice.clearly_best(rows({1, 2, 3}, {1, 2}, {4, 5})) == 0
    assert choice.clearly_best(rows({1, 2, 3}, {1, 2, 3}, {1, 2, 3, 4})) == 0
    assert choice.clearly_best(rows({1, 2, 3}, {1, 2}, set())) == 2
    # Three more that only the first gets wrong, and three that only the other does, are chance.
    assert choice.clearly_best(rows(set(range(6)), {7, 8, 9})) == 0
    assert choice.clearly_best(rows(set(range(6)), {7}, {7, 8})) == 1
    # A weight counts as one decision about so many samples.
    assert choice.clearly_best(3.0 * rows({1}, set())) == 0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_only_labels_of_many_classes_are_smoothed(n_classes, monkeypatch):
    smoothings = set()

    def watched(problem, **options):
        smoothings.add(options["smoothing"])
        return straight_through(problem, **options)

    monkeypatch.setattr(trials, "straight_through", watched)
    monkeypatch.setattr(search, "epoch_seconds", lambda *_: 0.0)  # also on a busy machine
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.digitize(X[:, 0], [0.0, 1.0][: n_classes - 1])
    BDNNClassifier(
        hidden=(4,),
        validation_fraction=0.3,
        method=Auto(patience=1.0),
        limits=Limits(seconds=20),
        random_state=0,
    ).fit(X, y)
    assert smoothings
    assert {smoothing > 0 for smoothing in smoothings} == {n_classes > 2}


def blobs(n_inputs, n_classes, hidden):
    rng = np.random.default_rng(0)
    labels = np.arange(n_inputs) % n_classes
    X = rng.normal(size=(n_inputs, 2)) + 4.0 * np.array([labels % 2, labels // 2]).T
    shape = Architecture.create(2, n_classes, hidden=hidden, weights="ternary")
    return classification(shape, X, labels)


@pytest.mark.parametrize(
    ("n_inputs", "n_classes", "hidden", "is_copied", "drifts"),
    [
        (100, 2, (8,), [False, False], [False, False]),
        (100, 2, (8, 8), [True, False], [False, False]),
        (1500, 2, (8, 8), [True, False], [False, False]),
        (100, 3, (8,), [False, False], [True, False]),
        (100, 3, (8, 8), [True, False], [True, False]),
        (1500, 3, (8, 8), [False, True], [True, False]),
    ],
)
def test_what_is_tried_depends_on_classes_depth_and_samples(
    n_inputs, n_classes, hidden, is_copied, drifts
):
    tried = trials.gradient_recipes(blobs(n_inputs, n_classes, hidden))
    assert [recipe.is_copied for recipe in tried] == is_copied
    assert [recipe.mixup > 0 for recipe in tried] == drifts


@pytest.mark.parametrize(
    ("n_classes", "hidden", "single_features", "has_tails"),
    [(2, (3,), False, True), (2, (4,), True, True), (2, (4, 4), True, True),
     (3, (4,), False, False), (3, (4, 4), False, True)],
)  # fmt: skip
def test_two_classes_begin_with_single_features_and_only_shallow_networks_of_more_have_no_tails(
    n_classes, hidden, single_features, has_tails, monkeypatch
):
    seen = []
    monkeypatch.setattr(trials, "straight_through", lambda problem, **options: seen.append(options))
    trials.noisy_gradients(
        blobs(60, n_classes, hidden), rng=np.random.default_rng(0), slot=Slot.of(1)
    )
    assert (seen[0]["single_features"] > 0) == single_features
    assert seen[0]["has_tails"] == has_tails
    trials.noisy_gradients(
        blobs(60, n_classes, hidden),
        rng=np.random.default_rng(0),
        slot=Slot.of(1),
        recipe=trials.Recipe(False),
    )
    assert not seen[1]["has_tails"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.long
def test_a_deep_network_is_the_very_network_that_a_shallow_one_is(monkeypatch):
    monkeypatch.setattr(
        choice, "_best_recipe", lambda trainer, *_: (choice._recipes(trainer)[0], 2.0)
    )
    X, y = noisy(80)
    answers = [
        BDNNClassifier(
            hidden=hidden,
            validation_fraction=0.3,
            method=Descent(),
            limits=Limits(seconds=60),
            random_state=3,
        )
        .fit(X, y)
        .decision_function(X)
        for hidden in [(8,), (8, 8), (8, 9, 8)]
    ]
    for other in answers[1:]:
        np.testing.assert_array_equal(other > 0, answers[0] > 0)


def one_feature_matters(n_samples=900):
    """One feature decides up to noise in labels; all others have outliers and say nothing."""
    rng = np.random.default_rng(0)
    X = rng.standard_cauchy(size=(n_samples, 25))
    X[:, 3] = rng.integers(10, size=n_samples)
    return X, ((X[:, 3] >= 7) ^ (rng.random(n_samples) < 0.2)).astype(int)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.long
@pytest.mark.parametrize("hidden", [(6,), (6, 6)])
@pytest.mark.parametrize("epoch", [0.0, 0.01, 0.1], ids=["compared", "not compared", "rushed"])
def test_a_feature_that_says_it_all_is_enough(epoch, hidden, monkeypatch):
    monkeypatch.setattr(search, "epoch_seconds", lambda *_: epoch)
    compared = []

    def last(mistakes):
        compared.append(mistakes.sum(axis=1))
        return len(mistakes) - 1

    monkeypatch.setattr(choice, "clearly_best", last)
    X, y = one_feature_matters()
    model = BDNNClassifier(
        hidden=hidden,
        validation_fraction=0.3,
        method=Descent(),
        limits=Limits(seconds=5),
        random_state=0,
    ).fit(X[:600], y[:600])
    assert (model.predict(X[600:]) == (X[600:, 3] >= 7)).mean() > 0.95
    assert bool(compared) == (epoch == 0.0)
    assert all(mistakes[-1] < mistakes[0] for mistakes in compared)


@pytest.mark.parametrize("n_classes", [4, 5])
def test_single_features_replace_only_what_makes_more_mistakes(n_classes):
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=1000)
    X = rng.normal(size=(1000, n_classes))
    X[np.arange(1000), y] += 1.0
    shape = Architecture.create(n_classes, n_classes, hidden=(10,), weights="ternary")
    training = classification(shape, X, y)
    trainer = search.Search(Run(training, Budget()), ("loss",), None, "random", 1.0)
    tried = trials.Trials(trainer, training, training, Slot.of(1.0))
    single = tried.of_single_features()
    # Outputs that are mostly off have a small loss and say little.
    network = trials.noisy_gradients(training, rng=rng, slot=Slot.of(20))
    assert training.error(network) < training.error(single) - 0.05
    assert tried.simplest(network) is network
    constant = training.constant_network()
    assert training.error(tried.simplest(constant)) == training.error(single)
    assert training.error(single) < training.error(constant)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("weight", [0.01, 1000.5])
def test_all_parts_of_a_comparison_count_samples_in_one_unit(weight, monkeypatch):
    seen = []

    def watched(mistakes):
        seen.append(mistakes)
        return 0

    monkeypatch.setattr(choice, "clearly_best", watched)
    monkeypatch.setattr(search, "epoch_seconds", lambda *_: 0.0)  # also on a busy machine
    X, y = noisy(60)
    BDNNClassifier(
        hidden=(3,),
        validation_fraction=0.3,
        method=Descent(patience=1.0),
        limits=Limits(seconds=20),
        random_state=0,
    ).fit(X, y, sample_weight=np.full(60, weight))
    mistakes = seen[0][seen[0] > 0]
    assert len(seen[0][0]) > 60  # several parts
    np.testing.assert_allclose(mistakes, mistakes[0])


@pytest.mark.parametrize("limit", [1.0, 1e-4])
def test_an_epoch_is_timed_without_what_is_done_once(limit):
    training, _ = parts((8,))
    rng = np.random.default_rng(0)
    assert 0 < epoch_seconds(training, rng, limit) <= 1.0
    single = Architecture.create(3, 1, hidden=(8,), weights="ternary")
    alone = weighted(single, training.inputs, np.ones((len(training.inputs), 1)))
    assert epoch_seconds(alone, rng, limit) >= 0


def noisy(n_samples):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, 2))
    return X, (X[:, 0] > rng.normal(size=n_samples)).astype(int)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_network_that_collapses_when_trained_on_all_samples_is_not_taken(monkeypatch):
    def collapsing(problem, **options):
        # Anything but a comparison ends in a network that says the same for all inputs.
        if len(problem.inputs) == 60:
            return problem.constant_network()
        return straight_through(problem, **options)

    monkeypatch.setattr(trials, "straight_through", collapsing)
    monkeypatch.setattr(search, "epoch_seconds", lambda *_: 0.0)  # also on a busy machine
    X, y = noisy(60)
    for seed in range(3):
        model = BDNNClassifier(
            hidden=(3,),
            validation_fraction=0.3,
            method=Descent(patience=1.0),
            limits=Limits(seconds=20),
            random_state=seed,
        )
        assert model.fit(X, y).result_.error < 0.35


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("refit", [True, False])
def test_parts_without_weight_are_no_parts(refit):
    X, y = noisy(60)
    model = BDNNClassifier(
        hidden=(3,),
        validation_fraction=0.3,
        method=Descent(refit=refit, patience=0.3),
        limits=Limits(seconds=60),
        random_state=0,
    )
    held_out = model.fit(X, y)._memory.samples.held_out
    for weight in (held_out, ~held_out)[: 2 if refit else 1]:
        model.fit(X, y, sample_weight=(~weight).astype(float))
        wrong = model.predict(X) != y
        assert model.result_.error == pytest.approx(wrong[~weight].mean())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_further_samples_do_not_throw_the_network_away():
    X, y = noisy(120)
    model = BDNNClassifier(
        hidden=(4,),
        validation_fraction=0.3,
        method="auto",
        limits=Limits(seconds=1),
        random_state=0,
    ).fit(X[:100], y[:100])
    before = (model.predict(X) != y).sum()
    model.extend(X[100:], y[100:])
    assert (model.predict(X) != y).sum() <= before


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("refit", [True, False])
def test_a_saved_model_can_be_extended_whatever_its_loss_counts(refit, tmp_path):
    X, y = noisy(80)
    model = BDNNClassifier(
        hidden=(3,),
        validation_fraction=0.3,
        method=Auto(refit=refit),
        limits=Limits(seconds=1),
        random_state=0,
    ).fit(X[:60], y[:60])
    model.save(tmp_path / "model.json")
    loaded = bdnn.load(tmp_path / "model.json")
    loaded.extend(X[60:], y[60:], old=(X[:60], y[:60]))
    assert loaded._memory.samples.counts_all == refit


@pytest.mark.parametrize("ends_by", ["stop", "keyboard"])
def test_an_interrupted_rushed_run_keeps_what_it_has_learnt(ends_by, monkeypatch):
    monkeypatch.setattr(search, "epoch_seconds", lambda *_: 0.1)
    training, validation = parts((8,))
    whole = weighted(
        training.architecture,
        np.concatenate([training.inputs, validation.inputs]),
        np.concatenate([training.loss.label_weight, validation.loss.label_weight]),
    )

    nothing_learnt = whole.value(whole.constant_network())

    def interrupt(moment):
        if moment.loss >= nothing_learnt:
            return False
        if ends_by == "keyboard":
            raise KeyboardInterrupt
        return True

    network, result = Auto().train(
        whole,
        validation=validation,
        training_part=training,
        budget=Budget(seconds=3, seed=1),
        on_progress=interrupt,
    )
    assert result.status == "interrupted"
    assert whole.error(network) < 0.25


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_estimator_counts_held_out_samples_unless_told_to_choose_only():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = (X[:, 0] > rng.normal(size=90)).astype(int)
    options = {
        "hidden": (3,),
        "validation_fraction": 0.3,
        "limits": Limits(seconds=2),
        "random_state": 0,
    }
    for refit, counted in ((True, 90), (False, 64)):
        model = BDNNClassifier(method=Descent(refit=refit), **options).fit(X, y)
        assert model._memory.samples.counted.sum() == counted
        wrong = model.predict(X) != y
        assert model.result_.error == pytest.approx(wrong[model._memory.samples.counted].mean())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_without_time_for_a_comparison_the_usual_network_is_kept_and_that_is_said(monkeypatch):
    monkeypatch.setattr(search, "epoch_seconds", lambda *_: 10.0)
    monkeypatch.setattr(trials, "straight_through", None)
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = BDNNClassifier(
        hidden=(2,), validation_fraction=0.3, method=Descent(), limits=Limits(seconds=2)
    )
    model.fit(X, y)
    assert "no time to find out by validation" in model.result_.message
    assert model.result_.error == pytest.approx((model.predict(X) != y).mean())
