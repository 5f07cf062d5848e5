"""What can be kept of a trial, by the words that a study has for it (`keep`)."""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.kind import Kind

HAR, BODIES, NETLOG, PCAP, SCREENSHOT = "har", "bodies", "netlog", "pcap", "screenshot"
TRACE, FILM = "trace", "filmstrip"
OUTPUT = "output"  # of the tool of a closed loop
PORTRAYED = (HAR, SCREENSHOT, FILM)  # of a load that is looked at and not measured
# By kind; the series of a crowd are kept anyway.
KEPT_FILES: Mapping[Kind, tuple[str, ...]] = {
    Kind.LOAD: (HAR, BODIES, NETLOG, PCAP, SCREENSHOT, TRACE, FILM),
    Kind.USERS: (),
    Kind.REQUESTS: (OUTPUT,),
}
