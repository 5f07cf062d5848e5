"""How a trial ends, from its evidence and what ended it early. Pure."""

from __future__ import annotations

from harness.errors import TestbedFailed
from harness.outcome import Outcome, TrialFailed
from harness.probes.evidence import Evidence
from harness.probes.processor import Processor, crashed, hindered
from harness.probes.registry import verdict


def ending(evidence: Evidence, failed: TrialFailed | TestbedFailed | None) -> tuple[Outcome, str | None]:
    """The outcome of a trial with its reason; `failed` is what ended it early.

    The testbed is to blame before the page: a part of it that failed, then one that stood still.
    """
    if isinstance(failed, TestbedFailed):
        return Outcome.TESTBED_FAILED, str(failed)
    if failed is None:
        return verdict(evidence)
    hindrance = hindered(evidence)
    if hindrance:
        return Outcome.TESTBED_FAILED, hindrance
    return _died(evidence, failed) if failed.died else (failed.outcome, failed.reason)


def _died(evidence: Evidence, failed: TrialFailed) -> tuple[Outcome, str]:
    """Who ended the browser, or the process of the page: the page, when it crashed by itself or wanted more memory than
    there is; else a program outside.
    """
    crash = crashed(evidence)
    if crash:
        return Outcome.PAGE_ERROR, f"{crash}: {failed.reason}"
    if evidence.of(Processor).out_of_memory:
        return Outcome.PAGE_ERROR, f"the kernel ended it for want of memory: {failed.reason}"
    return Outcome.TESTBED_FAILED, f"killed from outside, it reports no crash: {failed.reason}"
