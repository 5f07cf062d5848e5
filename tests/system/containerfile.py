"""Carries out the steps of a Containerfile in the tree that it runs in, as a builder of images would.

    python3 tests/system/containerfile.py CONTEXT [NAME=VALUE ...]

runs CONTEXT/Containerfile, with arguments of the build. FROM is what the tree has to be already. It knows the
few instructions that ours uses and refuses others. Standard library alone: a bare tree has no more.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

KNOWN = ("ARG", "FROM", "ENV", "WORKDIR", "COPY", "RUN", "CMD")


@dataclass(frozen=True)
class Step:
    """One instruction; its words have no continued lines any more."""

    instruction: str
    words: str

    def __post_init__(self) -> None:
        if self.instruction not in KNOWN:
            raise ValueError(f"{self.instruction} {self.words}: only {', '.join(KNOWN)} are known here")
        if self.instruction in ("RUN", "COPY", "FROM") and self.words.startswith(("--", "[", "<<")):
            raise ValueError(
                f"{self.instruction} {self.words}: options, lists and here-documents are not known here"
            )


def steps(text: str) -> list[Step]:
    """The instructions of a Containerfile."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    parted = (line.strip().partition(" ") for line in joined.splitlines() if line.strip())
    return [Step(instruction.upper(), words.strip()) for instruction, _, words in parted]


def carry_out(found: list[Step], context: Path, given: dict[str, str], root: Path = Path("/")) -> None:
    """Run the steps with files from `context`; paths of the image lie below `root`."""
    environment = dict(os.environ)
    arguments: dict[str, str] = {}
    folder = root
    for step in found:
        print(f"containerfile: {step.instruction} {step.words}", flush=True)
        words = filled(step.words, arguments) if step.instruction != "RUN" else step.words
        if step.instruction == "ARG":
            name, _, value = words.partition("=")
            arguments[name] = given.get(name, value)
        elif step.instruction == "FROM":
            print(f"containerfile: this tree stands for {words}", flush=True)
        elif step.instruction == "ENV":
            name, _, value = words.partition("=")
            environment[name] = value
        elif step.instruction == "WORKDIR":
            folder = root / words.lstrip("/")
            folder.mkdir(parents=True, exist_ok=True)
        elif step.instruction == "COPY":
            source, place = words.split()
            copy(context, source, root / place.lstrip("/"))
        elif step.instruction == "RUN":
            subprocess.run(["/bin/sh", "-c", words], cwd=folder, env=environment, check=True)


def filled(words: str, arguments: dict[str, str]) -> str:
    """With the values of `${NAME}`; KeyError for one that no ARG names."""
    return re.sub(r"\$\{(\w+)\}", lambda name: arguments[name[1]], words)


def copy(context: Path, source: str, place: Path) -> None:
    """A file or folder of the context, without what .dockerignore names (`path`, or `**/name` at any depth)."""
    ignore = context / ".dockerignore"
    patterns = ignore.read_text().split() if ignore.exists() else []
    if odd := [pattern for pattern in patterns if pattern.startswith(("!", "#"))]:
        raise ValueError(f".dockerignore: {odd[0]} is not known here")
    copied = (context / source).resolve()

    def left_out(folder: str, names: list[str]) -> set[str]:
        within = Path(folder).relative_to(context.resolve())
        return {name for name in names if any(_fits((within / name).as_posix(), each) for each in patterns)}

    if copied.is_dir():
        shutil.copytree(copied, place, symlinks=True, dirs_exist_ok=True, ignore=left_out)
    else:
        shutil.copy2(copied, place)


def _fits(path: str, pattern: str) -> bool:
    if pattern.startswith("**/"):
        return fnmatch.fnmatch(Path(path).name, pattern[3:])
    return fnmatch.fnmatch(path, pattern)


def main() -> int:
    context = Path(sys.argv[1])
    given = dict(word.split("=", 1) for word in sys.argv[2:])
    carry_out(steps((context / "Containerfile").read_text()), context, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
