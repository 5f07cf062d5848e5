"""Which hosts of a page shared a server address when it was recorded. Pure."""

from __future__ import annotations

from collections import Counter

from sites.archive import Archive


def address_groups(archive: Archive) -> tuple[tuple[str, ...], ...]:
    """The hosts of an archive by recorded server address, in order of appearance.

    A host seen at several addresses belongs to the one that answered most often (of equals, first). A host
    without a recorded address stands alone.
    """
    seen: dict[str, Counter[str]] = {host: Counter() for host in archive.hosts}
    for entry in archive.entries:
        if entry.ip is not None:
            seen[entry.host][entry.ip] += 1
    groups: dict[str, list[str]] = {}
    for host, addresses in seen.items():
        address = addresses.most_common(1)[0][0] if addresses else f"of {host} alone"
        groups.setdefault(address, []).append(host)
    return tuple(tuple(hosts) for hosts in groups.values())
