"""`coldload completion`: what makes a shell ask coldload how a line can go on."""

from __future__ import annotations

import argparse

from argcomplete.shell_integration import shellcode


def run(arguments: argparse.Namespace) -> int:
    print(shellcode(["coldload"], use_defaults=False, shell=arguments.shell))
    return 0
