"""`coldload`, and `python -m harness.cli`."""

import sys

from harness import interruption


def main() -> int:
    """Entry point; returns the exit code."""
    interruption.leave_at_once()
    from harness.cli.main import main as run  # noqa: PLC0415  # takes a second, in which a signal may come

    interruption.unwind()
    return run()


if __name__ == "__main__":
    sys.exit(main())
