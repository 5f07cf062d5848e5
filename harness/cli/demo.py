"""`coldload demo`: the main job on the pages and the study that ship."""

from __future__ import annotations

import argparse

from harness.cli.console import console
from harness.cli.run import run_and_report
from harness.cli.shipped import make_shipped_archives
from harness.study.studyfile import read_study, shipped_studies
from sites.archive import archives_root


def run(arguments: argparse.Namespace) -> int:
    path = shipped_studies()["demo-quick" if arguments.quick else "demo"]
    study = read_study(path)
    code = make_shipped_archives(arguments, archives_root(), console(), study.pages)
    if code != 0:
        return code
    arguments.new, arguments.junit = False, None
    return run_and_report(arguments, path, path.read_text(encoding="utf-8"), study)
