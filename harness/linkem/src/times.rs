//! When each delivered packet came, was due and left, as CSV: what a late packet waited for.

use std::io::Write;

use crate::error::Result;
use crate::recorder::Recorder;
use crate::Ns;

const HEADER: &str = "way,bytes,arrived_ns,due_ns,left_ns\n";

/// An open file of times.
pub struct Times(Recorder);

impl Times {
    /// Creates `name`, replacing what was there.
    pub fn create(name: &str) -> Result<Times> {
        Ok(Times(Recorder::create("--times", name, HEADER.into())?))
    }

    /// Records a packet of `bytes` IP bytes.
    pub fn add(&mut self, way: &str, bytes: usize, arrived: Ns, due: Ns, left: Ns) {
        self.0.add(|out| {
            writeln!(out, "{way},{bytes},{arrived},{due},{left}").expect("memory takes every byte");
        });
    }

    /// Writes what is left and waits until it is in the file. Returns why the file ended early, if it did.
    pub fn finish(&mut self) -> Option<String> {
        self.0.finish();
        self.0.error()
    }
}
