"""What of a page is changed for its replay. Pure functions over bodies.

Links (absolute http and https URLs) get the scheme of the replay, so that a page recorded over https loads
over plain http and the reverse, and no link points where the testbed has no server. A default port that a link
names goes with its scheme. Namespace identifiers, which look like links and are compared letter by letter, stay. A
changed script or style sheet has another digest: subresource integrity follows it. A script that is a data URL in a
document (base64) is changed as it would be in its element. Every regular expression here is linear: what it may repeat
is bounded, or cannot start anew within itself.

A script, the first of every document, makes chance and the date the same at every load; determinism.js says how.
"""

from __future__ import annotations

import base64
import codecs
import hashlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache, wraps
from importlib import resources
from typing import Concatenate, ParamSpec

import rjsmin  # type: ignore[import-untyped, unused-ignore]  # has no types

from harness.model.protocol import Headers
from sites import flight
from sites.charset import PRESCAN_BYTES, charset_within, meta_name, standard_name
from sites.flight import TextEdit
from sites.mediatype import words

# Hosts of namespace identifiers, document types and vocabularies; nobody fetches from them.
NAMESPACE_HOSTS = words(
    "creativecommons.org gmpg.org iptc.org java.sun.com mozilla.org ns.adobe.com ns.google.com ogp.me purl.org "
    "rdfs.org relaxng.org schema.org schemas.android.com schemas.google.com schemas.microsoft.com "
    "schemas.openxmlformats.org schemas.xmlsoap.org search.yahoo.com sodipodi.sourceforge.net w3.org "
    "web.resource.org wellformedweb.org www.gribuser.ru www.inkscape.org www.mozilla.org www.schema.org "
    "www.serif.com www.sitemaps.org www.w3.org xml.org xmlns.com"
)
LINK_HEADERS = words(
    "access-control-allow-origin activate-storage-access content-location feature-policy link location "
    "permissions-policy refresh service-worker-allowed sourcemap speculation-rules timing-allow-origin "
    "x-sourcemap"
)
# Kept out of a replay: they pin schemes or hosts that the testbed does not have, refuse a body that is not the recorded
# one (Unencoded-Digest and Signature also where no document asks for it), send reports elsewhere, or have the browser
# ask for bodies that are compressed with a dictionary, which a replay cannot make.
POLICY_HEADERS = words(
    "connection-allowlist connection-allowlist-report-only content-security-policy "
    "content-security-policy-report-only identity-digest integrity-policy integrity-policy-report-only nel "
    "report-to reporting-endpoints signature signature-input strict-transport-security unencoded-digest "
    "use-as-dictionary x-content-security-policy x-webkit-csp"
)
_SLASH = rb"(?:\\{0,3}/|\\{1,2}u002[fF]|&#[xX]2[fF];|&#47;)"
_COLON = rb"(?::|&#[xX]3[aA];|&#58;)"
_AFTER = rb"(?=" + _COLON + _SLASH + _SLASH + rb"([A-Za-z0-9_.-]{0,255})(/[0-9]{4}/)?)"
# Patterns start with what rarely occurs, so that most of a body is passed over quickly; what must stand before a find
# is looked at afterwards. Links of WebSockets follow those of HTTP.
_HTTP, _WS = rb"[hH][tT][tT][pP]", rb"[wW][sS]"
_LINKS = {
    "http": (re.compile(_HTTP + rb"[sS]" + _AFTER), re.compile(_WS + rb"[sS]" + _AFTER)),
    "https": (re.compile(_HTTP + _AFTER), re.compile(_WS + _AFTER)),
}
# The host of a link (`[` begins an IPv6 address) and the default port of the scheme that the link leaves.
_PORTS = {
    scheme: re.compile(
        rb"(?:\[[0-9A-Fa-f:.]{2,45}\]|[\w.~%\x80-\xff-]{1,255}+)(" + _COLON + port + rb")(?![\w.%@:-])"
    )
    for scheme, port in (("http", b"443"), ("https", b"80"))
}
# The beginning of a link (behind its scheme) that ends a text: scripts compare the beginnings of links with it. Where
# something is put behind it, it is a link.
_PREFIX = re.compile(_COLON + _SLASH + _SLASH + rb"(?!\\?[\"'`]\s{0,5}\+)(?:[\s\"'`\\/|()&<>;,\]]|\Z)")
_BEFORE_NAMESPACE = re.compile(
    rb"(?i)(?:\bxmlns(?::[\w.-]{1,60})?\s{0,5}=\s{0,5}[\"']|<!DOCTYPE[^<>]{0,200})\Z"
)
_ENCODED_LINKS = {
    scheme: re.compile(rf"(?i){other}(?=%3A%2F%2F)(?:(%3A%2F%2F[\w.-]{{1,255}})%3A{port}(?![\w.-]))?")
    for scheme, other, port in (("http", "https", 443), ("https", "http", 80))
}
_SCHEME_NAME = re.compile(rb"(https?):([\"'`])")
_META = re.compile(rb"(?i)<meta\b[^<>]{0,20000}>")
_CSP = re.compile(rb"(?i)http-equiv\s{0,5}=\s{0,5}[\"']?(?:(?:x-)?content-security-policy|x-webkit-csp)")
UPGRADE = "upgrade-insecure-requests"  # a directive of policies
TAG_BYTES = 20_000  # of the longest tag that is read
_TAG = re.compile(rb"(?i)<(iframe|link|script)(?=[\s/])")
_ATTRIBUTES = re.compile(rb"""(?>[^<>"']+|"[^"]*"|'[^']*')*""")
_VALUE = rb"""\s{0,5}=\s{0,5}\\?(?:"([^"<>\\]*)\\?"|'([^'<>\\]*)\\?'|([^\s"'<>\\]+))"""
_CONTENT = re.compile(rb"(?i)[\s\"'/]content" + _VALUE)
_FRAME_CSP = re.compile(rb"(?i)\s{1,50}csp" + _VALUE)
_INTEGRITY = re.compile(rb"(?i)\s{1,50}integrity" + _VALUE)
_LINK_INTEGRITY = re.compile(rb"(?i)\s{0,50};\s{0,50}integrity" + _VALUE)
# A digest as HTML, JSON and scripts may write it: with + / = as references or escapes, or in the alphabet of URLs.
_PLUS = rb"\+|-|&#43;|&#[xX]2[bB];|&plus;|\\{1,2}(?:u00|x)2[bB]"
_STROKE = rb"/|_|&#47;|&#[xX]2[fF];|&sol;|\\{1,2}(?:/|(?:u00|x)2[fF])"
_PADDING = rb"=|&#61;|&#[xX]3[dD];|&equals;|\\{1,2}(?:u00|x)3[dD]"
_DIGEST = re.compile(
    rb"(sha(?:256|384|512)-)((?:[A-Za-z0-9]|"
    + _PLUS
    + rb"|"
    + _STROKE
    + rb"){43,86})(?:"
    + _PADDING
    + rb"){0,2}"
)
_IMPORT_MAP = re.compile(rb"(?i)(<script\b[^<>]{0,2000}>)([^<]{43,200000})")
_DATA_SCRIPT = re.compile(
    rb"(?i)(<script\b[^<>]{0,2000}?\ssrc\s{0,5}=\s{0,5}[\"']?data:[^,\"'<>\s]{0,200};base64,)"
    rb"([A-Za-z0-9+/]++={0,2})(?=[\"'\s>])"
)
_SIGNATURE_KEY = re.compile(rb"ed25519-[A-Za-z0-9+/_-]{43}")
_PLUSES, _STROKES = re.compile(_PLUS), re.compile(_STROKE)
_ADDRESS = rb"[0-9]{1,3}(?:\.[0-9]{1,3}){3}|\[[0-9A-Fa-f:.]{2,45}\]"
_MENTION = re.compile(
    rb"/\\{0,3}/([A-Za-z0-9][A-Za-z0-9_.-]{1,250}\.[A-Za-z]{2,24}|" + _ADDRESS + rb")(?![A-Za-z0-9_.-])"
)
_BEFORE_MENTION = re.compile(rb"(?i)(?:https?:|[\"'(=\s])\\{0,3}\Z")
UNDATED_MS = 1_704_067_200_000  # 2024-01-01: for an archive that does not know when it was recorded
_SOURCE = resources.files("sites").joinpath("determinism.js")
_SEED = 2012

