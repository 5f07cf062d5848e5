"""The schema of HAR 1.2 that the ecosystem's validator goes by."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft6Validator, FormatChecker
from referencing import Registry, Resource

SCHEMAS = Path(__file__).parents[3] / "data" / "har-schema"


@cache
def _validator() -> Draft6Validator:
    files = [json.loads(path.read_text()) for path in sorted(SCHEMAS.glob("*.json"))]
    resources = [Resource.from_contents(each) for each in files]
    registry: Registry[Any] = Registry().with_resources(
        (str(each["$id"]).rstrip("#"), resource) for each, resource in zip(files, resources, strict=True)
    )
    return Draft6Validator({"$ref": "har.json"}, registry=registry, format_checker=FormatChecker())


def faults(har: dict[str, Any]) -> list[str]:
    """Where a HAR is not as the schema says; none when it is valid."""
    return [f"{error.json_path}: {error.message}" for error in _validator().iter_errors(har)]


def sums(har: dict[str, Any]) -> list[tuple[float, float]]:
    """Of each entry its time, and the sum of the phases of it that apply; TLS is within `connect`."""
    return [
        (
            entry["time"],
            sum(value for name, value in entry["timings"].items() if name != "ssl" and value != -1),
        )
        for entry in har["log"]["entries"]
    ]
