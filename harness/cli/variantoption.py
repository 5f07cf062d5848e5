"""`--set`, and the variant that it belongs to."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from harness.errors import UsageError
from harness.model.filtersettings import SETTINGS, settings_of
from harness.model.variant import Variant, parse_variant


def add_set_option(parser: argparse.ArgumentParser) -> None:
    """Limits of the variant's filters."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="settings",
        metavar="SETTING=NUMBER",
        help="a limit of a filter, as in inline_css.max_bytes=4096 or, by its name in mod_pagespeed, "
        "CssInlineMaxBytes=4096 (may be repeated; `coldload optimize` without arguments lists them)",
    )


def chosen_variant(text: str, settings: Sequence[str]) -> Variant:
    """A variant by its name, with what `--set` says; UsageError for a limit that none of its filters keeps to."""
    variant = parse_variant(text)
    changed = settings_of(",".join(settings)) if settings else ()
    chosen = variant.with_settings(changed)
    for name, _ in changed:
        if name not in dict(chosen.settings):
            raise UsageError(
                f"--set {name}: {variant} has no {' or '.join(SETTINGS[name].filters)}; leave it out, or choose "
                "another variant"
            )
    return chosen
