"""A study and its figures: `only_figures` measures what they hold and no more, and `--only figure=NAME` one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from harness.errors import StudyError
from harness.input import keys
from harness.input.shown import shown
from harness.model.condition import Condition
from harness.model.figure import StudyFigure, narrowed
from harness.study.figurefile import figures_of
from harness.study.study import Study


def with_figures(study: Study, data: Mapping[str, Any]) -> Study:
    """The study with the figures of its file; StudyError when it measures them alone, and lists what none has."""
    figures = figures_of(data, study.dimensions, study.kind)
    only = keys.truth(data, "only_figures", default=False)
    if only and not figures:
        raise StudyError("only_figures is true and the study has no [[figures]]; leave it out, or add some")
    whole = replace(study, figures=figures, only_figures=only)
    if only:
        left = _lists_of(whole, whole)
        for key, values in left.items():
            for value in getattr(study, key):
                if value not in values:
                    raise StudyError(
                        f"{key}: {_name(value)} is in no figure, and only_figures is true; leave it out"
                    )
    return whole


def of_one_figure(study: Study, name: str) -> Study:
    """The study with the conditions that a figure needs, and no others; StudyError when it does not make it."""
    found = next((figure for figure in study.figures if figure.name == name), None)
    if found is None:
        has = (
            f"it makes: {', '.join(each.name for each in study.figures)}" if study.figures else "it has none"
        )
        raise StudyError(f"the study makes no figure {shown(name)}; {has}")
    return trimmed(replace(study, figures=(found,), only_figures=True))


def trimmed(study: Study) -> Study:
    """The study without what none of its conditions has, so that nothing is served or looked for in vain."""
    factors = tuple(replace(part, **_lists_of(study, part)) for part in study.factors if _cells(study, part))
    own = _lists_of(study, study) if _cells(study, study) else {"pages": ()}
    return replace(study, factors=factors, **own)


def figures_left(study: Study) -> tuple[StudyFigure, ...]:
    """The figures of which some condition is left, each with its series that are."""
    left = (narrowed(figure, study.dimensions) for figure in study.figures)
    return tuple(figure for figure in left if figure is not None)


def _cells(study: Study, part: Study) -> list[Condition]:
    """What is measured of a part of the study."""
    return [cell for cell in study.conditions if cell.factor == part.factor]


def _lists_of(study: Study, part: Study) -> dict[str, Any]:
    """Of a part's lists what its conditions have, in their order."""
    cells = _cells(study, part)
    return {
        "pages": _there(part.pages, (cell.page for cell in cells)),
        "variants": tuple(
            each for each in part.variants if each.name in {cell.variant.name for cell in cells}
        ),
        "compressions": _there(part.compressions, (cell.compression for cell in cells)),
        "links": _there(part.links, (cell.link for cell in cells)),
        "workloads": _there(part.workloads, (cell.workload for cell in cells)),
        "protocols": _there(part.protocols, (cell.protocol for cell in cells)),
        "engines": _there(part.engines, (cell.engine for cell in cells)),
        "drivers": _there(part.drivers, (cell.driver for cell in cells)),
    }


def _there(listed: Iterable[Any], measured: Iterable[Any]) -> tuple[Any, ...]:
    found = set(measured)
    return tuple(each for each in listed if each in found)


def _name(value: Any) -> str:
    return str(getattr(value, "name", value)) if not isinstance(value, str) else str(value)
