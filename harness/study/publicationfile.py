"""What others published of a study: `published = NAME` (configs/claims), a file of the user's, or its own claims.

Figures and values must be those of the study. Of a shorter form of it (`published = {claims = NAME, short = true}`),
claims on what it does not have are not comparable; with `ratios_only` nor are values without a reference, as its
settings are others. Of one with a share of the original's users and server (`scale = 0.25`) numbers of users and
workers and rates are that share of the published ones. What else differs in such a form stands in its `differs`, beside
what differs in all forms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import configs
from harness.errors import StudyError
from harness.input import keys, textfile
from harness.input.shown import shown
from harness.model.kind import Kind, Users
from harness.study.claim import Claim, Publication, Published
from harness.study.claimfile import MAX_CLAIMS, OF_USERS, ClaimReader, narrowed
from harness.study.study import Study

FORM_KEYS = ("short", "ratios_only", "scale")
HEAD_KEYS = ("title", "source", "differs")
STUDY_KEYS = ("claims", *FORM_KEYS, *HEAD_KEYS)
FILE_KEYS = (*HEAD_KEYS, "claims")
NUMBERS_OF_USERS = ("users_at_most_pages", "first_error_users", "users_over_bound")  # metrics
SCALED = ("pages_per_s", *NUMBERS_OF_USERS, "workers_busy")
LEAST_SCALE = 0.01


@dataclass(frozen=True)
class Form:
    """How a study is another than the one that its claims were written for. `most_users`: that come in a crowd."""

    ratios_only: bool = False
    scale: float = 1.0
    most_users: int | None = None

    @property
    def differs(self) -> tuple[str, ...]:
        """How much smaller users and server are."""
        if self.scale == 1:
            return ()
        return (
            f"Size: {self.scale:g} of the original's users and of its server's workers. Of what was published of these "
            "and of rates, that share is compared.",
        )

    def of(self, claim: Claim) -> Claim:
        """A claim as this form of the study can compare it."""
        made = claim if self.scale == 1 else _scaled(claim, self.scale)
        said = made.published
        why = said.not_comparable or self._other_settings(made) or self._beyond(made, said)
        return replace(made, published=replace(said, not_comparable=why))

    def _other_settings(self, claim: Claim) -> str:
        of_settings = self.ratios_only and claim.is_budget
        return "this form of the study has other settings, and compares ratios alone" if of_settings else ""

    def _beyond(self, claim: Claim, said: Published) -> str:
        """That a claim is about more users than ever come."""
        users = said.low if claim.metric in NUMBERS_OF_USERS else said.at_users
        if not claim.is_budget or self.most_users is None or not users or users <= self.most_users:
            return ""
        return f"no more than {self.most_users} users come here"


def publication_of(
    data: Mapping[str, Any], folder: Path, study: Study, own: Sequence[Claim] = ()
) -> Publication | None:
    """What a study says that others published; None when it says nothing. Files are looked for in `folder`.

    `data` is the study's file, `study` what is known of it so far, `own` its own claims with a published value.
    """
    if "published" not in data:
        if own:
            raise StudyError(
                f"claim {shown(own[0].name)} has a published value; say what is repeated, as in "
                'published = {title = "A paper", source = "Somebody, 2012"}'
            )
        return None
    said = data["published"]
    table = keys.table("published", said, STUDY_KEYS) if isinstance(said, dict) else {"claims": said}
    form = Form(
        keys.truth(table, "ratios_only", default=False),
        _scale(table, study.kind),
        max((workload.most for workload in study.workloads if isinstance(workload, Users)), default=None),
    )
    if "claims" in table or "title" not in table:
        return _of_file(table, folder, study, form, own)
    keys.refuse_unknown(table, HEAD_KEYS, "published, which names no claims")
    if not own:
        raise StudyError("published names no claims, and none of the study's has a published value; add some")
    return _publication(table, map(form.of, own))


def _of_file(
    table: Mapping[str, Any], folder: Path, study: Study, form: Form, own: Sequence[Claim]
) -> Publication:
    if not isinstance(table.get("claims"), str):
        shown_claims = shown(table.get("claims"))
        raise StudyError(
            f'published must name claims, as in "spdy-2012" or "FILE.toml", found {shown_claims}'
        )
    if own:
        raise StudyError(
            "published names claims of its own; leave it out, or the published values of the study's claims"
        )
    name = keys.text(table, "claims")
    path = _path(name, folder)
    reader = ClaimReader(
        study.dimensions,
        study.kind,
        {figure.name: figure.where for figure in study.figures},
        short=keys.truth(table, "short", default=False),
    )
    try:
        text = textfile.read_text(path)
        file = textfile.parse_toml(text)
        keys.refuse_unknown(file, FILE_KEYS, "published claims")
        claims = keys.each_named("claim", MAX_CLAIMS, keys.entries(file, "claims"), reader.published)
        made = _publication(file, map(form.of, claims))
    except FileNotFoundError as error:
        raise StudyError(
            f"published: no file {path}; those that ship: {', '.join(shipped_claims())}"
        ) from error
    except OSError as error:
        raise StudyError(f"published: cannot read {path}: {error.strerror or error}") from error
    except (textfile.TomlRefusedError, StudyError) as error:
        raise StudyError(f"published {name}: {error}") from error
    differs = (*form.differs, *_differs(table), *made.differs)
    return replace(made, differs=differs, text="" if name in shipped_claims() else text)


def shipped_claims() -> dict[str, Path]:
    """The published claims that ship with the project, by name."""
    return configs.shipped("claims")


def left_of(
    publication: Publication, conditions: Sequence[Mapping[str, Any]], figures: Sequence[str]
) -> Publication:
    """Those claims that some measured condition holds, and of those that cannot be compared the ones of these figures.

    `figures`: those that are left of the study, by name; a claim that names none is kept.
    """
    shown_there = [claim for claim in publication.claims if claim.published.figure in ("", *figures)]
    left = (narrowed(claim, conditions) if claim.compares else claim for claim in shown_there)
    return publication.with_claims(claim for claim in left if claim is not None)


def _publication(head: Mapping[str, Any], claims: Iterable[Claim]) -> Publication:
    return Publication(
        title=keys.text(head, "title"),
        source=keys.text(head, "source"),
        differs=_differs(head),
        claims=tuple(claims),
    )


def _scale(table: Mapping[str, Any], kind: Kind) -> float:
    if "scale" in table and kind is not Kind.USERS:
        raise StudyError("published: scale goes with studies of users; leave it out")
    return keys.number(table, "scale", 1.0, LEAST_SCALE, 1.0)


def _differs(table: Mapping[str, Any]) -> tuple[str, ...]:
    """What differs from the original, a text each."""
    return tuple(
        keys.text({"differs": difference}, "differs") for difference in keys.entries(table, "differs", [])
    )


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


def _scaled(claim: Claim, scale: float) -> Claim:
    """A claim on a server and a crowd of this scale; it tells what was published, and of how many users."""
    said = claim.published
    fewer = {
        key: max(1, round(users * scale)) for key in OF_USERS if (users := getattr(said, key)) is not None
    }
    told = [f"at {made} users in place of {getattr(said, key)}" for key, made in fewer.items()]
    differs = [" and ".join(told), said.differs]
    if claim.is_budget and claim.metric in SCALED and said.against_users is None:
        ends = [None if end is None else float(f"{end * scale:.12g}") for end in (said.low, said.high)]
        differs.insert(0, f"{scale:g} of the published {_as_said(said)}")
        at_most = ends[0] if ends[1] is None else ends[1]
        claim, said = replace(claim, at_most=at_most), replace(said, low=ends[0], high=ends[1])
    return replace(claim, published=replace(said, **fewer, differs="; ".join(filter(None, differs))))


def _as_said(said: Published) -> str:
    """`16.3`, `130 to 140`, `below 1`."""
    ends = dict.fromkeys(f"{end:g}" for end in (said.low, said.high) if end is not None)
    bound = "" if not said.is_bound else "below " if said.low is None else "above "
    return bound + " to ".join(ends)
