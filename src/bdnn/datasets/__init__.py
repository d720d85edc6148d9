"""Built-in data sets, and tables of the user's own."""

from bdnn.datasets.bundled import Dataset
from bdnn.datasets.registry import DATASETS, Record, describe, load, names
from bdnn.datasets.samples import Samples
from bdnn.datasets.tables import read_table
from bdnn.encoding.table import Table

__all__ = [
    "DATASETS",
    "Dataset",
    "Record",
    "Samples",
    "Table",
    "describe",
    "load",
    "names",
    "read_table",
]
