"""HTML from parts, every text of which is escaped: names come from files of others.

A template engine would be one more core dependency for what two functions do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

# A page needs nothing from elsewhere, and whatever is in it cannot ask for it.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_MOST_CHARACTERS = 4000


class Html(str):
    """Text that is HTML already."""


def tag(name: str, *children: str, **attributes: str) -> Html:
    """An element; texts and values of attributes are escaped, and a name may end in ``_``."""
    given = "".join(
        f' {key.strip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
    )
    return Html(f"<{name}{given}>{joined(children)}</{name}>")


def joined(children: Iterable[str]) -> Html:
    """Parts one after the other, texts escaped."""
    return Html("".join(each if isinstance(each, Html) else _escaped(each) for each in children))


def _escaped(text: str) -> str:
    shown = text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]} ..."
    return escape(shown)


def table(headings: Sequence[str], lines: Iterable[Sequence[str]], *, side: int = 1) -> Html:
    """A table that may be wider than the page; the first cells of a line are its headings."""
    head = tag("tr", *(tag("th", text, scope="col") for text in headings))
    body = [
        tag(
            "tr",
            *(tag("th", text, class_="side", scope="row") for text in line[:side]),
            *(tag("td", text) for text in line[side:]),
        )
        for line in lines
    ]
    whole = tag("table", tag("thead", head), tag("tbody", *body))
    return tag("div", whole, class_="wide", tabindex="0", role="group", aria_label=headings[0])


def pairs(lines: Iterable[tuple[str, str]]) -> Html:
    """Names and what they are."""
    cells = (each for name, text in lines for each in (tag("dt", name), tag("dd", text)))
    return tag("dl", *cells, class_="facts")


def figure(drawing: Html, title: str, numbers: Html | None = None) -> Html:
    """A drawing, what it shows, and its numbers for who cannot see it."""
    parts = [tag("div", drawing, class_="wide"), tag("figcaption", title)]
    if numbers is not None:
        parts.append(tag("details", tag("summary", "The numbers"), numbers))
    return tag("figure", *parts)


def page(title: str, body: Iterable[str]) -> str:
    """A whole page, which needs nothing but itself."""
    style = files("bdnn.report").joinpath("style.css").read_text(encoding="utf-8")
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_escaped(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )
