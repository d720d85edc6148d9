"""Options in groups: a group is a frozen dataclass whose fields are made by ``option``.

A command takes whole groups, and parameters of its own whose defaults are made by ``option`` too.
``options`` makes the signature of single options that Typer reads, with a panel of the help per
group, and hands over one object per group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, field, fields, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, get_type_hints

from typer import Argument, Option


def option(
    help: str, default: Any = None, *names: str, shown: str | bool = True, **words: Any
) -> Any:
    """Make an option.

    Parameters
    ----------
    help : str
    default
        A flag has the default False, and no option that says no.
    names : str
        Such as ``--json``; made of the field's name if not given.
    shown : str or bool
        What the help says of the default, where its value says nothing.
    words
        Further parameters of Typer.
    """
    return field(
        default=default,
        metadata={"make": Option, "names": names, "help": help, "show_default": shown, **words},
    )


def argument(metavar: str, help: str, default: Any = MISSING) -> Any:
    """Make an argument, which is required without a default."""
    words = {"help": help, "metavar": metavar, "show_default": False}
    return field(default=default, metadata={"make": Argument, "names": (), **words})


def options(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command be called with the single options of the groups that it takes."""
    groups: dict[str, Any] = {}
    single: list[Parameter] = []
    for name, parameter in signature(command, eval_str=True).parameters.items():
        group: Any = parameter.annotation
        if isinstance(group, type) and is_dataclass(group):
            groups[name] = group
            hints = get_type_hints(group)
            panel = getattr(group, "panel", group.__name__)
            single += [_parameter(f.name, hints[f.name], f, panel) for f in fields(group)]
        else:
            single.append(_parameter(name, group, parameter.default, "Options"))

    @wraps(command)
    def run(**given: Any) -> None:
        made = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**made, **given)

    run.__signature__ = signature(command).replace(parameters=single)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in single}
    return run


def _parameter(name: str, kind: Any, made: Field[Any], panel: str) -> Parameter:
    words = dict(made.metadata)
    make, names = words.pop("make"), words.pop("names")
    if make is Option:
        words["rich_help_panel"] = panel
        names = names or ((f"--{name.replace('_', '-')}",) if made.default is False else ())
    default = Parameter.empty if made.default is MISSING else made.default
    info = make(*names, **words)
    return Parameter(
        name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )
