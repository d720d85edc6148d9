"""Options in groups: a group is a frozen dataclass whose fields are annotated as Typer wants them.

A command takes whole groups. ``options`` makes the signature of single options that Typer reads,
with a panel of the help per group, and hands over one object per group.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, get_args, get_type_hints

from typer.models import OptionInfo


def options(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command be called with the single options of the groups that it takes."""
    groups: dict[str, Any] = {}
    single: dict[str, Parameter] = {}
    for name, parameter in signature(command, eval_str=True).parameters.items():
        if is_dataclass(parameter.annotation):
            groups[name] = parameter.annotation
            single |= {option.name: option for option in _options_of(parameter.annotation)}
        else:
            single[name] = parameter.replace(kind=Parameter.KEYWORD_ONLY)

    @wraps(command)
    def run(**given: Any) -> None:
        made = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**made, **given)

    run.__signature__ = signature(command).replace(parameters=list(single.values()))  # type: ignore[attr-defined]
    run.__annotations__ = {name: option.annotation for name, option in single.items()}
    return run


def _options_of(group: Any) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.default is MISSING else field.default,
            annotation=_in_panel(hints[field.name], getattr(group, "panel", group.__name__)),
        )
        for field in fields(group)
    ]


def _in_panel(annotation: Any, panel: str) -> Any:
    kind, info = get_args(annotation)
    if isinstance(info, OptionInfo):
        info = copy(info)
        info.rich_help_panel = panel
    return Annotated[kind, info]
