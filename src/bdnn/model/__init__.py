"""What a trained model is: from raw features to labels or numbers."""

from bdnn.model.model import Label, Model, TargetScaler

__all__ = ["Label", "Model", "TargetScaler"]
