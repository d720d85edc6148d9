"""What runs a header in C: a ``main`` for rows of a CSV file, and a self-test of its answers."""

from __future__ import annotations

from string import Template

import numpy as np

from bdnn.encoding import Column
from bdnn.errors import UnsupportedFeatureError
from bdnn.export.boundary import answers, column_inputs, random_inputs
from bdnn.export.c.text import integer, real, string
from bdnn.export.inputs import InputFormat
from bdnn.model import Model
from bdnn.network.activation import FloatArray

INCLUDES = ("#include <math.h>", "#include <stdio.h>", "#include <stdlib.h>", "#include <string.h>")

_HELPERS = """\
/* Whether a text is a word, in whatever case. */
static inline int ${NAME}_says(const char *text, const char *word)
{
    for (; *text && *word; ++text, ++word)
        if ((*text >= 'A' && *text <= 'Z' ? *text + 32 : *text) != *word) return 0;
    return !*text && !*word;
}

/* Whether a cell has no value. */
static inline int ${NAME}_is_gap(const char *cell)
{
    return !*cell || !strcmp(cell, "?") || ${NAME}_says(cell, "na") || ${NAME}_says(cell, "nan");
}

/* Read a number, 0 if there is none. */
static inline int ${NAME}_number(const char *cell, double *value)
{
    char *end;
    *value = strtod(cell, &end);
    while (*end == ' ') ++end;
    return end != cell && !*end;
}
"""

_MAIN = """\
/* Give a number with a decimal comma its point; other texts stay as they are. */
static inline void ${NAME}_point(char *cell)
{
    char *comma;
    cell += strspn(cell, " ");
    cell += *cell == '+' || *cell == '-';
    comma = cell + strspn(cell, "0123456789");
    cell = comma + 1;
    if (*comma != ',' || !strspn(cell, "0123456789")) return;
    cell += strspn(cell, "0123456789");
    if (!cell[strspn(cell, " ")]) *comma = '.';
}

/* Cut a line into cells, in place; returns how many there are. */
static inline int ${NAME}_split(char *line, char separator, const char *cell[], int most)
{
    int count = 0, is_last = 0;
    while (!is_last) {
        char *from, *to;
        while (*line == ' ') ++line;
        from = to = line;
        if (*line == '"') {
            from = to = ++line;
            while (*line && (*line != '"' || line[1] == '"')) {
                line += *line == '"';
                *to++ = *line++;
            }
            while (*line && *line != separator) ++line;
        } else {
            while (*line && *line != separator) ++line;
            for (to = line; to > from && to[-1] == ' ';) --to;
        }
        is_last = !*line++;
        *to = 0;
        if (separator != ',') ${NAME}_point(from);
        if (count < most) cell[count] = from;
        ++count;
    }
    return count;
}

/* Print the answer to every row of a CSV file on standard input; other columns are ignored. */
int main(void)
{
    static char line[65536];
    static const char *cell[4096];
    const char *own[$COLUMNS];
    int place[$COLUMNS], i, j, count, row = 0;
    char separator = 0;
    while (fgets(line, sizeof line, stdin)) {
        char *start = strncmp(line, "\\xef\\xbb\\xbf", 3) ? line : line + 3;
        $TYPE x[$COLUMNS];
        if (!strchr(start, '\\n') && !feof(stdin)) {
            fprintf(stderr, "row %d is too long\\n", row);
            return 2;
        }
        start[strcspn(start, "\\r\\n")] = 0;
        if (!*start) continue;
        if (!separator) {
            int commas = 0, semicolons = 0, tabs = 0;
            const char *c;
            for (c = start; *c; ++c) {
                commas += *c == ',';
                semicolons += *c == ';';
                tabs += *c == '\\t';
            }
            separator = tabs >= commas && tabs > semicolons ? '\\t' : ',';
            if (semicolons > commas && semicolons >= tabs) separator = ';';
        }
        count = ${NAME}_split(start, separator, cell, 4096);
        if (count > 4096) count = 4096;
        if (!row++) {
$FIRST
        }
        for (j = 0; j < $COLUMNS; ++j) {
            if (place[j] >= count) {
                fprintf(stderr, "row %d has %d cells\\n", row - $HEADER, count);
                return 2;
            }
            own[j] = cell[place[j]];
        }
        if ((i = ${NAME}_encode(own, x)) != 0) {
            fprintf(stderr, "row %d, column %d: '%s' is no value\\n", row - $HEADER, i, own[i - 1]);
            return 2;
        }
$ANSWER
    }
    return 0;
}
"""

