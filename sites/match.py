"""Which recorded response answers a request that was not recorded under its very host, path and query. Pure.

Such a request is answered by one for the same address in another spelling (`sites.asked`): that is what was recorded.
Failing that, by one that asked for the same but for numbers of the clock and of chance.
Failing that, by one of the same host and path, whatever its query. A host is the same with and without `www.`. Of
several, by the one whose host, path and query have the longest beginning in common with the asked ones, counted in
characters (Mahimahi does the same); of several alike: status 200 before others, the shortest, the first recorded.
Failing all, by nothing.

This is made into groups of responses and a short list of rules for each, so that any web server can carry it out.

A script that calls a function by the name in its address (JSONP) answers with the name that was asked for, and no
request that names none it can call: a page makes up the name for each request, so that a recorded script calls a
function that the page does not have today. The name is exchanged as the server answers (pywb and wabac do so, too). The
parameter that holds it can have any name: it is the one whose recorded value is what the recorded body begins by
calling.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from sites.asked import in_one_spelling, normal_path, normal_target
from sites.coding import coding_of, decode
from sites.mediatype import HTML_TYPES, SCRIPT_TYPES
from sites.response import Headers
from sites.served import ServedObject
from sites.urls import parse_url, resolve, shared_length

Key = tuple[str, str]  # host and target of a served object
# What a name may look like, recorded or asked for: it goes into a script. Servers check it with this very pattern (RE2,
# and in Lua by the words of asked.lua).
NAME = r"^[A-Za-z_$](?:[A-Za-z0-9_$.]|\[[0-9]+\])*$"
HEAD_BYTES = 2000  # comments and tests for the function may come before the call
LIMIT_BYTES = 4_000_000
_NAME = re.compile(NAME)
_TYPES = SCRIPT_TYPES | HTML_TYPES | {"application/json", "text/json", "text/plain", ""}
# What may stand before the call: comments, and questions whether there is such a function.
_CALL = (
    rb"(?s)(?:\xef\xbb\xbf)?(?:(?!%(name)s\s*\()(?:\s|;|/\*.*?\*/|//[^\n]*\n|%(name)s(?![\w$.\[])|typeof\b|"
    rb"window\b\.?|self\b\.?|try\b|if\b|[!=]==?|&&|[(){!]|([\"'])(?:function|undefined)\1))*+%(name)s\s*\("
)


@dataclass(frozen=True)
class ClosestRule:
    """A request whose host and target start with `prefix` is answered as `key` was."""

    prefix: str
    key: Key


@dataclass(frozen=True)
class Closest:
    """What answers the requests that ask for `asked` and were not recorded: the first rule that fits.

    The longest prefixes come first; the last rule's is empty and fits everything.
    """

    asked: str
    rules: tuple[ClosestRule, ...]

    def answer(self, request: str) -> Key:
        """What answers a request for this host and target; what a server's own rules must give."""
        return next(rule.key for rule in self.rules if request.startswith(rule.prefix))


def same_host(host: str) -> str:
    """A host without `www.`."""
    return host.removeprefix("www.")


def asked_keys(host: str, target: str, callbacks: Collection[str] = ()) -> tuple[str, str]:
    """What a request asks for, with its query (there is a question mark then) and without: as `Closest.asked`.

    `callbacks` are the parameters of the archive that name functions.
    """
    name = same_host(host.lower())
    return normal_target(name + target, callbacks), normal_path(name + target)


def spellings(objects: Iterable[ServedObject]) -> Mapping[str, Key]:
    """What was recorded in another spelling than the one of `sites.asked`, by host and target in that one.

    What was recorded in that one itself is not among them: it is found under it.
    """
    every = list(objects)
    plain = {served.key for served in every}
    found: dict[str, Key] = {}
    for served in sorted(every, key=lambda served: (served.status != 200, len(served.target))):
        spelled = in_one_spelling(served.target)
        if (served.host, spelled) not in plain:
            found.setdefault(served.host + spelled, served.key)
    return found


