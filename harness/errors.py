"""Every error coldload raises on purpose, and how a trial ends.

ColdloadError                 one line: what was tried, what was found, what to do
├── UsageError                exit 2: wrong input or usage
│   ├── StudyError            a study file, a link file or an option that makes no sense
│   ├── ArchiveError          an archive or a recording that is missing, damaged or refused
│   └── RecordsError          a run directory that cannot be read or continued, or is in use
├── EnvironmentLacks          exit 3: a program, a permission or a kernel feature is missing
│   ├── StorageFailed         the disk is full, or cannot be written to
│   └── TestbedFailed         a part of the testbed did not start, or died
├── MeasurementRefused        exit 1: the measurement says no (the link is off, a budget is exceeded)
└── TrialFailed               one trial failed; it is recorded with its outcome and the run goes on
"""

from __future__ import annotations

from enum import StrEnum


class ColdloadError(Exception):
    """Base of all errors that are reported as one line, without a traceback."""

    exit_code = 1


class UsageError(ColdloadError):
    """The user's input is wrong; nothing was changed."""

    exit_code = 2


class StudyError(UsageError):
    """A study, a link or an option names something impossible."""


class ArchiveError(UsageError):
    """An archive is missing, damaged, or a recording cannot become one."""


class RecordsError(UsageError):
    """A run directory that cannot be read or continued, or is in use."""


class EnvironmentLacks(ColdloadError):
    """The machine lacks something coldload needs; `coldload doctor` tells how to get it."""

    exit_code = 3


class StorageFailed(EnvironmentLacks):
    """A file cannot be written: the disk is full, most of the time. What was stored before is whole."""


class TestbedFailed(EnvironmentLacks):
    """A part of the testbed (namespace, link, DNS, server) did not start or died."""

    __test__ = False  # not a test class, whatever pytest thinks of its name


class MeasurementRefused(ColdloadError):
    """The measurement itself says no: it would not be trustworthy."""

    exit_code = 1


class Outcome(StrEnum):
    """How a trial ended. Only `ok` trials enter an estimate; the others are counted by name."""

    OK = "ok"
    """the trial has a result"""
    PAGE_TIMEOUT = "page-timeout"
    """no load event within the study's `timeout_s`; it counts as the longest time of its condition"""
    PAGE_ERROR = "page-error"
    """the page or its tab failed"""
    WRONG_PROTOCOL = "wrong-protocol"
    """requests travelled by another protocol than the condition's"""
    WRONG_CACHE = "wrong-cache"
    """the cache was not as the condition has it"""
    MISSING_OBJECTS = "missing-objects"
    """what the page asked for was lost on the way"""
    TESTBED_FAILED = "testbed-failed"
    """a part of the testbed failed, or the machine lacks the engine"""


class TrialFailed(ColdloadError):
    """One trial failed. `outcome` says how; the runner records it and goes on.

    `died`: the browser has ended, or the process of its page. `harness.probes.registry` tells who is to blame.
    """

    def __init__(self, outcome: Outcome, reason: str, *, died: bool = False) -> None:
        super().__init__(reason)
        self.outcome = outcome
        self.reason = reason
        self.died = died

    def in_which(self, what: str) -> TrialFailed:
        """The same failure, told with what it befell."""
        return TrialFailed(self.outcome, f"{what}: {self.reason}", died=self.died)
