"""Classifiers as model files, and back."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bdnn.errors import ModelFileError
from bdnn.estimators.common import plain_parameter
from bdnn.export.json import ModelRecord, write_model
from bdnn.network import Network
from bdnn.scaling import Scaler
from bdnn.training.result import TrainingResult


class ModelFileMixin:
    """Writing a fitted classifier with its certificate, and making one of what was written."""

    network_: Network
    scaler_: Scaler
    result_: TrainingResult
    input_names_: tuple[str, ...] | None
    classes_: Any
    get_params: Any
    feature_names_in_: Any
    n_features_in_: int
    extra_: dict[str, Any]
    _samples: Any
    _models: Any
    _data_facts: dict[str, Any]
    _promises: tuple[Mapping[str, Any], ...]
    _demands: dict[str, Any]
    _is_plain: bool

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        extra: Mapping[str, Any] | None = None,
        promises: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Write the fitted model to a JSON file.

        Parameters
        ----------
        path : path
        extra : mapping, optional
            Plain data to keep with the model.
        promises : sequence of mappings
            What else ``bdnn check`` should find true, each with its ``kind``; see the format of
            model files.
        """
        check_is_fitted(self, "network_")
        settings = {
            key: plain_parameter(value) for key, value in self.get_params(deep=False).items()
        }
        settings["has_column_names"] = hasattr(self, "feature_names_in_")
        record = ModelRecord(
            "classifier",
            self.network_,
            self.scaler_,
            tuple(
                label.item() if isinstance(label, np.generic) else label for label in self.classes_
            ),
            self.input_names_,
            settings,
            self.result_.to_dict(),
            dict(extra or {}),
            self._certificate(promises),
        )
        write_model(record, path)

    @classmethod
    def from_record(cls, record: ModelRecord) -> Self:
        """Make a fitted classifier of what a model file holds."""
        settings = dict(record.settings)
        has_column_names = settings.pop("has_column_names", False)
        try:
            model = cls(**settings)
            model.result_ = TrainingResult.from_dict(record.result)
        except (TypeError, KeyError) as error:
            raise ModelFileError(
                f"the model file has settings that are not known ({error})."
            ) from error
        if len(record.classes) != record.network.architecture.n_outputs:
            raise ModelFileError("the model file does not have one class per output.")
        model.network_ = record.network
        model.scaler_ = record.scaler
        model.classes_ = np.array(record.classes)
        model.n_features_in_ = record.network.architecture.n_features
        model.input_names_ = record.feature_names
        if has_column_names:
            model.feature_names_in_ = np.array(record.feature_names, dtype=object)
        model.extra_ = dict(record.extra)
        model._data_facts = dict(record.certificate.get("data", {}))
        model._promises = tuple(record.certificate.get("promises", ()))
        model._samples = None
        model._models = None
        model._demands = {
            key: value
            for key, value in record.certificate.items()
            if key in ("constraints", "penalty")
        }
        model._is_plain = not model._demands and settings.get("robust_radius") is None
        return model

    def _certificate(self, promises: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        kept = [*self._promises, *(dict(promise) for promise in promises)]
        return {"data": self._data_facts, "promises": kept, **self._demands}
