"""The model file: one JSON object that holds all a fitted model is, and nothing that can run."""

from bdnn.model_file.data import ModelRecord
from bdnn.model_file.read import read_model
from bdnn.model_file.write import write_model

__all__ = ["ModelRecord", "read_model", "write_model"]
