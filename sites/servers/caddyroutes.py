"""How Caddy finds the recorded answer to a request: its routes as data. Pure.

Caddy compares a request with one route after the other. So that finding an answer costs about the same in an archive of
any size, routes form a tree: a node's branches are told apart by the first characters in which what they answer
differs (a radix tree), and within a leaf few are left. What is compared, `asked`, is Host and request target
exactly as they were sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sites.materialise import Site
from sites.served import ServedObject
from sites.servers import BODILESS, MISS_HEADERS, PREFLIGHT_HEADERS, Match

Route = Mapping[str, Any]
ASKED = "asked"  # the variable that holds Host and request target
LEAF_ROUTES = 8
# What Caddy's file server adds by itself; it goes unless it was recorded.
ADDED_HEADERS = ("Accept-Ranges", "Vary")


@dataclass(frozen=True)
class Answer:
    """Requests for `text` (with `beginning`: also those that only begin so) get the response with this number."""

    text: str
    number: int
    match: Match
    beginning: bool = False


def routes(site: Site, root: str) -> list[Route]:
    """All routes of a site whose bodies lie in `root`, named by `body_name`."""
    numbers = {served.key: number for number, served in enumerate(site.objects)}
    handlers = [_handlers(served, number, root) for number, served in enumerate(site.objects)]
    answers = sorted(_answers(site, numbers), key=lambda answer: answer.text)
    return [*_before(), *_tree(answers, handlers), _miss()]


def body_name(number: int) -> str:
    """The name of the file with the body of a site's response."""
    return f"{number}.body"


def _answers(site: Site, numbers: Mapping[tuple[str, str], int]) -> Iterator[Answer]:
    for served in site.objects:
        yield Answer(served.host + served.target, numbers[served.key], Match.EXACT)
    for each in site.closest:
        asked = each.host + each.path
        for rule in each.rules:
            number = numbers[each.host, rule.target]
            if not rule.prefix:
                yield Answer(asked, number, Match.CLOSEST)  # without any query
            yield Answer(asked + (rule.prefix or "?"), number, Match.CLOSEST, beginning=True)


def _tree(answers: Sequence[Answer], handlers: Sequence[list[Route]]) -> list[Route]:
    """The routes for these answers, sorted by text.

    The first that fits must be the right one: exact before closest, long before short.
    """
    if len(answers) <= LEAF_ROUTES:
        ranked = sorted(
            answers, key=lambda each: (each.match is not Match.EXACT, -len(each.text), each.beginning)
        )
        return [_leaf(answer, handlers) for answer in ranked]
    shared = _shared(answers[0].text, answers[-1].text)
    ends_here = [answer for answer in answers if len(answer.text) == shared]
    branches: dict[str, list[Answer]] = {}
    for answer in answers[len(ends_here) :]:
        branches.setdefault(answer.text[: shared + 1], []).append(answer)
    if not branches:
        return _tree_of_one(ends_here, handlers)
    return [
        *(_branch(beginning, _tree(below, handlers)) for beginning, below in branches.items()),
        *_tree_of_one(ends_here, handlers),
    ]


def _tree_of_one(answers: Sequence[Answer], handlers: Sequence[list[Route]]) -> list[Route]:
    """Those for one and the same text."""
    ranked = sorted(answers, key=lambda each: (each.match is not Match.EXACT, each.beginning))
    return [_leaf(answer, handlers) for answer in ranked]


def _shared(first: str, last: str) -> int:
    """How many characters two texts begin with in common."""
    pairs = enumerate(zip(first, last, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(first), len(last)))


def _branch(beginning: str, below: list[Route]) -> Route:
    return {"match": [_begins(beginning)], "handle": [{"handler": "subroute", "routes": below}]}


def _begins(beginning: str) -> Mapping[str, Any]:
    return {"vars_regexp": {ASKED: {"pattern": f"^{re.escape(beginning)}"}}}


def _leaf(answer: Answer, handlers: Sequence[list[Route]]) -> Route:
    matcher = _begins(answer.text) if answer.beginning else {"vars": {ASKED: [literal(answer.text)]}}
    log = {"handler": "log_append", "key": "answer", "value": answer.match.value}
    return {"match": [matcher], "handle": [log, *handlers[answer.number]], "terminal": True}


def _handlers(served: ServedObject, number: int, root: str) -> list[Route]:
    """Send one response: its headers replace all that the file server makes up."""
    headers = _headers_handler(served)
    if served.status in BODILESS:
        return [headers, {"handler": "static_response", "status_code": served.status}]
    file_server: dict[str, Any] = {"handler": "file_server", "root": literal(root), "index_names": []}
    if served.status != 200:
        file_server["status_code"] = served.status  # also for parts: only what was 200 can become 206
    return [headers, {"handler": "rewrite", "uri": f"/{body_name(number)}"}, file_server]


def _headers_handler(served: ServedObject) -> Route:
    values: dict[str, list[str]] = {}
    for name, value in served.headers:
        values.setdefault(name.lower(), []).append(literal(_as_sent(value)))
    # Caddy joins several values when it sets them. Vary, which the file server sends, too, cannot be added.
    once = {
        name: [", ".join(all_of)] for name, all_of in values.items() if len(all_of) == 1 or name == "vary"
    }
    more = {name: all_of for name, all_of in values.items() if name not in once}
    gone = [name for name in ADDED_HEADERS if name.lower() not in values]
    return {"handler": "headers", "response": {"deferred": True, "set": once, "add": more, "delete": gone}}


def _before() -> list[Route]:
    """What holds for every request: reading what is posted, and CORS preflights."""
    read_and_forget = [
        # A body is read to its end before the answer, as by other servers: a connection with unread data is closed.
        {"handler": "vars", "posted": "{http.request.body}"},
        {"handler": "rewrite", "method": "GET"},
    ]
    allowed = {
        "Access-Control-Allow-Origin": ["{http.request.header.Origin}"],
        "Access-Control-Allow-Methods": ["{http.request.header.Access-Control-Request-Method}"],
        "Access-Control-Allow-Headers": ["{http.request.header.Access-Control-Request-Headers}"],
        **{name: [value] for name, value in PREFLIGHT_HEADERS},
    }
    preflight = {"method": ["OPTIONS"], "header": {"Access-Control-Request-Method": ["*"]}}
    return [
        {
            "match": [preflight],
            "handle": [
                {"handler": "log_append", "key": "answer", "value": Match.PREFLIGHT.value},
                {"handler": "headers", "response": {"set": allowed}},
                {"handler": "static_response", "status_code": 204},
            ],
            "terminal": True,
        },
        {"handle": [{"handler": "vars", ASKED: "{http.request.hostport}{http.request.orig_uri}"}]},
        {"match": [{"not": [{"method": ["GET", "HEAD"]}]}], "handle": read_and_forget},
    ]


def _miss() -> Route:
    headers = {name: [value] for name, value in MISS_HEADERS}
    return {
        "handle": [
            {"handler": "log_append", "key": "answer", "value": Match.MISS.value},
            {"handler": "static_response", "status_code": 404, "headers": headers},
        ]
    }


def literal(text: str) -> str:
    """The text so that Caddy sees no placeholders in it."""
    return text.replace("{", r"\{").replace("}", r"\}")


def _as_sent(value: str) -> str:
    """A recorded header value, read as Latin-1, so that the bytes Caddy sends (UTF-8) are the recorded ones."""
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value
