import csv
import gzip
import io
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bdnn.datasets import read_table
from bdnn.errors import DataError
from tests.grids import examples


@pytest.fixture
def read(tmp_path):
    def read_text(content, **options):
        path = tmp_path / "t.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(path, **options)

    return read_text


def test_numbers_with_header(read):
    table = read("a,b,y\n1,2.5,0\n-3,4e2,1\n")
    assert table.names == ("a", "b", "y")
    assert table.header
    assert table.numbers.tolist() == [[1, 2.5, 0], [-3, 400, 1]]
    assert not table.is_text.any()


@pytest.mark.parametrize("separator", [";", "\t"])
def test_decimal_commas_where_commas_do_not_separate(read, separator):
    lines = [["größe", "b", "y"], ["1,5", "2", "no"], ["-3,25", " ,5 ", "1,2,3"]]
    table = read("\n".join(separator.join(line) for line in lines))
    assert table.names == ("größe", "b", "y")
    assert table.numbers[:, :2].tolist() == [[1.5, 2], [-3.25, 0.5]]
    assert table.texts(2).tolist() == ["no", "1,2,3"]  # no number
    assert table.notes == ("numbers are read with a decimal comma: 1,5 is 1.5",)


def test_no_decimal_commas_where_commas_separate(read):
    table = read('a,b\n"1,5",x\n"2,5",y\n')
    assert table.texts(0).tolist() == ["1,5", "2,5"]
    assert table.notes == ()


@pytest.mark.parametrize(
    "content",
    [
        b"1;2;0\n3;4;1\n",
        b"\xef\xbb\xbf1;2;0\n3;4;1\n",
        b"1;2;0\r\n3;4;1\r\n",
        b"1;2;0\r3;4;1\r",
        b"1;2;0\n3;4;1",
        b"\n1;2;0\n\n3;4;1\n\n",
        b"# of a sensor, 2024\n#\n1;2;0\n3;4;1\n",
        b'"1";"2";"0"\n"3";"4";"1"\n',
        b" 1 ; 2; 0\n3;4 ;1 \n",
        gzip.compress(b"1;2;0\n3;4;1\n", mtime=0),
    ],
)
def test_writings_of_the_same_numbers(read, content):
    table = read(content)
    assert table.numbers.tolist() == [[1, 2, 0], [3, 4, 1]]
    assert table.names == ("x1", "x2", "x3")


def test_names_and_colours_are_no_comments(read):
    assert read("# a,b\n1,2\n3,4\n").names == ("# a", "b")
    assert read("# of a sensor\n# a,b\n1,2\n3,4\n").names == ("# a", "b")
    colours = read("#ff0000,2\n#00ff00,4\n" * 80)
    assert colours.n_rows == 160
    assert colours.texts(0)[1] == "#00ff00"


def test_texts_and_gaps(read):
    table = read('a,color,y\n1,"red, dark",0\n,blue,1\n3, ? ,x y\n')
    assert table.is_text.tolist() == [
        [False, True, False],
        [False, True, False],
        [False, False, True],
    ]
    assert table.missing(0).tolist() == [False, True, False]
    assert table.missing(1).tolist() == [False, False, True]
    assert table.texts(1).tolist() == ["red, dark", "blue", "?"]
    assert table.texts(2).tolist() == ["0", "1", "x y"]
    assert table.texts(0).tolist() == ["1", "", "3"]


def test_both_ways_of_reading_agree(read):
    rng = np.random.default_rng(0)
    lines = [",".join(f"{cell:.17g}" for cell in row) for row in rng.normal(size=(100, 4))]
    fast = read("\n".join(lines))
    slow = read("\n".join([*lines, "a,b,c,d"]))
    assert (fast.numbers == slow.numbers[:-1]).all()
    assert slow.is_text[-1].all()


def test_more_rows_than_a_block(read):
    n_rows = 40000
    table = read("a,b\n" + "\n".join(f"{i},{'' if i % 2 else 'z'}" for i in range(n_rows)))
    assert table.n_rows == n_rows
    assert (table.numbers[:, 0] == np.arange(n_rows)).all()
    assert table.is_text[:, 1].sum() == n_rows // 2


