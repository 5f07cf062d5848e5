"""Whether the pages of a study are archived."""

from __future__ import annotations

from harness.errors import ArchiveError
from harness.model.pageset import MARK, set_of
from harness.study.study import Study
from sites.archive import archives_root, open_archive


def refuse_unless_archived(study: Study) -> None:
    """ArchiveError for the first page that is not archived; it names the page's set."""
    root = archives_root()
    for page in study.every_page:
        name = set_of(study.every_set, page)
        if name is not None and not (root / page).is_dir():
            raise ArchiveError(
                f"page {page!r} of {MARK}{name} is not archived in {root}; `coldload archive --shipped` makes those "
                f"that ship, `coldload archive URL --name {page}` one of your own; or take it out of the set"
            )
        open_archive(root, page)