_MISC = r"(?:\s|<!--(?:-?>|.*?--!?>)|<\?[^>]*>)*+"
_TO_ITS_END = r"""(?:\s(?:[^>"']|"[^"]*"|'[^']*')*+)?>"""
_PROLOGUE = re.compile(
    rf"(?is)(?:\ufeff|\xef\xbb\xbf)?{_MISC}(?:<!doctype[^>]*>{_MISC})?(?:<html{_TO_ITS_END}{_MISC})?(?:<head{_TO_ITS_END})?"
)
_HEAD_CONTENT = re.compile(r"(?i)<(?:base|body|frameset|link|meta|noscript|script|style|title)[\s/>]")
_P = ParamSpec("_P")
_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def says_who_may_frame(header: tuple[str, str]) -> bool:
    """Whether browsers pass over X-Frame-Options for this header, which a replay leaves out (CSP 3, 6.4.2.2)."""
    name, value = header
    return name.lower() == "content-security-policy" and "frame-ancestors" in value.lower()


def _in_data_scripts(
    change: Callable[Concatenate[bytes, _P], tuple[bytes, int]],
) -> Callable[Concatenate[bytes, _P], tuple[bytes, int]]:
    """A change that is also made to the scripts which a document holds as data URLs in base64."""

    @wraps(change)
    def everywhere(body: bytes, /, *given: _P.args, **named: _P.kwargs) -> tuple[bytes, int]:
        body, changes = change(body, *given, **named)

        def within(found: re.Match[bytes]) -> bytes:
            nonlocal changes
            made, count = change(_of_base64(found[2]), *given, **named)
            changes += count
            return found[1] + base64.b64encode(made) if count else found[0]

        return (_DATA_SCRIPT.sub(within, body) if b";base64," in body else body), changes

    return everywhere


