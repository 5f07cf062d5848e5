"""Text of any origin as markup holds it: the templates of HTML pages, and text for TeX. Nothing of it is a command.

pdflatex has every character: what it has none for in its own fonts (OT1) is written as `[U+4E2D]`, so that a document
builds whatever a page is called.
"""

from __future__ import annotations

import re
import unicodedata

import jinja2

from analysis.labels.words import DASH, MINUS
from harness.input.shown import in_page


def templates(package: str, folder: str = "") -> jinja2.Environment:
    """The templates of a package. All text is escaped; what a template names and nobody gave is an error."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader(package, folder),
        autoescape=True,
        finalize=in_page,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "{": r"\{",
    "}": r"\}",
    "`": "\\`{}",
    **{character: f"\\{character}" for character in "&%$#_"},
}
SIGNS = {
    DASH: "--",
    MINUS: "$-$",
    "\N{EM DASH}": "---",
    "\N{HYPHEN}": "-",
    "\N{NON-BREAKING HYPHEN}": "-",
    "\N{NO-BREAK SPACE}": "~",
    "\N{NARROW NO-BREAK SPACE}": r"\,",
    "\N{HORIZONTAL ELLIPSIS}": r"\ldots{}",
    "\N{LEFT SINGLE QUOTATION MARK}": r"\textquoteleft{}",
    "\N{RIGHT SINGLE QUOTATION MARK}": r"\textquoteright{}",
    "\N{LEFT DOUBLE QUOTATION MARK}": r"\textquotedblleft{}",
    "\N{RIGHT DOUBLE QUOTATION MARK}": r"\textquotedblright{}",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "\N{DIVISION SIGN}": r"$\div$",
    "\N{PLUS-MINUS SIGN}": r"$\pm$",
    "\N{MICRO SIGN}": r"$\mu$",
    "\N{GREEK SMALL LETTER MU}": r"$\mu$",
    "\N{DEGREE SIGN}": r"$^\circ$",
    "\N{MIDDLE DOT}": r"$\cdot$",
    "\N{BULLET}": r"\textbullet{}",
    "\N{LESS-THAN OR EQUAL TO}": r"$\le$",
    "\N{GREATER-THAN OR EQUAL TO}": r"$\ge$",
    "\N{ALMOST EQUAL TO}": r"$\approx$",
    "\N{NOT EQUAL TO}": r"$\ne$",
    "\N{RIGHTWARDS ARROW}": r"$\to$",
    "\N{LEFTWARDS ARROW}": r"$\leftarrow$",
    "\N{SUPERSCRIPT TWO}": "$^2$",
    "\N{SUPERSCRIPT THREE}": "$^3$",
    "\N{SECTION SIGN}": r"\S{}",
    "\N{PILCROW SIGN}": r"\P{}",
    "\N{COPYRIGHT SIGN}": r"\copyright{}",
    "\N{POUND SIGN}": r"\pounds{}",
    "\N{LATIN SMALL LETTER SHARP S}": r"\ss{}",
    "\N{LATIN SMALL LETTER AE}": r"\ae{}",
    "\N{LATIN CAPITAL LETTER AE}": r"\AE{}",
    "\N{LATIN SMALL LIGATURE OE}": r"\oe{}",
    "\N{LATIN CAPITAL LIGATURE OE}": r"\OE{}",
    "\N{LATIN SMALL LETTER O WITH STROKE}": r"\o{}",
    "\N{LATIN CAPITAL LETTER O WITH STROKE}": r"\O{}",
    "\N{LATIN SMALL LETTER A WITH RING ABOVE}": r"\aa{}",
    "\N{LATIN CAPITAL LETTER A WITH RING ABOVE}": r"\AA{}",
    "\N{LATIN SMALL LETTER L WITH STROKE}": r"\l{}",
    "\N{LATIN CAPITAL LETTER L WITH STROKE}": r"\L{}",
    "\N{LATIN SMALL LETTER DOTLESS I}": r"\i{}",
    "\N{INVERTED EXCLAMATION MARK}": "!`",
    "\N{INVERTED QUESTION MARK}": "?`",
}
# Accents, by the character that combines with a letter.
ACCENTS = {
    "\N{COMBINING GRAVE ACCENT}": "\\`",
    "\N{COMBINING ACUTE ACCENT}": "\\'",
    "\N{COMBINING CIRCUMFLEX ACCENT}": r"\^",
    "\N{COMBINING TILDE}": r"\~",
    "\N{COMBINING DIAERESIS}": r"\"",
    "\N{COMBINING MACRON}": r"\=",
    "\N{COMBINING DOT ABOVE}": r"\.",
    "\N{COMBINING BREVE}": r"\u",
    "\N{COMBINING CARON}": r"\v",
    "\N{COMBINING DOUBLE ACUTE ACCENT}": r"\H",
    "\N{COMBINING CEDILLA}": r"\c",
}
DOTLESS = {"i": r"\i", "j": r"\j"}
# What TeX acts on; the first of two signs that its fonts make one of (a dash, a quotation mark); what is not ASCII.
_NOT_PLAIN = re.compile(rf"[{re.escape(''.join(SPECIAL))}]|-(?=-)|,(?=,)|'(?=')|[^ -~]")


def escape_latex(text: str) -> str:
    """The text as TeX prints it: one line, without control characters."""
    return _NOT_PLAIN.sub(lambda found: _escaped(found[0]), on_one_line(text))


def on_one_line(text: str) -> str:
    """Without control characters and ends of lines, which no table has room for."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", text)


def _escaped(character: str) -> str:
    if character in SPECIAL:
        return SPECIAL[character]
    if character.isascii():
        return f"{character}{{}}"
    return SIGNS.get(character) or _accented(character) or f"[U+{ord(character):04X}]"


def _accented(character: str) -> str:
    """A letter with an accent that TeX can put there; empty for anything else."""
    letter, *marks = list(unicodedata.normalize("NFD", character))
    if len(marks) != 1 or marks[0] not in ACCENTS or not letter.isascii() or not letter.isalpha():
        return ""
    return f"{ACCENTS[marks[0]]}{{{DOTLESS.get(letter, letter)}}}"
