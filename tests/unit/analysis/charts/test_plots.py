"""Figures as files."""

from __future__ import annotations

import io
import re
import zlib
from pathlib import Path

import pytest
from fontTools import subset
from fontTools.ttLib import TTFont
from matplotlib.figure import Figure

from analysis.charts import plots
from analysis.labels.conditions import Style

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


@pytest.mark.parametrize(
    ("names", "beside"),
    [
        (["HTTP/1.1, no keep-alive", "HTTP/1.1", "HTTP/1.1 + TLS", "HTTP/2 (TLS)"], 2),
        (["cold cache", "cold cache, extend_cache", "warm cache", "warm cache, extend_cache"], 1),
        (["W" * 24, "i"], 1),
        (["i" * 24] * 4, 2),
        (["$\\frac{$", "a $ b"], 2),
        ([], 2),
        (["a", "b" * 20, "c", "d", "e" * 26], 1),
        (["word " * 30, "x" * 300, "-" * 90, " " * 400], 1),
    ],
)
def test_a_legend_is_as_wide_as_its_figure_at_most(names: list[str], beside: int) -> None:
    assert plots.legend_columns(names, plots.COLUMN_INCHES, 2) == beside
    with plots.look():
        figure = plots.new(plots.COLUMN_INCHES, 2)
        style = Style("#000000", "o", "-")
        handles = [plots.handle(name, style) for name in names]
        plots.fitted_legend(figure, handles, 2)
        figure.savefig(io.BytesIO())
        right = max((text.get_window_extent().x1 for text in figure.legends[0].get_texts()), default=0)
    assert right <= figure.bbox.width
