"""Figures as files."""

from __future__ import annotations

import io
import re
import zlib
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont
from matplotlib.figure import Figure

from analysis.charts import plots

TEXT = "10 Mbit/s: AV, To"  # with pairs that are moved together


def fonts_of(pdf: bytes) -> list[TTFont]:
    streams = (
        zlib.decompress(each) for each in re.findall(rb"stream\r?\n(x.*?)\r?\nendstream", pdf, re.DOTALL)
    )
    return [TTFont(io.BytesIO(each)) for each in streams if each.startswith(b"\0\1\0\0")]


def drawn(folder: Path) -> dict[str, bytes]:
    with plots.look():
        figure = Figure(figsize=(3, 1))
        figure.suptitle(TEXT)
        figure.text(0.1, 0.1, TEXT, weight="bold")
        return {suffix: path.read_bytes() for suffix, path in plots.save(figure, folder, "text").items()}


def test_pdfs_embed_the_glyphs_of_their_text_and_nothing_that_lays_text_out(tmp_path: Path) -> None:
    fonts = fonts_of(drawn(tmp_path)["pdf"])
    assert len(fonts) == 2  # plain and bold
    for font in fonts:
        assert {"glyf", "hmtx"} <= set(font.keys())
        assert not set(plots.LAYOUT_TABLES) & set(font.keys())
        drawn_glyphs = sum(font["glyf"][name].numberOfContours != 0 for name in font.getGlyphOrder())
        assert len(set(TEXT) - {" "}) - 4 <= drawn_glyphs <= len(set(TEXT)) + 4


def test_a_figure_that_is_drawn_again_has_the_same_files(tmp_path: Path) -> None:
    assert drawn(tmp_path / "first") == drawn(tmp_path / "again")


def test_what_others_embed_is_as_it_was(tmp_path: Path) -> None:
    drawn(tmp_path)
    assert not set(plots.LAYOUT_TABLES) & set(subset.Options().drop_tables)
