"""The generators of users, by engine."""

from __future__ import annotations

from collections.abc import Mapping

from harness.capacity.k6 import K6
from harness.capacity.spdyusers import SPDY_USERS
from harness.capacity.usergenerator import UserGenerator
from harness.model.engine import Engine

GENERATORS: Mapping[Engine, UserGenerator] = {Engine.K6: K6, Engine.SPDY_CLIENT: SPDY_USERS}
