"""`coldload cluster certificates DIR`: what the members of a cluster know each other by."""

from __future__ import annotations

import argparse

from harness.cli.paths import given_folder
from harness.cli.telling import say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Make the certificates of a cluster. Scheduler, workers and `coldload run --on` all get a copy of the folder: "
        "who has it belongs to the cluster, and can run programs on all its machines."
    )
    parser.add_argument("what", choices=["certificates"], help="what to make")
    parser.add_argument("folder", type=given_folder, metavar="DIR", help="a new folder for them")


WORKER = "--nthreads 1 --resources lab=1 --preload harness.cluster.worker --memory-limit 0 --no-nanny --no-dashboard"


def run(arguments: argparse.Namespace) -> int:
    from harness.cluster.trust import AUTHORITY, CERTIFICATE, KEY, make_certificates

    folder = arguments.folder
    make_certificates(folder)
    tls = f"--tls-ca-file {folder / AUTHORITY} --tls-cert {folder / CERTIFICATE} --tls-key {folder / KEY}"
    say(f"""made {folder}; copy it to every machine of the cluster, and to nobody else. Then, as one line each:

  dask scheduler --protocol tls --dashboard-address 127.0.0.1:8787 {tls}
  while sleep 2; do dask worker tls://SCHEDULER:8786 {WORKER} --death-timeout 60 {tls}; done
  coldload run STUDY.toml --on tls://SCHEDULER:8786 --certificates {folder}""")
    return 0
