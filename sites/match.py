"""Which recorded response answers a request that was not recorded under its very host, path and query. Pure.

Such a request is answered by one for the same address in another spelling (`sites.asked`): that is what was recorded.
Failing that, by one that asked for the same but for numbers of the clock and of chance.
Failing that, by one of the same host and path, whatever its query. A host is the same with and without `www.`. Of
several, by the one whose host, path and query have the longest beginning in common with the asked ones, counted in
characters (Mahimahi does the same); of several alike: status 200 before others, the shortest, the first recorded.
Failing all, by nothing.

A script that calls a function by the name in its address (JSONP) answers with the name that was asked for
(`sites.jsonp`), and no request that names none it can call.

This is made into groups of responses and a short list of rules for each, so that any web server can carry it out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from sites.asked import in_one_spelling, normal_path, normal_target
from sites.jsonp import Callback, callback_of
from sites.served import ServedObject
from sites.urls import parse_url, resolve

Key = tuple[str, str]  # host and target of a served object


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


def callbacks_of(objects: Iterable[ServedObject]) -> dict[Key, Callback]:
    """The scripts among the objects whose address names the function they call."""
    found = ((served.key, callback_of(served)) for served in objects)
    return {key: callback for key, callback in found if callback is not None}


def _leads_to_itself(served: ServedObject, scheme: str) -> bool:
    """A redirect to what its own group answers would, as the answer there, lead to itself."""
    location = next((value for name, value in served.headers if name.lower() == "location"), None)
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
        shared = _shared([texts[served.key] for served in below])
        edges: dict[str, list[ServedObject]] = {}
        for served in below:
            text = texts[served.key]
            if len(text) > shared:
                edges.setdefault(text[: shared + 1], []).append(served)
        nodes.extend(edges.items())
    return tuple(sorted(rules, key=lambda rule: (-len(rule.prefix), rule.prefix)))


def _shared(texts: list[str]) -> int:
    """How many characters at the beginning all the texts have in common."""
    first, last = min(texts), max(texts)  # what these two share, all in between share
    return next(
        (at for at, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), len(first)
    )
