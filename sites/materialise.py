"""An archive as what a web server serves under one scheme: server-neutral, with notes on what was changed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from harness.model.condition import Compression
from harness.model.settings import ThinkTime
from sites import rewrite
from sites.archive import Archive
from sites.archiveindex import Entry, round_trips
from sites.asked import in_one_spelling, refused
from sites.coding import BROWSER_CODINGS
from sites.match import Callback, Closest, Key, callbacks_of, closest_rules
from sites.mediatype import HTML_TYPES, compressible
from sites.response import Response
from sites.served import Draft, ServedObject, Treatment, draft
from sites.urls import DEFAULT_PORTS, OWN_HOST, Url, ascii_host, is_local, is_own, parse_url, resolve

AS_RECORDED, AT_ONCE = Compression(), ThinkTime()
MENTIONED_HOSTS_LIMIT = 200
_PLAIN_TYPE = re.compile(r"[a-z0-9/_.+-]+")  # what may stand in any server's configuration
UNUSABLE = 304  # an answer to a question that a browser with an empty cache does not ask
INTEGRITY_ROUNDS = 5  # a script that names the digest of a script that names ...; real pages need one or two


@dataclass(frozen=True)
class Site:
    """Everything one server serves of one archive under one scheme.

    `hosts` are names the archive holds, `mentioned_hosts` others that its texts refer to: those need a
    certificate and an answer, too. `ports` are the recorded ports beside the scheme's own. A request that none of
    the `objects` answers exactly is answered by the rules `closest` has for what it asks for, else not found; of the
    `callbacks` it then gets one that calls the function it names.
    `compression` is what was done to the bodies, or if it is dynamic what the server is to do.
    """

    start_url: str
    scheme: str
    hosts: tuple[str, ...]
    mentioned_hosts: tuple[str, ...]
    ports: tuple[int, ...]
    objects: tuple[ServedObject, ...]
    closest: tuple[Closest, ...]
    notes: tuple[str, ...]
    compression: Compression = AS_RECORDED
    callbacks: Mapping[Key, Callback] = field(default_factory=dict)

    @property
    def callback_parameters(self) -> tuple[str, ...]:
        """The parameters in which requests name functions."""
        return tuple(sorted({callback.parameter for callback in self.callbacks.values()}))

    @property
    def coded_types(self) -> tuple[str, ...]:
        """The media types that a server compresses as it sends; () when all is coded already."""
        media_types = {response.mime for response in self.objects} if self.compression.dynamic else set()
        return tuple(
            sorted(mime for mime in media_types if compressible(mime) and _PLAIN_TYPE.fullmatch(mime))
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that needs a certificate: local hosts, which browsers may not name, then the page's own first."""
        names = dict.fromkeys((parse_url(self.start_url).host, *self.hosts, *self.mentioned_hosts))
        return tuple(sorted(names, key=lambda name: not is_local(name)))


def materialise(
    archive: Archive,
    scheme: str,
    codings: Collection[str] | None = None,
    *,
    compression: Compression = AS_RECORDED,
    determinism: bool = False,
    think_time: ThinkTime = AT_ONCE,
) -> Site:
    """The site that `archive` is under `scheme` (`http` or `https`), whatever it was recorded under.

    `codings` are the content codings to keep, at most those browsers take under the scheme (the default). To
    compare protocols of both schemes, give those of http (BROWSER_CODINGS), so that the bodies are alike.
    """
    changes: Counter[str] = Counter()
    recorded = datetime.fromisoformat(archive.captured_utc) if archive.captured_utc else None
    treatment = Treatment(
        archive=archive,
        scheme=scheme,
        codings=BROWSER_CODINGS[scheme].intersection(BROWSER_CODINGS[scheme] if codings is None else codings),
        compression=compression,
        script=rewrite.pinning_script(recorded) if determinism else None,
        think_time=think_time,
        round_trips_ms=round_trips(archive.entries),
    )
    chosen = _choose(archive, scheme, changes)
    drafts = [draft(url, entry, treatment, changes) for url, entry in chosen.items()]
    _settle_integrity(drafts, changes)
    objects = _with_aliases([made.finish() for made in drafts], scheme, archive.hosts, changes)
    callbacks = callbacks_of(objects)
    changes["scripts (JSONP) that call the function a request names, also under another name"] += len(
        callbacks
    )
    return Site(
        start_url=str(parse_url(archive.start_url).under(scheme)),
        scheme=scheme,
        hosts=archive.hosts,
        mentioned_hosts=_mentioned_hosts(drafts, archive.hosts, changes),
        ports=tuple(sorted({made.url.port for made in drafts} - {DEFAULT_PORTS[scheme]})),
        objects=objects,
        closest=closest_rules(objects, scheme, {callback.parameter for callback in callbacks.values()}),
        notes=tuple(f"{count} {what}" for what, count in sorted(changes.items()) if count),
        compression=compression,
        callbacks=callbacks,
    )


