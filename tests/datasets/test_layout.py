import math

import pytest

from bdnn.datasets.tables import find_layout
from bdnn.encoding.table import read_number
from bdnn.errors import DataError


def layout(text, **options):
    return find_layout(text.encode(), "t.csv", **options)


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a,b,c\n1,2,3\n", ","),
        ("a;b;c\n1;2;3\n", ";"),
        ("a\tb\tc\n1\t2\t3\n", "\t"),
        ("1,5;2,5;3,5\n1,0;2,0;3,0\n", ";"),
        ('name;"a,b,c";y\n1;2;3\n', ";"),
        ('"x;1","y;2"\n1,2\n', ","),
        ("1,a;b\n2,c;d\n3,e\n", ","),
    ],
)
def test_separator(text, delimiter):
    assert layout(text).delimiter == delimiter


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("a,b\n1,2\n", True),
        ("1,2\n3,4\n", False),
        ("5.1,3.5,setosa\n4.9,3.0,setosa\n", False),
        ("length,width,species\n5.1,3.5,setosa\n", True),
        ("color,size\nred,small\nblue,large\n", True),
        ("red,small\nblue,large\nred,large\n", False),
        ("0,1,2,label\n5,6,7,1\n8,9,7,0\n", True),
        ("1,2,3,label\n5,6,7,1\n8,9,7,0\n", True),
        ("oops,7,3,1\n5,6,7,1\n8,9,7,0\n", False),
        ("country,1990,y\nPeru,7,1\nMali,8,0\n", True),
        ("a,b,7\n1,2,3\n", True),
        (",a,b\n1,2,3\n", True),
        ("NA,2,3\n1,2,3\n", False),
        ("a,b\n?,\n1,2\n", True),
    ],
)
def test_header(text, header):
    assert layout(text).header is header


def test_header_on_request():
    assert layout("1,2\n3,4\n", header=True).names == ("1", "2")
    assert layout("a,b\n3,4\n", header=False).names == ("x1", "x2")


def test_blank_lines_and_multiline_header():
    found = layout('\n\n"a\nb",c\n1,2\n')
    assert found.names == ("a\nb", "c")
    assert found.skip == 4


def test_unnamed_column():
    assert layout(",a\n1,2\n3,4\n").names == ("column 1", "a")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t.csv is empty"),
        ("\n \n\n", "t.csv is empty"),
        ("a,b,c\n", "header but no rows"),
        ("a,b,a\n1,2,3\n", "two columns of the name 'a'"),
    ],
)
def test_errors(text, message):
    with pytest.raises(DataError, match=message):
        layout(text)


@pytest.mark.parametrize("cell", ["", " ", "NA", "na", "NaN", "nan", "?", " ? "])
def test_missing_cells(cell):
    assert math.isnan(read_number(cell))


@pytest.mark.parametrize("cell", ["abc", "1_000", "1,5", "0x10", "1 2", "--", "none"])
def test_texts(cell):
    assert read_number(cell) is None


@pytest.mark.parametrize(
    ("cell", "number"), [("1", 1), (" -2.5e3 ", -2500), ("+.5", 0.5), ("inf", math.inf)]
)
def test_numbers(cell, number):
    assert read_number(cell) == number
