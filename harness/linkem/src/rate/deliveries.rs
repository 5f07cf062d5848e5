//! Delivery traces, the format and the semantics of Mahimahi (Netravali et al., "Mahimahi: Accurate
//! Record-and-Replay for HTTP", USENIX ATC 2015; `link_queue.cc` of the tool).
//!
//! Each line of a trace is a whole number of milliseconds at which the link can carry 1500 bytes; the
//! same number on n lines means n times 1500 bytes. The trace repeats with the period of its last line.
//! An opportunity carries as many waiting packets as fit, a packet may span opportunities, and what is
//! left when the queue is empty is lost. A packet must be waiting before the opportunity comes.

use std::rc::Rc;

use super::{numbered, parse_ms};
use crate::Ns;

/// What one line of a trace can carry, in bytes.
pub const OPPORTUNITY_BYTES: usize = 1500;

/// Reads a trace into opportunities, in ns after the epoch.
pub fn parse_trace(text: &str) -> Result<Vec<Ns>, String> {
    let mut opportunities: Vec<Ns> = Vec::new();
    for (number, line) in numbered(text) {
        let at = parse_ms(line).map_err(|error| format!("line {number}: {error}"))?;
        if opportunities.last().map_or(false, |last| at < *last) {
            return Err(format!("line {number}: time runs backwards"));
        }
        opportunities.push(at);
    }
    match opportunities.last() {
        None => Err("no delivery in the file; want one integer ms per line".to_string()),
        Some(0) => Err("all deliveries are at 0 ms, so the trace has no duration".to_string()),
        Some(_) => Ok(opportunities),
    }
}

/// Replays a trace.
pub struct Deliveries {
    opportunities: Rc<[Ns]>,
    epoch: Ns,
    /// Number of the first opportunity not used or missed, counted over all repetitions.
    next: u64,
    /// The opportunity in use, and the bytes it can still carry.
    current: Ns,
    left: usize,
}

impl Deliveries {
    /// `opportunities` as `parse_trace` gives them: rising, the last above 0.
    pub fn new(opportunities: impl Into<Rc<[Ns]>>, epoch: Ns) -> Deliveries {
        Deliveries { opportunities: opportunities.into(), epoch, next: 0, current: epoch, left: 0 }
    }

    /// Time zero is `epoch` from the next packet on. Nothing overtakes a packet that is still being sent.
    pub fn restart(&mut self, epoch: Ns) {
        self.epoch = epoch;
        self.left = 0;
        self.next = self.first_after(self.current);
    }

    pub fn next_start(&self, arrived: Ns) -> Ns {
        if self.left > 0 && arrived < self.current {
            return self.current;
        }
        self.time_of(self.next.max(self.first_after(arrived)))
    }

    pub fn transmit(&mut self, start: Ns, bytes: usize) -> Ns {
        let mut need = bytes;
        if self.left == 0 || start != self.current {
            self.next = self.next.max(self.first_at(start));
            self.open_next();
        }
        while need > self.left {
            need -= self.left;
            self.open_next();
        }
        self.left -= need;
        self.current
    }

    fn open_next(&mut self) {
        self.current = self.time_of(self.next);
        self.left = OPPORTUNITY_BYTES;
        self.next += 1;
    }

    fn period(&self) -> Ns {
        self.opportunities[self.opportunities.len() - 1]
    }

    fn time_of(&self, number: u64) -> Ns {
        let lines = self.opportunities.len() as u64;
        let within = self.opportunities[(number % lines) as usize];
        self.epoch + number / lines * self.period() + within
    }

    /// Number of the first opportunity later than `time`.
    fn first_after(&self, time: Ns) -> u64 {
        if time < self.epoch {
            return 0;
        }
        let elapsed = time - self.epoch;
        let (round, within) = (elapsed / self.period(), elapsed % self.period());
        let passed = self.opportunities.partition_point(|at| *at <= within);
        round * self.opportunities.len() as u64 + passed as u64
    }

    /// Number of the first opportunity at `time` or later.
    fn first_at(&self, time: Ns) -> u64 {
        match time {
            0 => 0,
            time => self.first_after(time - 1),
        }
    }
}
