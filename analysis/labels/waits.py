"""What a load waits for, as a reader meets it: names, and colours that people with colour-vision deficiencies tell."""

from __future__ import annotations

from harness.model.waiting import Waiting

LABELS = {
    Waiting.DOWN: "link down",
    Waiting.UP: "link up",
    Waiting.HANDSHAKES: "handshakes",
    Waiting.SERVER: "server",
    Waiting.ROUND_TRIPS: "round trips",
    Waiting.MAIN_THREAD: "main thread",
    Waiting.UNKNOWN: "nothing known",
}
COLOURS = {
    Waiting.DOWN: "#0072B2",
    Waiting.UP: "#56B4E9",
    Waiting.HANDSHAKES: "#D55E00",
    Waiting.SERVER: "#009E73",
    Waiting.ROUND_TRIPS: "#F0C36D",
    Waiting.MAIN_THREAD: "#CC79A7",
    Waiting.UNKNOWN: "#DADADA",
}
