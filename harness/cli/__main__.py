"""`coldload`, and `python -m harness.cli`."""

import sys

from harness.system import interruption


def main() -> int:
    """Entry point; returns the exit code."""
    interruption.leave_at_once()
    try:
        from harness.cli.main import prepared  # noqa: PLC0415  # a signal may come meanwhile

        command = prepared()  # imports what the command needs, which may take a second
    except (ImportError, MemoryError, OSError) as error:
        said = " ".join(str(error).split()) or type(error).__name__
        print(
            f"coldload: cannot start: {said[:300]}; run `make setup`, or see whether memory, processes or open files "
            "are at a limit (`ulimit -a`)",
            file=sys.stderr,
        )
        return 3

    try:
        interruption.unwind()
        return command()
    except KeyboardInterrupt:  # before or after the command reports its own
        print("coldload: interrupted", file=sys.stderr)
        return interruption.EXIT_CODE
    finally:
        interruption.calm()  # Python takes its handlers back when it ends: the signal would kill it then
        interruption.leave_at_once()


if __name__ == "__main__":
    sys.exit(main())
