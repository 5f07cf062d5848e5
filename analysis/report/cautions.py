"""What counts against a report's answers, in a few sentences that stand beside them."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.evaluation.results import Results
from analysis.labels import words
from analysis.report import facts, summary
from analysis.statistics.compare import signed
from harness.model.kind import Kind
from harness.model.protocol import Protocol

FEW = 10  # trials of a condition: with fewer, small differences stay unknown
GRAVE = 0.2  # share of attempts left out from which on the rest may be no fair sample
APACHE = (
    "Apache answers the first request of HTTP/2 one round trip later than that of HTTP/1.1 + TLS, which other servers "
    "do not: HTTP/2 looks slower here by that much, on every page and link."
)


def cautions(results: Results) -> list[str]:
    """The gravest first; what is only a fact about the run last."""
    return [*_left_out(results), *facts.notes(results), *_few(results), *_server(results), *_equal(results)]


def _left_out(results: Results) -> Iterator[str]:
    found = results.left_out
    if not found.lost:
        yield f"Nothing was left out: all {words.count(found.attempts, 'attempt')} count."
        return
    share = found.lost / found.attempts
    why = ", ".join(f"{rule} {count}" for rule, count in results.sifted.by_rule().items() if count)
    yield (
        f"{found.lost:,} of {words.count(found.attempts, 'attempt')} were left out ({why})."
        + (" So many are gone that the rest may be no fair sample." if share >= GRAVE else "")
    )
    if found.differing:
        unlike = "; ".join(summary.unlike(each) for each in found.differing)
        yield f"Some conditions lost more than others: {unlike}."
    if results.otherwise:
        yield (
            f"With nothing left out {len(results.otherwise)} of {words.count(len(results.claims), 'answer')} would be "
            "others."
        )


def _few(results: Results) -> Iterator[str]:
    least, most = results.trials
    empty = int((results.cells["n"] == 0).sum())
    if empty:
        yield f"{words.count(empty, 'condition')} of {len(results.cells)} have no trial that counts."
    if 0 < least < FEW:
        yield (
            f"Few trials: {words.between(least, most)} for each condition. What differs by little stays unknown, and "
            "another run may come out otherwise."
        )


def _server(results: Results) -> Iterator[str]:
    kept = results.sifted.kept
    slower = kept["server"].eq("apache") & kept["protocol"].eq(Protocol.H2)
    if results.kind is Kind.LOAD and slower.any() and len(results.protocols) > 1:
        yield APACHE


def _equal(results: Results) -> Iterator[str]:
    """How far two equal conditions lie apart."""
    reach = results.floors.floors.range
    if reach is not None:
        yield f"One condition measured twice, as if it were two, can differ by {signed(reach[1]).removeprefix('+')} %."
    elif results.kind is Kind.LOAD:
        yield "No condition was measured twice, so nobody knows how far two equal ones lie apart here."
