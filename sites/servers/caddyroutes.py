"""How Caddy finds the recorded answer to a request: its routes as data. Pure.

Caddy compares a request with one route after the other. So that finding an answer costs about the same in an archive of
any size, routes form trees: a node's branches are told apart by the first characters in which what they answer
differs (a radix tree), and within a leaf few are left. The first tree compares `asked`, Host and request target
exactly as they were sent. What it does not find is brought into the one spelling of `sites.asked`: that, or the
spelling in which it was recorded, is looked up in the first tree again. What is not found then either is brought into
the form of `sites.asked`, and found in two more trees of groups (`sites.match`), each of which holds a tree that again
compares `asked`. What they find is the number of a response, whose own route ("named" by Caddy) says its headers and
its file: Caddy takes most of a millisecond to set up what each response is sent by, so no response has that twice, nor
what all share.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.model.protocol import Headers
from sites.asked import (
    ANY,
    APART_IN_PATH,
    APART_IN_QUERY,
    CALLBACKS,
    LEFT_OUT,
    LONG_NUMBER,
    spelled_plainly,
)
from sites.match import NAME, Callback, Closest, Key, spellings
from sites.materialise import Site
from sites.served import VALIDATORS, ServedObject
from sites.servers.server import BODILESS, MISS_HEADERS, PREFLIGHT_HEADERS, Match
from sites.urls import shared_length

Route = Mapping[str, Any]
# Variables of a request: Host and request target, these in one spelling, and what sites.match.asked_keys makes of them.
ASKED, SPELLED, TARGET, PATH = "asked", "asked_spelled", "asked_target", "asked_path"
HOST, AS_SENT = "{http.request.hostport}", "{http.request.hostport}{http.request.orig_uri}"
EXACT = "exact"  # the first tree: a route by a name, as it is looked up twice
SEND = "send"  # the route that sends a file, and the variables that it does so by
FILE, KEPT = "file", "kept"
# Variables with what a browser may name when it asks for parts in case nothing has changed.
STRONG = ("strong_etag", "strong_date")
LONG_NUMBERS = 8  # that are masked; a URL with more finds its answer by its path, or none
LEAF_ROUTES = 8
LEVELS = 50  # of a tree; addresses of which each begins the next would make one a level
# What Caddy's file server adds by itself; it goes unless it was recorded.
ADDED_HEADERS = ("Accept-Ranges", "Vary")
# For what is sent whole: of any response the file server would send a part, or 304, 412 or 416, if a request says so.
WHOLE: Route = {"request": {"delete": ["Range", "If-*"]}}
_INVOKE_EXACT: Route = {"handler": "invoke", "name": EXACT}


@dataclass(frozen=True)
class Answer:
    """Requests whose variable is `text` (with `beginning`: also those in which it only begins so) are handled so."""

    text: str
    handle: Sequence[Route]
    beginning: bool = False


def routes(site: Site, root: str) -> list[Route]:
    """How a site's responses are found; its scripts that call what a request names lie in `root`."""
    numbers = {served.key: number for number, served in enumerate(site.objects)}
    closest: dict[Key, Sequence[Route]] = {
        key: _calling(callback, number, root)
        if (callback := site.callbacks.get(key))
        else [_log(Match.CLOSEST), _response(number)]
        for key, number in numbers.items()
    }
    groups = [Answer(search.asked, _group(search, closest)) for search in site.closest]
    return [
        *_before(),
        {"handle": [_INVOKE_EXACT]},
        *_normalised(site.callback_parameters),
        *_in_another_spelling(site),
        *_tree(TARGET, [group for group in groups if "?" in group.text]),
        *_tree(PATH, [group for group in groups if "?" not in group.text]),
        _miss(),
    ]


def named_routes(site: Site, root: str) -> dict[str, Route]:
    """The tree of what is recorded exactly as `asked` has it, and the routes of all responses, by number.

    Their bodies lie in `root`, named by `body_name`.
    """
    exact = [
        Answer(served.host + served.target, [_log(Match.EXACT), _response(number)])
        for number, served in enumerate(site.objects)
    ]
    responses = {
        str(number): {"handle": _handlers(served, number, root)} for number, served in enumerate(site.objects)
    }
    return {EXACT: {"handle": [_subroute(_tree(ASKED, exact))]}, SEND: {"handle": _send(root)}, **responses}


def body_name(number: int) -> str:
    """The name of the file with the body of a site's response."""
    return f"{number}.body"


def template_name(number: int) -> str:
    """The name of the file with the body of a script that calls what the request names."""
    return f"{number}.template"


def template(callback: Callback) -> bytes:
    """The body of such a script for Caddy's template handler, whose delimiter is the mark."""
    name = f'{callback.mark} placeholder "http.vars.{_variable(callback.parameter)}" {callback.mark}'
    return callback.marked.replace(callback.mark.encode(), name.encode())


