//! What is kept of each delivered packet, where a caller asked for it.

use crate::link::Due;
use crate::pcap::Capture;
use crate::times::Times;
use crate::Ns;

/// The open files, each with a thread of its own.
#[derive(Default)]
pub struct Records {
    pub capture: Option<Capture>,
    pub times: Option<Times>,
}

impl Records {
    /// A packet that was handed to the receiving host at `now`.
    pub fn add(&mut self, way: &str, now: Ns, due: &Due<Box<[u8]>>, framing: usize) {
        if let Some(capture) = &mut self.capture {
            capture.add(now, &due.packet, framing);
        }
        if let Some(times) = &mut self.times {
            times.add(way, due.bytes, due.arrived, due.at, now);
        }
    }

    /// Writes what is left. What the counts do not tell goes to stderr.
    pub fn finish(&mut self) {
        if let Some(capture) = &mut self.capture {
            capture.finish();
        }
        if let Some(error) = self.times.as_mut().and_then(Times::finish) {
            eprintln!("linkem: the file of --times ended early: {error}");
        }
    }
}
