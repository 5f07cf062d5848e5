//! CoDel, controlled delay: the pseudo-code of RFC 8289, section 5, with its names.

use crate::queue::{Backlog, Waiting};
use crate::{Ns, MTU, NS_PER_MS};

/// Standing delay that is acceptable (RFC 8289, section 4.3).
pub const TARGET: Ns = 5 * NS_PER_MS;

/// Time the delay may exceed the target before dropping begins (RFC 8289, section 4.2).
pub const INTERVAL: Ns = 100 * NS_PER_MS;

/// The controller's state.
#[derive(Default)]
pub struct Codel {
    first_above: Option<Ns>,
    dropping: bool,
    drop_next: Ns,
    count: u64,
    last_count: u64,
}

/// A packet from the head, and whether its delay has been too high for an interval.
struct Candidate<P> {
    packet: Option<Waiting<P>>,
    may_drop: bool,
}

impl Codel {
    /// The RFC's `dequeue`: the packet to send at `now`, and the number dropped before it.
    pub fn pop<P>(&mut self, now: Ns, backlog: &mut Backlog<P>) -> (Option<Waiting<P>>, u64) {
        let mut candidate = self.candidate(now, backlog);
        let mut dropped = 0;
        if self.dropping {
            self.dropping = candidate.may_drop;
            while self.dropping && now >= self.drop_next {
                dropped += 1;
                self.count += 1;
                candidate = self.candidate(now, backlog);
                self.dropping = candidate.may_drop;
                if self.dropping {
                    self.drop_next = control_law(self.drop_next, self.count);
                }
            }
        } else if candidate.may_drop {
            dropped += 1;
            candidate = self.candidate(now, backlog);
            self.begin_dropping(now);
        }
        (candidate.packet, dropped)
    }

    /// The RFC's `dodequeue`.
    fn candidate<P>(&mut self, now: Ns, backlog: &mut Backlog<P>) -> Candidate<P> {
        let packet = backlog.pop();
        let sojourn = packet.as_ref().map_or(0, |packet| now.saturating_sub(packet.arrived));
        // With at most one packet left the link would run dry, so CoDel never drops there.
        if sojourn < TARGET || backlog.bytes() <= MTU {
            self.first_above = None;
            return Candidate { packet, may_drop: false };
        }
        let deadline = *self.first_above.get_or_insert(now + INTERVAL);
        Candidate { packet, may_drop: now >= deadline }
    }

    /// Enters the dropping state, at the rate that controlled the queue when it was left recently.
    fn begin_dropping(&mut self, now: Ns) {
        let delta = self.count.saturating_sub(self.last_count);
        let recent = now.saturating_sub(self.drop_next) < 16 * INTERVAL;
        self.dropping = true;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = control_law(now, self.count);
        self.last_count = self.count;
    }
}

/// Drops come closer together with the square root of their number.
fn control_law(after: Ns, count: u64) -> Ns {
    after + (INTERVAL as f64 / (count as f64).sqrt()) as Ns
}
