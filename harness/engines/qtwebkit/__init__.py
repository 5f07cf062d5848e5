"""The historical engine: QtWebKit with HTTP pipelining and SPDY/3, in a process of its own behind a small proxy.

`engine` (with `replies`) and the hop (harness.engines.hop) are programs of their own; the rest is our side of them.
"""
