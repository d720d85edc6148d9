"""Settings of training methods on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bdnn.errors import ModelError

if TYPE_CHECKING:
    from bdnn.training.base import AbstractMethod

# Which method each option is for; names are those of the method's settings.
_OWNERS = {
    "epochs": ("data_splitting",),
    "batch_size": ("data_splitting",),
    "starts": ("local_search",),
    "paper": ("data_splitting", "local_search"),
}


def configured_method(name: str | None, **settings: Any) -> str | AbstractMethod | None:
    """Make a method of its name and the options that were given for it."""
    given = {key: value for key, value in settings.items() if value is not None}
    if given.get("paper") is False:
        del given["paper"]
    for key in given:
        if name not in _OWNERS[key]:
            owners = " or ".join(f"--method {owner}" for owner in _OWNERS[key])
            raise ModelError(
                f"--{key.replace('_', '-')} is for {owners}, got "
                f"{'no method' if name is None else 'method ' + repr(name)}: add it or leave the "
                "option out."
            )
    if not given or name is None:
        return name
    from bdnn.training.registry import METHODS

    return METHODS[name](**given)
