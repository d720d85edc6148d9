"""A small, separate checker of model files: exact rationals, no code shared with training.

It reads the JSON of the file and the data by itself and recomputes what the file claims. Of the
package it imports nothing but the errors and the limits. The rest of the package uses its bounded
reading of files, what it finds sensible there, and its exact repetition of guarantees.
"""

from bdnn.checker.claims import Claim, Deadline, Verdict
from bdnn.checker.model import CheckedModel, read_model
from bdnn.checker.report import check_model
from bdnn.checker.samples import Samples, make_samples, training_samples
from bdnn.checker.table import read_csv

__all__ = [
    "CheckedModel",
    "Claim",
    "Deadline",
    "Samples",
    "Verdict",
    "check_model",
    "make_samples",
    "read_csv",
    "read_model",
    "training_samples",
]
