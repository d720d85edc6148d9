"""Certificates: what was found survives JSON and a second look, what was tampered with does not."""

import json
from dataclasses import replace

import numpy as np
import pytest

from bdnn.errors import DataError
from bdnn.robustness import Certificate, certify, verify
from tests.robustness.cases import NORMS, random_case
from tests.sentences import assert_one_sentence


def through_json(certificate):
    return Certificate.from_dict(json.loads(json.dumps(certificate.to_dict(), allow_nan=False)))


@pytest.mark.parametrize("norm", NORMS)
def test_guarantees_hold_in_fractions(norm):
    for seed in range(12):
        around = random_case(seed, norm=norm, units="raw" if seed % 2 else "scaled")
        found = certify(around)
        for sample in range(len(around.X)):
            certificate = through_json(found.certificate(sample))
            assert certificate.check(around.model), (seed, sample)


@pytest.mark.parametrize("norm", NORMS)
def test_proofs_by_boxes_and_counter_examples(norm):
    kinds = {"proof": 0, "counter-example": 0}
    for seed in range(12):
        around = random_case(seed, norm=norm)
        found = verify(around, method="boxes")
        for sample in range(len(around.X)):
            for certificate in map(through_json, found.certificates(sample)):
                assert certificate.check(around.model), (seed, sample)
                kinds["proof"] += certificate.proof is not None
                kinds["counter-example"] += certificate.kind == "counter-example"
    assert min(kinds.values()) >= 5


def test_a_guarantee_beyond_the_nearest_counter_example_is_refused():
    refused = 0
    for seed in range(12):
        around = random_case(seed)
        found = verify(around, method="boxes")
        for sample, upper in enumerate(found.upper.tolist()):
            if not np.isfinite(upper) or found.lower[sample] == 0:
                continue
            one = around.rows(np.array([sample]))
            proof = found.answers[sample].proof
            too_far = Certificate.guarantee(one, upper * 1.001 + 1e-9, proof)
            assert not too_far.check(around.model)
            refused += 1
    assert refused >= 10


def test_tampering_is_seen():
    around = random_case(4)
    found = verify(around, method="boxes")
    sample = int(np.argmin(found.upper))
    certificate = found.certificates(sample)[-1]
    assert certificate.kind == "counter-example"
    assert certificate.check(around.model)
    assert not replace(certificate, radius=certificate.radius * 0.99).check(around.model)
    assert not replace(certificate, counter_example=certificate.sample).check(around.model)
    other = replace(certificate, label=1 - certificate.label)
    assert not other.check(around.model)
    with pytest.raises(DataError, match="another model") as caught:
        replace(certificate, model="0" * 64).check(around.model)
    assert_one_sentence(caught.value)


def test_what_is_no_certificate():
    values = certify(random_case(1)).certificate(0).to_dict()
    for broken in (
        {},
        {**values, "format": "other"},
        {**values, "radius": -1.0},
        {**values, "norm": "l0"},
        {**values, "kind": "counter-example"},
        {**values, "counter_example": values["sample"]},
        {key: value for key, value in values.items() if key != "sample"},
    ):
        with pytest.raises(DataError) as caught:
            Certificate.from_dict(broken)
        assert_one_sentence(caught.value)
