"""Origins of URLs: which are the same, and the shortest way to write one from another. Pure."""

from __future__ import annotations

from urllib.parse import urlsplit


def origin(url: str) -> tuple[str, str]:
    """Scheme and authority."""
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def same_origin(one: str, other: str) -> bool:
    return origin(one) == origin(other)


def shortened(url: str, base: str) -> str:
    """An absolute URL as it may be written under `base`: without scheme and host where those are its own."""
    if not url.startswith(("http://", "https://")) or not same_origin(url, base):
        return url
    parts = urlsplit(url)
    short = url[len(parts.scheme) + 3 + len(parts.netloc) :]
    return short if short.startswith("/") and not short.startswith("//") else url
