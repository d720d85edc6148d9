"""Files of the first two versions of the format, as the third one would say the same."""

from __future__ import annotations

from typing import Any


def upgrade(content: dict[str, Any]) -> dict[str, Any]:
    """Bring the content of a file of any version to the third; its parts may still be nonsense."""
    if content["version"] == 3:
        return content
    extra, certificate = dict(content["extra"]), dict(content.get("certificate", {}))
    encoder = _encoder(content, extra)
    settings = content["settings"]
    if isinstance(settings, dict) and settings.get("robust_radius") is not None:
        certificate["robust"] = {
            key: settings.get(f"robust_{key}") for key in ("radius", "norm", "loss")
        }
    return {
        "encoder": encoder,
        "network": _network(content),
        "outputs": {"classes": content["classes"], "targets": None},
        "settings": settings,
        "result": _result(dict(content["result"])),
        "extra": extra,
        "certificate": certificate,
    }


def _encoder(content: dict[str, Any], extra: dict[str, Any]) -> dict[str, Any]:
    """The scaler, and the columns of the table that it came from."""
    scaler, names, table = content["scaler"], content.get("feature_names"), extra.pop("table", None)
    columns, header = [], names is not None
    if table is not None:
        header = table["header"]
        extra["target"] = {"name": table.get("target"), "place": table.get("target_place")}
        columns = [_column(**column) for column in table["columns"]]
    else:
        called = names or [f"x{j + 1}" for j in range(len(scaler["shift"]))]
        columns = [_column(name, None, None) for name in called]
    features = [
        (j, value, column["name"] if value is None else f"{column['name']}={value}")
        for j, column in enumerate(columns)
        for value in column["values"] or [None]
    ]
    if names is not None and names != [name for _, _, name in features]:
        raise ValueError("the feature names are not those of the table")
    if not len(features) == len(scaler["shift"]) == len(scaler["factor"]):
        raise ValueError("the table has other features than the network")
    return {
        "scale": scaler["kind"],
        "step": scaler["step"],
        "header": header,
        "columns": columns,
        "numbers": [
            {"column": j, "value": value, "shift": shift, "factor": factor}
            for (j, value, _), shift, factor in zip(
                features, scaler["shift"], scaler["factor"], strict=True
            )
        ],
    }


def _column(name: Any, categories: Any, fill: Any) -> dict[str, Any]:
    kind = "number" if categories is None else "category"
    return {"name": name, "kind": kind, "values": categories or [], "fill": fill}


def _network(content: dict[str, Any]) -> dict[str, Any]:
    shape, weights, thresholds = (content[k] for k in ("architecture", "weights", "thresholds"))
    sizes = len(weights[0][0]), len(weights[-1])
    if (shape["n_features"], shape["n_outputs"]) != sizes:
        raise ValueError("the weights do not fit the architecture")
    return {
        "hidden": shape["hidden"],
        "weights": shape["weights"],
        "thresholds": shape["thresholds"],
        "ties": shape["ties"],
        "activations": shape.get("activation", ["step"] * len(shape["hidden"])),
        "output": shape.get("output", "step"),
        "layers": [
            # A unit of one threshold had a number where others had a list.
            {"weights": W, "thresholds": [t if isinstance(t, list) else [t] for t in lines]}
            for W, lines in zip(weights, thresholds, strict=True)
        ],
    }


def _result(result: dict[str, Any]) -> dict[str, Any]:
    if "bound" in result:
        origin = result.pop("bound_origin", "nobody")
        condition = result.pop("condition", None)
        result["bound"] = {"value": result["bound"], "origin": origin, "condition": condition}
    return result
