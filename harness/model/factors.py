"""What tells filters apart in a factorial study, read off the names of its variants. Pure."""

from __future__ import annotations

from collections.abc import Collection

WITHOUT = ",-"


def factors(variants: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The filters of each whole variant that some variant leaves out."""
    found: dict[str, list[str]] = {}
    for variant in sorted(variants):
        whole, mark, name = variant.rpartition(WITHOUT)
        if mark and whole in variants:
            found.setdefault(whole, []).append(name)
    return {whole: tuple(names) for whole, names in found.items()}


def single_filters(variants: Collection[str]) -> frozenset[str]:
    """The variants that only serve to tell filters apart: one filter alone, the whole without one."""
    found = factors(variants).items()
    alone = {name for _, names in found for name in names}
    return frozenset(variants) & (
        alone | {f"{whole}{WITHOUT}{name}" for whole, names in found for name in names}
    )
