"""A link that seems off is measured again: for the machine's sake at once, or when the machine is calm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from harness.lab.calibration import Calibration
from harness.lab.calm import Calm

AT_ONCE = 3  # measurements before anybody looks at the machine
WHILE_CALM = 4  # of a link that stays off on a calm machine: it is the link
PATIENCE_S = 5 * 60.0  # that a link is waited for in all


@dataclass
class Patience:
    """How long a link is measured again. `waiting` is told every second of a wait how long it has taken."""

    calm: Calm = field(default_factory=lambda: Calm(left_s=PATIENCE_S))
    waiting: Callable[[float], None] = lambda _: None

    def until_right(self, measure: Callable[[], Calibration]) -> Iterator[Calibration]:
        """Measurements until one has no complaints; the last one counts.

        A spell in which other work on the machine delays packets passes, so that it is waited for; a link that is not
        what it should be stays so while the machine is calm.
        """
        for _ in range(AT_ONCE):
            taken = measure()
            yield taken
            if not taken.complaints:
                return
        off_while_calm = 0
        while off_while_calm < WHILE_CALM:
            calm = self.calm.wait(self.waiting)
            taken = measure()
            yield taken
            if not taken.complaints or (not calm and self.calm.left_s <= 0):
                return
            off_while_calm += calm
