"""The Containerfile holds only what the reader of its steps knows, and its steps do what a builder does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.system.containerfile import Step, carry_out, steps

ROOT = Path(__file__).resolve().parents[2]
SMALL = """# a comment
ARG WORD=plain
FROM debian:${WORD}
ENV MADE=by-env
WORKDIR /image
COPY . /image/copied
RUN echo "$MADE" \\
    > made; ls -A copied > listed
CMD ["sh"]
"""


def test_ours_is_read_whole() -> None:
    found = steps((ROOT / "Containerfile").read_text())
    assert [step.instruction for step in found] == [
        *("ARG", "FROM", "ENV", "RUN", "WORKDIR", "COPY", "RUN", "CMD"),
    ]
    assert found[-2] == Step("RUN", "make setup")


def test_steps_are_carried_out(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    context, root = tmp_path / "context", tmp_path / "root"
    for name in ("kept/a.txt", "kept/__pycache__/a.pyc", "runs/b.txt", "kept/runs/c.txt"):
        (context / name).parent.mkdir(parents=True, exist_ok=True)
        (context / name).write_text(name)
    (context / ".dockerignore").write_text("runs\n**/__pycache__\n")
    root.mkdir()
    carry_out(steps(SMALL), context, {"WORD": "given"}, root)
    assert "this tree stands for debian:given" in capfd.readouterr().out
    assert (root / "image/made").read_text() == "by-env\n"
    assert (root / "image/listed").read_text().split() == [".dockerignore", "kept"]
    copied = {path.name for path in (root / "image/copied").rglob("*")}
    assert copied == {".dockerignore", "kept", "a.txt", "runs", "c.txt"}


@pytest.mark.parametrize(
    "line", ["ADD a b", "USER x", "RUN --mount=type=cache x", "COPY --from=a b c", 'RUN ["a"]']
)
def test_others_are_refused(line: str) -> None:
    with pytest.raises(ValueError, match="known here"):
        steps(line)
