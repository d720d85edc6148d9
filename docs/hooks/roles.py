"""Roles of docstrings, such as ``:class:`Network```, as code."""

import re

from griffe import Extension

_ROLE = re.compile(r":(?:class|func|meth|mod|attr|data|exc):`~?([^`]+)`")


class Roles(Extension):
    """Show what a role names as code."""

    def on_object(self, *, obj, **_):
        """Replace the roles of one docstring."""
        if obj.docstring:
            obj.docstring.value = _ROLE.sub(r"`\1`", obj.docstring.value)
