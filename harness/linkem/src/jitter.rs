//! Delay that varies from packet to packet without reordering.

use crate::random::Random;
use crate::Ns;

/// Adds a uniform 0..=`largest` to each packet's delay. A packet never overtakes the one before it: it
/// then arrives at the same instant, as on a real path, where jitter comes from FIFO queues.
pub struct Jitter {
    largest: Ns,
    random: Random,
    last: Ns,
}

impl Jitter {
    pub fn new(largest: Ns, random: Random) -> Jitter {
        Jitter { largest, random, last: 0 }
    }

    /// The delivery time of a packet that would arrive at `nominal` without jitter.
    pub fn deliver_at(&mut self, nominal: Ns) -> Ns {
        let extra = match self.largest {
            0 => 0,
            largest => self.random.up_to(largest),
        };
        self.last = self.last.max(nominal + extra);
        self.last
    }
}
