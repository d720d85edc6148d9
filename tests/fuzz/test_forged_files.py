"""A slice of the forged files; ``make fuzz`` tries more."""

import pytest

from tests.fuzz.forged_files import complaints, prepare
from tests.fuzz.forger import Case, make_case
from tests.grids import long


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forged")
    return prepare(folder), folder


def test_the_originals_are_true(workshop):
    originals, folder = workshop
    for name, data in originals.items():
        code, wrong = complaints(Case(name, data), folder)
        assert (code, wrong) == (0, []), name


@pytest.mark.parametrize("seeds", [range(20), *long(range(20, 300))], ids=["quick", "long"])
def test_forged_files(workshop, seeds):
    originals, folder = workshop
    codes = set()
    for seed in seeds:
        case = make_case(originals, seed)
        code, wrong = complaints(case, folder)
        assert not wrong, case.name
        codes.add(code)
    assert codes == {0, 1, 2}
