"""`coldload`, and `python -m harness.cli`."""

import atexit
import io
import os
import sys
from typing import Any

from harness.errors import ColdloadError, EnvironmentLacks
from harness.system import interruption
from harness.system.folders import OUTSIDE, cannot_start, roots_folder

VERDICTS = (0, 1, 4)  # exit codes that standard output explains: done, no, not known


class SaidInVain(io.FileIO):
    """Standard error. What cannot be said there, for want of a reader or of room, is lost and changes nothing."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


class NoLongerRead(io.FileIO):
    """Standard output. What is said after its reader has gone, as `| head -1` does, is lost and changes nothing.

    The command goes on without a word, and ends with the exit code of its verdict: a shell with `pipefail`, as in CI,
    hears it. None runs on for nothing: what takes minutes has a verdict, or makes files. All other errors stay errors,
    as that of a full disk.
    """

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            return memoryview(data).nbytes


def main() -> int:
    """Entry point; returns the exit code."""
    interruption.leave_at_once()
    atexit.register(interruption.hear_nothing)
    _open_what_is_closed()
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(SaidInVain(2, "w", closefd=False)), errors="backslashreplace", line_buffering=True
    )
    usual: Any = sys.stdout
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(NoLongerRead(1, "w", closefd=False)),
        encoding=usual.encoding,
        errors="backslashreplace" if usual.errors == "strict" else usual.errors,
        line_buffering=usual.line_buffering,
        write_through=usual.write_through,
    )
    try:
        code = _carried_out()
    except SystemExit as leaving:  # after help, the version, or a mistake that is told
        code = int(leaving.code or 0)
    return _with_all_said(code)


def _carried_out() -> int:
    """The exit code of the command that the words name."""
    try:
        _in_the_root_of_the_lab()
        if "_ARGCOMPLETE" in os.environ:  # a shell asks what a line could go on with
            from harness.cli.completion import complete

            return complete()
        from harness.cli.commands import prepared  # a signal may come meanwhile

        command = prepared()
    except ColdloadError as error:
        print(f"coldload: {error}", file=sys.stderr)
        return error.exit_code
    except (ImportError, MemoryError, OSError) as error:
        print(f"coldload: {cannot_start(error)}", file=sys.stderr)
        return 3

    try:
        interruption.unwind()
        return command()
    except KeyboardInterrupt:  # before or after the command reports its own
        if interruption.has_room(2):
            print("coldload: interrupted", file=sys.stderr)
        return interruption.EXIT_CODE
    finally:
        interruption.calm()  # Python takes its handlers back when it ends: the signal would kill it then
        interruption.leave_at_once()


def _with_all_said(code: int) -> int:
    """The exit code, once standard output has what is held back for it; Python would do that at its very end, where a
    full disk is a traceback and no signal is heard. After an interruption, what nobody takes is lost.
    """
    if code == interruption.EXIT_CODE:
        exec("")  # noqa: S102  # else Python dies of SIGINT at its end when it was the last `exec` that was interrupted
        for descriptor in (1, 2):
            if not interruption.has_room(descriptor):
                _lead_nowhere(descriptor)
    try:
        sys.stdout.flush()
    except OSError as error:
        if code in VERDICTS:  # else it is told already
            why = f"what it says: {error.strerror}; see whether a disk is full"
            print(f"coldload: {why}", file=sys.stderr)
            code = EnvironmentLacks.exit_code
        _lead_nowhere(1)
    return code


def _lead_nowhere(descriptor: int) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def _in_the_root_of_the_lab() -> None:
    """Where one was made, every command runs in it, but for those about roots."""
    words = sys.argv[1:]
    command = next((word for word in words if not word.startswith("-")), None)
    if OUTSIDE in os.environ or command == "root" or not _there_may_be_a_root():
        return
    from harness.system import roots

    made = roots.find(roots.Purpose.LAB)
    if made is None:
        return
    from harness.lab.rootmaking import fits

    if not fits(made, roots.Purpose.LAB):
        raise EnvironmentLacks(
            f"the root in {made.folder} was made for another version of coldload; "
            "to make it anew: coldload root make lab"
        )
    roots.go_inside(made, words)


def _there_may_be_a_root() -> bool:
    """Seen without importing what knows roots: most machines have none."""
    try:
        return "COLDLOAD_ROOT" in os.environ or roots_folder().exists()
    except EnvironmentLacks:  # who has no home has no root
        return False
    except OSError:
        return True


def _open_what_is_closed() -> None:
    """Standard streams that were closed lead nowhere; else the next file opened would take their number and text."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)  # the lowest free number: theirs
            os.set_inheritable(nowhere, True)
            setattr(sys, name, os.fdopen(nowhere, "r" if name == "stdin" else "w", closefd=False))


if __name__ == "__main__":
    sys.exit(main())
