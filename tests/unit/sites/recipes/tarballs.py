"""npm packages made up for tests: real tarballs with a checksum that fits."""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from sites.recipes.recipe import Package


def packed(folder: Path, name: str, files: Mapping[str, bytes]) -> Package:
    """A package of these files, in the folder where it would be kept."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tarball:
        for path, body in files.items():
            member = tarfile.TarInfo(f"package/{path}")
            member.size = len(body)
            tarball.addfile(member, io.BytesIO(body))
    package = Package(name, "1.0.0", base64.b64encode(hashlib.sha512(data.getvalue()).digest()).decode())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / package.file_name).write_bytes(data.getvalue())
    return package