_NAMED = """\
            static const char *const COLUMN[] = {$NAMES};
            for (j = 0; j < $COLUMNS; ++j) {
                place[j] = -1;
                for (i = 0; i < count; ++i)
                    if (!strcmp(cell[i], COLUMN[j])) place[j] = i;
                if (place[j] < 0) break;
            }
            if (j == $COLUMNS) continue;
            if (*cell[0] != '#') {
                fprintf(stderr, "there is no column '%s'\\n", COLUMN[j]);
                return 2;
            }
            row = separator = 0; /* a comment */
            continue;"""

_PLACED = """\
            for (j = 0; j < $COLUMNS; ++j) place[j] = j;
            if (*cell[0] == '#'$SHORT) {
                row = separator = 0; /* a comment */
                continue;
            }"""


def write_csv_main(model: Model, inputs: InputFormat, name: str) -> list[str]:
    """Write ``NAME_encode``, which reads cells, and a ``main`` around it."""
    if inputs.kind == "scaled":
        raise UnsupportedFeatureError(
            "a main that reads CSV takes raw values, got inputs of type 'scaled': choose another."
        )
    columns = model.encoder.columns
    body = [line for j, column in enumerate(columns) for line in _cell(column, j, inputs, name)]
    encode = [
        "/* Inputs from cells of texts; 0, or the place, from 1, of a cell that cannot be read. */",
        f"static inline int {name}_encode(const char *const cell[{len(columns)}], "
        f"{inputs.c_type} x[{len(columns)}])",
        "{",
        "    double v = 0.0;",
        *body,
        "    (void)v;",
        "    return 0;",
        "}",
        "",
    ]
    known = {"NAME": name, "COLUMNS": str(len(columns)), "TYPE": inputs.c_type}
    known["HEADER"] = str(int(model.names is not None))
    known["NAMES"] = ", ".join(string(each) for each in model.names or ())
    # No number begins like a comment; a text may, in a row of as many cells as there should be.
    known["SHORT"] = f" && count < {len(columns)}" if columns[0].kind == "category" else ""
    first = Template(_PLACED if model.names is None else _NAMED).substitute(known)
    main = Template(_MAIN).substitute(known, FIRST=first, ANSWER=_answer(model, name))
    helpers = Template(_HELPERS).substitute(known)
    return [*helpers.splitlines(), "", *encode, *main.splitlines(), ""]


def _answer(model: Model, name: str) -> str:
    """The statement that prints what is predicted."""
    if model.targets is None:
        return f"        puts({name}_label({name}_predict(x)));"
    n_outputs = model.network.architecture.n_outputs
    ends = [" "] * (n_outputs - 1) + ["\\n"]
    prints = [f'printf("%.17g{end}", y[{i}]);' for i, end in enumerate(ends)]
    return f"        {{ double y[{n_outputs}]; {name}_predict(x, y); {' '.join(prints)} }}"


def _cell(column: Column, j: int, inputs: InputFormat, name: str) -> list[str]:
    """Lines that read one cell."""
    cell, refuse = f"cell[{j}]", f"return {j + 1};"
    if inputs.missing is not None:
        gap = f"x[{j}] = {integer(inputs.missing)};"
    else:
        gap = refuse if inputs.is_integer or column.fill is None else f"x[{j}] = NAN;"
    lines, start = [f"    if ({name}_is_gap({cell})) {gap}"], "    else "
    if column.kind == "category":
        is_unsigned = inputs.is_integer and inputs.ranges[j][0] >= 0
        other = len(column.values) if is_unsigned else -1
        for place, value in enumerate(column.values):
            lines.append(f"{start}if (!strcmp({cell}, {string(value)})) x[{j}] = {place};")
            start = "    else "
        return [*lines, f"    else x[{j}] = {other};"]
    if column.kind == "boolean":
        lines.append(f'{start}if ({name}_says({cell}, "true")) x[{j}] = 1;')
        lines.append(f'    else if ({name}_says({cell}, "false")) x[{j}] = 0;')
        start = "    else "
    lines.append(f"{start}if (!{name}_number({cell}, &v)) {refuse}")
    if not inputs.is_integer:
        return [*lines, f"    else x[{j}] = ({inputs.c_type})v;"]
    low, high = inputs.ranges[j]
    scaled = "v" if inputs.per_unit[j] == 1 else f"(v *= {inputs.per_unit[j]}.0)"
    lines.append(f"    else if ({scaled} < {low - 0.5!r} || v > {high + 0.5!r}) {refuse}")
    return [*lines, f"    else x[{j}] = ({inputs.c_type})(v < 0 ? v - 0.5 : v + 0.5);"]


