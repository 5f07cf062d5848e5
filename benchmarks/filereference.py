"""docs/reference/files.md: the keys of the files of a run, of archives and of packs, from the types that write them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from analysis.comparing.answers import AnswersJson, ChangeJson
from analysis.comparing.pair import PairJson
from analysis.comparing.versus import VersusJson
from benchmarks.declared import Declared, Row, declared, members, table
from benchmarks.meanings import CALIBRATION, KEYS, LINK_OF_A_RECORD, OF_TRIALS, OF_VARIANTS
from harness.capacity.recipe import SCHEMA as RECIPE_SCHEMA
from harness.capacity.recipe import Item, KeptRecipe
from harness.capacity.resources import Cores
from harness.capacity.series import Bucket, PageLine, Second
from harness.cli.verifylive import SCHEMA as LIVE_SCHEMA
from harness.cli.verifylive import LiveReport
from harness.errors import Outcome
from harness.lab.calibration import CALIBRATION_SCHEMA, CalibratedFigure
from harness.lab.environment import (
    DebianFacts,
    Environment,
    FactorSettings,
    MachineFacts,
    ReplaySettings,
    ServedArchive,
    ServedBy,
)
from harness.lab.livehost import HostRate, HostReading
from harness.model.condition import Condition
from harness.model.kind import Kind
from harness.model.trials import PlannedTrial, Trials
from harness.pack.packfile import FORMAT as PACK_FORMAT
from harness.pack.packfile import SCHEMA as PACK_SCHEMA
from harness.pack.packfile import Manifest, PackedFile, PackedPage
from harness.probes.film import SCHEMA as FILM_SCHEMA
from harness.probes.film import FilmIndex, FramePicture
from harness.records import SCHEMAS, StoredRecord
from harness.study.plan import LOOKS_SCHEMA, PLAN_SCHEMA, LookLine, PlanHeader
from harness.verify.verification import SCHEMA as VERIFY_SCHEMA
from harness.verify.verification import ReplayQuality
from sites.archiveindex import SCHEMA as ARCHIVE_SCHEMA
from sites.archiveindex import ArchiveFacts, Entry
from sites.optimise.derive import Step, VariantReport
from sites.optimise.findings import SCHEMA as FINDINGS_SCHEMA
from sites.optimise.findings import Breakage
from sites.optimise.page import Inventory, Note

HEAD = ("key", "value", "meaning")


def rows(fields: Mapping[str, Declared]) -> Iterable[Row]:
    """The rows of fields. What is absent where there is nothing of it is never null."""
    for name, field in fields.items():
        absent = "absent" in field.meaning
        yield f"`{name}`", field.value.removesuffix(" or null") if absent else field.value, field.meaning


def keys_of(owner: type[Any], beside: Mapping[str, Declared] | None = None, but: Iterable[str] = ()) -> str:
    """The table of a type; `beside` are keys that its writer adds, `but` those that it leaves out."""
    fields = declared(owner) | dict(beside or {})
    return table(HEAD, rows({name: field for name, field in fields.items() if name not in but}))


def meanings(told: Mapping[str, str]) -> str:
    """A table of keys that a mapping tells the meanings of."""
    return table(("key", "meaning"), ((f"`{key}`", meaning) for key, meaning in told.items()))


def link_meanings() -> dict[str, str]:
    """Of each key of a link in a record what it means, which for most is what it means in a study."""
    return {key: told or KEYS["links"][key][1] for key, told in LINK_OF_A_RECORD.items()}


def _records() -> str:
    others = (
        f"of kind `{kind}` {schema}" for kind, schema in SCHEMAS.items() if schema != SCHEMAS[Kind.LOAD]
    )
    return f"""
