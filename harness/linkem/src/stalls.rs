//! How long deliveries were behind their due times, as a span of time and not as a count of packets.

use crate::Ns;

/// A delivery this much after its due time is punctual still.
pub const PUNCTUAL: Ns = 1_000_000;

/// The time in which some packet was overdue, that is not delivered and more than PUNCTUAL after its due time.
///
/// A burst of packets that waited for one wake-up is one stall: time that several packets were overdue counts once.
#[derive(Default)]
pub struct Stalls {
    total: Ns,
    counted_until: Ns,
}

impl Stalls {
    /// A packet that was due at `due` left at `left`. Packets come in the order of their due times.
    pub fn add(&mut self, due: Ns, left: Ns) {
        let overdue_from = (due + PUNCTUAL).max(self.counted_until);
        if left > overdue_from {
            self.total += left - overdue_from;
            self.counted_until = left;
        }
    }

    pub fn total_us(&self) -> u64 {
        self.total / 1000
    }
}
