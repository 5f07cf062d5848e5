"""The program both drivers take for Chromium: a script that puts the real one on the client host.

It runs Chromium as an ordinary user of a user namespace, so that Chromium's own sandbox works, also for root.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from harness.browser.fonts import CONFIGURATION
from harness.system.command import Command
from harness.system.program import find_program


def write_launcher(path: Path, network: Path | None, current_home: Path) -> Path:
    """Write the script. `network` is the client host's namespace file; None: the caller's own.

    `current_home` is a symbolic link to the home of the browser about to start.
    """
    chromium = Command.of(find_program("chromium")).on(network).as_ordinary_user()
    words = shlex.join(chromium.full_argv)
    path.write_text(
        "#!/bin/sh\n"
        f"home=$(readlink {shlex.quote(str(current_home))})\n"
        'echo $$ >"$home/pid"\n'
        'cd "$home"\n'
        'HOME="$home" TMPDIR="$home" XDG_CONFIG_HOME="$home/.config" XDG_CACHE_HOME="$home/.cache" \\\n'
        f"FONTCONFIG_FILE={shlex.quote(str(CONFIGURATION))} \\\n"
        f'exec {words} "$@" 2>>"$home/chromium.log"\n'
    )
    path.chmod(0o755)
    return path
