"""Write docs/reading-a-run.ipynb: a notebook that reads a run of docs/reproduction, executed here.

    .venv/bin/python -m benchmarks.notebook

The cells stand here. `benchmarks.publish` executes them anew when the run was measured anew.
`tests/unit/test_notebook.py` says when the file has other cells or is of another run, `tests/system/test_notebook.py`
when they give other results.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1] / "docs"
NOTEBOOK = DOCS / "reading-a-run.ipynb"
RUN = "reproduction/multiplexing-run1.zip"
OF_THE_RUN = "sha256_of_the_run"  # in the notebook's metadata
TIMEOUT_S = 600
TEXT, CODE = "markdown", "code"
CELLS = (
    (
        TEXT,
        "# Reading a run\n"
        "A run, or a pack of one, as tables of pandas. [records.md](records.md) says what else there is, "
        "[reference/columns.md](reference/columns.md) lists the columns. This notebook was made and executed by "
        "`python -m benchmarks.notebook`.",
    ),
    (
        CODE,
        "import coldload\n\n"
        f'RUN = "{RUN}"  # or "latest", a run directory, the name of a run\n'
        "records = coldload.read(RUN)\n"
        "records.shape",
    ),
    (TEXT, "A row is an attempt at a trial. Those that do not count stay in the table, with the reason."),
    (CODE, 'records["left_out"].value_counts()'),
    (
        TEXT,
        "The medians of what counts, with the interval that holds each with 95 %. They are those of the report.",
    ),
    (
        CODE,
        "medians = coldload.medians(RUN).query(\"metric == 'plt_ms' and engine == 'chromium'\")\n"
        'medians[["page", "factor", "protocol", "trials", "median", "low", "high"]].round(0)',
    ),
    (
        TEXT,
        "What is compared stands close together in a block, so ratios are formed inside blocks: the drift of the "
        "machine cancels.",
    ),
    (
        CODE,
        'counted = records[records["counts"] & (records["engine"] == "chromium")]\n'
        'blocks = counted.pivot_table(index=["page", "factor", "block"], columns="protocol", values="plt_ms")\n'
        'ratio = (blocks["h2"] / blocks["http1"]).groupby(["page", "factor"])\n'
        'ratio.agg(["median", "min", "max", "count"]).round(2)',
    ),
    (TEXT, "The medians as a figure."),
    (
        CODE,
        "%matplotlib inline\n"
        'wide = medians.pivot_table(index=["page", "factor"], columns="protocol", values="median") / 1000\n'
        'axes = wide.plot.barh(figsize=(7, 4), xlabel="page-load time (s)", ylabel="")\n'
        "axes.invert_yaxis()",
    ),
)


def digest_of_the_run() -> str:
    return hashlib.sha256((DOCS / RUN).read_bytes()).hexdigest()


def is_of_the_run() -> bool:
    """Whether the notebook that is there was executed with the run that is there."""
    there = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return bool(there["metadata"].get(OF_THE_RUN) == digest_of_the_run())


def made() -> Any:
    """The notebook, executed in docs by a kernel of this Python."""
    import nbclient  # noqa: PLC0415  # what needs the cells alone, needs no Jupyter
    from nbformat import v4  # noqa: PLC0415

    kinds = {TEXT: v4.new_markdown_cell, CODE: v4.new_code_cell}
    cells = [kinds[kind](source, id=f"cell-{number}") for number, (kind, source) in enumerate(CELLS, start=1)]
    notebook = v4.new_notebook(cells=cells, metadata={OF_THE_RUN: digest_of_the_run()})
    client = nbclient.NotebookClient(
        notebook,
        timeout=TIMEOUT_S,
        kernel_name="python3",
        resources={"metadata": {"path": str(DOCS)}},
        record_timing=False,
    )
    client.execute()
    return notebook


def main() -> int:
    import nbformat  # noqa: PLC0415

    nbformat.write(made(), NOTEBOOK)
    print(NOTEBOOK)
    return 0


if __name__ == "__main__":
    sys.exit(main())
