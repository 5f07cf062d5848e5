"""`coldload cluster certificates DIR`: what the members of a cluster know each other by."""

from __future__ import annotations

import argparse

from harness.cli.plaintext import say
from harness.cluster.address import AUTHORITY, CERTIFICATE, KEY
from harness.cluster.certificates import make_certificates

WORKER = "--nthreads 1 --resources lab=1 --preload harness.cluster.worker --memory-limit 0 --no-nanny --no-dashboard"


def run(arguments: argparse.Namespace) -> int:
    folder = arguments.folder
    make_certificates(folder)
    tls = f"--tls-ca-file {folder / AUTHORITY} --tls-cert {folder / CERTIFICATE} --tls-key {folder / KEY}"
    say(f"""made {folder}; copy it to every machine of the cluster, and to nobody else. Then, as one line each:

  dask scheduler --protocol tls --dashboard-address 127.0.0.1:8787 {tls}
  dask worker tls://SCHEDULER:8786 {WORKER} {tls}
  coldload run STUDY.toml --on tls://SCHEDULER:8786 --certificates {folder}""")
    return 0
