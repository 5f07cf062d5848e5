"""Status pages, as the servers have written them, as values."""

from __future__ import annotations

import pytest

from harness.errors import TestbedFailed
from sites.servers.apache import apache_status
from sites.servers.caddy import caddy_status
from sites.servers.nginx import nginx_status
from sites.servers.server import Status, status_address

APACHE = """127.0.0.1
ServerVersion: Apache/2.4.71 (Debian) OpenSSL/3.0.19
ServerMPM: worker
Server Built: 2026-11-12T08:58:41
ServerUptime:
Load1: 41.15
Total Accesses: 1234
Total kBytes: 300
CPULoad: 0.e+79
BusyWorkers: 41
GracefulWorkers: 0
IdleWorkers: 59
Scoreboard: __W___
"""
NGINX = (
    "Active connections: 41 \nserver accepts handled requests\n 43 43 2705 \n"
    "Reading: 2 Writing: 4 Waiting: 35 \n"
)
CADDY = """# TYPE go_goroutines gauge
go_goroutines 20
# TYPE caddy_http_requests_in_flight gauge
caddy_http_requests_in_flight{handler="metrics",server="status"} 1
caddy_http_requests_in_flight{handler="log_append",server="http"} 7
caddy_http_requests_in_flight{handler="log_append",server="https"} 2
caddy_http_requests_in_flight{handler="subroute",server="http"} 6
"""


def test_apache_tells_its_workers_without_the_one_that_answers_us() -> None:
    assert apache_status(APACHE) == Status(40, 59, 1234, 307_200, "worker")


def test_nginx_tells_requests_in_hand_without_ours() -> None:
    assert nginx_status(NGINX) == Status(workers_busy=5, hits=2705)


def test_caddy_counts_a_request_in_each_handler_it_has_reached() -> None:
    assert caddy_status(CADDY) == Status(workers_busy=9)
    assert caddy_status("go_goroutines 9\n") == Status(workers_busy=0), "no request yet"


@pytest.mark.parametrize("parse", [apache_status, nginx_status, caddy_status])
def test_another_page_is_refused(parse: object) -> None:
    assert callable(parse)
    with pytest.raises(TestbedFailed, match="status page says something strange"):
        parse("<html>404</html>")


def test_each_server_has_a_status_address_of_its_own_in_the_loopback() -> None:
    assert (status_address("10.0.0.1"), status_address("10.0.1.7")) == ("127.0.0.1", "127.0.1.7")
