"""Content of earlier versions of the format, as the version of today has it."""

from __future__ import annotations

from typing import Any

_LIMITS = {
    "time_limit": "seconds",
    "mip_gap": "gap",
    "node_limit": "nodes",
    "loss_limit": "loss",
    "tolerance": "tolerance",
}
# Objects about the data, which a file never held.
_DROPPED = ("sparsity", "regularizer", "has_flat_target")
# Of the architecture, what no file before the second version says.
_NEWER = {"activation", "output"}


def upgrade(content: dict[str, Any]) -> dict[str, Any]:
    """Bring a checked object of any known version to the newest one."""
    if content["version"] > 2:
        return _with_inputs(content)
    extra = content["extra"]
    encoder, extra = _encoder(content, extra if isinstance(extra, dict) else {})
    upgraded = _with_groups(
        {
            **{key: content[key] for key in ("format", "version", "kind", "settings")},
            "encoder": encoder,
            "network": _network(content),
            "outputs": {"classes": content["classes"], "targets": content.get("targets")},
            "result": _result(content["result"]),
            "extra": extra if isinstance(content["extra"], dict) else content["extra"],
            **({"certificate": content["certificate"]} if "certificate" in content else {}),
        }
    )
    return _with_inputs(upgraded)


def _with_inputs(content: dict[str, Any]) -> dict[str, Any]:
    """The scale as a part of what is said of inputs."""
    settings = content["settings"]
    if not isinstance(settings, dict) or "scale" not in settings:
        return content
    new = {key: value for key, value in settings.items() if key != "scale"}
    return {**content, "settings": {**new, "inputs": {"scale": settings["scale"]}}}


def _encoder(
    content: dict[str, Any], extra: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The scaler and what was said of the table's columns beside the model, in one."""
    scaler, names, table = content["scaler"], content["feature_names"], extra.get("table")
    if isinstance(table, dict) and "columns" in table:
        extra = {key: value for key, value in extra.items() if key != "table"}
        extra["target"] = {"name": table["target"], "place": table["target_place"]}
        columns, header = [_column(**column) for column in table["columns"]], table["header"]
    else:
        called = names or [f"x{j}" for j in range(1, len(scaler["shift"]) + 1)]
        columns, header = [_column(name, None, None) for name in called], names is not None
    features = [(j, v) for j, column in enumerate(columns) for v in column["values"] or [None]]
    derived = [
        columns[j]["name"] if v is None else f"{columns[j]['name']}={v}" for j, v in features
    ]
    if names is not None and names != derived:
        raise ValueError("the feature names are not those of the table")
    pairs = zip(features, scaler["shift"], scaler["factor"], strict=True)
    numbers = [
        {"column": j, "value": v, "shift": shift, "factor": factor}
        for (j, v), shift, factor in pairs
    ]
    encoder = {
        "scale": scaler["kind"],
        "step": scaler["step"],
        "header": header,
        "columns": columns,
        "numbers": numbers,
    }
    return encoder, extra


def _column(name: str, categories: list[str] | None, fill: Any) -> dict[str, Any]:
    kind = "number" if categories is None else "category"
    return {"name": name, "kind": kind, "values": categories or [], "fill": fill}


def _network(content: dict[str, Any]) -> dict[str, Any]:
    shape = dict(content["architecture"])
    if content["version"] == 1 and _NEWER & set(shape):
        raise ValueError("steps only before version 2")
    n_features, n_outputs = shape.pop("n_features"), shape.pop("n_outputs")
    weights, thresholds = content["weights"], content["thresholds"]
    # A unit of one threshold had a number where others had a list.
    lines = [[t if isinstance(t, list) else [t] for t in layer] for layer in thresholds]
    is_shape = len(weights[0][0]) == n_features and len(weights[-1]) == n_outputs
    if not is_shape or bool in (type(n_features), type(n_outputs)):
        raise ValueError("the weights do not fit the architecture")
    return {
        "activations": shape.pop("activation", ["step"] * len(shape["hidden"])),
        "output": "step",
        **shape,
        "layers": [{"weights": W, "thresholds": t} for W, t in zip(weights, lines, strict=True)],
    }


def _result(result: Any) -> Any:
    if not isinstance(result, dict) or "bound" not in result:
        return result
    moved = {"bound_origin": "origin", "condition": "condition", "certificate": "certificate"}
    bound = {new: result.get(old) for old, new in moved.items()}
    kept = {key: value for key, value in result.items() if key not in moved}
    return {**kept, "bound": {"value": result["bound"], **bound}}


def _with_groups(content: dict[str, Any]) -> dict[str, Any]:
    """Limits and radii as groups of parameters."""
    settings = content["settings"]
    if not isinstance(settings, dict) or "time_limit" not in settings:
        return content
    new = {key: value for key, value in settings.items() if key not in (*_LIMITS, *_DROPPED)}
    new["limits"] = {_LIMITS[key]: settings[key] for key in _LIMITS if key in settings}
    radius, norm, loss = (new.pop(f"robust_{key}", None) for key in ("radius", "norm", "loss"))
    certificate = content.get("certificate", {})
    if content["kind"] == "classifier":
        new["robust"] = None
    if radius is not None:
        robust = {"radius": radius, "norm": norm, "loss": loss}
        certificate = {**certificate, "robust": robust}
        # One radius per row of a table was a parameter once.
        new["robust"] = robust if isinstance(radius, int | float) else {**robust, "radius": None}
    new["constraints"] = []
    return {**content, "settings": new, **({"certificate": certificate} if certificate else {})}
