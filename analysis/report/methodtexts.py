"""The methods of a study in sentences: what its kind is, and from what its runs hold design, versions, calibration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from analysis.evaluation.results import Results
from analysis.labels import metrics, words
from analysis.labels.conditions import NO_LINK, engine_label, engines_in_order, is_linked, protocol_label
from analysis.report import facts
from analysis.report.facts import forms
from analysis.runs.alike import programs_of
from analysis.runs.rundirectory import tells_executors
from analysis.tables.machinetables import distance_errors
from harness.input.jsontext import part
from harness.model.condition import CACHE, CPU_SLOWDOWN, USUAL
from harness.model.kind import Kind
from harness.study.metrics import metrics_of

BLOCKS = (
    "Each block runs all conditions once, in random order from the stored seed; what is compared stands close "
    "together. An attempt is judged by mechanical reasons before anyone looks at its {}, and repeated in its "
    "block when it does not count."
)
SATURATED = (
    "A trial whose generator or emulator ran out of CPU does not count, whatever its figures look like."
)
LIMIT = (
    "Every trial says what ran out: workers, the CPU of the server, that of the generator, the emulator, the link, "
    "or nothing."
)


@dataclass(frozen=True)
class KindText:
    """`subject` stands in the head of the page. `trial` is how a trial is made, `metric` what the main metric is.
    `pictures`: what the last figures show.
    """

    subject: str
    trial: str
    metric: str
    pictures: str = "What the estimates are made of: single pairs, and the order in which the trials ran."


TEXTS: Mapping[Kind, KindText] = {
    Kind.LOAD: KindText(
        subject="Page-load times",
        trial=(
            "Every trial is one load in a cold browser: fresh profile, no caches, no open connections. "
            f"{BLOCKS.format('time')} The servers and the access link are emulated on one machine; the round-trip "
            "time (RTT) and the rates are those of the link."
        ),
        metric=(
            "runs from navigation start to the end of the load event, as the browser's Navigation Timing "
            "reports it. A trial counts only if every request used the protocol that its condition names."
        ),
        pictures="What the estimates are made of: single pairs, single trials, and the order in which they ran.",
    ),
    Kind.USERS: KindText(
        subject="A crowd on one server",
        trial=(
            "Every trial is one crowd on a server that has come to rest: users come by a ramp or in "
            "steps, and each loads the page as a browser does (the document, then what it asks for, in "
            "the order and by the dependencies of a proved load), thinks, and loads it again over new "
            "connections. Every user comes from an address with an access link of its own; the rate and the "
            f"round-trip time (RTT) are those of a user. {BLOCKS.format('figures')} {SATURATED}"
        ),
        metric=(
            "is the most pages a second in a bucket: pages that came in time, over the length of the "
            "bucket. Page time runs from when a user asks for the page, look-up and handshakes included, to the "
            f"last byte. The server's CPU, memory and workers are read once a second. {LIMIT} A trial counts only "
            "if every request used the protocol that its condition names."
        ),
    ),
    Kind.REQUESTS: KindText(
        subject="Requests a second",
        trial=(
            "Every trial is a closed loop: so many connections ask for the same file, each with so many "
            "requests under way (the depth; of HTTP/2 and SPDY: streams), and ask anew as soon as an "
            f"answer has come. What is answered while the loop warms up does not count. {BLOCKS.format('figures')} "
            f"{SATURATED}"
        ),
        metric=(
            "is the number of answers over the time in which they came. Latency is what the generator "
            f"tells of single requests; it waits for an answer, so a slow server is asked less. {LIMIT} A "
            "trial counts only if every request used the protocol that its condition names."
        ),
    ),
}

WARM = (
    "With a warm cache the page has been loaded once before, untimed: its trial begins with what that load left in the "
    "HTTP cache and the storage of pages, over a fresh link and new connections."
)
OTHERS = "What follows is of all others."
RATES = ("down_mbps", "up_mbps")


class Paragraph(NamedTuple):
    """A paragraph: `head` is its first words, set off, and the text goes on with them."""

    head: str
    text: str


def method_texts(results: Results) -> Iterator[Paragraph]:
    """The paragraphs of a methods section, in reading order."""
    text = TEXTS[results.kind]
    yield Paragraph("Trials.", f"{text.trial} {WARM}" if _unusual(results.records, CACHE) else text.trial)
    yield Paragraph(f"{results.metric_label} ({results.metric})", text.metric)
    yield Paragraph("Conditions.", conditions(results))
    yield Paragraph("Set-up.", versions(results))
    yield Paragraph("Sample.", sample(results))
    yield Paragraph("Exclusions.", exclusions(results))
    yield Paragraph("Calibration of the links.", calibration(results))
    yield from statistics_texts(results)


def conditions(results: Results) -> str:
    """What was crossed with what."""
    records = results.records
    names = {
        "Pages": _values(records, "page"),
        "variants": _values(records, "variant"),
        "compressions of text": _values(records, "compression"),
        "protocols": [protocol_label(protocol) for protocol in results.protocols],
        "links": _links(records),
        "servers": _values(records, "server"),
        "browsers" if results.kind is Kind.LOAD else "generators": [
            engine_label(engine) for engine in engines_in_order(records["engine"].dropna().astype(str))
        ],
        "drivers": _values(records, "driver"),
        "server addresses": _values(records, "origins"),
        "distances of hosts": facts.distances(results.runs),
        "caches": _unusual(records, CACHE),
        "slowdowns of the processor": _unusual(records, CPU_SLOWDOWN),
    }
    told = "; ".join(f"{name}: {', '.join(values)}" for name, values in names.items() if values)
    beside = "".join(f" {text}." for text in forms(results.runs))
    return f"{told}. {words.count(len(results.cells), 'condition')} were measured.{beside}"


def _unusual(records: pd.DataFrame, dimension: str) -> list[str]:
    """The values of a dimension, where there is another one than the usual."""
    values = _values(records, dimension)
    return values if set(values) - {str(USUAL[dimension])} else []


def _links(records: pd.DataFrame) -> list[str]:
    """Each rate with its round-trip times."""
    texts = []
    for (down, up), links in records.groupby(list(RATES), dropna=False, sort=True):
        if not is_linked(links.iloc[0].to_dict()):
            texts.append(NO_LINK)
            continue
        times = ", ".join(words.plain(rtt_ms) for rtt_ms in sorted(links["rtt_ms"].unique()))
        texts.append(f"{words.rate_with_unit(down, up)} with an RTT of {times} ms")
    return list(dict.fromkeys(texts))


def versions(results: Results) -> str:
    """coldload, what loaded, what served, the transport and the machine."""
    environments = [setup for run in results.runs for setup in run.environments]
    known = [part(environment, "programs") for environment in environments]
    programs = words.distinct(
        str(versions[name])
        for versions in known
        for name in programs_of(results.records, versions)
        if versions[name]
    )
    said = [
        f"coldload {words.distinct(_told(results, 'coldload'))}"
        if any(_told(results, "coldload"))
        else "coldload",
        *([programs] if programs else []),
    ]
    machine, transport = (words.distinct(map(of, environments)) for of in (facts.machine, _transport))
    return " ".join(
        [
            f"{'; '.join(said)}.",
            *([f"Transport: {transport}."] if transport else []),
            *([f"Machine: {machine}."] if machine else []),
        ]
    )


def _transport(environment: Mapping[str, Any]) -> str:
    tcp = part(part(environment, "link"), "tcp")
    if not tcp:
        return ""
    after_idle = "with" if tcp.get("slow_start_after_idle") else "without"
    probe = "" if tcp.get("tail_loss_probe", True) else ", without tail loss probes"
    probe += (
        ", remembering round-trip time and threshold of a host" if tcp.get("remembers_destinations") else ""
    )
    return (
        f"TCP with {tcp.get('congestion_control')}, an initial window of {tcp.get('initial_window')} segments, "
        f"{after_idle} slow start after idle{probe}"
    )


def sample(results: Results) -> str:
    """Seeds, blocks, n, attempts."""
    seeds = words.distinct(str(run.plan.seed) for run in results.runs if run.plan)
    blocks = words.distinct(str(run.plan.blocks) for run in results.runs if run.plan)
    in_blocks = f" of {blocks} block{'s' * (blocks != '1')}" if blocks else ""
    planned = f" of {results.planned:,} planned trials" if results.planned is not None else ""
    said = [
        f"{words.count(len(results.runs), 'run')}{in_blocks}",
        f"{results.tally.attempts:,} attempts{planned} were recorded and {results.tally.counted:,} of them are in "
        "the estimates",
        f"n is {words.between(*results.trials)} per condition",
    ]
    order = f" The order of conditions within each block is random, from seed {seeds}." if seeds else ""
    dates = dict(facts.facts(results)).get("Measured", "")
    return f"{'; '.join(said)}.{order}{f' Measured {dates}.' if dates else ''}"


def exclusions(results: Results) -> str:
    """What was left out, by which rule."""
    again = facts.drawn_again(results)
    others = f"{again} {OTHERS} " if again else ""
    counts = results.sifted.by_rule()
    taken = [
        f"{rule.name} ({rule.meaning}): {counts[rule.name]:,}"
        for rule in results.sifted.rules
        if counts[rule.name]
    ]
    asked = words.count(len(results.sifted.rules), "named, mechanical rule")
    if not taken:
        return f"{others}None of {results.tally.judged:,} attempts is left out ({asked} were asked)."
    return (
        f"{others}{results.tally.left_out:,} of {results.tally.judged:,} attempts are left out by the first of {asked} "
        f"that applies, none because of its result: {'; '.join(taken)}.{_spared(results)}"
    )


def _spared(results: Results) -> str:
    """What some of the trials without an attempt that counts are in the estimates for."""
    spared = results.sifted.spared
    if spared.empty:
        return ""
    names = {name for rule in results.sifted.rules for name in rule.spares}
    told = words.listed([metrics.subject(name) for name in metrics_of(results.kind) if name in names])
    return (
        f" Of {words.count(len(spared), 'trial')} without an attempt that counts, the last one is in the estimates "
        f"that these rules do not touch ({told}), and in no other."
    )


def calibration(results: Results) -> str:
    """How far measured links were from configured ones, at most, and how often a link had to be measured again."""
    readings = [reading for run in results.runs for reading in run.calibration]
    if not readings:
        return "The runs hold no reading of their links."
    within = [reading for reading in readings if reading.get("ok") is not False]
    apart = _apart(within, "rtt_ms", relative=False)
    said = [f"the round-trip time was off by at most {words.number(max(apart), 2)} ms"] if apart else []
    rates = [deviation for key in RATES for deviation in _apart(within, key, relative=True)]
    said += [f"the rate by at most {words.number(100 * max(rates), 2)} %"] if rates else []
    beyond = [error for reading in within for error in distance_errors(reading)]
    said += [f"that at distances behind it by at most {words.number(max(beyond), 2)} ms"] if beyond else []
    links = words.count(len({str(part(measurement, "link").get("name")) for measurement in readings}), "link")
    outside = len(readings) - len(within)
    again = (
        f" {words.count(outside, 'other reading')} outside the tolerance: trials begin only after one within it."
        if outside
        else ""
    )
    return (
        f"{words.count(len(within), 'reading')} of {links} within the tolerance, taken through the emulator before the "
        f"first trial of each call{': ' if said else ''}{words.listed(said)}.{again}"
    )


def _apart(readings: Sequence[Mapping[str, Any]], key: str, *, relative: bool) -> list[float]:
    deviations = []
    for reading in readings:
        configured, measured = (part(reading, key).get(name) for name in ("configured", "measured"))
        if words.is_number(configured) and words.is_number(measured) and (configured or not relative):
            deviations.append(abs(measured - configured) / (configured if relative else 1))
    return deviations


def _told(results: Results, key: str) -> Iterator[str]:
    yield from (
        str(environment[key])
        for run in results.runs
        for environment in run.environments
        if environment.get(key)
    )


def _values(records: pd.DataFrame, column: str) -> list[str]:
    return sorted(records[column].dropna().astype(str).unique()) if column in records else []


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
        if tells_executors(results.records)
        else ""
    )
    yield Paragraph(
        "Pages and runs are levels.",
        "One or two pages are each told by themselves. From three on a ratio over pages is the geometric mean of the "
        "pages' ratios: each page counts once, and the interval is Student's t over the pages, a random level. So it "
        f"is over three runs or more; with two it speaks of these runs alone.{on_several}",
    )
    looks = results.certainty.looked * (
        " The run looked at its data to see when it was enough, at blocks that were fixed beforehand. To pay for that, "
        "intervals of comparisons, of budgets, of the floor and of what loads waited for are of "
        f"{results.certainty.level} and p-values are higher. Those of medians and of the drift are of 95 %."
    )
    yield Paragraph(
        "Claims and exploration.",
        f"{_named(results)} p-values are corrected for all claims of the report (Benjamini and Hochberg), those of the "
        f"exploration among themselves.{looks}",
    )
    yield Paragraph(
        "Sizes that were chosen",
        "have wider intervals. Where R of m comparisons have a direction, their intervals are of the level "
        f"1 - {100 * (1 - results.certainty.confidence):g} % R/m (false coverage rate, Benjamini and Yekutieli 2005). "
        f"What is not known yet has a plain {results.certainty.interval}, and so has every claim that a study names "
        "beforehand.",
    )
    yield Paragraph(
        "Time-outs",
        "are the longest times of their condition: medians hold them as infinite, comparisons with one take ranks. "
        "Blocks in which both sides timed out tell nothing. All other metrics are of the loads that ended.",
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
        "The baseline of a setting is measured twice under two names (A/A). All settings together, or each where they "
        "differ, tell how large a difference equal conditions can show: the distance of the two from 0, plus Student's "
        "t times its error. A difference up to that is no finding, whatever its p-value.",
    )


def _named(results: Results) -> str:
    if results.named:
        return "Claims were named before the first trial, and all of them are told. Their"
    return "The study named no claims: the usual ones are judged. Their"
