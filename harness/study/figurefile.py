"""The figures of a study, and the study that measures what they hold alone (`only_figures`, `--only figure=NAME`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.errors import StudyError
from harness.input import keys
from harness.input.shown import shown
from harness.model.condition import Condition, follows
from harness.model.engine import Engine
from harness.model.kind import Kind, main_metric
from harness.study.claim import selects
from harness.study.claimfile import Selectors, values_of
from harness.study.figure import FigureKind, FigureSeries, StudyFigure, narrowed
from harness.study.metrics import numeric_metric, unobserved
from harness.study.study import Study

FIGURE_KEYS = ("name", "title", "kind", "x", "series", "where", "metric", "reference")
LABEL = "label"
MAX_FIGURES = 40
MAX_SERIES = 16  # as many looks as a reader tells apart

Conditions = Sequence[Mapping[str, Any]]


def figures_of(
    data: Mapping[str, Any], conditions: Conditions, kind: Kind = Kind.LOAD
) -> tuple[StudyFigure, ...]:
    """The figures of a study of a kind with these conditions (`dimensions_of`), in the order of the file."""
    read = _FigureReader(conditions, Selectors.of(conditions, kind), kind).figure
    return keys.each_named("figure", MAX_FIGURES, keys.entries(data, "figures", []), read)


@dataclass(frozen=True)
class _FigureReader:
    """Reads figures of a study with these conditions."""

    conditions: Conditions
    selectors: Selectors
    kind: Kind

    def figure(self, table: Any) -> StudyFigure:
        table = keys.table("figures", table, FIGURE_KEYS)
        kind = keys.enum("kind", table.get("kind", FigureKind.LINES), FigureKind)
        x = keys.choice("x", table.get("x"), tuple(self.selectors.values))
        where = self.selectors.where(table["where"]) if "where" in table else {}
        there = [each for each in self.conditions if selects(where, each)]
        if not there:
            raise StudyError("where: no condition of the study has all of this")
        series = self._series(table, x, there)
        figure = StudyFigure(
            name=keys.text(table, "name"),
            title=keys.text(table, "title"),
            kind=kind,
            x=x,
            series=series,
            metric=numeric_metric(keys.text(table, "metric", main_metric(self.kind)), self.kind),
            where=where,
            reference=self._reference(table, series),
        )
        self._check(figure, there)
        return figure

    def _series(self, table: Mapping[str, Any], x: str, there: Conditions) -> tuple[FigureSeries, ...]:
        """Tables, one for each series; or names of dimensions, whose values make a series each."""
        found = keys.entries(table, "series")
        if len(found) > MAX_SERIES:
            raise StudyError(f"series holds {len(found)} entries; it may hold {MAX_SERIES}")
        if all(isinstance(each, str) for each in found):
            names = [keys.choice("series", each, tuple(self.selectors.values)) for each in found]
            if x in names:
                raise StudyError(f"series holds {x}, which is the figure's x; leave it out of series")
            every = dict.fromkeys(tuple(each.get(name) for name in names) for each in there)
            if len(every) > MAX_SERIES:
                raise StudyError(
                    f"series: {len(every)} of them; a figure may have {MAX_SERIES}: narrow it by where"
                )
            return tuple(FigureSeries(dict(zip(names, values, strict=True))) for values in every)
        return tuple(self._one_series(each, x, there) for each in found)

    def _one_series(self, entry: Any, x: str, there: Conditions) -> FigureSeries:
        if not isinstance(entry, dict):
            raise StudyError(
                f'series holds {shown(entry)}; it is a list of tables, as in [{{protocol = "h2"}}], or of dimensions'
            )
        values = self.selectors.one_each("series", {key: each for key, each in entry.items() if key != LABEL})
        if x in values:
            raise StudyError(f"series names {x}, which is the figure's x; leave it out of series")
        if not any(selects(values, each) for each in there):
            raise StudyError(f"series {_said(values)}: no condition of the study has all of this and where")
        return FigureSeries(values, keys.text(entry, LABEL) if LABEL in entry else "")

    def _reference(self, table: Mapping[str, Any], series: Sequence[FigureSeries]) -> FigureSeries | None:
        if "reference" not in table:
            return None
        values = self.selectors.one_each("reference", table["reference"])
        found = [each for each in series if selects(values, each.values)]
        if len(found) != 1:
            raise StudyError(
                f"reference {_said(values)} is {'several' if found else 'none'} of the series; it must be one of them"
            )
        return found[0]

    def _check(self, figure: StudyFigure, there: Conditions) -> None:
        """StudyError when a point would hold several conditions, or an engine does not tell the metric."""
        points: dict[tuple[Any, int], Mapping[str, Any]] = {}
        for each in there:
            series = figure.series_of(each)
            if series is None:
                continue
            first = points.setdefault((each.get(figure.x), figure.series.index(series)), each)
            if first is not each:
                raise StudyError(
                    f"one point would hold several conditions, as they differ in {self._apart(first, each)}; name it "
                    "in series, or one value of it in where"
                )
        for engine in values_of([each for each in there if figure.holds(each)], "engine"):
            if figure.metric in unobserved(Engine(engine)):
                raise StudyError(f"metric: {engine} does not tell {figure.metric}; name another one")

    def _apart(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
        names = [name for name in self.selectors.values if one.get(name) != other.get(name)]
        leading = [name for name in names if not any(follows(name, each) for each in names if each != name)]
        return " and ".join(leading or names)


def _said(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {each}" for name, each in values.items())


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
