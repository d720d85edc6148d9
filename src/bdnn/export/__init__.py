"""Networks in other forms: model files, C headers, ONNX models, rules."""

from bdnn.export.json import ModelRecord, read_model, write_model

__all__ = ["ModelRecord", "read_model", "write_model"]