def test_position(read):
    table = read("a,b,c\n1,2,0\n3,4,1\n")
    assert [table.position(key) for key in ("a", "c", "1", "3", "-1", "-3", 2, -2, None)] == [
        *(0, 2, 0, 2, 2, 0, 1, 1, 2)
    ]
    for key in ("d", "0", "4", "-4", "1.5", 0):
        with pytest.raises(DataError, match=r"has no column .*: choose one of 'a', 'b', 'c', or"):
            table.position(key)


def test_many_columns_are_not_all_named(read):
    table = read(",".join(f"c{j}" for j in range(50)) + "\n" + ",".join("1" * 50) + "\n")
    with pytest.raises(DataError, match=r"'c11' and 38 more, or a place from 1 to 50"):
        table.position("z")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "t.csv is empty"),
        (b"a,b\n1,2\n3\n", "row 2 of t.csv has 1 fields where 2 are expected"),
        (b"a,b\n1,2\n3,4,5\n", "row 2 of t.csv has 3 fields where 2 are expected"),
        (b"a,b\n1,x\n\n3,4,5\n", "row 2 of t.csv has 3 fields"),
        (b"caf\xe9,b\n1,2\n", "not UTF-8 text"),
        (b"PK\x03\x04\0\0\0", "not a text file"),
        (b"1,2\n" * 30000 + b"\0", "not a text file"),
        (gzip.compress(b"1,2\n3,4\n" * 50, mtime=0)[:-12], "damaged gzip"),
        (b'a,b\n1,"' + b"x" * 200000, "cannot be read as CSV"),
    ],
)
def test_bad_files(read, content, message):
    with pytest.raises(DataError, match=message):
        read(content)


def test_file_that_is_none(tmp_path):
    with pytest.raises(DataError, match=r"cannot read .*: No such file"):
        read_table(tmp_path / "nothing.csv")
    with pytest.raises(DataError, match=r"cannot read .*: Is a directory"):
        read_table(tmp_path)


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
# Letters that are no number and no missing mark in any combination that matters here.
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp", "Zs")))


@settings(examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.integers(1, 5).flatmap(
        lambda width: st.lists(
            st.tuples(*[NUMBERS] * width, TEXTS.map(lambda text: f"t{text}")),
            min_size=1,
            max_size=8,
        )
    ),
    delimiter=st.sampled_from(",;\t"),
    end=st.sampled_from(["\n", "\r\n"]),
    header=st.booleans(),
)
@example(rows=[(1.0, 't"'), (2.0, "t;,\tu")], delimiter=";", end="\n", header=True)
def test_round_trip(tmp_path, rows, delimiter, end, header):
    width = len(rows[0])
    names = [f"name {j}" for j in range(width)]
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_NONNUMERIC)
    if header:
        writer.writerow(names)
    writer.writerows(rows)
    path = tmp_path / "round.csv"
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    table = read_table(path, header=header)
    if len(table.names) != width:  # the texts look like another separator throughout
        return
    assert table.names == (tuple(names) if header else tuple(f"x{j + 1}" for j in range(width)))
    assert table.numbers[:, :-1].tolist() == [list(row[:-1]) for row in rows]
    assert table.texts(width - 1).tolist() == [row[-1] for row in rows]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a pipe of this system")
def test_pipes_and_devices_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(DataError, match="not a regular file"):
            read_table(path)


def test_a_packed_table_that_grows_without_end_is_refused(tmp_path):
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb", compresslevel=9) as file:
        for _ in range(40):
            file.write(b"0" * 2**20)
    with pytest.raises(DataError, match="unpacks to more than"):
        read_table(path)


@pytest.mark.parametrize("row", ["," * 20_000, "1," * 3_000_000, '"1\n",' * 1_000_000])
def test_rows_beyond_the_limits_are_refused(read, row):
    with pytest.raises(DataError, match=r"columns, more than the 10000|a row of more than"):
        read(f"{row}1\n{row}2\n")
    with pytest.raises(DataError, match=r"fields where 2 are expected|a row of more than"):
        read(f"1,2\n{row}1\n")


def test_many_columns_are_named_in_no_time(read):
    n_columns = 9_999
    header = ",".join(f"c{j}" for j in range(n_columns))
    table = read(f"{header},y\n{'1,' * n_columns}0\n")
    assert table.n_columns == n_columns + 1
