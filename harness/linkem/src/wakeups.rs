//! How long before a packet is due to be woken for it: as long as waking up takes on this machine, as seen so far.
//!
//! Whoever wakes up sooner than that waits for the moment without sleeping. A share of the core is set aside for it, so
//! a stream of packets, whose wake-ups are many, does without: its packets leave when they can.

use crate::Ns;

/// A packet then leaves this much before it is due: what handing it to a host's kernel takes.
pub const HANDOVER: Ns = 12_000;

/// Longest time that is planned for waking up and handing over.
pub const MOST_AHEAD: Ns = 100_000;

/// Of ten wake-ups nine are meant to be in time: the estimate rises nine times as fast as it falls.
const IN_TIME: Ns = 9;
const STEP: Ns = 250;

/// The first estimate.
const FIRST: Ns = 20_000;

/// One part in so many of the time may be spent waiting without sleeping, and this much can be saved up.
const SHARE: Ns = 100;
const MOST_CREDIT: Ns = 10_000_000;

/// What the wake-ups of this process cost.
pub struct WakeUps {
    cost: Ns,
    credit: Ns,
    credited: Ns,
}

impl WakeUps {
    pub fn new(now: Ns) -> WakeUps {
        WakeUps { cost: FIRST, credit: MOST_CREDIT, credited: now }
    }

    /// How long before a packet is due to be woken for it, asked at `now`; None when too much was spent on it.
    pub fn ahead(&mut self, now: Ns) -> Option<Ns> {
        self.credit = (self.credit + (now - self.credited) / SHARE).min(MOST_CREDIT);
        self.credited = now;
        let ahead = (self.cost + HANDOVER).min(MOST_AHEAD);
        (self.credit >= ahead).then_some(ahead)
    }

    /// A wake-up came this much after it was asked for.
    pub fn add(&mut self, late: Ns) {
        self.cost = match late > self.cost {
            true => (self.cost + IN_TIME * STEP).min(MOST_AHEAD),
            false => self.cost.saturating_sub(STEP),
        };
    }

    /// So long was waited without sleeping.
    pub fn spend(&mut self, span: Ns) {
        self.credit = self.credit.saturating_sub(span);
    }
}