def write_self_test(
    model: Model, inputs: InputFormat, name: str, count: int, rows: FloatArray | None = None
) -> list[str]:
    """Write inputs with Python's answers, and a function that counts wrong answers.

    Inputs are those of some of the rows of raw codes, or random ones.
    """
    rng = np.random.default_rng(0)
    if rows is not None and len(rows):
        X = _taken(model, inputs, rows[:: max(1, len(rows) // count)][:count])
        count = len(X)
    elif model.encoder.is_plain:
        X = random_inputs(model.encoder, inputs, count, rng)
    else:
        X = np.nan_to_num(column_inputs(model, inputs, count, rng))
    wanted = answers(model, inputs, X).tolist()
    lines = [[integer(int(v)) if inputs.is_integer else real(v) for v in row] for row in X.tolist()]
    if model.targets is None:
        expected = [
            f"    static const int16_t EXPECTED[{count}] = {{",
            "        " + ", ".join(map(str, wanted)),
        ]
        loop = f"wrong += {name}_predict(INPUT[i]) != EXPECTED[i];"
    else:
        n_numbers = len(wanted[0])
        expected = [
            f"    static const double EXPECTED[{count}][{n_numbers}] = {{",
            *(f"        {{{', '.join(map(real, row))}}}," for row in wanted),
        ]
        different = " || ".join(f"y[{i}] != EXPECTED[i][{i}]" for i in range(n_numbers))
        head = f"{{ double y[{n_numbers}]; {name}_predict(INPUT[i], y);"
        loop = f"{head} wrong += {different}; }}"
    return [
        "/* Number of self-test vectors with a wrong answer. */",
        f"static inline int {name}_self_test(void)",
        "{",
        f"    static const {inputs.c_type} INPUT[{count}][{X.shape[1]}] = {{",
        *(f"        {{{', '.join(line)}}}," for line in lines),
        "    };",
        *expected,
        "    };",
        "    int i, wrong = 0;",
        f"    for (i = 0; i < {count}; ++i) {loop}",
        "    return wrong;",
        "}",
        "",
    ]


def _taken(model: Model, inputs: InputFormat, rows: FloatArray) -> FloatArray:
    """Rows of raw codes as the function takes them; a gap of a real type has no constant."""
    if inputs.kind == "scaled":
        X = np.rint(model.inputs(rows) / (model.encoder.step or 1.0))
    elif not inputs.is_integer:
        X = np.where(np.isnan(rows), model.encoder.fills, rows)
        return np.nan_to_num(X).astype(inputs.reals.dtype).astype(float)
    else:
        X = np.rint(rows * np.array(inputs.per_unit))
        for j, column in enumerate(model.encoder.columns):
            if column.kind == "category" and inputs.ranges[j][0] >= 0:
                X[rows[:, j] < 0, j] = len(column.values)
        X = np.where(np.isnan(rows), float(inputs.missing or 0), X)
    low, high = np.array(inputs.ranges, dtype=float).T if inputs.ranges else (-(2**15), 2**15 - 1)
    return np.clip(X, low, high)


def write_main(name: str, count: int, *, labels: bool) -> list[str]:
    """Write a ``main`` that runs the self-test and prints the count of wrong answers."""
    return [
        "int main(void)",
        "{",
        f"    const int wrong = {name}_self_test();",
        # In a file with a main, clang warns of functions that nobody calls.
        *([f"    (void){name}_label;"] if labels else []),
        f'    printf("%d of {count} self-test vectors wrong\\n", wrong);',
        "    return wrong != 0;",
        "}",
        "",
    ]
