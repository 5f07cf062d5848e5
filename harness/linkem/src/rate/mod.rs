//! How fast a direction puts packets on the wire.

mod deliveries;
mod steps;

pub use deliveries::{parse_trace, Deliveries, OPPORTUNITY_BYTES};
pub use steps::{parse_steps, Serialiser, Step};

use std::rc::Rc;

use crate::Ns;

/// Fastest rate accepted, in bit/s: 100 Gbit/s, far above what user space can forward.
pub const MAX_RATE_BPS: u64 = 100_000_000_000;

/// Largest time accepted in a trace or step file, in milliseconds (about 31 years).
const MAX_FILE_MS: u64 = 1_000_000_000_000;

/// The rate of one direction, as configured. Files are read once, however many clients there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RateSpec {
    Unlimited,
    Constant { bps: u64 },
    Steps { file: String, steps: Rc<[Step]> },
    Trace { file: String, opportunities: Rc<[Ns]> },
}

/// The transmitter of one direction.
pub enum Rate {
    Unlimited,
    Serialiser(Serialiser),
    Deliveries(Deliveries),
}

impl Rate {
    /// `epoch` is time zero of a trace or step list.
    pub fn new(spec: &RateSpec, epoch: Ns) -> Rate {
        match spec {
            RateSpec::Unlimited => Rate::Unlimited,
            RateSpec::Constant { bps } => {
                let steps = vec![Step { from: 0, bps: *bps }];
                Rate::Serialiser(Serialiser::new(steps, epoch))
            }
            RateSpec::Steps { steps, .. } => {
                Rate::Serialiser(Serialiser::new(steps.clone(), epoch))
            }
            RateSpec::Trace { opportunities, .. } => {
                Rate::Deliveries(Deliveries::new(opportunities.clone(), epoch))
            }
        }
    }

    /// Time zero of a trace or step list is `epoch` from the next packet on; a constant rate has none.
    pub fn restart(&mut self, epoch: Ns) {
        match self {
            Rate::Unlimited => {}
            Rate::Serialiser(serialiser) => serialiser.restart(epoch),
            Rate::Deliveries(deliveries) => deliveries.restart(epoch),
        }
    }

    /// When the transmitter can begin with a packet that arrived at `arrived` and is next in line.
    pub fn next_start(&self, arrived: Ns) -> Ns {
        match self {
            Rate::Unlimited => arrived,
            Rate::Serialiser(serialiser) => serialiser.next_start(arrived),
            Rate::Deliveries(deliveries) => deliveries.next_start(arrived),
        }
    }

    /// Sends `bytes` from `start`, which `next_start` gave; returns when the last bit is out.
    pub fn transmit(&mut self, start: Ns, bytes: usize) -> Ns {
        match self {
            Rate::Unlimited => start,
            Rate::Serialiser(serialiser) => serialiser.transmit(start, bytes),
            Rate::Deliveries(deliveries) => deliveries.transmit(start, bytes),
        }
    }
}

/// The lines of a file that say something, with their numbers counted from 1.
fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// A whole number of milliseconds within reason, in nanoseconds.
fn parse_ms(text: &str) -> Result<Ns, String> {
    let ms = crate::decimal::parse(text, 0)?;
    if ms > MAX_FILE_MS {
        return Err(format!("'{text}' ms is too large"));
    }
    Ok(ms * crate::NS_PER_MS)
}
