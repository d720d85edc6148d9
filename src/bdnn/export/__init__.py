"""Models in other forms: C, ONNX, SQL, JavaScript, spreadsheets, rules."""
