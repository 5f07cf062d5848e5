"""The command line. Only this package prints or exits; each command is one module."""

from harness.cli.main import main

__all__ = ["main"]
