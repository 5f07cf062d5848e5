"""Text of any origin for TeX: nothing of it is a command, and every character can be printed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.labels.markup import ACCENTS, SIGNS, SPECIAL, escape_latex

# All that an escaped text is made of: a command of ours, or a character that TeX takes as it is.
OURS = sorted({*SPECIAL.values(), *SIGNS.values(), "-{}", ",{}", "'{}"}, key=len, reverse=True)
ACCENT = "|".join(re.escape(command) for command in ACCENTS.values())
MADE_OF = re.compile(
    rf"(?:{'|'.join(map(re.escape, OURS))}|(?:{ACCENT})\{{(?:[A-Za-z]|\\i|\\j)\}}|[^\\&%$#_{{}}~^])*"
)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("50 % of a_b & c#d", r"50 \% of a\_b \& c\#d"),
        (r"\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
        ("$x^2$ ~ {y}", r"\$x\textasciicircum{}2\$ \textasciitilde{} \{y\}"),
        ("agency--core, a---b ,,x'' ?`", r"agency-{}-core, a-{}-{}-b ,{},x'{}' ?\`{}"),
        (
            "1–2 … −3 ± 4 µs",  # noqa: RUF001 - meant so
            r"1--2 \ldots{} $-$3 $\pm$ 4 $\mu$s",
        ),
        (
            "Žluťoučký kůň, naïve, Ångström",
            r"\v{Z}lu\v{t}ou\v{c}k\'{y} k[U+016F]\v{n}, na\"{\i}ve, \AA{}ngstr\"{o}m",
        ),
        ("中 😀", "[U+4E2D] [U+1F600]"),
        ("a\nb\x1b[2Jc\u2028d", "a b [2Jc d"),
    ],
)
def test_texts_are_escaped(text: str, escaped: str) -> None:
    assert escape_latex(text) == escaped


@pytest.mark.thorough
@given(st.text(st.characters(codec="utf-8") | st.sampled_from("\\{}$&#^_%~`'\"-<>|,?!"), max_size=40))
def test_whatever_a_text_is_nothing_of_it_is_a_command(text: str) -> None:
    escaped = escape_latex(text)
    assert escaped.isascii()
    assert escaped.isprintable()
    assert MADE_OF.fullmatch(escaped)
    assert escaped.count("{") - escaped.count("\\{") == escaped.count("}") - escaped.count("\\}")


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="TeX is not installed")
def test_pdflatex_has_every_sign(tmp_path: Path) -> None:
    signs = [*map(chr, range(0x20, 0x250)), *SIGNS, "--", ",,", "''", "?`"]
    lines = "\n\n".join(f"x{escape_latex(sign)}x" for sign in signs)
    text = rf"\documentclass{{article}}\begin{{document}}{lines}\end{{document}}"
    (tmp_path / "signs.tex").write_text(text, encoding="ascii")
    command = ("pdflatex", "-interaction=nonstopmode", "-halt-on-error", "signs")
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Missing character" not in (tmp_path / "signs.log").read_text(errors="replace")
