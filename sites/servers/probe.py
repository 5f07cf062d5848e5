"""Whether a replay server answers by the protocol it is meant to: a real request to one of its services."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Mapping, Sequence

from harness.errors import TestbedFailed
from harness.model.protocol import Protocol
from sites.certificates import Authority
from sites.materialise import Site
from sites.servers.server import Service, names_at
from sites.urls import DEFAULT_PORTS

TIMEOUT_S = 2.0
PROBE_HOST = "coldload.invalid"  # what the harness itself asks for, in HTTP/1.1
HTTP1_REQUEST = f"HEAD /ready HTTP/1.1\r\nHost: {PROBE_HOST}\r\nConnection: close\r\n\r\n".encode()
HTTP1_MISS = b"HTTP/1.1 404"
H2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))  # and empty SETTINGS
H2_SETTINGS = 4
SPDY_VERSION = bytes((0x80, 3))  # how each control frame of SPDY/3 begins
SPDY_PING = SPDY_VERSION + bytes((0, 6, 0, 0, 0, 4, 0, 0, 0, 1))
# A long-header packet of a version nobody speaks, of the least size a server answers: it must name its versions
# (RFC 9000, 6.1 and 17.2.1).
QUIC_PROBE = bytes((0xC0, 0x1A, 0x2A, 0x3A, 0x4A, 8, *b"coldload", 8, *b"probing.")).ljust(1200, b"\0")
QUIC_V1 = bytes((0, 0, 0, 1))


def all_answer(
    services: Sequence[Service],
    sites: Mapping[str, Site],
    authority: Authority,
    timeout_s: float = TIMEOUT_S,
) -> bool:
    """Whether each of the services `answers`; the first that does not ends it."""
    return all(
        answers(service, names_at(service, sites[service.protocol.scheme])[0], authority, timeout_s)
        for service in services
    )


def answers(service: Service, host: str, authority: Authority, timeout_s: float = TIMEOUT_S) -> bool:
    """False while nobody listens; TestbedFailed when somebody does with another certificate or protocol.

    The caller must be on a host from which the service is reached. `host` has a certificate there.
    """
    address = (service.address, DEFAULT_PORTS[service.protocol.scheme])
    if service.protocol.over_quic:
        return _answers_quic(address, timeout_s)
    try:
        with contextlib.ExitStack() as stack:
            connection = stack.enter_context(socket.create_connection(address, timeout_s))
            if service.protocol.encrypted:
                connection = stack.enter_context(_secured(connection, service, host, authority))
            if service.protocol is Protocol.H2:
                connection.sendall(H2_PREFACE)
                return connection.recv(9)[3:4] == bytes((H2_SETTINGS,))
            if service.protocol.wire == Protocol.SPDY.wire:
                connection.sendall(SPDY_PING)
                return connection.recv(len(SPDY_VERSION)) == SPDY_VERSION
            connection.sendall(HTTP1_REQUEST)
            return connection.recv(len(HTTP1_MISS)) == HTTP1_MISS
    except ssl.SSLError as error:
        raise TestbedFailed(
            f"TLS on {service.address} ({service.protocol}) does not work: {error}"
        ) from error
    except OSError:
        return False


def _answers_quic(address: tuple[str, int], timeout_s: float) -> bool:
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as datagrams:
        datagrams.settimeout(timeout_s)
        try:
            datagrams.connect(address)
            datagrams.send(QUIC_PROBE)
            answer = datagrams.recv(1500)
        except OSError:
            return False
    return answer[1:5] == bytes(4) and QUIC_V1 in answer


def _secured(plain: socket.socket, service: Service, host: str, authority: Authority) -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=str(authority.certificate_file))
    context.set_alpn_protocols([service.protocol.wire])
    secure = context.wrap_socket(plain, server_hostname=host)
    if secure.selected_alpn_protocol() != service.protocol.wire:
        offered = secure.selected_alpn_protocol() or "nothing"
        secure.close()
        raise TestbedFailed(f"{service.address} is to speak {service.protocol.wire}, but offers {offered}")
    return secure
