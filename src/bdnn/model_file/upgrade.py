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


def upgrade(content: dict[str, Any]) -> dict[str, Any]:
    """Bring a checked object of any known version to the newest one."""
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
