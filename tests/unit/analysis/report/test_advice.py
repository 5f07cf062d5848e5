"""Measured advice, from runs with made-up times of which the truth is known."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analysis.evaluation.results import evaluate
from analysis.report.advice import Advice, AdviceKind, Saving, advice
from analysis.runs.rundirectory import load
from analysis.statistics.compare import Certainty, described
from analysis.statistics.compare import told as told_of
from analysis.statistics.contrast import contrast
from harness.study.advising import Alternative, Choices
from harness.study.claim import Claim
from tests.facts import tells
from tests.unit.analysis.runpairs import edit
from tests.unit.analysis.synthetic import Synthetic

TRUTH = {"images": 0.7, "minify": 1.0, "shard": 1.2}
FILES = tuple(f"https://shop.example/{number}.png" for number in range(8))


def made(folder: Path, *, trials: int = 12, noise: float = 0.01) -> Advice:
    """Three variants on two links, of which `TRUTH` says what they make of the time."""
    claims = tuple(
        Claim(name=name, subject={"variant": name}, reference={"variant": "passthrough"}) for name in TRUTH
    )
    run = Synthetic(
        pages=("dummy-2012",),
        variants=("passthrough", *TRUTH),
        protocols=("h2",),
        rates_mbps=(1.0, 10.0),
        rtts_ms=(50.0,),
        trials=trials,
        noise=noise,
        factors=TRUTH,
        claims=claims,
        aa=True,
    ).write(folder / "run")
    alternatives = [
        Alternative(name, "it is otherwise", "a build step", {"variant": name}, files=FILES) for name in TRUTH
    ]
    untried = {"inline": "--budget 40m has time for all"}
    Choices("HTTP/2", tuple(alternatives), {"core": "it changes nothing"}, untried).write(run)
    return told(run)


def told(run: Path) -> Advice:
    found = advice(evaluate([load(run)]))
    assert found is not None
    return found


def test_what_saves_most_is_the_first_and_nothing_is_called_nothing(tmp_path: Path) -> None:
    found = made(tmp_path)
    kinds = {each.alternative.name: each.kind for each in found.advised}
    assert kinds == {"images": AdviceKind.HELPS, "minify": AdviceKind.NOTHING, "shard": AdviceKind.HARMS}
    assert [each.alternative.name for each in found.advised] == ["images", "minify", "shard"]
    (first, *_) = found.of(AdviceKind.HELPS)
    assert len(first.savings) == 2
    for saving in first.savings:
        low, high = (saving.to_json()[f"saved_{end}_ms"] for end in ("low", "high"))
        assert low < 0.3 * saving.effect.reference < high
        assert low < saving.saved_ms < high


def test_the_one_that_is_picked_out_has_the_interval_of_a_choice(tmp_path: Path) -> None:
    """A plain one misses the truth of the largest of many too often."""
    found = made(tmp_path)
    (first, *_) = found.of(AdviceKind.HELPS)
    for saving in first.savings:
        seen = saving.effect.comparison
        assert seen.statistic is not None
        low, high = (
            saving.effect.reference * (1 - math.exp(end)) / 1e3
            for end in reversed(seen.statistic.interval(1 - 0.05 / len(TRUTH)))
        )
        assert f"on {saving.link} (between {low:.2f} s and {high:.2f} s)" in found.answer
    assert tells(found.answer, "picked out as the largest of 3", "bounds are wider")


def test_one_change_alone_is_no_choice(tmp_path: Path) -> None:
    found = made(tmp_path)
    (best,) = found.of(AdviceKind.HELPS)
    alone = replace(found, advised=(best,))
    assert "picked out" not in alone.answer
    saving = best.savings[0]
    low, high = (float(saving.to_json()[f"saved_{end}_ms"]) / 1e3 for end in ("low", "high"))
    assert f"(between {low:.2f} s and {high:.2f} s)" in alone.answer


def test_the_largest_saving_may_be_chance(tmp_path: Path) -> None:
    """Told by its own interval; as the largest of many it may be nothing."""
    (best,) = made(tmp_path).of(AdviceKind.HELPS)
    logs = np.log(0.95) + 0.06 * np.linspace(-1, 1, 10)
    seen = described(contrast(logs), 10, 1, Certainty())
    assert seen.high < 1 < seen.chosen(1, 20).high
    saving = replace(best.savings[0], effect=replace(best.savings[0].effect, comparison=seen))
    assert saving.picked(20).endswith(", perhaps nothing)")
    late = described(contrast(np.array([-0.1] * 4 + [-math.inf])), 5, 1, Certainty())
    saving = replace(saving, effect=replace(saving.effect, comparison=late))
    assert saving.picked(20).endswith("(how much is not known)")


def test_a_page_that_timed_out_as_archived_saves_no_amount_that_is_known(tmp_path: Path) -> None:
    """Its ratio is 0: neither all of the time is saved, nor does that rank first."""
    (best,) = made(tmp_path).of(AdviceKind.HELPS)
    logs = np.array([-math.inf] * 4 + [-0.1 + 0.01 * n for n in range(8)])
    comparison, judgement = told_of([described(contrast(logs), 12, 1, Certainty())], beforehand=True)[0]
    effect = replace(best.savings[0].effect, comparison=comparison, judgement=judgement, reference=697.0)
    saving = replace(best.savings[0], effect=effect)
    assert comparison.ratio == 0 < comparison.high < 1
    least = 697 * (1 - comparison.high)
    assert math.isnan(saving.saved_ms)
    assert saving.least_ms == replace(best, savings=(saving,)).saved_ms == least
    assert saving.share == 1 - comparison.high
    assert saving.picked(1).startswith(f"at least {least / 1e3:.2f} s of 0.70 s on ")
    assert "100 %" not in saving.text
    stored = saving.to_json()
    assert {stored[name] for name in ("saved_ms", "saved_high_ms", "ratio", "ratio_low")} == {None}
    assert stored["saved_low_ms"] == least
    never = described(contrast(np.array([-math.inf] * 20)), 20, 1, Certainty())
    unknown = replace(saving, effect=replace(effect, comparison=never))
    assert tells([unknown.picked(1)], "unknown amount", "0.70 s on")
    assert unknown.share == 0


def test_too_few_blocks_are_not_known_yet(tmp_path: Path) -> None:
    found = made(tmp_path, trials=3, noise=0.3)
    assert len(found.of(AdviceKind.OPEN)) == len(TRUTH)


@pytest.mark.thorough
def test_what_was_never_loaded_is_not_known_and_never_nothing(tmp_path: Path) -> None:
    run = Synthetic(pages=("dummy-2012",), protocols=("h2",), rtts_ms=(50.0,)).write(tmp_path / "run")
    never = Alternative("images", "it is otherwise", "a build step", {"variant": "images"})
    assert advice(evaluate([load(run)])) is None  # it is no advice
    Choices("HTTP/2", (never,)).write(run)
    found = told(run)
    assert [each.kind for each in found.advised] == [AdviceKind.OPEN]
    assert found.is_empty
    assert "not loaded" in found.html()
    assert not made(tmp_path / "other").is_empty


def test_json_and_page_tell_the_same(tmp_path: Path) -> None:
    found = made(tmp_path)
    path = found.write(tmp_path)
    stored = json.loads((path.parent / "advice.json").read_text())
    page = path.read_text()
    assert [each["name"] for each in stored["alternatives"]] == ["images", "minify", "shard"]
    assert stored["nothing_to_do"] == {"core": "it changes nothing"}
    for each in stored["alternatives"]:
        assert each["files"] == list(FILES)
        for link in each["links"]:
            assert link["text"].partition(": ")[2] in page
            assert link["blocks"] == 12
    assert "<summary>8 files</summary>" in page
    assert all(file in page for file in FILES)
    lines = list(found.lines())
    assert tells(lines[0], "3 changes measured", "1 saves time")
    assert tells(lines[0], "images saved most")
    assert lines[0] in page
    assert lines[1] == f"{AdviceKind.HELPS}:"
    assert lines[2].startswith("  1. images: ")
    assert lines[2].endswith("; a build step")
    needless, untried = lines[-2:]
    assert tells([needless], "nothing to do", ": core")
    assert tells([untried], "not tried", "--budget 40m", ": inline")


def test_a_change_that_times_out_on_a_link_saves_nothing_there(tmp_path: Path) -> None:
    """What it saves on the other link does not rank it first."""
    (best,) = made(tmp_path).of(AdviceKind.HELPS)

    def saving(logs: list[float]) -> Saving:
        comparison, judgement = told_of([described(contrast(np.array(logs)), 10, 1, Certainty())])[0]
        effect = replace(best.savings[0].effect, comparison=comparison, judgement=judgement, reference=3000.0)
        return replace(best.savings[0], effect=effect)

    much, little = ([math.log(ratio) + 0.001 * n for n in range(10)] for ratio in (0.9, 0.94))
    never, partly = saving([0.3] + [math.inf] * 9), saving([0.3, 0.31, 0.32, 0.33] + [math.inf] * 6)
    assert (never.effect.comparison.ratio, never.effect.comparison.low) == (math.inf, math.inf)
    assert never.least_ms == -math.inf
    assert math.isinf(partly.effect.comparison.ratio)
    assert partly.least_ms == 3000 * (1 - partly.effect.comparison.low) < 0
    first = replace(best, savings=(saving(much), never))
    second = replace(best, savings=(saving(little), saving(little)))
    assert first.saved_ms == -math.inf < second.saved_ms
    assert first.kind is second.kind is AdviceKind.HELPS
    json.dumps(first.to_json(), allow_nan=False)


def test_what_was_not_measured_is_counted_by_itself(tmp_path: Path) -> None:
    found = made(tmp_path / "known")
    images, minify, shard = found.advised
    partly = replace(found, advised=(images, minify, replace(shard, savings=())))
    assert partly.answer.startswith("Of 2 changes measured, 1 saves time. ")
    assert partly.answer.endswith(". 1 more is not measured yet.")
    first, *others = made(tmp_path / "open", trials=3, noise=0.3).advised
    unloaded = [replace(each, savings=()) for each in others]
    begun = replace(found, advised=(first, *unloaded))
    assert begun.answer == (
        "Of 1 change measured, none is known to save time yet; 1 may. 2 more are not measured yet."
    )
    assert replace(found, advised=(minify, *unloaded)).answer == (
        "Of 1 change measured, none saves time that anybody would notice. 2 more are not measured yet."
    )
    assert replace(found, advised=tuple(unloaded)).answer == "None of 2 changes could be measured yet."


@pytest.mark.thorough
def test_of_a_run_that_begins_with_the_second_load_of_the_page_as_archived_nothing_is_measured(
    tmp_path: Path,
) -> None:
    made(tmp_path)
    edit(tmp_path / "run", lambda record: record if record["condition"]["again"] else None)
    found = told(tmp_path / "run")
    assert (found.page, found.answer) == ("dummy-2012", "None of 3 changes could be measured yet.")
