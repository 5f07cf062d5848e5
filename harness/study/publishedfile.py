"""What others published of a study: `published = NAME` (configs/claims), or a file of the user's.

A claim is written as those of a study are (`[[claims]]`: subject, reference, where, metric), with the published value
in place of an expectation. One that names a figure of the study keeps to the conditions of that figure. Figures and
values must be those of the study. Of a shorter form of it (`published = {claims = NAME, short = true}`), claims on what
it does not have are not comparable; with `ratios_only` nor are values without a reference, as its settings are others.
Of one with a share of the original's users and server (`scale = 0.25`) numbers of users and workers and rates are that
share of the published ones. What else differs in such a form stands in its `differs`, beside what differs in all forms.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import configs
from harness.errors import StudyError
from harness.input import keys, textfile
from harness.input.shown import shown
from harness.model.kind import Kind, Users, main_metric
from harness.study.claim import MAX_RATIO, Claim
from harness.study.claimfile import (
    LEAST,
    MAX_CLAIMS,
    MOST,
    ClaimReader,
    NothingMeasured,
    ValueLacking,
    narrowed,
    share_of,
    two_numbers,
)
from harness.study.figure import StudyFigure
from harness.study.published import MOST_TOLERATED, MOST_USERS, Publication, PublishedClaim
from harness.study.study import Study

STUDY_KEYS = ("claims", "short", "ratios_only", "scale", "differs")
FILE_KEYS = ("title", "source", "differs", "claims")
COMPARED = ("subject", "reference", "where", "metric")
PUBLISHED_KEYS = (
    *("name", "text", "stands", "figure", *COMPARED, "published", "tolerance"),
    *("at_users", "since_users", "against_users", "differs", "not_comparable"),
)
# What each bucket of a crowd has; `server_cpu_s` is that of a second there.
AT_USERS = (
    *("page_ms", "pages_per_s", "cpu_idle_share", "workers_busy"),
    *("server_cpu_s", "server_memory_bytes"),
)
OF_USERS = ("users_at_most_pages", "first_error_users", "users_over_bound")  # what is a number of users
SCALED = ("pages_per_s", *OF_USERS, "workers_busy")
LEAST_SCALE = 0.01
BOUND = re.compile(r"(below|above) (\d{1,15}(?:\.\d{1,9})?)")


def publication_of(data: Mapping[str, Any], folder: Path, study: Study) -> Publication | None:
    """What a study says that others published; None when it says nothing. Files are looked for in `folder`.

    `data` is the study's file, `study` what is known of it so far.
    """
    if "published" not in data:
        return None
    said = data["published"]
    table = keys.table("published", said, STUDY_KEYS) if isinstance(said, dict) else {"claims": said}
    name = _name(table, said)
    path = _path(name, folder)
    reader = _PublishedReader(
        ClaimReader.of(study.dimensions, study.kind),
        {figure.name: figure for figure in study.figures},
        study.kind,
        short=keys.truth(table, "short", default=False),
        ratios_only=keys.truth(table, "ratios_only", default=False),
        scale=_scale(table, study.kind),
        most_users=max((each.most for each in study.workloads if isinstance(each, Users)), default=None),
        differs=_differs(table),
    )
    try:
        text = textfile.read_text(path)
        published = _read(textfile.parse_toml(text), reader)
        return published if name in shipped_claims() else replace(published, text=text)
    except FileNotFoundError as error:
        raise StudyError(
            f"published: no file {path}; those that ship: {', '.join(shipped_claims())}"
        ) from error
    except OSError as error:
        raise StudyError(f"published: cannot read {path}: {error.strerror or error}") from error
    except (textfile.TomlRefusedError, StudyError) as error:
        raise StudyError(f"published {name}: {error}") from error


def shipped_claims() -> dict[str, Path]:
    """The published claims that ship with the project, by name."""
    return configs.shipped("claims")


def left_of(
    publication: Publication, conditions: Sequence[Mapping[str, Any]], figures: Sequence[str]
) -> Publication:
    """Those claims that some measured condition holds, and of those that cannot be compared the ones of these figures.

    `figures`: those that are left of the study, by name; a claim that names none is kept.
    """
    left = []
    for each in publication.claims:
        if each.figure and each.figure not in figures:
            continue
        claim = narrowed(each, conditions) if each.compares else each
        if claim is not None:
            left.append(claim)
    return publication.with_claims(left)


def _scale(table: Mapping[str, Any], kind: Kind) -> float:
    if "scale" in table and kind is not Kind.USERS:
        raise StudyError("published: scale goes with studies of users; leave it out")
    return keys.number(table, "scale", 1.0, LEAST_SCALE, 1.0)


def _differs(table: Mapping[str, Any]) -> tuple[str, ...]:
    """What differs from the original, a text each."""
    return tuple(keys.text({"differs": each}, "differs") for each in keys.entries(table, "differs", []))


def _name(table: Mapping[str, Any], said: Any) -> str:
    if not isinstance(table.get("claims"), str):
        raise StudyError(f'published must name claims, as in "spdy-2012" or "FILE.toml", found {shown(said)}')
    return keys.text(table, "claims")


def _path(name: str, folder: Path) -> Path:
    shipped = shipped_claims()
    if name in shipped:
        return shipped[name]
    if not name.endswith(".toml"):
        raise StudyError(
            f"published: no claims are named {shown(name)}{keys.nearest(name, shipped)}; there are: "
            f"{keys.listed(name, shipped)}, or name a file (FILE.toml)"
        )
    return folder / name


def _read(data: Mapping[str, Any], reader: _PublishedReader) -> Publication:
    keys.refuse_unknown(data, FILE_KEYS, "published claims")
    return Publication(
        title=keys.text(data, "title"),
        source=keys.text(data, "source"),
        differs=(*reader.size(), *reader.differs, *_differs(data)),
        claims=keys.each_named("claim", MAX_CLAIMS, keys.entries(data, "claims"), reader.claim),
    )


@dataclass(frozen=True)
class _PublishedReader:
    """Reads published claims for a study with these figures."""

    claims: ClaimReader
    figures: Mapping[str, StudyFigure]
    kind: Kind
    short: bool
    ratios_only: bool
    scale: float
    differs: tuple[str, ...]
    most_users: int | None  # of a study of users

    def size(self) -> tuple[str, ...]:
        """How much smaller users and server are."""
        if self.scale == 1:
            return ()
        return (
            f"Size: {self.scale:g} of the original's users and of its server's workers. Of what was published of these "
            "and of rates, that share is compared.",
        )

    def claim(self, table: Any) -> PublishedClaim:
        table = keys.table("claims", table, PUBLISHED_KEYS)
        figure, lacking = self._figure(table)
        low, high = _value(table)
        low, high, scaled = self._scaled(table, low, high)
        reason = keys.text(table, "not_comparable") if "not_comparable" in table else ""
        claim = None
        if any(key in table for key in COMPARED):
            if low is None and high is None:
                raise StudyError(
                    'published is missing: a number, two as in [0.9, 1.1], or a bound as in "below 1"'
                )
            lacking = lacking or self._lacking(table)
            if not lacking:
                claim, lacking = self._compared(table, figure, low, high)
            reason = reason or lacking or self._other_settings(claim)
        users = {key: self._users(table, key) for key in ("at_users", "since_users", "against_users")}
        reason = reason or self._beyond(claim, users["at_users"], low)
        differs = keys.text(table, "differs") if "differs" in table else ""
        tolerance = _tolerance(table)
        if tolerance and (low is None or high is None):
            raise StudyError("tolerance goes with a published value or range, not with a bound; leave it out")
        said: dict[str, Any] = dict(
            name=keys.text(table, "name"),
            text=keys.text(table, "text"),
            stands=keys.text(table, "stands"),
            low=low,
            high=high,
            tolerance=tolerance,
            **users,
            figure=figure.name if figure else "",
            differs="; ".join(filter(None, [scaled, self._fewer(table, users), differs])),
            not_comparable=reason,
        )
        return PublishedClaim(**said) if claim is None else PublishedClaim.of(claim, **said)

    def _figure(self, table: Mapping[str, Any]) -> tuple[StudyFigure | None, str]:
        """The figure of a claim; or none, and why nothing is compared."""
        if "figure" not in table:
            return None, ""
        name = keys.text(table, "figure")
        if name in self.figures:
            return self.figures[name], ""
        if self.short:
            return None, f"this form of the study makes no figure {name}"
        has = f"it makes: {', '.join(self.figures)}" if self.figures else "it has no [[figures]]"
        raise StudyError(f"figure: the study makes no figure {shown(name)}; {has}")

    def _compared(
        self, table: Mapping[str, Any], figure: StudyFigure | None, low: float | None, high: float | None
    ) -> tuple[Claim | None, str]:
        """What a claim compares; or nothing, and why, of a short form."""
        asked = {key: table[key] for key in ("subject", "reference", "metric") if key in table}
        of_figure = {} if figure is None else {key: list(each) for key, each in figure.where.items()}
        where = {**of_figure, **self._where(table)}
        expected: dict[str, Any] = {}
        if "reference" not in table:
            expected = {"at_most": high if high is not None else low}
        elif low is None:
            expected = {"ratio_below": high}
        elif high is None:
            expected = {"ratio_within": [low, MAX_RATIO]}
        try:
            return self.claims.claim({**asked, **expected, **({"where": where} if where else {})}), ""
        except NothingMeasured:
            if not self.short:
                raise
            return None, "this form of the study measures nothing of it"

    def _where(self, table: Mapping[str, Any]) -> dict[str, list[Any]]:
        """The selector; of a short form without the values that it does not have."""
        where = keys.table("where", table["where"], tuple(self._known)) if "where" in table else {}
        return {
            dimension: [
                value
                for value in (keys.entries(where, dimension) if isinstance(each, list) else [each])
                if not self._is_lacking(dimension, value)
            ]
            for dimension, each in where.items()
        }

    def _lacking(self, table: Mapping[str, Any]) -> str:
        """Why nothing is compared: the first value without which a claim is about nothing of a short form."""
        for dimension, values in self._where(table).items():
            if not values:
                return f"this form of the study measures no {dimension} {_text(table['where'][dimension])}"
        for key in ("subject", "reference"):
            side = keys.table(key, table[key], tuple(self._known)) if key in table else {}
            for dimension, value in side.items():
                if self._is_lacking(dimension, value):
                    return f"this form of the study measures no {dimension} {_text(value)}"
        return ""

    def _is_lacking(self, dimension: str, value: Any) -> bool:
        """Whether a short form does not have a value; of another study that is a mistake, which is told later."""
        try:
            self.claims.selectors.known("", dimension, value)
        except ValueLacking:
            return self.short
        except StudyError:
            pass  # no value at all: told where claims are read
        return False

    @property
    def _known(self) -> Mapping[str, Sequence[Any]]:
        return self.claims.selectors.values

    def _other_settings(self, claim: Claim | None) -> str:
        if claim is None or not claim.is_budget or not self.ratios_only:
            return ""
        return "this form of the study has other settings, and compares ratios alone"

    def _beyond(self, claim: Claim | None, at_users: int | None, low: float | None) -> str:
        """That a claim is about more users than ever come."""
        if claim is None or not claim.is_budget or self.most_users is None:
            return ""
        asked = at_users if claim.metric not in OF_USERS else low
        return f"no more than {self.most_users} users come here" if asked and asked > self.most_users else ""

    def _metric(self, table: Mapping[str, Any]) -> str:
        return keys.text(table, "metric", main_metric(self.kind))

    def _scaled(
        self, table: Mapping[str, Any], low: float | None, high: float | None
    ) -> tuple[float | None, float | None, str]:
        """The published value for a server of this scale, and that it is one."""
        of_ratio = "reference" in table or "against_users" in table
        unscaled = self.scale == 1 or of_ratio or "published" not in table
        if unscaled or self._metric(table) not in SCALED:
            return low, high, ""
        made = [None if each is None else float(f"{each * self.scale:.12g}") for each in (low, high)]
        told = _text(table.get("published")).replace(" or ", " to ")
        return made[0], made[1], f"{self.scale:g} of the published {told}"

    def _users(self, table: Mapping[str, Any], key: str) -> int | None:
        """A number of users, scaled."""
        if key not in table:
            return None
        if self.kind is not Kind.USERS or self._metric(table) not in AT_USERS:
            raise StudyError(f"{key} goes with studies of users and the metrics {', '.join(AT_USERS)}")
        users = int(keys.number(table, key, None, 1, MOST_USERS, whole=True))
        return max(1, round(users * self.scale))

    def _fewer(self, table: Mapping[str, Any], users: Mapping[str, int | None]) -> str:
        """That these are fewer users than published."""
        if self.scale == 1:
            return ""
        told = [
            f"at {made} users in place of {table[key]}" for key, made in users.items() if made is not None
        ]
        return " and ".join(told)


def _value(table: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Both ends of what was published, or one of them; neither where the claim has no number."""
    found = table.get("published")
    if found is None:
        return None, None
    if isinstance(found, str):
        bound = BOUND.fullmatch(found.strip())
        if bound is None:
            raise StudyError(
                f'published is {shown(found)}; a bound is written as in "below 1" or "above 2.5"'
            )
        number = keys.checked_number("published", float(bound[2]), LEAST, MOST)
        return (None, number) if bound[1] == "below" else (number, None)
    if isinstance(found, list):
        return two_numbers("published", found, LEAST, MOST)
    number = keys.checked_number("published", found, LEAST, MOST)
    return number, number


def _tolerance(table: Mapping[str, Any]) -> float:
    if "tolerance" not in table:
        return 0.0
    found = table["tolerance"]
    share = share_of(found) if isinstance(found, str) else None
    if not share or share > MOST_TOLERATED:
        raise StudyError(f'tolerance must be a text such as "5 %", at most 100 %, found {shown(found)}')
    return share


def _text(found: Any) -> str:
    every = found if isinstance(found, list) else [found]
    return " or ".join(f"{each:g}" if isinstance(each, float) else str(each) for each in every)
