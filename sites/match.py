"""Which recorded response answers a request that was not recorded under its very host, path and query. Pure.

Such a request is answered by one for the same address in another spelling (`sites.asked`): that is what was recorded.
Failing that, by one that asked for the same but for numbers of the clock and of chance.
Failing that, by one of the same host and path, whatever its query. A host is the same with and without `www.`. Of
several, by the one whose host, path and query have the longest beginning in common with the asked ones, counted in
characters (Mahimahi does the same); of several alike: status 200 before others, the shortest, the first recorded.
Failing all, by nothing. A redirect answers its own address alone where these rules may lead from it
to an answer of the same path again: a browser would go round and round.

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
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from harness.model.protocol import Headers
from sites.asked import in_one_spelling, normal_path, normal_target
from sites.coding import coding_of, decode
from sites.mediatype import HTML_TYPES, SCRIPT_TYPES
from sites.served import ServedObject
from sites.urls import parse_url, resolve, shared_length

Key = tuple[str, str]  # host and target of a served object
_Node = Key | str  # a response or a group
# What a name may look like, recorded or asked for: it goes into a script. Servers check it with this very pattern (RE2,
# and in Lua by the words of asked.lua).
NAME = r"^[A-Za-z_$](?:[A-Za-z0-9_$.]|\[[0-9]+\])*$"
HEAD_BYTES = 2000  # comments and tests for the function may come before the call
LIMIT_BYTES = 4_000_000
_NAME = re.compile(NAME)
# Of a parameter that names a function: it is written into the rules of the servers.
_PARAMETER = re.compile(r"[A-Za-z0-9_.$-]{1,100}")
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
    keys: dict[str, Key] = {}
    for served in sorted(every, key=lambda served: (served.status != 200, len(served.target))):
        spelled = in_one_spelling(served.target)
        if (served.host, spelled) not in plain:
            keys.setdefault(served.host + spelled, served.key)
    return keys


def closest_rules(
    objects: Iterable[ServedObject], scheme: str, callbacks: Collection[str] = ()
) -> tuple[Closest, ...]:
    """The rules of every group; a path all of whose responses are one group is a group only once."""
    every = list(objects)
    targets = {served.key: target for served in every if (target := _target(served, scheme)) is not None}
    keys = (*(served.key for served in every), *targets.values())
    asked = {key: asked_keys(*key, callbacks) for key in keys}
    members = [
        served
        for served in every  # a redirect within its path would, as the answer there, lead to itself
        if served.key not in targets or asked[targets[served.key]][1] != asked[served.key][1]
    ]
    groups = _Groups.of(members, asked)
    circular = _circular(every, targets, asked, groups)
    if circular:
        groups = _Groups.of([served for served in members if served.key not in circular], asked)
    apart = {
        target: members
        for target, members in groups.by_target.items()
        if len(members) < len(groups.by_path[target.partition("?")[0]])
    }
    return tuple(Closest(name, _rules(members)) for name, members in {**groups.by_path, **apart}.items())


def _target(served: ServedObject, scheme: str) -> Key | None:
    """Where a redirect leads to; None for all else."""
    if served.location is None:
        return None
    target = resolve(f"{scheme}://{served.host}{served.target}", served.location)
    if target is None:
        return None
    url = parse_url(target)
    return url.authority, url.target


@dataclass(frozen=True)
class _Groups:
    """The responses by what they were asked for, with their queries and without; see `asked_keys`."""

    by_target: Mapping[str, list[ServedObject]]
    by_path: Mapping[str, list[ServedObject]]

    @classmethod
    def of(cls, members: Iterable[ServedObject], asked: Mapping[Key, tuple[str, str]]) -> _Groups:
        by_target: dict[str, list[ServedObject]] = {}
        by_path: dict[str, list[ServedObject]] = {}
        for served in members:
            target, path = asked[served.key]
            by_target.setdefault(target, []).append(served)
            by_path.setdefault(path, []).append(served)
        return cls(by_target, by_path)


def _circular(
    every: Iterable[ServedObject],
    targets: Mapping[Key, Key],
    asked: Mapping[Key, tuple[str, str]],
    groups: _Groups,
) -> set[Key]:
    """The redirects that may lead back to a group of theirs.

    A group may lead on by any of its redirects: which of them answers changes with those that are taken out.
    """
    if not targets:
        return set()
    recorded, spelled = {served.key for served in every}, spellings(every)
    leads: dict[_Node, set[_Node]] = {}
    for redirect, target in targets.items():
        host, path = target
        answer = target if target in recorded else spelled.get(host + in_one_spelling(path))
        by_target, by_path = asked[target]
        leads[redirect] = {answer or (by_target if by_target in groups.by_target else by_path)}
    together = {**groups.by_path, **groups.by_target}
    for name, members in together.items():
        leads[name] = {served.key for served in members if served.key in targets}
        if name in groups.by_target and len(leads[name]) == len(
            members
        ):  # without them the path's others answer
            leads[name].add(name.partition("?")[0])
    circles = _in_circles(leads)
    return {
        served.key
        for name, members in together.items()
        if name in circles
        for served in members
        if served.key in circles
    }


def _in_circles(leads: Mapping[_Node, Collection[_Node]]) -> set[_Node]:
    """What leads, over others, to itself; also what stands between two such circles."""
    left: dict[_Node, Collection[_Node]] = {**leads}
    for _ in range(2):  # without what nothing leads to; the other way round, without what leads nowhere
        leading = Counter(target for targets in left.values() for target in targets)
        outside = [node for node in left if not leading[node]]
        for node in outside:
            for target in left.pop(node):
                leading[target] -= 1
                if not leading[target] and target in left:
                    outside.append(target)
        back: dict[_Node, list[_Node]] = {node: [] for node in left}
        for node, targets in left.items():
            for target in targets:
                if target in back:
                    back[target].append(node)
        left = {**back}
    return set(left)


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
    pairs = ((served.key, callback_of(served)) for served in objects)
    return {key: callback for key, callback in pairs if callback is not None}


def callback_of(served: ServedObject) -> Callback | None:
    """The place of the name in a response; None where there is none."""
    if served.status != 200 or served.mime not in _TYPES:
        return None
    named = [
        (key, value)
        for key, value in parse_qsl(served.query[1:])
        if _NAME.fullmatch(value) and _PARAMETER.fullmatch(key)
    ]
    body = _text(served) if named else None
    if body is None:
        return None
    for parameter, name in named:
        starts = _starts(body, name.encode())
        if starts:
            mark = f"coldload{hashlib.sha256(body).hexdigest()[:24]}"
            marked = b"".join(_around(body, starts, len(name), mark.encode()))
            headers = tuple(header for header in served.headers if header[0].lower() != "content-encoding")
            return Callback(parameter, mark, marked, headers)
    return None


def _text(served: ServedObject) -> bytes | None:
    try:
        body = decode(served.body, coding_of(served.header("Content-Encoding")))
    except ValueError:  # it is served as it was recorded
        return None
    return body if len(body) <= LIMIT_BYTES else None


def _starts(body: bytes, name: bytes) -> list[int]:
    """Where the name stands up to and with the call the body begins with."""
    quoted = re.escape(name)
    call = re.match(_CALL % {b"name": quoted}, body[:HEAD_BYTES])
    if call is None:
        return []
    return [found.start() for found in re.finditer(rb"(?<![\w$])%s(?![\w$.\[])" % quoted, call[0])]


def _around(body: bytes, starts: list[int], length: int, mark: bytes) -> list[bytes]:
    """The body in pieces, with the mark between them."""
    pieces, end = [], 0
    for start in starts:
        pieces += [body[end:start], mark]
        end = start + length
    return [*pieces, body[end:]]
