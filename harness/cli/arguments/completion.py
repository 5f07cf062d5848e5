"""The arguments of `coldload completion`."""

from __future__ import annotations

import argparse

SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The shell."""
    parser.description = (
        "Print what makes a shell complete commands, options, pages, studies, links, protocols, variants and runs. "
        'Into ~/.bashrc goes `eval "$(coldload completion bash)"`, into ~/.zshrc (after compinit) '
        '`eval "$(coldload completion zsh)"`, into ~/.config/fish/config.fish `coldload completion fish | source`.'
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell")
