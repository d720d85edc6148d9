from __future__ import annotations

import numpy as np
import pytest

from bdnn.errors import ModelError
from bdnn.program import Program, interleave, is_integral
from tests.sentences import assert_one_sentence


def knapsack():
    """Two blocks of variables, two of rows and an objective, small enough to check by eye."""
    program = Program()
    a = program.add_variables("a", (2, 2), integer=True)
    b = program.add_variables("b", (2,), lower=[-1.0, -np.inf], upper=3.0)
    program.add_rows("sum", interleave(a, b[:, None]), [1.0, 2.0, -1.0], upper=[4.0, 5.0])
    program.add_rows("order", np.array([[b[0], b[1]]]), [1.0, -1.0], lower=0.0)
    program.minimise(a, [[1.0, 2.0], [3.0, 4.0]])
    program.minimise(b, -1.0)
    program.offset += 10.0
    return program, a, b


def test_variables_are_numbered_in_the_shape_of_their_block():
    program, a, b = knapsack()
    assert a.tolist() == [[0, 1], [2, 3]]
    assert b.tolist() == [4, 5]
    assert program.n_variables == 6
    assert program.lower.tolist() == [0, 0, 0, 0, -1, -np.inf]
    assert program.upper.tolist() == [1, 1, 1, 1, 3, 3]
    assert program.integer.tolist() == [True] * 4 + [False] * 2


def test_rows_are_added_in_bulk():
    program, _, _ = knapsack()
    assert program.n_rows == 3
    assert program.matrix.toarray().tolist() == [
        [1, 2, 0, 0, -1, 0],
        [0, 0, 1, 2, 0, -1],
        [0, 0, 0, 0, 1, -1],
    ]
    assert program.row_lower.tolist() == [-np.inf, -np.inf, 0]
    assert program.row_upper.tolist() == [4, 5, np.inf]


def test_objective_adds_up_what_is_given():
    program, a, b = knapsack()
    assert program.linear.tolist() == [1, 2, 3, 4, -1, -1]
    program.minimise(a[0], [5.0, 0.0])
    program.minimise(b, 2.0, quadratic=True)
    x = np.array([1.0, 0.0, 0.0, 1.0, 2.0, -3.0])
    assert program.objective(x) == (1 + 5) + 4 - 2 + 3 + 2 * (4 + 9) + 10
    assert program.quadratic.tolist() == [0, 0, 0, 0, 2, 2]


def test_a_repeated_column_in_the_objective_counts_twice():
    program = Program()
    x = program.add_variables("x", (2,))
    program.minimise(x[[0, 0, 1]], [1.0, 2.0, 4.0])
    assert program.linear.tolist() == [3, 4]


def test_repeated_columns_of_a_row_are_added_up():
    program = Program()
    x = program.add_variables("x", (2,))
    program.add_rows("twice", np.array([[x[0], x[1], x[0]]]), [1.0, 5.0, 2.0], upper=1.0)
    assert program.matrix.toarray().tolist() == [[3, 5]]
    assert program.matrix.has_canonical_format


def test_coefficients_broadcast_over_rows_and_zeros_are_left_out():
    program = Program()
    x = program.add_variables("x", (3, 4))
    data = np.array([[0.0, 1.0, 2.0, 0.0]])
    program.add_rows("data", x, data, lower=-1.0, upper=[1.0, 2.0, 3.0])
    matrix = program.matrix.toarray()
    for row in range(3):
        assert matrix[row, x[row]].tolist() == [0, 1, 2, 0]
    assert program.matrix.nnz == 6
    assert program.row_upper.tolist() == [1, 2, 3]


def test_leading_axes_are_rows_in_order():
    program = Program()
    x = program.add_variables("x", (2, 3, 4))
    program.add_rows("all", x, 1.0, upper=np.arange(6.0).reshape(2, 3))
    assert program.n_rows == 6
    assert program.row_upper.tolist() == [0, 1, 2, 3, 4, 5]
    assert program.matrix.toarray()[4, x[1, 1]].tolist() == [1, 1, 1, 1]


def test_a_row_of_zeros_stays_a_row():
    program = Program()
    x = program.add_variables("x", (2, 1))
    program.add_rows("mixed", x, [[0.0], [1.0]], upper=1.0)
    assert program.matrix.toarray().tolist() == [[0, 0], [0, 1]]


