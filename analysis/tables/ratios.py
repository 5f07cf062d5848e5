"""What a folded table says of ratios: how they are spread, and how often which verdict was given."""

from __future__ import annotations

from functools import partial

from analysis.labels import words
from analysis.tables.folding import FoldedColumn, counts, spread

OF_RATIOS = (
    FoldedColumn("Ratio", "ratio", spread(partial(words.number, digits=3))),
    FoldedColumn("Verdicts", "verdict", counts),
)
