"""A small, separate checker of model files: exact rationals, no code shared with training.

It reads the JSON of the file and the data by itself and recomputes what the file claims. Of the
package it imports nothing but the errors.
"""

from bdnn.checker.claims import Claim, Verdict
from bdnn.checker.model import CheckedModel, read_model
from bdnn.checker.report import check_model
from bdnn.checker.table import Samples, read_csv

__all__ = [
    "CheckedModel",
    "Claim",
    "Samples",
    "Verdict",
    "check_model",
    "read_csv",
    "read_model",
]
