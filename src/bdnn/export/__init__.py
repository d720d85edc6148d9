"""Models in other forms: C headers, ONNX models, rules."""
