"""What a visitor brings is read with care and never quoted."""

from __future__ import annotations

import base64
from pathlib import Path
from urllib.parse import quote

import pytest

from harness.errors import ArchiveError, UsageError
from sites.response import Response
from sites.visitor import NOBODY, Visitor, hidden, read_cookies, read_headers, run_script, without_secrets
from tests.unit.sites.importers.recordings import PAGE, saved

HEAD = "# Netscape HTTP Cookie File\n"
HUSHED = "Zm9yIG91ciBleWVz"


def test_headers_are_parted_at_the_first_colon() -> None:
    assert read_headers(["X-At: 12:30", "Authorization:Bearer x"]) == (
        ("X-At", "12:30"),
        ("Authorization", "Bearer x"),
    )


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (f"Authorization {HUSHED}", "takes 'Name: value'"),
        (f"Two words: {HUSHED}", "takes 'Name: value'"),
        (f"X: {HUSHED}\nY: 1", "takes 'Name: value'"),
        ("X:", "takes 'Name: value'"),
        (f"Cookie: a={HUSHED}", "--cookie does"),
        (f"user-agent: {HUSHED}", "--user-agent does"),
        (f"Host: {HUSHED}", "the browser writes it"),
    ],
)
def test_a_header_that_cannot_be_sent_is_not_quoted(line: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        read_headers([line])
    assert HUSHED not in str(caught.value)


def test_cookies_of_a_netscape_file(tmp_path: Path) -> None:
    lines = (
        f"#HttpOnly_.site.example\tTRUE\t/\tTRUE\t0\tsession\t{HUSHED}\n"
        "site.example\tFALSE\t/a\tFALSE\t4102444800\tlasting\t1\n"
        "site.example\tFALSE\t/\tFALSE\t1000\tover\t1\n"
    )
    session, lasting = read_cookies(saved(tmp_path, (HEAD + lines).encode()))
    assert session == {
        "name": "session", "value": HUSHED, "domain": ".site.example", "path": "/",
        "secure": True, "httpOnly": True, "expires": -1,
    }  # fmt: skip
    assert (lasting["httpOnly"], lasting["expires"], lasting["path"]) == (False, 4102444800, "/a")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f'[{{"name": "{HUSHED}"}}]', "no file of cookies in Netscape's format"),
        (f"{HEAD}site.example\t{HUSHED}\n", "no file of cookies in Netscape's format"),
        (HEAD, "holds no cookie"),
        (f"{HEAD}site.example\tFALSE\t/\tFALSE\t1000\ta\t{HUSHED}\n", "the 1 cookies in .* have expired"),
    ],
)
def test_what_holds_no_cookies_is_not_quoted(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        read_cookies(saved(tmp_path, text.encode()))
    assert HUSHED not in str(caught.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(UsageError, match="cannot read the cookies"):
            read_cookies(path)


def test_no_representation_shows_a_secret() -> None:
    visitor = Visitor((("Authorization", f"Bearer {HUSHED}"),), ({"name": "a", "value": "b" + HUSHED},))
    assert HUSHED not in repr(visitor)
    assert visitor.secrets == (f"Bearer {HUSHED}", "b" + HUSHED, HUSHED)
    assert HUSHED not in visitor.note
    assert (NOBODY.note, NOBODY.is_nobody, visitor.is_nobody) == ("", True, False)
    assert Visitor((("X", "1"),)).secrets == ()  # any text holds it


def test_what_says_a_secret_is_left_out() -> None:
    hushed = "a b/c d/e f"
    assert hidden("x=a%20b%2Fc%20d%2Fe%20f y=a b/c d/e f", [hushed]) == "x=(hidden) y=(hidden)"
    plain = Response(PAGE, 200, (("X", "1"),), b"")
    assert without_secrets(plain, (hushed,)) is plain
    said = Response(PAGE, 200, (("X", "1"), ("Y", f"<{hushed}>")), b"")
    assert without_secrets(said, (hushed,)) == plain
    assert without_secrets(Response(f"{PAGE}?s=a%20b%2Fc%20d%2Fe%20f", 200, (), b""), (hushed,)) is None
    named = Response(PAGE, 200, (("X", "1"), (HUSHED, "1")), b"", reason=f"OK {HUSHED}")
    assert without_secrets(named, (HUSHED,)) == plain


@pytest.mark.parametrize(
    ("secret", "spelled"),
    [
        ("a b/c d/e f", "a%20b%2fc%20d%2fe%20f"),
        ("a b/c d/e f", "a+b%2Fc+d/e+f"),
        ("a b/c d/e f", "a%2520b%252Fc%2520d%25252Fe%2520f"),
        ("it's (all) *!", "it's%20(all)%20*!"),  # by encodeURIComponent
        ("it's (all) *!", "%69t%27s%20%28all%29%20%2A%21"),
        ("s%3Ayes/no%2B", "s%3ayes%2fno%2b"),
        ("s%3ayes.no", "s%253Ayes.no"),
        ("caf%E9-noir", "caf%e9-noir"),
        ("na\u00efve-one", "na%c3%afve-one"),
        ("100%-of-it", "100%25-of-it"),
    ],
)
def test_a_secret_is_known_in_every_spelling_of_urls(secret: str, spelled: str) -> None:
    assert hidden(f"/a?b={spelled}&c", [secret]) == "/a?b=(hidden)&c"
    assert without_secrets(Response(PAGE, 200, (("Location", f"/?b={spelled}"),), b""), (secret,)) == (
        Response(PAGE, 200, (), b"")
    )


@pytest.mark.parametrize("before", ["", "x", "xy", "xyz"])
@pytest.mark.parametrize("behind", ["", "1", "12"])
def test_a_secret_is_known_within_base64(before: str, behind: str) -> None:
    hushed = "\u00fb\u00ff>?~\u00fe\u00bf?>s%3A1"
    code = base64.b64encode(f"{before}{hushed}{behind}".encode()).decode()
    for spelled in (code, quote(code, safe=""), code.replace("+", "-").replace("/", "_"), code.rstrip("=")):
        shown = hidden(f"/a?state={spelled}", [hushed])
        assert "(hidden)" in shown
        assert len(shown) <= len("/a?state=(hidden)") + len(before) + 8 + len("%3D%3D")


def test_what_is_like_a_secret_stays() -> None:
    secrets = ["a b/c d/e f", "%2Faccount%2F", HUSHED, "it's (all) *!"]
    for text in (
        "a-b/c-d/e-f",
        "a%2Db%2Fc",
        "/account/",  # which a cookie may name
        HUSHED.lower(),
        HUSHED[:-1],
        "its (all) *!",
        "it's (ALL) *!",
    ):
        assert hidden(text, secrets) == text


def test_of_secrets_within_one_another_nothing_stays() -> None:
    assert hidden("x=abcdefgh-ijkl", ["abcdefgh", "abcdefgh-ijkl"]) == "x=(hidden)"


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("def before(page):\n    page.wrong\n", r"line 2, failed: 'list' object has no attribute 'wrong'"),
        ("import nothing_of_this_name\n", r"line 1, failed: No module named"),
        ("def before(page:\n", "failed: "),
        ("raise SystemExit\n", "failed: SystemExit"),
        ("", r"has no function before\(page\)"),
    ],
)
def test_a_script_fails_in_one_line(tmp_path: Path, script: str, why: str) -> None:
    with pytest.raises(ArchiveError, match=why) as caught:
        run_script(saved(tmp_path, script.encode(), "s.py"), [])
    assert "\n" not in str(caught.value)


def test_a_script_acts_on_the_page_and_leaves_no_file(tmp_path: Path) -> None:
    page: list[str] = []
    helper = "WHAT = 'been here'\ndef before(page):\n    page.append(WHAT)\n"
    run_script(saved(tmp_path, helper.encode(), "s.py"), page)
    assert page == ["been here"]
    assert [path.name for path in tmp_path.iterdir()] == ["s.py"]
