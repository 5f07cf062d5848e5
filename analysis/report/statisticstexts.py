"""What a report says of its statistics: the same sentences in the page and in the paper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from analysis.evaluation.results import Results
from analysis.labels import metrics
from analysis.runs.places import has_places
from analysis.statistics.contrast import CONFIDENCE_WITH_LOOKS


class Paragraph(NamedTuple):
    """A paragraph: `head` is its first words, set off, and the text goes on with them."""

    head: str
    text: str


def looked(results: Results) -> bool:
    """Whether a run looked at its data to see when it was enough."""
    return any(run.looked for run in results.runs)


def statistics_texts(results: Results) -> Iterator[Paragraph]:
    """How estimates, comparisons and verdicts are made."""
    yield Paragraph(
        "Estimates",
        "of one condition are medians. Brackets and bars are 95 % intervals from order statistics (Hettmansperger "
        "and Sheather): they hold for any distribution and need no random numbers. With five trials the interval is "
        "the range of the sample, which covers the true median in 93.75 % of all samples. With fewer than five no "
        "two values of the sample come near 95 %: they are then labelled as the range, and one trial has none.",
    )
    yield Paragraph(
        "Comparisons",
        "come from one statistic, which gives estimate, interval and test alike. It works on the logarithm of subject "
        "/ reference inside each block that holds both, so that what a whole block shares cancels out. Below 15 pairs "
        "of blocks it is the mean with Student's t (the paired t test), from 15 on the Hodges-Lehmann estimate with "
        "the exact signed-rank distribution, ties included. A value with no reference, as of a budget, is the mean of "
        "its values with Student's t. Below three pairs, or values, there is no interval.",
    )
    on_several = (
        " Every machine, or lane, of a run on several counts as a run here."
        if has_places(results.records)
        else ""
    )
    yield Paragraph(
        "Pages and runs are levels.",
        "A ratio over several pages is the geometric mean of the pages' ratios: each page counts once. From three "
        "pages or runs on, the interval also allows for how much they differ; with fewer it speaks of these pages and "
        f"runs alone.{on_several}",
    )
    looks = (
        " The run looked at its data to see when it was enough, at blocks that were fixed beforehand; intervals are "
        f"of {CONFIDENCE_WITH_LOOKS * 100:g} % and p-values are higher to pay for that."
    )
    yield Paragraph(
        "Claims and exploration.",
        "Claims were named before the first trial. Their p-values are corrected for all claims of the report "
        f"(Benjamini and Hochberg), those of the exploration among themselves.{looks if looked(results) else ''}",
    )
    directions, margin = metrics.direction(results.metric), f"{results.margin * 100:g}"
    yield Paragraph(
        "Verdicts",
        f"are two statements. Direction: {directions.below} or {directions.above} when the corrected p-value is "
        f"below 0.05 and the interval excludes 1. Size: by less than {margin} %, or within {margin} % of each other "
        "where there is no direction, when two one-sided tests say so after the same correction; "
        f"{margin} % is the margin that is declared not to matter. Otherwise it is not known yet, with the interval. "
        "An expectation holds when the test that it does not is passed at 5 %, and fails when the test that it does "
        "is passed.",
    )
    yield Paragraph(
        "The floor.",
        "The baseline of a page and a link is measured twice under two names (A/A). A difference that is no larger "
        "than that between the two is marked as below the floor, whatever its p-value.",
    )
