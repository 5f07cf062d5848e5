//! Late wake-ups on purpose, so that tests and benchmarks see what they do to a load. No study asks for it.

use std::env;
use std::thread;
use std::time::Duration;

use crate::decimal;
use crate::error::{Error, Result};
use crate::Ns;

/// The environment variable: `MS:EVERY_MS`, as in `8:200`.
pub const VARIABLE: &str = "LINKEM_STALL";

/// ms with 6 decimals are whole ns.
const PLACES: usize = 6;

/// The first wake-up after each `every` is late by `length`.
#[derive(Debug, PartialEq, Eq)]
pub struct Disturbance {
    length: Ns,
    every: Ns,
    next: Ns,
}

impl Disturbance {
    /// What the environment asks for, if anything; the first one comes one period after `now`.
    pub fn asked_for(now: Ns) -> Result<Option<Disturbance>> {
        match env::var(VARIABLE) {
            Ok(text) => Disturbance::parse(&text, now)
                .map(Some)
                .map_err(|error| Error::Usage(format!("{VARIABLE} '{text}': {error}"))),
            Err(_) => Ok(None),
        }
    }

    pub fn parse(text: &str, now: Ns) -> std::result::Result<Disturbance, String> {
        let (length, every) = text.split_once(':').ok_or("want MS:EVERY_MS")?;
        let (length, every) = (decimal::parse(length, PLACES)?, decimal::parse(every, PLACES)?);
        Ok(Disturbance { length, every, next: now + every })
    }

    /// How long a wake-up at `now` is held up.
    pub fn length_at(&mut self, now: Ns) -> Ns {
        if now < self.next {
            return 0;
        }
        self.next = now + self.length + self.every;
        self.length
    }

    /// Hold this thread up, if it is time.
    pub fn strike(&mut self, now: Ns) {
        match self.length_at(now) {
            0 => (),
            length => thread::sleep(Duration::from_nanos(length)),
        }
    }
}
