"""Which recorded response answers a request whose query was not recorded: the closest one. Pure.

A request is answered by the response recorded for that very host, path and query. Failing that, among the
responses recorded for the same host and path, by one whose query has the longest beginning in common with the
asked one, counted in characters. Of several alike: status 200 before others, the shortest query, the first
recorded. (Mahimahi compares queries the same way.) Failing that, by nothing.

This is made into a short list of rules per path, so that any web server can carry it out by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sites.served import ServedObject
from sites.urls import parse_url, resolve


@dataclass(frozen=True)
class Rule:
    """A query that starts with `prefix` (its question mark included) is answered as `target` was."""

    prefix: str
    target: str


@dataclass(frozen=True)
class Closest:
    """What answers requests for `path` of `host` that were not recorded: the first rule that fits.

    The longest prefixes come first; the last rule's is empty and fits every query, also a missing one.
    """

    host: str
    path: str
    rules: tuple[Rule, ...]

    def answer(self, query: str) -> str:
        """The target that answers a query; what a server's own rules must give."""
        return next(rule.target for rule in self.rules if query.startswith(rule.prefix))


def closest_rules(objects: Iterable[ServedObject], scheme: str) -> tuple[Closest, ...]:
    """The rules of every host and path, at most two per recorded query."""
    paths: dict[tuple[str, str], list[ServedObject]] = {}
    for served in objects:
        if not _leads_to_its_own_path(served, scheme):
            paths.setdefault((served.host, served.path), []).append(served)
    return tuple(Closest(host, path, _rules(recorded)) for (host, path), recorded in paths.items())


def _leads_to_its_own_path(served: ServedObject, scheme: str) -> bool:
    """A redirect to another query of its path would, as the closest answer to that one, lead to itself."""
    location = next((value for name, value in served.headers if name.lower() == "location"), None)
    if location is None or not 300 <= served.status < 400:
        return False
    target = resolve(f"{scheme}://{served.host}{served.target}", location)
    if target is None:
        return False
    url = parse_url(target)
    return (url.authority, url.target.partition("?")[0]) == (served.host, served.path)


def _rules(recorded: list[ServedObject]) -> tuple[Rule, ...]:
    """A compressed trie of the queries, flattened: one rule per edge, named by the edge's first character."""
    preferred = sorted(recorded, key=lambda served: (served.status != 200, len(served.query)))
    rules: list[Rule] = []
    nodes = [("", preferred)]
    while nodes:
        prefix, members = nodes.pop()
        rules.append(Rule(prefix, members[0].target))
        shared = _shared([served.query for served in members])
        edges: dict[str, list[ServedObject]] = {}
        for served in members:
            if len(served.query) > shared:
                edges.setdefault(served.query[: shared + 1], []).append(served)
        nodes.extend(edges.items())
    return tuple(sorted(rules, key=lambda rule: (-len(rule.prefix), rule.prefix)))


def _shared(queries: list[str]) -> int:
    """How many characters at the beginning all the queries have in common."""
    first, last = min(queries), max(queries)  # what these two share, all in between share
    return next(
        (at for at, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), len(first)
    )
