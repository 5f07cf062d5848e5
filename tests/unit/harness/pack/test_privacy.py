"""What a pack does not tell: paths of the machine, the names of its user and of itself."""

from __future__ import annotations

import pytest

from harness.pack.privacy import told_of_nobody

NAMES = ("ann", "lab-7", "root", "h2")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/home/ann/x/.venv/bin/caddy died (exit code -9)", "…/caddy died (exit code -9)"),
        (
            "Command line: '/usr/sbin/apache2 -d /run/coldload/testbed-x/s'",
            "Command line: '…/apache2 -d …/s'",
        ),
        ("see ~ann/lab/run.log, or file:///home/ann/run.log", "see …/run.log, or …/run.log"),
        ("ann@lab-7: permission denied", "…@…: permission denied"),
        ("https://site.example/a/b.css (404)", "https://site.example/a/b.css (404)"),
        ("Apache/2.4.71 (Debian), root, h2, annual", "Apache/2.4.71 (Debian), root, h2, annual"),
        ("--disable-features=A,B", "--disable-features=A,B"),
    ],
)
def test_paths_and_names_go_and_the_rest_stays(text: str, told: str) -> None:
    assert told_of_nobody(text, NAMES) == told
    assert told_of_nobody({"a": [text, 1, None, True]}, NAMES) == {"a": [told, 1, None, True]}