def _choose(archive: Archive, scheme: str, changes: Counter[str]) -> dict[Url, Entry]:
    """One entry for each URL as it is under `scheme`.

    Of several captures the last with status 200 counts, else the last; of the two recorded schemes the start
    URL's. A redirect that only changes the scheme would lead to itself and is left out. So is one to another spelling
    of its address that was not recorded, as it would be the answer there; and so is 304, which answers what a browser
    with an empty cache does not ask. So is what was recorded of the testbed's own names: it asks for them itself.
    """
    preferred = parse_url(archive.start_url).scheme
    chosen: dict[Url, Entry] = {}
    ranks: dict[Url, tuple[bool, bool, int]] = {}
    targets: dict[Url, Url | None] = {}
    for number, entry in enumerate(archive.entries):
        recorded = parse_url(entry.url)
        url = recorded.under(scheme)
        if is_own(url.host):
            changes[f"responses left out because {OWN_HOST} and names below it are the testbed's own"] += 1
            continue
        if refused(url.target):
            changes["responses left out because a server refuses their addresses"] += 1
            continue
        if entry.status == UNUSABLE:
            changes["answers 304 (not modified) left out, as they have no body"] += 1
            continue
        target = _target(archive.read(entry), scheme) if 300 <= entry.status < 400 else None
        if target == url:
            changes["redirects from one scheme to the other left out"] += 1
            continue
        rank = (entry.status == 200, recorded.scheme == preferred, number)
        changes["captures left out in favour of another one of the same URL"] += url in chosen
        if url not in chosen or rank > ranks[url]:
            chosen[url], ranks[url], targets[url] = entry, rank, target
    for url, target in targets.items():
        if target is not None and target not in chosen and _in_one_spelling(target) == _in_one_spelling(url):
            changes["redirects to another spelling of their own address left out"] += 1
            del chosen[url]
    return chosen


def _target(redirect: Response, scheme: str) -> Url | None:
    """Where a redirect leads to."""
    target = resolve(redirect.url, redirect.location) if redirect.location else None
    return None if target is None else parse_url(target).under(scheme)


def _in_one_spelling(url: Url) -> Url:
    return replace(url, target=in_one_spelling(url.target))


def _settle_integrity(drafts: list[Draft], changes: Counter[str]) -> None:
    """Digests of changed texts follow the change, wherever they are written: in texts of any kind and in Link headers.

    HTML and Link headers lose the integrity that no archived text meets (a recorder changed the body, say).
    """
    naming = {
        made: made.text for made in drafts if made.text is not None and rewrite.names_digests(made.text)
    }
    linking = [
        made for made in drafts if rewrite.names_digests("\n".join(made.links).encode("latin-1", "replace"))
    ]
    if not naming and not linking:
        return
    renewed, followed = _renewed(drafts, naming)
    served = {renewed.get(digest, digest) for made in drafts for digest in made.recorded_digests}
    dropped = 0
    for made in naming:
        if made.mime in HTML_TYPES and made.text is not None:
            made.text, count = rewrite.drop_integrity(made.text, served)
            made.changed |= count > 0
            dropped += count
    for made in linking:
        followed_here, dropped_here = made.settle_links(renewed, served)
        followed += followed_here
        dropped += dropped_here
    changes["integrity digests renewed because the body they protect was changed"] += followed
    changes["integrity attributes dropped that no archived body meets"] += dropped


def _renewed(drafts: list[Draft], naming: Mapping[Draft, bytes]) -> tuple[dict[bytes, bytes], int]:
    """The new digests by the old ones; these `naming` texts have them then, in so many places."""
    renewed: dict[bytes, bytes] = {}
    followed = 0
    for _ in range(INTEGRITY_ROUNDS):
        before = dict(renewed)
        for made in drafts:
            if made.changed and made.text is not None and made.recorded_digests:
                renewed.update(zip(made.recorded_digests, rewrite.integrity_digests(made.text), strict=True))
        if renewed == before:
            break
        followed = 0
        for made, text in naming.items():
            made.text, count = rewrite.follow_digests(text, renewed)
            made.changed |= count > 0
            followed += count
    return renewed, followed


def _with_aliases(
    objects: list[ServedObject], scheme: str, hosts: tuple[str, ...], changes: Counter[str]
) -> tuple[ServedObject, ...]:
    """Also each object under the target that pages ask for once the links inside it follow the scheme."""
    known = {made.key: made for made in objects}
    for made in objects:
        alias = replace(made, target=rewrite.rewrite_target(made.target, scheme, hosts))
        if alias.key not in known:
            known[alias.key] = alias
            changes[f"addresses with a link inside also answered with that link moved to {scheme}"] += 1
    return tuple(known.values())


def _mentioned_hosts(
    drafts: Iterable[Draft], archived: tuple[str, ...], changes: Counter[str]
) -> tuple[str, ...]:
    named = dict.fromkeys(ascii_host(host) for made in drafts for host in made.mentioned_hosts)
    known = set(archived)
    others = [host for host in named if host and host not in known]
    changes["mentioned hosts without a certificate"] += max(0, len(others) - MENTIONED_HOSTS_LIMIT)
    return tuple(others[:MENTIONED_HOSTS_LIMIT])
