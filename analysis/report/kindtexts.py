"""What a report says of the kind of its runs: what was measured, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.model.kind import Kind

BLOCKS = (
    "Each block runs all conditions once, in random order from the stored seed; what is compared stands close "
    "together. An attempt is judged by mechanical reasons before anyone looks at its figures, and repeated in its "
    "block when it does not count."
)
GENERATORS = (
    "The generators ask in different ways and cost different CPU, so a difference between them is not the protocol's: "
    "comparisons are within a generator."
)
SATURATED = (
    "A trial whose generator or emulator ran out of CPU does not count, whatever its figures look like."
)
LIMIT = (
    "Every trial says what ran out: workers, the CPU of the server, that of the generator, the emulator, the link, "
    "or nothing."
)


@dataclass(frozen=True)
class KindText:
    """`subject` stands in the head of the page. `trial` is how a trial is made, `metric` what the main metric is.
    `one_engine_alone`: why generators are not compared.
    """

    subject: str
    trial: str
    metric: str
    pictures: str
    one_engine_alone: str


TEXTS: Mapping[Kind, KindText] = {
    Kind.LOAD: KindText(
        subject="Page-load times",
        trial=(
            "Every trial is one load in a cold browser: fresh profile, no caches, no open connections. "
            "Each block runs all conditions once, in random order from the stored seed; what is compared "
            "stands close together. An attempt is judged by mechanical reasons before anyone looks at its "
            "time, and repeated in its block when it does not count. The servers and the access link are "
            "emulated on one machine; the round-trip time (RTT) and the rates are those of the link."
        ),
        metric=(
            "runs from navigation start to the end of the load event, as the browser's Navigation Timing "
            "reports it. A trial counts only if every request used the protocol that its condition names."
        ),
        pictures="What the estimates are made of: single pairs, single trials, and the order in which they ran.",
        one_engine_alone="",
    ),
    Kind.USERS: KindText(
        subject="A crowd on one server",
        trial=(
            "Every trial is one crowd on a server that was started for it: users come by a ramp or in "
            "steps, and each loads the page as a browser does (the document, then what it asks for, in "
            "the order and by the dependencies of a proved load), thinks, and loads it again over new "
            "connections. Every user comes from an address with an access link of its own; the rate and the "
            f"round-trip time (RTT) are those of a user. {BLOCKS} {SATURATED}"
        ),
        metric=(
            "is the most pages a second in a bucket: pages that came in time, over the length of the "
            "bucket. Page time runs from the first byte asked for to the last one received. The server's "
            f"CPU, memory and workers are read once a second. {LIMIT} A trial counts only if every request "
            "used the protocol that its condition names."
        ),
        pictures="What the estimates are made of: single pairs, and the order in which the trials ran.",
        one_engine_alone=GENERATORS,
    ),
    Kind.REQUESTS: KindText(
        subject="Requests a second",
        trial=(
            "Every trial is a closed loop: so many connections ask for the same file, each with so many "
            "requests under way (the depth; of HTTP/2 and SPDY: streams), and ask anew as soon as an "
            f"answer has come. What is answered while the loop warms up does not count. {BLOCKS} "
            f"{SATURATED}"
        ),
        metric=(
            "is the number of answers over the time in which they came. Latency is what the generator "
            f"tells of single requests; it waits for an answer, so a slow server is asked less. {LIMIT} A "
            "trial counts only if every request used the protocol that its condition names."
        ),
        pictures="What the estimates are made of: single pairs, and the order in which the trials ran.",
        one_engine_alone=GENERATORS,
    ),
}
