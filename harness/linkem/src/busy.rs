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
    /// Takes in a delivered packet.
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

    /// Spans come in order, but where a packet to a near server overtakes one to a far server beyond the link.
    fn extend(&mut self, begin: Ns, end: Ns) {
        let gap = self.gap;
        let from = match self.spans.last() {
            Some(&(_, last)) if last + gap < begin => self.spans.len(),
            Some(&(first, _)) if first <= begin => self.spans.len() - 1,
            _ => self.spans.partition_point(|&(_, last)| last + gap < begin),
        };
        let touched =
            self.spans[from..].iter().take_while(|(first, _)| *first <= end + gap).count();
        if touched > 0 {
            let until = from + touched;
            let first = begin.min(self.spans[from].0);
            let last = end.max(self.spans[until - 1].1);
            self.spans[from] = (first, last);
            self.spans.drain(from + 1..until);
        } else if begin < end {
            self.spans.insert(from, (begin, end));
        }
    }

    /// From when to when, in order.
    pub fn spans(&self) -> &[(Ns, Ns)] {
        &self.spans
    }
}