def test_an_empty_program():
    program = Program()
    assert program.matrix.shape == (0, 0)
    assert program.objective(np.zeros(0)) == 0.0
    assert program.violation(np.zeros(0)) == 0.0
    assert program.size_table() == []
    assert program.integer.dtype == bool


@pytest.mark.parametrize(
    ("place", "value", "violation"),
    [
        (0, 1.0, 0.0),
        (0, 0.25, 0.25),
        (0, 2.0, 1.0),
        (0, -3.0, 3.0),
        (4, 3.5, 0.5),
        (5, 1.0, 1.0),
        (1, 6.0, 8.0),
    ],
)
def test_violation_is_the_largest_of_bounds_rows_and_integrality(place, value, violation):
    program, _, _ = knapsack()
    x = np.zeros(6)
    x[place] = value
    assert program.violation(x) == violation


def test_violation_of_a_cone():
    program = Program()
    x = program.add_variables("x", (3,), lower=-10.0, upper=10.0)
    program.add_cones("ball", x[None, :2], x[2:])
    assert program.violation(np.array([3.0, 4.0, 5.0])) == 0.0
    assert program.violation(np.array([3.0, 4.0, 4.0])) == 1.0


def test_size_table_lists_every_block():
    program, a, b = knapsack()
    program.add_cones("ball", a, b)
    assert program.size_table() == [
        ("variables", "a", 4, 4),
        ("variables", "b", 2, 0),
        ("rows", "sum", 2, 6),
        ("rows", "order", 1, 2),
        ("cones", "ball", 2, 4),
    ]


def test_names():
    program, _, _ = knapsack()
    assert list(program.column_names()) == ["a_0_0", "a_0_1", "a_1_0", "a_1_1", "b_0", "b_1"]
    assert list(program.row_names()) == ["sum_0", "sum_1", "order_0"]


def test_other_bounds_leave_the_program_as_it_is():
    program, _, _ = knapsack()
    fixed = program.with_bounds(np.ones(6), np.ones(6))
    assert fixed.lower.tolist() == [1] * 6
    assert program.upper.tolist() == [1, 1, 1, 1, 3, 3]
    assert np.array_equal(fixed.matrix.toarray(), program.matrix.toarray())
    assert fixed.objective(np.ones(6)) == program.objective(np.ones(6))


@pytest.mark.parametrize(
    ("lower", "upper"), [(1.0, 0.0), (np.nan, 1.0), (0.0, np.nan), ([0.0, 2.0], [1.0, 1.0])]
)
def test_crossed_or_missing_bounds_are_refused(lower, upper):
    program = Program()
    with pytest.raises(ModelError, match="variables 'x' have crossed or missing bounds") as caught:
        program.add_variables("x", (2,), lower=lower, upper=upper)
    assert_one_sentence(caught.value)
    assert program.n_variables == 0
    assert not program.variable_blocks


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_coefficients_that_are_not_finite_are_refused(value):
    program = Program()
    x = program.add_variables("x", (2,))
    with pytest.raises(ModelError, match="rows 'r' have a coefficient") as caught:
        program.add_rows("r", x[None, :], [1.0, value])
    assert_one_sentence(caught.value)
    with pytest.raises(ModelError, match="not finite") as caught:
        program.minimise(x, [1.0, value])
    assert_one_sentence(caught.value)


@pytest.mark.parametrize(("lower", "upper"), [(np.nan, 1.0), (0.0, np.nan), (2.0, 1.0)])
def test_rows_that_nothing_can_meet_are_refused(lower, upper):
    program = Program()
    x = program.add_variables("x", (2,))
    with pytest.raises(ModelError, match="rows 'r' have crossed or missing bounds") as caught:
        program.add_rows("r", x[None, :], 1.0, lower=lower, upper=upper)
    assert_one_sentence(caught.value)
    assert program.n_rows == 0


def test_interleave_repeats_what_rows_have_in_common():
    common, own = np.array([[7]]), np.array([[1, 2], [3, 4]])
    assert interleave(own, common).tolist() == [[1, 2, 7], [3, 4, 7]]


def test_is_integral_looks_at_finite_numbers_only():
    assert is_integral(np.array([1.0, -np.inf, 3.0]))
    assert not is_integral(np.array([1.5]))
    assert is_integral(np.zeros(0))
