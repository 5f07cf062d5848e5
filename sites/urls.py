"""URLs as a browser puts them on the wire: by the WHATWG URL Standard (Ada, the parser of Node), or as Chromium where
it differs. Pure.
"""

from __future__ import annotations

import functools
import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import ada_url

from harness.errors import ArchiveError

DEFAULT_PORTS = {"http": 80, "https": 443}
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_NO_HOST = re.compile(r"[\x00-\x20/\\?#@:\[\]]")
_LABEL = re.compile(r"[a-z0-9_-]{1,63}")
_LONGEST_NAME = 253  # of DNS, in characters
OWN_HOST = "coldload.invalid"  # of the testbed itself, as are all names below it


@dataclass(frozen=True)
class Url:
    """An absolute http(s) URL. `target` (path and query) is what stands in the request line.

    `host` is as DNS and certificates have it. `dot` is the one that ends a name in full (`a.example.`), which a browser
    sends on; else "".
    """

    scheme: str
    host: str
    port: int
    target: str
    dot: str = ""

    @property
    def authority(self) -> str:
        """Host and, where it is not the scheme's default, port: what a browser sends as `Host`."""
        host = f"[{self.host}]" if ":" in self.host else f"{self.host}{self.dot}"
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    def under(self, scheme: str) -> Url:
        """The same URL under another scheme; a default port becomes the other default port."""
        default = self.port == DEFAULT_PORTS[self.scheme]
        return replace(self, scheme=scheme, port=DEFAULT_PORTS[scheme] if default else self.port)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


@functools.lru_cache(maxsize=50_000)
def parse_url(url: str) -> Url:
    """Parse as browsers do; host in lower case and IDNA, no fragment, no user name.

    ArchiveError when the text is not an absolute http(s) URL with a host that DNS can have.
    """
    return _read(_LONE_SURROGATE.sub("\ufffd", url))


def canonical_url(url: str) -> str:
    """One spelling per URL: what the archive stores and compares."""
    return str(parse_url(url))


def fragment_of(url: str) -> str:
    """What an absolute URL has from the # on, which is never sent; "" where nothing stands behind it, or it is none."""
    try:
        return ada_url.URL(_LONE_SURROGATE.sub("\ufffd", url)).hash
    except ValueError:
        return ""


def resolve(base: str, reference: str) -> str | None:
    """A reference (of a Location header, say) as a canonical absolute URL; None when it is not http(s)."""
    try:
        return str(_read(_LONE_SURROGATE.sub("\ufffd", reference), base))
    except (ArchiveError, ValueError):
        return None


def origin(url: str) -> tuple[str, str]:
    """Scheme and authority of an absolute URL."""
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def same_origin(one: str, other: str) -> bool:
    return origin(one) == origin(other)


def shared_length(texts: Sequence[str]) -> int:
    """How many characters all these texts (addresses, say) begin with in common."""
    first, last = min(texts), max(texts)  # what these two share, all in between share
    pairs = enumerate(zip(first, last, strict=False))
    return next((at for at, (one, other) in pairs if one != other), len(first))


def ascii_host(host: str) -> str | None:
    """A host as it stands in DNS and certificates: lower case, IDNA, an IPv6 address without brackets; None when it
    cannot be one.
    """
    if host.startswith("[") and (address := ip_address_of(host.removeprefix("[").removesuffix("]"))):
        return str(address)
    if _NO_HOST.search(host):
        return None
    try:
        return parse_url(f"http://{host}/").host
    except ArchiveError:
        return None


def is_local(host: str) -> bool:
    """Whether a host is one that browsers do not ask DNS for: an IP address, or localhost and what is below it."""
    return ip_address_of(host) is not None or host == "localhost" or host.endswith(".localhost")


def is_own(host: str) -> bool:
    """Whether a host is the testbed's own: what is asked of it tells whether servers and names work."""
    return host == OWN_HOST or host.endswith(f".{OWN_HOST}")


def ip_address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host in a URL is; None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def loopback_address(host: str) -> str | None:
    """The address of its own loopback device to which a browser goes for a host; None if it goes elsewhere."""
    address = ip_address_of("127.0.0.1" if host == "localhost" else host)
    return str(address) if address is not None and address.is_loopback else None


def _read(url: str, base: str | None = None) -> Url:
    try:
        read = ada_url.URL(url, base)
    except ValueError:
        raise ArchiveError(
            f"{url[:100]!r} is no absolute URL that a browser takes; write it as https://host/path"
        ) from None
    scheme = read.protocol.removesuffix(":")
    if scheme not in DEFAULT_PORTS:
        raise ArchiveError(
            f"{url[:100]!r} is of the scheme {scheme[:20]!r}; give an address of http or https"
        )
    host, dot = _host_of(read.hostname, url)
    port = int(read.port or DEFAULT_PORTS[scheme])
    if port == 0:
        raise ArchiveError(f"the URL {url[:100]!r} has port 0; ports are 1 to 65535")
    # Of `search` an empty query has no question mark.
    _, mark, query = read.href.partition("#")[0].partition("?")
    path = read.pathname.replace("|", "%7C")  # Chromium's own: the standard leaves it
    return Url(scheme, host, port, f"{path}{mark}{query}", dot)


def _host_of(name: str, url: str) -> tuple[str, str]:
    """A host as DNS has it, or an IP address; and the dot that ends it."""
    if name.startswith("["):
        return name[1:-1], ""
    host = name.removesuffix(".")
    if len(host) > _LONGEST_NAME or not all(map(_LABEL.fullmatch, host.split("."))):
        raise ArchiveError(f"the URL {url[:100]!r} has no usable host name ({name[:60]!r}); correct it")
    return host, name[len(host) :]
