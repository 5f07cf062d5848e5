"""coldload for Python: `import coldload` in a script or a notebook. docs/records.md shows how.

    run = coldload.run("study.toml", "--trials", "5")
    records = coldload.read(run)
    print(records[records["counts"]].groupby(["variant", "protocol"])["plt_ms"].median())

What goes wrong is a `coldload.ColdloadError`, whose text is the line that the command line would print.
"""

from harness.cli.interface import medians, read, run
from harness.errors import ColdloadError

__all__ = ["ColdloadError", "medians", "read", "run"]
