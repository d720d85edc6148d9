"""The most that files from elsewhere may ask for; readers and the checker refuse what is beyond.

Data only. Every limit is far above what an honest file needs and low enough that no file costs
minutes or all memory: `bdnn check` stays below :data:`CHECKER_BYTES`.
"""

from __future__ import annotations

from typing import Final

# Files, in bytes.
MODEL_BYTES: Final = 64 * 2**20
TABLE_BYTES: Final = 2 * 2**30
#: What a packed table may grow to, beside :data:`TABLE_BYTES`: this many times its size, and what
#: is below the second number in any case.
UNPACKED_TIMES: Final = 200
UNPACKED_FREE: Final = 16 * 2**20

# JSON.
JSON_DEPTH: Final = 64
#: What the values of a file take in memory, estimated from its brackets, commas and quotes.
JSON_BYTES: Final = 200 * 2**20
NUMBER_CHARACTERS: Final = 400
EXPONENT: Final = 400
TEXT_CHARACTERS: Final = 4 * 2**20  # the numbers of a million rows

# Tables.
COLUMNS: Final = 10_000
#: Texts of a column, and bits of all columns.
CATEGORIES: Final = 4_096
BITS: Final = 65_536
ROW_CHARACTERS: Final = 4 * 2**20
#: Squares of larger numbers overflow; no measurement needs them, and no model answers them.
LARGEST_INPUT: Final = 1e100

#: The proof of a bound, in characters of JSON; larger ones are not written.
PROOF_CHARACTERS: Final = 2 * 2**20

# Networks.
LAYERS: Final = 16
WIDTH: Final = 100_000
WEIGHTS: Final = 4_000_000
CLASSES: Final = 10_000
#: Entries of a table of probabilities; more tell apart what a few hundred rows cannot.
CALIBRATION: Final = 64

# The checker.
PROMISES: Final = 1_000
CHECKED_ROWS: Final = 1_000_000
CHECKED_CELLS: Final = 10_000_000
CHECKER_SECONDS: Final = 60.0
CHECKER_BYTES: Final = 500 * 10**6
