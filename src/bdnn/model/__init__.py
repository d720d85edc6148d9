"""What a trained model is: from raw features to labels or numbers."""

from bdnn.model.calibration import Calibration
from bdnn.model.model import Label, Model, TargetScaler

__all__ = ["Calibration", "Label", "Model", "TargetScaler"]
