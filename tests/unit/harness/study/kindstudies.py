"""Studies of every kind, for the tests that ask each of them."""

from __future__ import annotations

GOOD = """
name = "mine"
pages = ["one", "two"]
protocols = ["http1", "h2"]
drivers = ["selenium", "playwright"]
trials = 3
[[links]]
down_mbps = 10
up_mbps = 1.5
rtt_ms = [20, 50]
"""
USERS = """
name = "crowds"
kind = "users"
pages = ["icons"]
protocols = ["http1", "h2", "h3"]
server = ["old", "apache", "caddy"]
trials = 3
[users]
from = 1
to = 1000
over_s = 1200
[servers.old]
program = "apache"
mpm = "worker"
MaxRequestWorkers = 400
ThreadsPerChild = 25
[[links]]
name = "each-5mbps"
down_mbps = 5
rtt_ms = 85
per_client = true
"""
REQUESTS = """
name = "rates"
kind = "requests"
pages = ["text"]
protocols = ["http1", "https1", "h2"]
generator = ["wrk", "h2load"]
server = "nginx"
trials = 2
[requests]
connections = [16, 64]
depth = [1, 8]
seconds = 10
[nginx]
worker_processes = 1
[[links]]
name = "lan"
down_mbps = 1000
rtt_ms = 1
"""
