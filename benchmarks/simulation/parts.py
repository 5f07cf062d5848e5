"""The parts of the simulation: what each asks, how many studies it makes up, and the code that its figures rest on."""

from __future__ import annotations

import ast
import hashlib
import io
import tokenize
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.simulation import asrecords, coverage, families, leavingout, telling, tworuns
from benchmarks.simulation.keeping import KeptPart
from benchmarks.simulation.shares import Table

TOP = Path(__file__).resolve().parents[2]
QUICK = 50
SEED = 2012
# Modules of `analysis` that a part's figures rest on.
STATISTICS = tuple(f"statistics/{name}.py" for name in ("__init__", "compare", "contrast"))
MEDIANS, FLOOR = ("statistics/estimate.py",), ("statistics/floor.py",)
CLAIMS, LOOKS, PUBLISHED = ((f"claims/{name}.py",) for name in ("claims", "stopping", "published"))
COMPARE, CHANGED = ("comparing/between.py",), ("comparing/pair.py",)
LEFT_OUT, SIFTED = ("evaluation/leftout.py",), ("runs/exclude.py",)


@dataclass(frozen=True)
class Part:
    """`studies`: how many are made up for a figure. `rests_on`: modules of `analysis` beside `STATISTICS`."""

    simulate: Callable[[np.random.Generator, int], Table | tuple[Table, ...]]
    studies: int
    rests_on: tuple[str, ...] = ()

    @property
    def code(self) -> str:
        """A digest of the code that its figures rest on: another one, and they may be others."""
        digest = hashlib.sha256()
        for name in (*STATISTICS, *self.rests_on):
            digest.update(without_words((TOP / "analysis" / name).read_text(encoding="utf-8")).encode())
        return digest.hexdigest()[:16]

    def has_changed(self, kept: KeptPart) -> bool:
        """Whether the code of kept figures is not the present one, or was not kept; or they are of other studies."""
        return (kept.code, kept.studies, kept.seed) != (self.code, self.studies, SEED)


# The longest first: two at a time are simulated in this order.
PARTS: Mapping[str, Part] = {
    "compared": Part(tworuns.sizes, 1_500, COMPARE),
    "unchanged": Part(tworuns.unchanged, 600, (*COMPARE, *FLOOR)),
    "levels-looks": Part(coverage.over_levels_at_looks, 3_000, (*CLAIMS, *LOOKS)),
    "shares": Part(leavingout.different_shares, 500, (*LEFT_OUT, *SIFTED)),
    "changed-claims": Part(tworuns.claims, 300, (*CHANGED, *CLAIMS)),
    "published": Part(asrecords.published_range, 800, (*PUBLISHED, *CLAIMS)),
    "bound": Part(asrecords.published_bound, 800, (*PUBLISHED, *CLAIMS)),
    "bias": Part(asrecords.bias, 100_000, SIFTED),
    "looks": Part(families.coverage_at_looks, 20_000, LOOKS),
    "medians": Part(coverage.of_medians, 10_000, MEDIANS),
    "coverage": Part(coverage.of_ratios, 20_000),
    "false": Part(families.false_verdicts, 10_000),
    "power": Part(families.power, 5_000),
    "change": Part(families.at_the_change, 20_000),
    "plain": Part(families.plain_to_see, 5_000),
    "told": Part(telling.sizes, 4_000),
    "largest": Part(telling.largest, 10_000),
    "floor": Part(telling.equal_conditions, 1_000, FLOOR),
    "time-outs": Part(asrecords.time_outs, 2_000),
    "runs": Part(coverage.of_runs, 5_000),
    "pages": Part(coverage.of_pages, 3_000, CLAIMS),
    "pages-runs": Part(coverage.of_pages_in_runs, 1_000, CLAIMS),
    "many-pages": Part(coverage.many_pages, 1_000, CLAIMS),
    "medians-looks": Part(coverage.of_medians_at_looks, 10_000, (*MEDIANS, *LOOKS)),
    "false-looks": Part(families.false_at_looks, 4_000, LOOKS),
    "alternatives": Part(coverage.others, 10_000),
}


def tables(name: str, seed: int, *, quick: bool) -> tuple[Table, ...]:
    """The tables of a part; each part draws its own numbers."""
    part = PARTS[name]
    times = max(part.studies // QUICK, 10) if quick else part.studies
    result = part.simulate(np.random.default_rng(seed), times)
    return result if isinstance(result, tuple) else (result,)


def without_words(source: str) -> str:
    """Code without comments, docstrings and empty lines: what these say changes no figure."""
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if first and ast.get_docstring(node, clean=False) is not None:
                end = first.end_lineno or first.lineno
                lines[first.lineno - 1 : end] = [""] * (end - first.lineno + 1)
    return "\n".join(line.rstrip() for line in lines if line.strip())
