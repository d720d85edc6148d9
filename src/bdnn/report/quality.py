"""How good a model is on rows that it has not seen: a verdict, figures, other models, curves."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from bdnn.evaluation.assessment import Assessment
from bdnn.evaluation.figures import Figures, NumberFigures
from bdnn.report.charts import Panel, Points, draw
from bdnn.report.html import Html, figure, joined, pairs, table, tag
from bdnn.report.subject import LabelledRows, Subject

_MOST_CLASSES = 20
_BINS = 10


def percent(share: float | None) -> str:
    """A share as per cent."""
    return "unknown" if share is None or not math.isfinite(share) else f"{100 * share:.1f} %"


def spread(value: float | None, error: float | None, *, is_share: bool = True) -> str:
    """A figure with its standard error."""
    written = [
        percent(each) if is_share else f"{each:.4f}" for each in (value, error) if each is not None
    ]
    return " ± ".join(written) or "unknown"


def verdict(subject: Subject) -> str:
    """One sentence on what to expect of new rows."""
    found, known = subject.assessment, subject.result.held_out
    if found is None and known is None:
        return "How good it is on new rows was not measured."
    if found is None:
        assert known is not None
        where = " in whole balls" if known.is_worst_case else ""
        told = spread(known.accuracy, known.error)
        return f"About {told} of new rows are right{where}, by cross-validation."
    figures = found.figures
    if isinstance(figures, NumberFigures):
        told = f"R² is {spread(figures.r2, figures.error, is_share=False)}"
        text = f"On {figures.rows} rows that were not trained on, {told}."
    else:
        told = f"{spread(figures.accuracy, figures.error)} are right"
        text = f"Of {figures.rows} rows that were not trained on, {told}."
    scored = [rival for rival in found.rivals if rival.score is not None]
    if not scored:
        return text
    best = max(scored, key=lambda rival: rival.score or 0.0)
    return f"{text} Best of the plain models: {best.name}, {_score(best.score, best.error, found)}."


def _score(value: float | None, error: float | None, found: Assessment) -> str:
    return spread(value, error, is_share=isinstance(found.figures, Figures))


def quality(subject: Subject) -> Html | None:
    """Figures that training found, beside plain models."""
    found = subject.assessment
    if found is None:
        return None
    parts = [tag("p", text, class_="open") for text in found.warnings]
    lines = [("judged by", _judged_by(found))]
    if found.trained is not None:
        lines.append(("on the rows trained on", _score(found.trained, None, found)))
    parts += [pairs(lines), _rivals(found), *_figures(found.figures)]
    if found.suggestions:
        parts += [tag("h3", "What to try"), tag("ul", *(tag("li", s) for s in found.suggestions))]
    return joined(parts)


def _rivals(found: Assessment) -> Html:
    figures = found.figures
    is_number = isinstance(figures, NumberFigures)
    auc = (None, None) if isinstance(figures, NumberFigures) else (figures.auc, figures.auc_error)
    own = ("this network", found.score, figures.error, *auc)
    others = [(r.name, r.score, r.error, r.auc, r.auc_error) for r in found.rivals]
    lines = []
    for name, score, error, area, area_error in [own, *others]:
        line = [name, _score(score, error, found)]
        if not is_number:
            line.append("" if area is None else spread(area, area_error, is_share=False))
        lines.append(line)
    return table(["on the same rows", "R²" if is_number else "accuracy", "AUC"][: len(line)], lines)


def _figures(figures: Figures | NumberFigures) -> list[Html]:
    if isinstance(figures, NumberFigures):
        lines = [("R²", spread(figures.r2, figures.error, is_share=False))]
        lines += [("root mean square error", f"{figures.rmse:.4g}")]
        return [pairs([*lines, ("mean error", f"{figures.mae:.4g}")])]
    if len(figures.classes) > _MOST_CLASSES:
        return [tag("p", f"{len(figures.classes)} classes are too many for a table.")]
    names = [str(each.label) for each in figures.classes]
    said = [sum(counts) for counts in zip(*figures.confusion, strict=True)]
    classes = table(
        ["class", "precision", "recall", "F1", "rows"],
        [
            [
                str(each.label),
                spread(each.precision, each.precision_error) if n_said else "never said",
                spread(each.recall, each.recall_error),
                percent(each.f1),
                str(each.rows),
            ]
            for each, n_said in zip(figures.classes, said, strict=True)
        ],
    )
    return [classes, _confusion(names, figures.confusion)]


def _confusion(names: list[str], counts: tuple[tuple[int, ...], ...]) -> Html:
    """The confusion matrix; shades repeat what the numbers say."""
    lines = []
    for k, (name, row) in enumerate(zip(names, counts, strict=True)):
        cells = [
            tag(
                "td",
                str(count),
                class_="right" if j == k else "wrong",
                style=f"--share:{100 * count / max(1, sum(row)):.0f}%",
            )
            for j, count in enumerate(row)
        ]
        lines.append(tag("tr", tag("th", name, class_="side", scope="row"), *cells))
    head = (tag("th", text, scope="col") for text in ["true \\ said", *names])
    body = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *lines), class_="confusion")
    caption = tag("figcaption", "Rows by true class (down) and predicted class (across)")
    return tag("figure", tag("div", body, class_="wide", tabindex="0"), caption)


def on_rows(subject: Subject) -> Html | None:
    """Figures and curves on the labelled rows of the user."""
    rows = subject.rows
    if rows is None:
        return None
    model, told = subject.model, tag("p", f"On {rows.name}.")
    if subject.is_number:
        if model.network.architecture.n_outputs > 1:
            return None
        said = model.predict(rows.codes)[:, 0].astype(float)
        return joined([told, *_figures(NumberFigures.of(rows.y.astype(float), said))])
    truth = model.codes(rows.y, len(rows.codes))
    known = truth >= 0
    if not known.any():
        return None
    shares = None if model.calibration is None else model.probabilities(rows.codes[known])
    found = Figures.of(truth[known], model.outcomes(rows.codes[known]), model.classes, shares)
    accuracy = ("accuracy", spread(found.accuracy, found.error))
    area = ("AUC", spread(found.auc, found.auc_error, is_share=False))
    parts = [told, pairs([accuracy] if found.auc is None else [accuracy, area]), *_figures(found)]
    if shares is not None and len(model.classes) <= 6:
        parts += [_roc(model.classes, truth[known], shares), _calibration(rows, truth, shares)]
    return joined(parts)


def _judged_by(found: Assessment) -> str:
    rows = found.figures.rows
    return f"{rows} test rows" if found.origin == "test rows" else f"{rows} rows, {found.origin}"


def _roc(classes: tuple[object, ...], truth: np.ndarray, shares: np.ndarray) -> Html:
    lines: dict[str, Points] = {}
    for k in range(1 if len(classes) == 2 else 0, len(classes)):
        is_true = truth == k
        if not is_true.any() or is_true.all():
            continue
        cuts = np.unique(shares[:, k])[::-1]
        if len(cuts) > 100:
            cuts = cuts[np.linspace(0, len(cuts) - 1, 100).astype(int)]
        points = [(0.0, 0.0)]
        for cut in cuts:
            said = shares[:, k] >= cut
            points.append((float(said[~is_true].mean()), float(said[is_true].mean())))
        lines[_short(classes[k])] = points
    title = "ROC: rows of a class that are found, against others taken for it"
    drawing = draw(
        [Panel("", {**lines, "by chance": [(0, 0), (1, 1)]})],
        x_label="false alarms",
        y_label="found",
        title=title,
    )
    return figure(drawing, title, _numbers(lines, "false alarms", "found"))


def _calibration(rows: LabelledRows, truth: np.ndarray, shares: np.ndarray) -> Html:
    """How often the likeliest class is right, against what was said of it."""
    likeliest, right = shares.max(axis=1), shares.argmax(axis=1) == truth[truth >= 0]
    # Rows of one chance stay together.
    ends = np.quantile(likeliest, np.arange(1, _BINS) / _BINS)
    places = np.searchsorted(ends, likeliest)
    parts = [places == place for place in np.unique(places)]
    points = sorted((float(likeliest[p].mean()), float(right[p].mean())) for p in parts)
    title = "Calibration: how often answers are right, against how likely they were said to be"
    lines = {"answers": points}
    same = [(points[0][0], points[0][0]), (points[-1][0], points[-1][0])]
    drawing = draw(
        [Panel("", {**lines, "as said": same})],
        x_label="said to be right",
        y_label="is right",
        title=title,
    )
    return figure(drawing, title, _numbers(lines, "said", "is right"))


def _numbers(lines: Mapping[str, Points], x: str, y: str) -> Html:
    return table(
        ["line", x, y],
        [[name, f"{a:.4g}", f"{b:.4g}"] for name, points in lines.items() for a, b in points],
    )


def _short(label: object) -> str:
    text = str(label)
    return text if len(text) <= 20 else f"{text[:19]}…"
