"""Built-in data sets, and tables of the user's own."""

from bdnn.datasets.dataset import Dataset, Record
from bdnn.datasets.registry import DATASETS, describe, load, names
from bdnn.datasets.tables import Encoding, Samples, Table, read_table

__all__ = [
    "DATASETS",
    "Dataset",
    "Encoding",
    "Record",
    "Samples",
    "Table",
    "describe",
    "load",
    "names",
    "read_table",
]
