//! Serialisation at a rate that is constant, or constant between steps.

use std::rc::Rc;

use super::{numbered, parse_ms, MAX_RATE_BPS};
use crate::{decimal, Ns, NS_PER_S};

/// From `from` (ns after the epoch) on, the rate is `bps` bit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub from: Ns,
    pub bps: u64,
}

/// Reads lines `time_ms rate_mbps`: the first at 0, times rising, the last rate holds for good.
pub fn parse_steps(text: &str) -> Result<Vec<Step>, String> {
    let mut steps: Vec<Step> = Vec::new();
    for (number, line) in numbered(text) {
        let step = parse_step(line).map_err(|error| format!("line {number}: {error}"))?;
        match steps.last() {
            None if step.from != 0 => {
                return Err(format!("line {number}: the first step must be at 0 ms"));
            }
            Some(last) if step.from <= last.from => {
                return Err(format!("line {number}: time must rise from step to step"));
            }
            _ => steps.push(step),
        }
    }
    if steps.is_empty() {
        return Err("no steps in the file; want lines 'time_ms rate_mbps'".to_string());
    }
    Ok(steps)
}

fn parse_step(line: &str) -> Result<Step, String> {
    let mut words = line.split_whitespace();
    let (time, rate) = match (words.next(), words.next(), words.next()) {
        (Some(time), Some(rate), None) => (time, rate),
        _ => return Err(format!("want 'time_ms rate_mbps', found '{line}'")),
    };
    let bps = decimal::parse(rate, 6)?;
    if bps == 0 || bps > MAX_RATE_BPS {
        return Err(format!("rate '{rate}' is not above 0 and at most 100000 Mbit/s"));
    }
    Ok(Step { from: parse_ms(time)?, bps })
}

/// Puts packets on the wire one after the other, bit by bit.
///
/// The wire is free again at `free` + `spent`/rate nanoseconds. Keeping that fraction makes n packets
/// take exactly n*8*len/rate, however odd the rate.
pub struct Serialiser {
    steps: Rc<[Step]>,
    current: usize,
    epoch: Ns,
    free: Ns,
    /// Part of the nanosecond at `free` already used, in bits * 10^9; less than the rate.
    spent: u64,
}

impl Serialiser {
    pub fn new(steps: impl Into<Rc<[Step]>>, epoch: Ns) -> Serialiser {
        Serialiser { steps: steps.into(), current: 0, epoch, free: epoch, spent: 0 }
    }

    /// Time zero is `epoch` from the next packet on.
    pub fn restart(&mut self, epoch: Ns) {
        self.epoch = epoch;
        self.current = 0;
    }

    pub fn next_start(&self, arrived: Ns) -> Ns {
        arrived.max(self.free)
    }

    pub fn transmit(&mut self, start: Ns, bytes: usize) -> Ns {
        let carried = if start == self.free { self.spent } else { 0 };
        let mut now = start;
        // Work is counted in bits * 10^9, so a rate of R bit/s does R of it per nanosecond.
        let mut work = bytes as u128 * 8 * u128::from(NS_PER_S) + u128::from(carried);
        loop {
            let (bps, end) = self.step_at(now);
            let room = u128::from(bps) * u128::from(end.saturating_sub(now));
            if work > room {
                work -= room;
                now = end;
                continue;
            }
            self.free = now + (work / u128::from(bps)) as Ns;
            self.spent = (work % u128::from(bps)) as u64;
            return self.free;
        }
    }

    /// The rate at `now`, and when it ends. Between restarts time never runs backwards here.
    fn step_at(&mut self, now: Ns) -> (u64, Ns) {
        while self.end_of_current() <= now {
            self.current += 1;
        }
        (self.steps[self.current].bps, self.end_of_current())
    }

    fn end_of_current(&self) -> Ns {
        match self.steps.get(self.current + 1) {
            Some(next) => self.epoch + next.from,
            None => Ns::MAX,
        }
    }
}