def _group(closest: Closest, handlers: Mapping[Key, Sequence[Route]]) -> Sequence[Route]:
    """What answers in a group: its one response, or a tree that finds the closest."""
    if len(closest.rules) == 1:
        return handlers[closest.rules[0].key]
    answers = [Answer(rule.prefix, handlers[rule.key], beginning=True) for rule in closest.rules]
    return [_subroute(_tree(ASKED, answers))]


def _response(number: int) -> Route:
    return _invoke(str(number))


def _invoke(name: str) -> Route:
    return {"handler": "invoke", "name": name}


def _in_another_spelling(site: Site) -> list[Route]:
    """Look for the request in the one spelling, and in that in which it was recorded; `asked` is then as before."""
    recorded = [
        Answer(spelled, [{"handler": "vars", ASKED: literal(host + target)}, _INVOKE_EXACT])
        for spelled, (host, target) in spellings(site.objects).items()
    ]
    return [
        *_tree(SPELLED, recorded),
        {"handle": [{"handler": "vars", ASKED: f"{{http.vars.{SPELLED}}}"}, _INVOKE_EXACT]},
        {"handle": [{"handler": "vars", ASKED: AS_SENT}]},
    ]


def _spelling(escaped: str, apart: str) -> Route:
    """Bring a text whose every character but letters and digits is escaped into one spelling, as the request's path.

    An escape in the text itself begins with `%25` so. Caddy decodes once what becomes of them.
    """
    plainly = "|".join(f"{code:02X}" for code in spelled_plainly(apart))
    finds = [(f"(?i)%25({plainly})", "%$1")]
    finds += [(f"%25{letter}([0-9A-Fa-f])", f"%25{letter.upper()}$1") for letter in "abcdef"]
    finds += [(f"%25([0-9A-F]){letter}", literal(f"%25${{1}}{letter.upper()}")) for letter in "abcdef"]
    return {
        "handler": "rewrite",
        "uri": escaped,
        "path_regexp": [{"find": find, "replace": replace} for find, replace in finds],
    }


def _normalised(parameters: Sequence[str]) -> list[Route]:
    """Bring the request into the forms of `sites.asked`; what it says in these parameters is kept before."""
    kept = {_variable(name): f"{{http.request.uri.query.{name}}}" for name in parameters}
    counts = {
        "delete": list(LEFT_OUT),
        "replace": [
            {"key": name, "search_regexp": "(?s)^.*$", "replace": ANY}
            for name in dict.fromkeys((*CALLBACKS, *parameters))
        ],
    }
    # The parts of a URL cannot be set without losing the rest: they are kept, escaped, until their turn.
    parts = {
        "handle": [
            {
                "handler": "vars",
                **kept,
                "whole": "{http.request.uri_escaped}",
                "query": "{http.request.uri.query_escaped}",
            },
            {"handler": "rewrite", "query": counts},
            {"handler": "vars", "sorted": "{http.request.uri.query}"},
            _spelling("{http.vars.query}", APART_IN_QUERY),
            {"handler": "vars", "query": "{http.request.uri.path}"},
            _spelling("{http.vars.whole}", APART_IN_PATH),
            {"handler": "vars", "whole": "{http.request.uri.path}"},
        ],
    }
    name = {
        "match": [_matches(HOST, r"^(?:www\.)?(.*)$", "name")],
        "handle": [{"handler": "vars", "name": "{http.regexp.name.1}"}],
    }
    whole = {
        "match": [_matches("whole", r"^([^?]*)(\??)", "whole")],
        "handle": [
            {
                "handler": "vars",
                SPELLED: f"{HOST}{{http.regexp.whole.1}}{{http.regexp.whole.2}}{{http.vars.query}}",
                TARGET: "{http.vars.name}{http.regexp.whole.1}?{http.vars.sorted}",
            },
        ],
    }
    mask = {
        "match": [_matches(TARGET, f"^(.*?){LONG_NUMBER}(.*)$", "long")],
        "handle": [{"handler": "vars", TARGET: f"{{http.regexp.long.1}}{ANY}{{http.regexp.long.2}}"}],
    }
    path = {
        "match": [_matches(TARGET, "^([^?]*)", "path")],
        "handle": [{"handler": "vars", PATH: "{http.regexp.path.1}"}],
    }
    return [parts, name, whole, *[mask] * LONG_NUMBERS, path]


def _variable(parameter: str) -> str:
    """The variable that holds what a request says in a parameter."""
    return f"said_{parameter.encode().hex()}"


def _calling(callback: Callback, number: int, root: str) -> list[Route]:
    """Send a script that calls the function the request names; a request that names none is a miss."""
    variable = _variable(callback.parameter)
    rendering = {
        "handler": "templates",
        "file_root": literal(root),
        "mime_types": [""],
        "delimiters": [callback.mark, callback.mark],
    }
    named = {
        "match": [_matches(variable, NAME)],
        "handle": [
            _log(Match.CLOSEST),
            {**_headers_handler(callback.headers), **WHOLE},
            rendering,
            *_file(template_name(number), root, 200),
        ],
        "terminal": True,
    }
    return [_subroute([named, _miss()])]


