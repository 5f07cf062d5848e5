"""What the home of a browser keeps for a second load of a page."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from harness.engines.chromium.engine import Chromium
from harness.engines.chromium.home import (
    LARGEST_NETLOG_BYTES,
    NETLOG_END,
    REPORTS,
    ChromiumHome,
    Launcher,
    crash_of,
)
from harness.errors import Outcome, TestbedFailed, TrialFailed


def test_a_second_load_has_what_was_kept_of_pages_and_nothing_of_connections(tmp_path: Path) -> None:
    home = ChromiumHome(tmp_path / "home", ("site.example",))
    home.make(None)
    first = json.loads((home.profile / "Default" / "Preferences").read_text())
    (home.profile / "Default" / "Cache" / "Cache_Data").mkdir(parents=True)
    (home.profile / "Default" / "Cache" / "Cache_Data" / "entry").write_text("body")
    (home.profile / "Default" / "Cookies").write_text("cookies")
    gone = (
        home.profile / "Default" / "Network Persistent State",
        home.profile / "Default" / "TransportSecurity",
        home.netlog,
        home.pid_file,
    )
    for path in gone:
        path.write_text("1")
    (home.profile / "Local State").write_text('{"variations_seed": "x"}')
    home.start_over(None)
    assert json.loads((home.profile / "Local State").read_text()) == {"auth": {"schemes": ""}}
    assert (home.profile / "Default" / "Cache" / "Cache_Data" / "entry").read_text() == "body"
    assert (home.profile / "Default" / "Cookies").read_text() == "cookies"
    assert not any(path.exists() for path in gone)
    assert json.loads((home.profile / "Default" / "Preferences").read_text()) == first
    assert [each.name for each in tmp_path.iterdir()] == ["home"]


def report(number: int, cause: int, process: str = "renderer") -> bytes:
    """A minidump of two streams, as Crashpad writes it."""
    notes = (
        b"\x05\0\0\0ptype\0\0\0" + struct.pack("<I", len(process)) + process.encode() + b"\x09\0\0\0switch-1"
    )
    exception = struct.pack("<4I", 264, 0, number, cause)
    places = struct.pack("<6I", 7, len(notes), 56, 6, len(exception), 56 + len(notes))
    return b"MDMP" + struct.pack("<3I", 0xA793, 2, 32) + bytes(16) + places + notes + exception


@pytest.mark.parametrize(
    ("written", "crash"),
    [
        (report(signal.SIGTRAP, 128), "renderer by SIGTRAP"),
        (report(signal.SIGSEGV, 1, "gpu-process"), "gpu-process by SIGSEGV"),
        (report(signal.SIGSEGV, 0), None),  # kill -SEGV
        (report(0xFFFFFFFF, 0), None),  # of what was odd, and went on
        (report(signal.SIGTRAP, 128)[:60], None),
        (b"", None),
    ],
)
def test_a_crash_is_told_by_the_browsers_own_report(
    tmp_path: Path, written: bytes, crash: str | None
) -> None:
    assert crash_of(written) == crash
    home = ChromiumHome(tmp_path)
    (tmp_path / REPORTS / "pending").mkdir(parents=True)
    (tmp_path / REPORTS / "pending" / "1.dmp").write_bytes(written)
    assert home.crashes == ((crash,) if crash else ())


def test_a_report_that_has_been_moved_meanwhile_is_told_once(tmp_path: Path) -> None:
    for folder in ("new", "pending"):
        (tmp_path / REPORTS / folder).mkdir(parents=True)
    (tmp_path / REPORTS / "new" / "1.dmp").symlink_to("gone")
    for folder in ("new", "pending"):  # seen in both
        (tmp_path / REPORTS / folder / "2.dmp").write_bytes(report(signal.SIGTRAP, 128))
    assert ChromiumHome(tmp_path).crashes == ("renderer by SIGTRAP",)


def chromium_in(home: ChromiumHome) -> Chromium:
    nothing: Any = None
    return Chromium(nothing, nothing, home, nothing)


def test_a_log_that_a_page_has_filled_is_not_read(tmp_path: Path) -> None:
    home = ChromiumHome(tmp_path)
    home.netlog.touch()
    os.truncate(home.netlog, LARGEST_NETLOG_BYTES + 1)
    with pytest.raises(TrialFailed, match=r"NetLog is larger than 300,000,000 bytes$") as caught:
        chromium_in(home).read_log()
    assert caught.value.outcome is Outcome.PAGE_ERROR
    with pytest.raises(TestbedFailed):
        chromium_in(ChromiumHome(tmp_path / "nothing")).read_log()


WRAPPER = """#!/bin/sh
echo asked >>asked
export SAID="by the wrapper's own word"
exec /usr/bin/tail --follow "$@"
"""


def test_later_browsers_start_as_the_first_did_without_the_script_of_the_distribution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs, current = tmp_path / "programs", tmp_path / "current"
    programs.mkdir()
    (programs / "chromium").write_text(WRAPPER)
    (programs / "chromium").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    launcher, seen = Launcher(tmp_path / "launcher", None, current), []
    home = ChromiumHome(tmp_path / "home")
    home.folder.mkdir()
    (home.folder / "followed").touch()
    current.symlink_to(home.folder)
    for _ in range(3):
        with subprocess.Popen([launcher.path, "--sleep-interval=9", "followed"]) as process:
            try:
                proc = Path("/proc", str(process.pid))
                until = time.monotonic() + 60
                while (
                    b"--follow" not in (words := (proc / "cmdline").read_bytes()) or b"tail" not in words[:14]
                ):
                    assert time.monotonic() < until
                    time.sleep(0.005)
                assert home.pid == process.pid
                launcher.learn(home)
                environment = sorted((proc / "environ").read_bytes().split(b"\0"))
                seen.append((words, environment))
            finally:
                process.kill()
    assert seen[0] == seen[1] == seen[2]
    assert b"SAID=by the wrapper's own word" in seen[2][1]
    assert (home.folder / "asked").read_text() == "asked\n"


@pytest.mark.parametrize(
    ("written", "whole"),
    [
        (b'{"constants":{},\n"events": [\n{"type":1}],\n"polledData": {}' + NETLOG_END, True),
        (b'{"constants":{},\n"events": [\n{"type":1},\n', False),
        (b"", False),
        (None, False),
    ],
)
def test_a_log_is_whole_when_its_end_is_written(tmp_path: Path, written: bytes | None, whole: bool) -> None:
    home = ChromiumHome(tmp_path)
    if written is not None:
        home.netlog.write_bytes(written)
    assert home.netlog_is_whole is whole


def test_nobody_waits_for_a_browser_that_is_gone(tmp_path: Path) -> None:
    home = ChromiumHome(tmp_path)
    for wait in (partial(home.log_is_whole_within, 60), home.wait_for_end):
        wait()  # it never started, or has been waited for
        with subprocess.Popen(["/bin/sleep", "0.2"]) as process:
            home.pid_file.write_text(str(process.pid))
            wait()
            assert process.poll() == 0


def test_a_log_is_not_waited_for_longer_than_told(tmp_path: Path) -> None:
    home = ChromiumHome(tmp_path)
    with subprocess.Popen(["/bin/sleep", "60"]) as process:
        home.pid_file.write_text(str(process.pid))
        assert not home.log_is_whole_within(0.05)
        home.netlog.write_bytes(NETLOG_END)
        assert home.log_is_whole_within(0.05)
        process.kill()
