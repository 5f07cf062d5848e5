"""The figures of `benchmarks.lighthouse` as tables, written between the marks of a document."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.labels import words

# Audits of Lighthouse that estimate a saving, and what of coldload does about what they find.
AUDITS: Mapping[str, tuple[str, ...]] = {
    "render-blocking-insight": ("defer_javascript", "inline"),
    "unminified-css": ("rewrite_css",),
    "unminified-javascript": ("rewrite_javascript",),
    "document-latency-insight": ("gzip-6",),
    "image-delivery-insight": ("images", "convert_to_avif"),
    "cache-insight": ("extend_cache",),
    "modern-http-insight": ("h2",),
}
# Audits that estimate a saving by a change that no filter makes.
UNMATCHED = (
    "unused-css-rules",
    "unused-javascript",
    "font-display-insight",
    "lcp-discovery-insight",
    "legacy-javascript-insight",
    "duplicated-javascript-insight",
)
BASE = ("first-contentful-paint", "largest-contentful-paint", "metrics")
BEGIN, END = "<!-- tables of benchmarks.lighthouse -->", "<!-- end of the tables -->"
METRICS = {"fcp_ms": "FCP", "lcp_ms": "LCP", "plt_ms": "load"}
Told = Mapping[str, Any]


def write_tables(sittings: Sequence[Told], document: Path) -> str:
    """Put the tables between the marks of a document, which is made if it is not there; the tables."""
    made = "\n\n".join("\n".join(table) for table in (over_pages(sittings), *map(lines, sittings)))
    text = document.read_text() if document.exists() else f"{BEGIN}\n{END}\n"
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    document.write_text(f"{before}{BEGIN}\n{made}\n{END}{after}")
    return made


def over_pages(sittings: Sequence[Told]) -> Iterator[str]:
    """A table of all pages: how often the estimate of LCP and the measured LCP say the same, and how much each says."""
    yield (
        "| audit | measured change | pages | both save | Lighthouse alone | measured alone | neither "
        "| LCP by Lighthouse | LCP measured | load measured |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    pages = [page for told in sittings for page in told["pages"]]
    for audit, names in AUDITS.items():
        for name in names:
            rows = [
                (page["lighthouse"]["audits"][audit]["lcp_ms"], changes[name])
                for page in pages
                if "lcp_ms" in (changes := page["measured"]["changes"]).get(name, ())
            ]
            if rows:
                yield _row(audit, f"`{name}`", str(len(rows)), *_agreement(rows))


def _agreement(rows: Sequence[tuple[Told | None, Told]]) -> Iterator[str]:
    """The cells of a change: estimates of LCP, each with what the change saved."""
    said = [estimate is not None and estimate["median"] > 0 for estimate, _ in rows]
    seen = [(change.get("lcp_ms", {}).get("low_ms") or 0) > 0 for _, change in rows]
    for wanted in ((True, True), (True, False), (False, True), (False, False)):
        yield str(list(zip(said, seen, strict=True)).count(wanted))
    yield _over(0.0 if estimate is None else estimate["median"] for estimate, _ in rows)
    for metric in ("lcp_ms", "plt_ms"):
        known = (change[metric]["saved_ms"] for _, change in rows if metric in change)
        yield _over(saved for saved in known if saved is not None)


def _over(values: Iterable[float]) -> str:
    """Median over pages, and the range."""
    numbers = sorted(values)
    return (
        f"{statistics.median(numbers):,.0f} ({numbers[0]:,.0f} to {numbers[-1]:,.0f})"
        if numbers
        else "not known"
    )


def lines(told: Told) -> Iterator[str]:
    link, machine, versions = told["link"], told["machine"], told["versions"]
    before, after = (told["load_average"][when][0] for when in ("before", "after"))
    again = f" (estimates of {told['estimated']})" if "estimated" in told else ""
    yield (
        f"`python -m benchmarks.lighthouse`, {told['date']}{again}, Lighthouse {versions['lighthouse']}, "
        f"{versions['chromium']}, {machine['cores']} cores of {machine['processor']}, "
        f"load average {before:.1f} before and {after:.1f} after. "
        f"Link {link['name']}, protocol {told['protocol']}, {told['device']}."
    )
    yield ""
    yield "| page | metric | measured | observed by Lighthouse | simulated by Lighthouse |"
    yield "| --- | --- | --- | --- | --- |"
    for page in told["pages"]:
        for metric, name in METRICS.items():
            seen = [
                page["measured"]["plain"],
                page["lighthouse"]["observed"],
                page["lighthouse"]["simulated"],
            ]
            yield _row(page["page"], name, *(_spread(source.get(metric)) for source in seen))
    yield ""
    yield "| page | audit | Lighthouse: FCP | LCP | measured change | FCP | LCP | load |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for page in told["pages"]:
        yield from _of_page(page)
    yield ""
    for page in told["pages"]:
        yield f"- `{page['page']}`: {_counted(page, told['blocks'])}"


def _of_page(page: Told) -> Iterator[str]:
    estimates, changes, idle = (
        page["lighthouse"]["audits"],
        page["measured"]["changes"],
        page["nothing_to_do"],
    )
    for audit, names in AUDITS.items():
        for name in names:
            if name in changes:
                seen = [_saved(changes[name].get(metric)) for metric in METRICS]
                view = " (repeat view)" * (name == "extend_cache")
                yield _row(page["page"], audit, *_estimated(estimates[audit]), f"`{name}`{view}", *seen)
            elif name in idle:
                nothing = f"`{name}`: nothing to do"
                yield _row(page["page"], audit, *_estimated(estimates[audit]), nothing, "", "", "")
    for audit in UNMATCHED:
        told = _estimated(estimates[audit])
        if any(cell not in ("", "0") for cell in told):
            yield _row(page["page"], audit, *told, "none: no filter does this", "", "", "")


def _estimated(audit: Told) -> list[str]:
    return [_spread(audit[metric]) for metric in ("fcp_ms", "lcp_ms")]


def _spread(value: Told | None) -> str:
    """`1,350 (1,300 to 1,400)`, in ms; nothing of what is not told."""
    if value is None:
        return ""
    middle, low, high = (f"{value[key]:,.0f}" for key in ("median", "low", "high"))
    return middle if low == high else f"{middle} ({low} to {high})"


def _saved(change: Told | None) -> str:
    """`310 [250 to 380]`, in ms; what makes the page slower is below 0."""
    if change is None or change["saved_ms"] is None:
        return "not known"
    middle, low, high = (change[key] for key in ("saved_ms", "low_ms", "high_ms"))
    ends = "" if low is None or high is None else f" [{low:,.0f} to {high:,.0f}]"
    return f"{middle:,.0f}{ends}"


def _counted(page: Told, blocks: int) -> str:
    seen = page["measured"]
    left = sum(seen["left_out"].values())
    why = ", ".join(f"{rule} {count}" for rule, count in seen["left_out"].items())
    out = f"{left} left out ({why})" if left else "none left out"
    loads = words.count(page["lighthouse"]["loads"], "load")
    failed = "".join(f"; {failure}" for failure in page["lighthouse"]["failed"])
    return (
        f"{words.count(blocks, 'block')}, {seen['attempts']} attempts, {out}; {loads} by Lighthouse{failed}."
    )


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