def _tree(variable: str, answers: Sequence[Answer]) -> list[Route]:
    """The routes for these answers. The first that fits must be the right one: the longest, whole before beginning."""
    return _branches(variable, sorted(answers, key=lambda answer: answer.text))


def _branches(variable: str, answers: Sequence[Answer], levels: int = LEVELS) -> list[Route]:
    """`_tree` of answers sorted by text, of so many levels at most."""
    if len(answers) <= LEAF_ROUTES or levels == 1:
        ranked = sorted(answers, key=lambda each: (-len(each.text), each.beginning))
        return [_leaf(variable, answer) for answer in ranked]
    shared = shared_length([answers[0].text, answers[-1].text])
    ends_here = [answer for answer in answers if len(answer.text) == shared]
    below: dict[str, list[Answer]] = {}
    for answer in answers[len(ends_here) :]:
        below.setdefault(answer.text[: shared + 1], []).append(answer)
    return [
        *(
            _branch(variable, beginning, _branches(variable, each, levels - 1))
            for beginning, each in below.items()
        ),
        *(_leaf(variable, answer) for answer in sorted(ends_here, key=lambda each: each.beginning)),
    ]


def _branch(variable: str, beginning: str, below: list[Route]) -> Route:
    return {"match": [_begins(variable, beginning)], "handle": [_subroute(below)]}


def _begins(variable: str, beginning: str) -> Route:
    return _matches(variable, f"^{re.escape(beginning)}")


def _matches(variable: str, pattern: str, name: str = "") -> Route:
    return {"vars_regexp": {variable: {"pattern": pattern, **({"name": name} if name else {})}}}


def _subroute(below: list[Route]) -> Route:
    return {"handler": "subroute", "routes": below}


def _log(match: Match) -> Route:
    return {"handler": "log_append", "key": "answer", "value": match.value}


def _leaf(variable: str, answer: Answer) -> Route:
    exactly = {"vars": {variable: [literal(answer.text)]}}
    matcher = _begins(variable, answer.text) if answer.beginning else exactly
    return {"match": [matcher], "handle": list(answer.handle), "terminal": True}


def _handlers(served: ServedObject, number: int, root: str) -> list[Route]:
    """Send one response: its headers replace all that the file server makes up."""
    headers = _headers_handler(served.headers)
    if served.status in BODILESS:
        return [headers, {"handler": "static_response", "status_code": served.status}]
    if served.status != 200:
        return [{**headers, **WHOLE}, *_file(body_name(number), root, served.status)]
    asks, value = served.validator or ("", "")
    kept = {f"{KEPT}_{asks}": value} if asks else {}
    etag, date = served.header("ETag") or "", served.header("Last-Modified") or ""
    strong = dict(zip(STRONG, ("" if etag.startswith("W/") else etag, date), strict=True))
    said = {name: literal(_as_sent(value)) for name, value in {**kept, **strong}.items() if value}
    return [headers, {"handler": "vars", FILE: body_name(number), **said}, _invoke(SEND)]


def _send(root: str) -> list[Route]:
    """Send the file that was chosen, or tell a browser that has kept the response that it still holds.

    Caddy's file server does not know the recorded validators: it would send the whole to a browser that asks for a part
    in case they are still the same (If-Range). Where they are, it is not told of that case.
    """
    known: list[Route] = [
        {
            "match": [
                {
                    "header": {asks: ["*"]},
                    "vars": {f"{{http.request.header.{asks}}}": [f"{{http.vars.{KEPT}_{asks}}}"]},
                }
            ],
            "handle": [{"handler": "static_response", "status_code": 304}],
            "terminal": True,
        }
        for asks in VALIDATORS.values()
    ]
    unchanged: Route = {
        "match": [
            {
                "header": {"If-Range": ["*"]},
                "vars": {"{http.request.header.If-Range}": [f"{{http.vars.{name}}}" for name in STRONG]},
            }
        ],
        "handle": [{"handler": "headers", "request": {"delete": ["If-Range"]}}],
    }
    return [_subroute([*known, unchanged]), *_file(f"{{http.vars.{FILE}}}", root, 200)]


def _file(name: str, root: str, status: int) -> list[Route]:
    file_server: dict[str, Any] = {"handler": "file_server", "root": literal(root), "index_names": []}
    if status != 200:
        file_server["status_code"] = status
    return [{"handler": "rewrite", "uri": f"/{name}"}, file_server]


def _headers_handler(headers: Headers) -> Route:
    values: dict[str, list[str]] = {}
    for name, value in headers:
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
                _log(Match.PREFLIGHT),
                {"handler": "headers", "response": {"set": allowed}},
                {"handler": "static_response", "status_code": 204},
            ],
            "terminal": True,
        },
        {"handle": [{"handler": "vars", ASKED: AS_SENT}]},
        {"match": [{"not": [{"method": ["GET", "HEAD"]}]}], "handle": read_and_forget},
    ]


def _miss() -> Route:
    headers = {name: [value] for name, value in MISS_HEADERS}
    return {
        "terminal": True,
        "handle": [
            _log(Match.MISS),
            {"handler": "static_response", "status_code": 404, "headers": headers},
        ],
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
