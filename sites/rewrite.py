"""What a page needs changed to be replayed under another scheme. Pure functions over decoded bodies.

Links (absolute http and https URLs) get the scheme of the replay, so that a page recorded over https loads
over plain http and the reverse, and no link points where the testbed has no server. Namespace identifiers,
which look like links and are compared letter by letter, stay. A changed script or style sheet has another
digest: subresource integrity follows it. Every regular expression here is linear: what it may repeat is
bounded, or cannot start anew within itself.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Collection, Mapping

# Hosts of namespace identifiers, document types and vocabularies; nobody fetches from them.
NAMESPACE_HOSTS = frozenset(
    {
        "creativecommons.org",
        "gmpg.org",
        "iptc.org",
        "java.sun.com",
        "mozilla.org",
        "ns.adobe.com",
        "ns.google.com",
        "ogp.me",
        "purl.org",
        "rdfs.org",
        "relaxng.org",
        "schema.org",
        "schemas.android.com",
        "schemas.google.com",
        "schemas.microsoft.com",
        "schemas.openxmlformats.org",
        "schemas.xmlsoap.org",
        "search.yahoo.com",
        "sodipodi.sourceforge.net",
        "w3.org",
        "web.resource.org",
        "wellformedweb.org",
        "www.gribuser.ru",
        "www.inkscape.org",
        "www.mozilla.org",
        "www.schema.org",
        "www.serif.com",
        "www.sitemaps.org",
        "www.w3.org",
        "xml.org",
        "xmlns.com",
    }
)
LINK_HEADERS = frozenset(
    {
        "access-control-allow-origin",
        "content-location",
        "link",
        "location",
        "refresh",
        "sourcemap",
        "timing-allow-origin",
        "x-sourcemap",
    }
)
# Kept out of a replay: they pin schemes or hosts that the testbed does not have, or send reports elsewhere.
POLICY_HEADERS = frozenset(
    {
        "content-security-policy",
        "content-security-policy-report-only",
        "nel",
        "report-to",
        "reporting-endpoints",
        "strict-transport-security",
        "x-content-security-policy",
        "x-webkit-csp",
    }
)
_SLASH = rb"(?:\\{0,3}/|\\{1,2}u002[fF]|&#[xX]2[fF];|&#47;)"
_AFTER = rb"(?=(?::|&#[xX]3[aA];|&#58;)" + _SLASH + _SLASH + rb"([A-Za-z0-9_.-]{0,255})(/[0-9]{4}/)?)"
# Patterns start with what rarely occurs, so that most of a body is passed over quickly; what must stand before a find
# is looked at afterwards. Links of WebSockets follow those of HTTP.
_HTTP, _WS = rb"[hH][tT][tT][pP]", rb"[wW][sS]"
_LINKS = {
    "http": (re.compile(_HTTP + rb"[sS]" + _AFTER), re.compile(_WS + rb"[sS]" + _AFTER)),
    "https": (re.compile(_HTTP + _AFTER), re.compile(_WS + _AFTER)),
}
_BEFORE_NAMESPACE = re.compile(
    rb"(?i)(?:\bxmlns(?::[\w.-]{1,60})?\s{0,5}=\s{0,5}[\"']|<!DOCTYPE[^<>]{0,200})\Z"
)
_ENCODED_LINK = re.compile(r"(?i)https?(?=%3A%2F%2F)")
_SCHEME_NAME = re.compile(rb"(https?):([\"'`])")
_META = re.compile(rb"(?i)<meta\b[^<>]{0,20000}>")
_CSP = re.compile(rb"(?i)http-equiv\s{0,5}=\s{0,5}[\"']?(?:x-)?content-security-policy")
_INTEGRITY = re.compile(rb"(?i)\sintegrity\s{0,5}=\s{0,5}(?:\"([^\"<>]{0,2000})\"|'([^'<>]{0,2000})')")
_DIGEST = re.compile(rb"sha(?:256|384|512)-[A-Za-z0-9+/]{43,86}={0,2}")
_MENTION = re.compile(rb"/\\{0,3}/([A-Za-z0-9][A-Za-z0-9_.-]{1,250}\.[A-Za-z]{2,24})(?![A-Za-z0-9_.-])")
_BEFORE_MENTION = re.compile(rb"(?i)(?:https?:|[\"'(=\s])\\{0,3}\Z")


def rewrite_links(body: bytes, scheme: str, hosts: Collection[str]) -> tuple[bytes, int]:
    """Every link moved to `scheme`, and how many were. `hosts` are the archive's own names.

    A namespace host is left alone, unless it is in the archive and the path is not a dated one
    (http://www.w3.org/2000/svg stays even on a page of www.w3.org).
    """
    moved = 0

    def move(found: re.Match[bytes]) -> bytes:
        nonlocal moved
        host = found[1].decode().lower().rstrip(".")
        if host in NAMESPACE_HOSTS and (found[2] is not None or host not in hosts):
            return found[0]
        before = found.string[max(0, found.start() - 300) : found.start()]
        if _is_namespace(before) or (found[0][:1] in b"wW" and before[-1:].isalpha()):  # as in news://
            return found[0]
        moved += 1
        return (found[0] + b"s" if scheme == "https" else found[0][:-1]).lower()

    for pattern in _LINKS[scheme]:
        body = pattern.sub(move, body)
    return body, moved


def exchange_scheme_names(body: bytes) -> tuple[bytes, int]:
    """A script, or a document with scripts, in which the strings "http:" and "https:" have changed places.

    Scripts compare them with the page's own scheme, or build links of them: under the other scheme the exchanged
    ones take the branch that was recorded. Also how many there were.
    """
    other = {b"http": b"https", b"https": b"http"}

    def exchange(found: re.Match[bytes]) -> bytes:
        quoted = found.string[found.start() - 1 : found.start()] == found[2]
        return other[found[1]] + b":" + found[2] if quoted else found[0]

    return _counted(_SCHEME_NAME, exchange, body)


def rewrite_value(value: str, scheme: str, hosts: Collection[str]) -> str:
    """A header value, or the target of a request, with the links in it moved to `scheme`."""
    return rewrite_links(value.encode("latin-1", "replace"), scheme, hosts)[0].decode("latin-1")


def rewrite_target(target: str, scheme: str, hosts: Collection[str]) -> str:
    """The target a page asks for when links inside its query (plain or percent-encoded) follow the scheme."""
    return _ENCODED_LINK.sub(scheme, rewrite_value(target, scheme, hosts))


def drop_policies(html: bytes) -> tuple[bytes, int]:
    """HTML without its Content-Security-Policy meta elements, and how many there were."""
    dropped = 0

    def drop(found: re.Match[bytes]) -> bytes:
        nonlocal dropped
        if not _CSP.search(found[0]):
            return found[0]
        dropped += 1
        return b""

    return _META.sub(drop, html), dropped


def integrity_digests(body: bytes) -> tuple[bytes, ...]:
    """A decoded body's digests in the form of subresource integrity (`sha384-...`)."""
    return tuple(
        b"%s-%s" % (name.encode(), base64.b64encode(hashlib.new(name, body).digest()))
        for name in ("sha256", "sha384", "sha512")
    )


def names_digests(body: bytes) -> bool:
    return _DIGEST.search(body) is not None


def follow_digests(body: bytes, renewed: Mapping[bytes, bytes]) -> tuple[bytes, int]:
    """A body in which digests of changed bodies are replaced by the new ones, and how many were."""
    return _counted(_DIGEST, lambda found: renewed.get(found[0], found[0]), body)


def drop_integrity(html: bytes, served: Collection[bytes]) -> tuple[bytes, int]:
    """HTML without the integrity attributes that no served body meets, and how many there were."""

    def drop(found: re.Match[bytes]) -> bytes:
        wanted = _DIGEST.findall(found[1] or found[2] or b"")
        return found[0] if not wanted or any(digest in served for digest in wanted) else b""

    return _counted(_INTEGRITY, drop, html)


def mentioned_hosts(body: bytes) -> list[str]:
    """Host names in the links of a decoded body, in order, each once."""
    names: dict[str, None] = {}
    for found in _MENTION.finditer(body):
        if _BEFORE_MENTION.search(body, max(0, found.start() - 10), found.start()):
            names[found[1].lower().decode()] = None
    return [name for name in names if name not in NAMESPACE_HOSTS]


def _is_namespace(before: bytes) -> bool:
    """Whether what stands before a link makes it the name of a namespace or of a document type."""
    return (b"xmlns" in before or b"!doctype" in before.lower()) and _BEFORE_NAMESPACE.search(
        before
    ) is not None


def _counted(
    pattern: re.Pattern[bytes], change: Callable[[re.Match[bytes]], bytes], body: bytes
) -> tuple[bytes, int]:
    changes = 0

    def count(found: re.Match[bytes]) -> bytes:
        nonlocal changes
        new = change(found)
        changes += new != found[0]
        return new

    return pattern.sub(count, body), changes