## records.jsonl
A line per attempt at a trial. Beside these keys it holds the [metrics](metrics.md) of its kind. `schema` is \
{SCHEMAS[Kind.LOAD]}, {", ".join(others)}. `left_out` names a \
[rule](../methodology.md#what-the-report-leaves-out), or is `engine-missing`: no attempt was made.

{keys_of(StoredRecord)}
### Outcomes
{table(("outcome", "meaning"), ((f"`{name}`", text) for name, text in members(Outcome).items()))}
### Conditions
{keys_of(Condition, OF_VARIANTS)}
A `workload` has the keys of [`users`](study.md#users) or [`requests`](study.md#requests).

### Links
Of each way, `WAY` is `down` or `up`. What there is nothing of is null.

{meanings(link_meanings())}"""


def _plan() -> str:
    return f"""
## plan.jsonl
The first line is the header; `schema` is {PLAN_SCHEMA}. What there is nothing of is absent. \
`claims` have the keys of [claims](study.md#claims), \
`figures` those of [figures](study.md#figures), each series with its `values`. `published` holds `title`, `source`, \
what `differs`, and `claims`, whose published value lies from `low` to `high`.

{keys_of(PlanHeader)}
`per_condition`:

{keys_of(Trials, OF_TRIALS)}
Every other line is a trial in the order of execution:

{keys_of(PlannedTrial)}
## looks.jsonl
A line per look at the records, of a study that stops at a half-width. `schema` is {LOOKS_SCHEMA}.

{keys_of(LookLine)}"""


def _environment() -> str:
    parts: Mapping[str, type[Any]] = {
        "`machine`": MachineFacts,
        "`debian`": DebianFacts,
        "`replay`": ReplaySettings,
        "Each of `servers`": ServedBy,
        "Each of `factors`": FactorSettings,
        "Each of `archives`": ServedArchive,
    }
    tables = "".join(f"\n{head}:\n\n{keys_of(owner)}" for head, owner in parts.items())
    return (
        "\n## environment.json\nWhere text was not compressed as recorded, the compression follows a name: "
        f"`agency, gzip-6`.\n\n{keys_of(Environment)}{tables}"
    )


def _of_a_run() -> str:
    return f"""
## calibration.jsonl
A line per measurement of a link before the first trial of a call. `schema` is {CALIBRATION_SCHEMA}.

{meanings(CALIBRATION)}
Each figure:

{keys_of(CalibratedFigure, but=("what", "unit"))}
## recipes/
What a page asks for, learned once for the whole run. `schema` is {RECIPE_SCHEMA}.

{keys_of(KeptRecipe)}
Each of `items`:

{keys_of(Item)}
## filmstrip/film.json
Of a trial. `schema` is {FILM_SCHEMA}.

{keys_of(FilmIndex)}
Each of `frames`:

{keys_of(FramePicture)}"""


def _series() -> str:
    return f"""
## Series of a crowd
pages.jsonl, a line per page, by its end:

{keys_of(PageLine)}
seconds.jsonl, a line per second. CPU, hits, packets and bytes are what they have grown by since they were last known.

{keys_of(Second)}
buckets.jsonl, a line per bucket:

{keys_of(Bucket)}
cores.json:

{keys_of(Cores)}"""


def _archives() -> str:
    return f"""
## Archives
index.jsonl, a line per response:

{keys_of(Entry)}
archive.json; `schema` is {ARCHIVE_SCHEMA}:

{keys_of(ArchiveFacts)}
verify/, of `coldload verify`, with `schema` ({VERIFY_SCHEMA}) before:

{keys_of(ReplayQuality)}
broken.json, of `coldload verify --variant`, holds `schema` ({FINDINGS_SCHEMA}) and `filters`, each with:

{keys_of(Breakage)}
live/, of `coldload verify --live`; `schema` is {LIVE_SCHEMA}:

{keys_of(LiveReport)}
Each of `hosts`:

{keys_of(HostReading)}
Each of `rates`:

{keys_of(HostRate)}
optimised.json, of a derived archive:

{keys_of(VariantReport)}
Each of `steps`:

{keys_of(Step)}
An inventory:

{keys_of(Inventory)}
Each of `notes`:

{keys_of(Note)}
## pack.json
With `format` (`{PACK_FORMAT}`) and `schema` ({PACK_SCHEMA}) before:

{keys_of(Manifest)}
Each of `pages`:

{keys_of(PackedPage)}
Each of `files`:

{keys_of(PackedFile)}"""


def _compared() -> str:
    return f"""
## Two runs compared
`coldload compare --json` and `coldload versus --json` print one object. A ratio is B in units of A; what is not known \
is null. Both:

{keys_of(AnswersJson)}
`compare`:

{keys_of(PairJson, but=(*declared(AnswersJson),))}
`versus`:

{keys_of(VersusJson, but=(*declared(AnswersJson),))}
Each of `conditions`:

{keys_of(ChangeJson)}
`relative` holds `baseline`, its dimensions, and `ratio` to `verdict` once more.
"""


def files(made: str) -> str:
    """The page; `made` says what makes it."""
    return (
        f"# Files of a run\n{made}\nTimes are milliseconds, rates 10^6 bit/s, sizes bytes, unless the key says "
        "otherwise. What was not observed is null or absent. [record-format.md](../record-format.md) says what lies "
        f"where, and what tables leave open.\n"
        + _records()
        + _plan()
        + _environment()
        + _of_a_run()
        + _series()
        + _archives()
        + _compared()
    )
