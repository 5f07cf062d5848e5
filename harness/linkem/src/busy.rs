//! When a direction was busy with packets, as spans on the client's side of the link.
//!
//! A packet keeps its direction busy from its arrival until its last bit is out: it waits for those before it, or is
//! in transmission itself. The client sees what comes down when it gets it, so those spans are later by the delay.

use crate::link::Due;
use crate::way::Way;
use crate::Ns;

/// Most spans of a direction; when there are more, those closest to each other become one.
pub const MOST_SPANS: usize = 65_536;

/// The first gap that is closed when there are too many spans.
const FIRST_GAP: Ns = 10_000;

/// The spans of one direction.
#[derive(Default)]
pub struct Busy {
    spans: Vec<(Ns, Ns)>,
    /// Spans this close are one.
    gap: Ns,
}

impl Busy {
    /// Takes in a delivered packet; packets come in the order of their delivery.
    pub fn add<P>(&mut self, way: Way, due: &Due<P>) {
        let seen_later = match way {
            Way::Down => due.at - due.sent,
            Way::Up => 0,
        };
        self.extend(due.arrived + seen_later, due.sent + seen_later);
        while self.spans.len() > MOST_SPANS {
            self.gap = FIRST_GAP.max(2 * self.gap);
            for (begin, end) in std::mem::take(&mut self.spans) {
                self.extend(begin, end);
            }
        }
    }

    fn extend(&mut self, begin: Ns, end: Ns) {
        match self.spans.last_mut() {
            Some((_, last)) if begin <= *last + self.gap => *last = end.max(*last),
            _ if begin < end => self.spans.push((begin, end)),
            _ => {}
        }
    }

    /// From when to when, in order.
    pub fn spans(&self) -> &[(Ns, Ns)] {
        &self.spans
    }
}
