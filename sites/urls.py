"""URLs as a browser would put them on the wire. Pure."""

from __future__ import annotations

import functools
import ipaddress
import re
from dataclasses import dataclass, replace
from urllib.parse import quote, urljoin

from harness.errors import ArchiveError

DEFAULT_PORTS = {"http": 80, "https": 443}
_SPLIT = re.compile(r"(?i)(https?):[/\\]{2}([^/\\?#]*)([^?#]*)(\?[^#]*)?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_PRINTABLE = "!#$%&()*+,-./:;=?@[\\]^_|~'"
_PATH_SAFE = _PRINTABLE.replace("#", "").replace("?", "").replace("\\", "")
_QUERY_SAFE = _PRINTABLE.replace("#", "").replace("'", "") + "`{}"


@dataclass(frozen=True)
class Url:
    """An absolute http(s) URL. `target` (path and query) is what stands in the request line."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """Host and, where it is not the scheme's default, port: what a browser sends as `Host`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
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

    Percent-encoding stays as it is; what may not stand in a request line is encoded. ArchiveError when the
    text is not an absolute http(s) URL with a usable host.
    """
    text = url.strip(" \t\r\n")
    if _CONTROL.search(text):
        raise ArchiveError(f"the URL {url[:100]!r} holds control characters; remove them")
    found = _SPLIT.match(text)
    if found is None:
        raise ArchiveError(f"{url[:100]!r} is no absolute URL; write it as https://host/path")
    scheme, authority, path, query = found.groups()
    scheme = scheme.lower()
    host, port = _host_and_port(authority.rpartition("@")[2], scheme, url)
    target = quote(path.replace("\\", "/") or "/", safe=_PATH_SAFE) + quote(query or "", safe=_QUERY_SAFE)
    return Url(scheme, host, port, target)


def canonical_url(url: str) -> str:
    """One spelling per URL: what the archive stores and compares."""
    return str(parse_url(url))


def resolve(base: str, reference: str) -> str | None:
    """A reference (of a Location header, say) as a canonical absolute URL; None when it is not http(s)."""
    try:
        return canonical_url(urljoin(base, reference.strip()))
    except (ArchiveError, ValueError):
        return None


def ascii_host(host: str) -> str | None:
    """A host name as it stands in DNS and certificates (lower case, IDNA); None when it cannot be one."""
    name = host.lower().rstrip(".")
    if not name.isascii():
        try:
            name = name.encode("idna").decode("ascii")
        except UnicodeError:
            return None
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in name.split(".")):
        return None
    return name


def is_local(host: str) -> bool:
    """Whether a host is one that browsers do not ask DNS for: an IP address, or localhost and what is below it."""
    return ip_address_of(host) is not None or host == "localhost" or host.endswith(".localhost")


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


def _host_and_port(text: str, scheme: str, url: str) -> tuple[str, int]:
    found = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::([0-9]{0,5}))?", text)
    host: str | None = None
    if found is not None and found[1].startswith("["):
        try:
            host = str(ipaddress.IPv6Address(found[1][1:-1]))
        except ValueError:
            host = None
    elif found is not None:
        host = ascii_host(found[1])
    if found is None or host is None:
        raise ArchiveError(f"the URL {url[:100]!r} has no usable host name ({text[:60]!r}); correct it")
    port = int(found[2] or DEFAULT_PORTS[scheme])
    if not 0 < port < 65536:
        raise ArchiveError(f"the URL {url[:100]!r} has port {port}; ports are 1 to 65535")
    return host, port