def closest_rules(
    objects: Iterable[ServedObject], scheme: str, callbacks: Collection[str] = ()
) -> tuple[Closest, ...]:
    """The rules of every group; a path all of whose responses are one group is a group only once."""
    by_path: dict[str, list[ServedObject]] = {}
    by_target: dict[str, list[ServedObject]] = {}
    for served in objects:
        if not _leads_to_itself(served, scheme):
            target, path = asked_keys(served.host, served.target, callbacks)
            by_target.setdefault(target, []).append(served)
            by_path.setdefault(path, []).append(served)
    apart = {
        target: members
        for target, members in by_target.items()
        if len(members) < len(by_path[target.partition("?")[0]])
    }
    groups = by_path | apart
    return tuple(Closest(asked, _rules(members)) for asked, members in groups.items())


def _leads_to_itself(served: ServedObject, scheme: str) -> bool:
    """A redirect to what its own group answers would, as the answer there, lead to itself."""
    location = served.header("Location")
    if location is None or not 300 <= served.status < 400:
        return False
    target = resolve(f"{scheme}://{served.host}{served.target}", location)
    if target is None:
        return False
    url = parse_url(target)
    return asked_keys(url.authority, url.target)[1] == asked_keys(served.host, served.target)[1]


def _rules(members: list[ServedObject]) -> tuple[ClosestRule, ...]:
    """A compressed trie of hosts and targets, flattened: one rule per edge, named by the edge's first character."""
    preferred = sorted(members, key=lambda served: (served.status != 200, len(served.target)))
    texts = {served.key: served.host + served.target for served in members}
    rules: list[ClosestRule] = []
    nodes = [("", preferred)]
    while nodes:
        prefix, below = nodes.pop()
        rules.append(ClosestRule(prefix, below[0].key))
        shared = shared_length([texts[served.key] for served in below])
        edges: dict[str, list[ServedObject]] = {}
        for served in below:
            text = texts[served.key]
            if len(text) > shared:
                edges.setdefault(text[: shared + 1], []).append(served)
        nodes.extend(edges.items())
    return tuple(sorted(rules, key=lambda rule: (-len(rule.prefix), rule.prefix)))


@dataclass(frozen=True)
class Callback:
    """A script whose function's name comes from `parameter` of its query.

    `marked` is the decoded body with `mark`, which stands nowhere else in it, in place of each name; `headers` are
    those of the response but for its content coding.
    """

    parameter: str
    mark: str
    marked: bytes
    headers: Headers


def callbacks_of(objects: Iterable[ServedObject]) -> dict[Key, Callback]:
    """The scripts among the objects whose address names the function they call."""
    found = ((served.key, callback_of(served)) for served in objects)
    return {key: callback for key, callback in found if callback is not None}


def callback_of(served: ServedObject) -> Callback | None:
    """The place of the name in a response; None where there is none."""
    if served.status != 200 or served.mime not in _TYPES:
        return None
    named = [
        (key, value) for key, value in parse_qsl(served.query[1:]) if _NAME.match(value) and key.isascii()
    ]
    body = _text(served) if named else None
    if body is None:
        return None
    for parameter, name in named:
        places = _places(body, name.encode())
        if places:
            mark = f"coldload{hashlib.sha256(body).hexdigest()[:24]}"
            marked = b"".join(_around(body, places, len(name), mark.encode()))
            headers = tuple(each for each in served.headers if each[0].lower() != "content-encoding")
            return Callback(parameter, mark, marked, headers)
    return None


def _text(served: ServedObject) -> bytes | None:
    try:
        body = decode(served.body, coding_of(served.header("Content-Encoding")))
    except ValueError:  # it is served as it was recorded
        return None
    return body if len(body) <= LIMIT_BYTES else None


def _places(body: bytes, name: bytes) -> list[int]:
    """Where the name stands up to and with the call the body begins with."""
    quoted = re.escape(name)
    call = re.match(_CALL % {b"name": quoted}, body[:HEAD_BYTES])
    if call is None:
        return []
    return [found.start() for found in re.finditer(rb"(?<![\w$])%s(?![\w$.\[])" % quoted, call[0])]


def _around(body: bytes, places: list[int], length: int, mark: bytes) -> list[bytes]:
    """The body in pieces, with the mark between them."""
    pieces, end = [], 0
    for place in places:
        pieces += [body[end:place], mark]
        end = place + length
    return [*pieces, body[end:]]