def _with_data_scripts(body: bytes) -> Iterator[bytes]:
    """A body, and the scripts that it holds as data URLs in base64."""
    yield body
    if b";base64," in body:
        yield from (_of_base64(found[2]) for found in _DATA_SCRIPT.finditer(body))


def _of_base64(data: bytes) -> bytes:
    """What it stands for, b"" where no browser can tell; the signs that fill its end up may be missing."""
    data = data.rstrip(b"=")
    try:
        return base64.b64decode(data + b"=" * (-len(data) % 4))
    except ValueError:
        return b""


@_in_data_scripts
def rewrite_links(
    body: bytes, scheme: str, hosts: Collection[str], *, prefixes: bool = True
) -> tuple[bytes, int]:
    """Every link moved to `scheme`, and how many were. `hosts` are the archive's own names.

    A namespace host is left alone, unless it is in the archive and the path is not a dated one
    (http://www.w3.org/2000/svg stays even on a page of www.w3.org). `prefixes`: what scripts compare the beginnings
    of links with (`"http://"`) moves, too. Under the recorded scheme it need not: most links begin as they did.
    """
    edits: list[TextEdit] = []
    moved = 0
    for pattern in _LINKS[scheme]:
        for link in pattern.finditer(body):
            if _stays(link, hosts) or (not prefixes and _is_prefix(link)):
                continue
            moved += 1
            name = link[0].lower()
            edits.append((*link.span(), name + b"s" if scheme == "https" else name[:-1]))
            port = _PORTS[scheme].match(body, link.start(1))
            if port:
                edits.append((*port.span(1), b""))
    return _edited(body, flight.with_lengths(body, sorted(edits))), moved


@_in_data_scripts
def exchange_scheme_names(body: bytes) -> tuple[bytes, int]:
    """A script, or a document with scripts, in which the strings "http:" and "https:" have changed places.

    Scripts compare them with the page's own scheme, or build links of them: under the other scheme the exchanged
    ones take the branch that was recorded. Long texts of React stay: they are content. Also how many there were.
    """
    other = {b"http": b"https", b"https": b"http"}
    quoted = [
        (*name.span(1), other[name[1]])
        for name in _SCHEME_NAME.finditer(body)
        if body[name.start() - 1 : name.start()] == name[2]
    ]
    edits = flight.outside_texts(body, quoted)
    return _edited(body, edits), len(edits)


def rewrite_value(value: str, scheme: str, hosts: Collection[str]) -> str:
    """A header value, or the target of a request, with the links in it moved to `scheme`."""
    return rewrite_links(value.encode("latin-1", "replace"), scheme, hosts)[0].decode("latin-1")


def rewrite_target(target: str, scheme: str, hosts: Collection[str]) -> str:
    """The target a page asks for when links inside its query (plain or percent-encoded) follow the scheme."""
    return _ENCODED_LINKS[scheme].sub(rf"{scheme}\1", rewrite_value(target, scheme, hosts))


