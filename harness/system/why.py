"""Why the kernel gives no namespaces."""

from __future__ import annotations

import os


def why_no_namespaces(error: OSError) -> str:
    """One line: what was found, and what to do."""
    remedy = "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1) or run as root"
    if os.geteuid() == 0:
        remedy = "this root lacks CAP_SYS_ADMIN, as in a container: give it that capability"
    return f"cannot make the private namespaces of the testbed ({error}); {remedy}"
