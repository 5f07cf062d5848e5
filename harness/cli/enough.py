"""Looks at a run as it goes: the statistics of `analysis.claims.stopping`, asked by the runner."""

from __future__ import annotations

from pathlib import Path

from harness.model.plan import Plan
from harness.run.looks import Enough, Found, of_trials


def enough_for(plan: Plan) -> Enough | None:
    """Says at a look which conditions need no more trials; None for a plan with a fixed number of them."""
    until = plan.per_condition.until if plan.per_condition else None
    if until is None:
        return None

    def enough(folder: Path, block: int) -> Found:
        from analysis.claims.stopping import look  # noqa: PLC0415  # pandas: not before the first look

        seen = look(folder, block, until)
        return Found(of_trials(plan, seen.trials), seen.facts)

    return enough