def drop_policies(html: bytes) -> tuple[bytes, int]:
    """HTML without its policies and how many there were: Content-Security-Policy meta elements, and the policies that
    it demands of its frames (`<iframe csp>`), whose own have gone.
    """
    html, elements = _counted(_META, lambda found: b"" if _CSP.search(found[0]) else found[0], html)

    def without(name: bytes, tag: bytes) -> bytes:
        return _FRAME_CSP.sub(b"", tag) if name == b"iframe" else tag

    html, attributes = _counted_tags(without, html)
    return html, elements + attributes


def asks_for_https(headers: Headers, html: bytes) -> bool:
    """Whether a document has its requests under http made under https: by a policy of its headers or in itself."""
    policies = [value for name, value in headers if name.lower() == "content-security-policy"]
    for element in _META.finditer(html):
        content = _CONTENT.search(element[0]) if _CSP.search(element[0]) else None
        if content:
            policies.append((content[1] or content[2] or content[3] or b"").decode("latin-1"))
    directives = (directive.split() for policy in policies for directive in re.split("[;,]", policy.lower()))
    return any(directive[:1] == [UPGRADE] for directive in directives)


def integrity_digests(body: bytes) -> tuple[bytes, ...]:
    """A decoded body's digests in the form of subresource integrity (`sha384-...`)."""
    return tuple(
        b"%s-%s" % (name.encode(), base64.b64encode(hashlib.new(name, body).digest()))
        for name in ("sha256", "sha384", "sha512")
    )


def names_digests(text: bytes) -> bool:
    """Whether a text of any kind (a decoded body, the value of a header) names a digest, or a key for signatures."""
    return any(_DIGEST.search(part) or _SIGNATURE_KEY.search(part) for part in _with_data_scripts(text))


@_in_data_scripts
def follow_digests(text: bytes, renewed: Mapping[bytes, bytes]) -> tuple[bytes, int]:
    """A text of any kind in which digests of changed bodies are replaced by the new ones, and how many were."""
    return _counted(_DIGEST, lambda found: renewed.get(_plain(found), found[0]), text)


def drop_integrity(html: bytes, served: Collection[bytes]) -> tuple[bytes, int]:
    """HTML without the integrity (attributes, digests in import maps) that no served body meets; how much it was."""

    def without(name: bytes, tag: bytes) -> bytes:
        return tag if name == b"iframe" else _INTEGRITY.sub(lambda found: _if_met(found, served), tag)

    html, attributes = _counted_tags(without, html)
    dropped = 0

    def emptied(found: re.Match[bytes]) -> bytes:
        nonlocal dropped
        if b"importmap" not in found[1].lower():
            return found[0]
        digests, unmet = _counted(_DIGEST, lambda one: one[0] if _plain(one) in served else b"", found[2])
        dropped += unmet
        return found[1] + digests

    return _IMPORT_MAP.sub(emptied, html), attributes + dropped


def drop_link_integrity(value: str, served: Collection[bytes]) -> tuple[str, int]:
    """The value of a Link header without the integrity that no served body meets, and how many of them there were."""
    kept, dropped = _counted(
        _LINK_INTEGRITY, lambda found: _if_met(found, served), value.encode("latin-1", "replace")
    )
    return kept.decode("latin-1"), dropped


def _if_met(found: re.Match[bytes], served: Collection[bytes]) -> bytes:
    """Integrity metadata as it stands, or nothing: where no served body meets it, or it takes a signature to."""
    said = found[1] or found[2] or found[3] or b""
    wanted = [_plain(digest) for digest in _DIGEST.finditer(said)]
    met = not wanted or any(digest in served for digest in wanted)
    return found[0] if met and not _SIGNATURE_KEY.search(said) else b""


def _plain(digest: re.Match[bytes]) -> bytes:
    """A digest as `integrity_digests` writes it."""
    text = _STROKES.sub(b"/", _PLUSES.sub(b"+", digest[2]))
    return digest[1] + text + b"=" * (-len(text) % 4)


def mentioned_hosts(body: bytes) -> list[str]:
    """Hosts in the links of a decoded body, names and IP addresses, in order, each once."""
    names: dict[str, None] = {}
    for text in _with_data_scripts(body):
        for found in _MENTION.finditer(text):
            if _BEFORE_MENTION.search(text, max(0, found.start() - 10), found.start()):
                names[found[1].lower().decode()] = None
    return [name for name in names if name not in NAMESPACE_HOSTS]


