"""A real process that another one holds as a debugger does."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

# The tracer of the process that it is given: a child of the test, or an orphan, which is of no family of ours.
TRACER = """
import ctypes, os, sys, time
if sys.argv[2] == "orphan" and os.fork():
    os._exit(0)
ATTACH, libc = 16, ctypes.CDLL(None, use_errno=True)
if libc.ptrace(ATTACH, int(sys.argv[1]), None, None):
    sys.exit(f"ptrace: {os.strerror(ctypes.get_errno())}")
print(os.getpid(), flush=True)
time.sleep(600)
"""
# Where only ancestors may trace (Yama), it lets all do so.
TRACED = """
import ctypes, time
ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(-1), 0, 0, 0)
print("up", flush=True)
time.sleep(600)
"""


@contextlib.contextmanager
def traced(tracer: str) -> Iterator[int]:
    """A process that a `child` of the test or an `orphan` holds, for the length of the block."""
    with (
        subprocess.Popen([sys.executable, "-c", TRACED], stdout=subprocess.PIPE) as process,
        contextlib.ExitStack() as killed,
    ):
        killed.callback(process.kill)
        assert process.stdout is not None
        process.stdout.readline()
        words = [sys.executable, "-c", TRACER, str(process.pid), tracer]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as started:
            assert started.stdout is not None
            holder = int(started.stdout.readline())
            killed.callback(os.kill, holder, signal.SIGKILL)
            while "\nState:\tt" not in Path(f"/proc/{process.pid}/status").read_text():
                time.sleep(0.005)
            try:
                yield process.pid
            finally:
                killed.close()
