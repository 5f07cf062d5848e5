"""The files by which nginx and Apache find what answers a request that was not recorded as it is asked (closest.lua).

`spelled/` holds host and target as recorded, where that is another spelling than the one of `sites.asked`.
`closest/` holds the name of a response for each group of `sites.match`, and for the beginnings of hosts and targets
that tell its members apart: laid out for a binary search on their length (Waldvogel et al., SIGCOMM 1997). The search
tries the lengths 2^15, 2^14, ... and goes on from each beginning for which there is a file; the last file it found is
the answer. Its cost does not depend on the number of recorded queries. `callbacks/` holds the scripts that call the
function a request names (JSONP): the mark that stands for its name and the parameter that has it, headers, body.
"""

from __future__ import annotations

import hashlib
import importlib.resources
from collections.abc import Iterable, Iterator
from pathlib import Path

from sites.asked import APART_IN_PATH, APART_IN_QUERY, CALLBACKS, LEFT_OUT, LONG_DIGITS
from sites.match import Closest, Key, spellings
from sites.materialise import Site

STEPS = tuple(2**power for power in range(15, -1, -1))  # together more than the longest request line
SCRIPTS = ("asked.lua", "closest.lua")


def write_closest(folder: Path, site: Site) -> None:
    """What the scripts read for one site, in a folder of its own for each scheme."""
    closest, callbacks, spelled = folder / "closest", folder / "callbacks", folder / "spelled"
    closest.mkdir(parents=True)
    callbacks.mkdir()
    spelled.mkdir()
    for spelling, (host, target) in spellings(site.objects).items():
        (spelled / file_name("", spelling)).write_text(f"{host.lower()}{target}")
    for search in site.closest:
        for beginning, key in beginnings(search):
            group = f"{search.asked}\n{beginning}" if beginning else search.asked
            (closest / file_name("", group)).write_text(file_name(*key))
    for key, callback in site.callbacks.items():
        name = file_name(*key)
        (callbacks / name).write_text(f"{callback.mark} {callback.parameter}")
        head = "".join(f"{field}: {value}\n" for field, value in callback.headers)
        (callbacks / f"{name}.head").write_bytes(head.encode("latin-1", "replace"))
        (callbacks / f"{name}.body").write_bytes(callback.marked)


def closest_scripts(sites: Iterable[Site]) -> dict[str, str]:
    """The scripts that search there, by name of file."""
    folder = importlib.resources.files("sites.servers")
    return {name: (folder / name).read_text(encoding="utf-8") for name in SCRIPTS} | {
        "rules.lua": rules(sites)
    }


def rules(sites: Iterable[Site]) -> str:
    """The rules of `sites.asked` for asked.lua."""
    callbacks = {*CALLBACKS, *(name for site in sites for name in site.callback_parameters)}
    left_out, naming = _set(LEFT_OUT), _set(sorted(callbacks))
    apart = f'apart_in_path = "{APART_IN_PATH}", apart_in_query = "{APART_IN_QUERY}"'
    return f"return {{ long_digits = {LONG_DIGITS}, left_out = {left_out}, callbacks = {naming}, {apart} }}\n"


def _set(names: Iterable[str]) -> str:
    return "{" + ", ".join(f'["{name}"] = true' for name in names) + "}"


def file_name(host: str, target: str) -> str:
    """The file name of the answer to a request: what the scripts and rewrite rules compute."""
    return hashlib.sha1(f"{host.lower()}{target}".encode("latin-1", "replace")).hexdigest()  # noqa: S324 - a name


def beginnings(closest: Closest) -> Iterator[tuple[str, Key]]:
    """The beginnings of requests the search may come by, each with the response that answers there."""
    answers = {rule.prefix: rule.key for rule in closest.rules}
    lengths = sorted({len(prefix) for prefix in answers}, reverse=True)
    tried: set[str] = set()
    for rule in closest.rules:
        for length in _tried_lengths(len(rule.prefix)):
            beginning = rule.prefix[:length]
            if beginning in tried:
                continue
            tried.add(beginning)
            fitting = (beginning[:shorter] for shorter in lengths if shorter <= length)
            yield beginning, next(answers[candidate] for candidate in fitting if candidate in answers)


def _tried_lengths(length: int) -> Iterator[int]:
    """The lengths at which the search goes on when a beginning of `length` characters fits."""
    reached = 0
    yield reached
    for step in STEPS:
        if reached + step <= length:
            reached += step
            yield reached