def _stays(link: re.Match[bytes], hosts: Collection[str]) -> bool:
    """Whether what looks like a link is none, or one that names a namespace."""
    host = link[1].decode().lower().rstrip(".")
    if host in NAMESPACE_HOSTS and (link[2] is not None or host not in hosts):
        return True
    before = link.string[max(0, link.start() - 300) : link.start()]
    return _is_namespace(before) or (link[0][:1] in b"wW" and before[-1:].isalpha())  # as in news://


def _is_prefix(link: re.Match[bytes]) -> bool:
    """Whether what looks like a link names no host, and nothing is put behind it."""
    return not link[1] and _PREFIX.match(link.string, link.end()) is not None


def _edited(body: bytes, edits: list[TextEdit]) -> bytes:
    """The body with these changes, which are in its order."""
    if not edits:
        return body
    edited, kept = bytearray(), 0
    for start, end, new in edits:
        edited += body[kept:start]
        edited += new
        kept = end
    return bytes(edited + body[kept:])


def _is_namespace(before: bytes) -> bool:
    """Whether what stands before a link makes it the name of a namespace or of a document type."""
    return (b"xmlns" in before or b"!doctype" in before.lower()) and _BEFORE_NAMESPACE.search(
        before
    ) is not None


def _counted_tags(change: Callable[[bytes, bytes], bytes], html: bytes) -> tuple[bytes, int]:
    """HTML with changed tags of the names in `_TAG`, and how many were. Each byte is read once."""
    parts, kept, at, changes = [], 0, 0, 0
    while start := _TAG.search(html, at):
        attributes = _ATTRIBUTES.match(html, start.end(), start.end() + TAG_BYTES)
        at = attributes.end() if attributes else start.end()
        if html[at : at + 1] == b">":
            tag = html[start.start() : at]
            new = change(start[1].lower(), tag)
            changes += new != tag
            parts += [html[kept : start.start()], new]
            kept = at
    return b"".join((*parts, html[kept:])), changes


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


@dataclass(frozen=True)
class Pinned:
    """A document with the script; `charset` is what the script pushed out of the browser's sight, else None."""

    body: bytes
    charset: str | None


def pinning_script(recorded: datetime | None) -> str:
    """The script element for an archive recorded at that time."""
    recorded_ms = round(recorded.timestamp() * 1000) if recorded else UNDATED_MS
    code = _code().replace("RECORDED_MS", str(recorded_ms)).replace("SEED", str(_SEED))
    return f"<script>{code}</script>"


@cache
def _code() -> str:
    """`determinism.js` in one line, as short as it can be without other names."""
    short: str = rjsmin.jsmin(_SOURCE.read_text(encoding="utf-8"))
    return "".join(short.splitlines())  # rjsmin keeps the line after a "}", where a semicolon may be missing


def pin(document: bytes, element: str, *, xml: bool) -> Pinned | None:
    """The document with `element` before all its other scripts; None when it does not look like a document.

    The place is right after <head>, <html> or the document type, whichever is last, so that nothing changes about
    how the rest is parsed. XML documents need a <head>.
    """
    encoding = next((name for mark, name in _WIDE.items() if document.startswith(mark)), "latin-1")
    try:
        text = document.decode(encoding, "surrogatepass" if encoding != "latin-1" else "strict")
    except UnicodeDecodeError:  # UTF-16 of an odd number of bytes
        return None
    prologue = _PROLOGUE.match(text)
    at = prologue.end() if prologue else 0
    before = text[:at].lower()
    head = any(mark in before for mark in ("<head", "<html", "<!doctype")) or _HEAD_CONTENT.match(text, at)
    if not head or (xml and not before.rpartition("<")[2].startswith("head")):
        return None
    declared = charset_within(text) if encoding == "latin-1" else None
    pushed_out = declared is not None and declared.end() + len(element) > PRESCAN_BYTES
    body = (text[:at] + element + text[at:]).encode(
        encoding, "surrogatepass" if encoding != "latin-1" else "strict"
    )
    return Pinned(body, _header_label(declared[1].lower()) if declared and pushed_out else None)


def _header_label(label: str) -> str:
    """What a header must name for a browser to read the same as from a <meta> with this label."""
    name = meta_name(label)
    return label if name is None or name == standard_name(label) else name
