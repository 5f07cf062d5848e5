"""`coldload completion`: how a line can go on, for a shell that asks: words, and the names there are.

argcomplete understands the shells. They start `coldload` at each Tab: what knows the names is imported when these are
asked for, and nothing is written but the answer.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from harness.cli.paths import (
    LATEST,
    given_folder,
    given_path,
    given_run,
    new_file,
    study_or_path,
    use_archives,
)
from harness.errors import ColdloadError
from harness.system.folders import RUNS, kept_folder

SHELLS = ("bash", "zsh", "fish")


Names = Callable[[], Iterable[Any]]
Completer = Callable[..., Iterable[str]]
ASSIGNS, SEPARATES, OF_PAGE = "=", ",", ":"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Print what makes a shell complete commands, options, pages, studies, links, protocols, variants and runs. "
        'Into ~/.bashrc goes `eval "$(coldload completion bash)"`, into ~/.zshrc (after compinit) '
        '`eval "$(coldload completion zsh)"`, into ~/.config/fish/config.fish `coldload completion fish | source`.'
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def run(arguments: argparse.Namespace) -> int:
    from argcomplete.shell_integration import shellcode

    print(shellcode(["coldload"], use_defaults=False, shell=arguments.shell))
    return 0


def complete() -> int:
    """Answer the shell, which has put its line into the environment. Does not return, if the shell listens."""
    import argcomplete
    from argcomplete.completers import SuppressCompleter

    from harness.cli.commands import parser

    top = parser()
    for command in _commands_of(top, os.environ.get("COMP_LINE", "")):
        for action in command._actions:  # argparse has no other way, and argcomplete goes it, too
            completer = _completer_of(action)
            if completer is not None:
                action.completer = completer  # type: ignore[attr-defined]  # where argcomplete looks
    argcomplete.autocomplete(top, default_completer=SuppressCompleter())
    return 0


def _commands_of(top: argparse.ArgumentParser, line: str) -> list[argparse.ArgumentParser]:
    """The parsers of the commands that words of a line name; made, as argcomplete looks into them."""
    (known,) = (action.choices for action in top._actions if isinstance(action.choices, dict))
    made = {word: known[word].made() for word in map(_unquoted, line.split()) if word in known}
    known.update(made)
    return list(made.values())


def _unquoted(word: str) -> str:
    return word.strip("'\"")


def _completer_of(action: argparse.Action) -> Completer | None:
    """What completes the values of an argument; None for those that argparse knows all values of, and for numbers."""
    called = action.option_strings[-1] if action.option_strings else action.dest
    if called == "--link" and isinstance(action, argparse._AppendAction):
        return _one_of(_links_and_files)
    if called in BY_NAME:
        return BY_NAME[called]
    return BY_TYPE.get(action.type) if callable(action.type) else None


def _one_of(names: Names) -> Completer:
    def completer(parsed_args: argparse.Namespace, **_: object) -> Iterable[str]:
        _use_archives(parsed_args)
        return _had(names)

    return completer


def _list_of(names: Names) -> Completer:
    """Names with commas between them."""

    def completer(prefix: str, **_: object) -> Iterable[str]:
        begun = prefix[: prefix.rfind(SEPARATES) + 1]
        return [begun + name for name in _had(names)]

    return completer


def _assignment(keys: Names, values: Mapping[str, Names]) -> Completer:
    """KEY=VALUE: the keys first, then the values of the key."""

    def completer(prefix: str, parsed_args: argparse.Namespace, **_: object) -> Iterable[str]:
        _use_archives(parsed_args)
        key, assigned, _value = prefix.partition(ASSIGNS)
        if not assigned:
            return [name + ASSIGNS for name in _had(keys)]
        return [f"{key}{ASSIGNS}{name}" for name in _had(values.get(key, tuple))]

    return completer


def _one_of_or_file(names: Names) -> Completer:
    """A name, or else the path of a file."""

    def completer(prefix: str, **_: object) -> Iterable[str]:
        return [name for name in _had(names) if name.startswith(prefix)] or _paths(prefix)

    return completer


def _releases(names: Names) -> Completer:
    """A side of `coldload versus`: NAME, or NAME:VARIANT; what else the names are, or the path of a file."""
    whole, of_variant = _one_of_or_file(names), _list_of(_variants)

    def completer(prefix: str, parsed_args: argparse.Namespace, **_: object) -> Iterable[str]:
        page, colon, begun = prefix.partition(OF_PAGE)
        if colon:
            return [page + colon + name for name in of_variant(prefix=begun)]
        _use_archives(parsed_args)
        return whole(prefix=prefix)

    return completer


def _use_archives(given: argparse.Namespace) -> None:
    folder = getattr(given, "archives", None)
    if folder:
        use_archives(folder)


def _had(names: Names) -> Iterable[Any]:
    """The names; none where these cannot be had, as a shell has no place for the reason."""
    try:
        return names()
    except (ColdloadError, OSError):
        return ()


def _paths(prefix: str, **_: object) -> list[str]:
    begun = prefix.rpartition(os.sep)[2]
    given = prefix.removesuffix(begun)
    entries = _had(lambda: sorted(Path(os.path.expanduser(given or ".")).iterdir()))  # noqa: PTH111  # ~nobody stays
    return [
        given + path.name + (os.sep if path.is_dir() else "")
        for path in entries
        if begun.startswith(".") or not path.name.startswith(".")
    ]


def _pages() -> Iterable[str]:
    """Archives, and pages that ship: each of these is made when a command first asks for it."""
    from sites.archive import archive_names, archives_root
    from sites.recipes import RECIPES

    return sorted({*archive_names(archives_root()), *RECIPES})


def _studies() -> Iterable[str]:
    from harness.study.studyfile import shipped_studies

    return [*shipped_studies(), *(path.name for path in sorted(Path().glob("*.toml")))]


def _links() -> Iterable[str]:
    from harness.model.link import NO_LINK
    from harness.study.linkfile import shipped_links

    return [link.name for link in (*shipped_links(), NO_LINK)]


def _links_and_files() -> Iterable[str]:
    """Also the files with several links, for what takes several."""
    import configs

    return dict.fromkeys([*_links(), *configs.shipped("links")])


def _runs() -> Iterable[str]:
    """The runs in the folder of runs, the name for the one that began last, and packs beside them."""
    names = [path.parent.name for path in kept_folder(RUNS).glob("*/plan.jsonl")]
    return (
        [LATEST, *sorted(names), *sorted(path.name for path in kept_folder(RUNS).glob("*.zip"))]
        if names
        else []
    )


def _variants() -> Iterable[str]:
    from harness.model.variant import FILTERS, SETS

    return [*SETS, *FILTERS]


def _sets() -> Iterable[str]:
    from harness.study.pageset import all_sets

    return [pages.name for pages in all_sets()]


def _protocols() -> Iterable[str]:
    from harness.model.protocol import Protocol

    return list(Protocol)


def _engines() -> Iterable[str]:
    from harness.model.engine import Engine

    return list(Engine)


OF_KEYS: Mapping[str, Names] = {
    "page": _pages,
    "set": _sets,
    "protocol": _protocols,
    "engine": _engines,
    "variant": _variants,
    "link": _links,
}
BY_NAME: Mapping[str, Completer] = {
    "name": _one_of(_pages),
    "names": _one_of(_pages),
    "a": _releases(lambda: [*_pages(), *_runs()]),
    "b": _releases(_pages),
    "--link": _one_of(_links),
    "--variant": _list_of(_variants),
    "--only": _assignment(lambda: OF_KEYS, OF_KEYS),
    "--without": _assignment(_pages, {}),
    "--study": _paths,
}
BY_TYPE: Mapping[object, Completer] = {
    given_path: _paths,
    given_folder: _paths,
    new_file: _paths,
    given_run: _one_of_or_file(_runs),
    study_or_path: _one_of_or_file(_studies),
}
