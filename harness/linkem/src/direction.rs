//! The description of one direction: parsed once, checked whole, never changed.

use std::fmt;
use std::fs;

use crate::decimal;
use crate::loss::{GilbertElliott, LossSpec};
use crate::queue::QueueSpec;
use crate::rate::{parse_steps, parse_trace, RateSpec, MAX_RATE_BPS};
use crate::{Ns, MTU};

/// Longest delay or jitter accepted: one minute.
const MAX_DELAY: Ns = 60_000_000_000;

/// Mbit/s with 6 decimals are whole bit/s; ms with 6 decimals are whole ns.
const PLACES: usize = 6;

const KEYS: &str = "rate_mbps, trace, steps, delay_ms, jitter_ms, queue, loss, loss_ge, seed";

/// How packets travel one way.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    pub rate: RateSpec,
    pub delay: Ns,
    pub jitter: Ns,
    pub queue: QueueSpec,
    pub loss: LossSpec,
    pub seed: u64,
}

impl Direction {
    /// Reads `key=value,key=value`, and the trace or step file it names.
    pub fn parse(text: &str) -> Result<Direction, String> {
        if text.trim().is_empty() {
            return Err("empty description; an unshaped direction is 'rate_mbps=0'".to_string());
        }
        let mut direction = Direction {
            rate: RateSpec::Unlimited,
            delay: 0,
            jitter: 0,
            queue: QueueSpec::Unlimited,
            loss: LossSpec::None,
            seed: 1,
        };
        let mut seen: Vec<&str> = Vec::new();
        for pair in text.split(',') {
            let (key, value) =
                pair.split_once('=').ok_or_else(|| format!("'{pair}' is not key=value"))?;
            refuse_repetition(key, &seen)?;
            seen.push(key);
            direction.set(key, value).map_err(|error| format!("{key}: {error}"))?;
        }
        Ok(direction)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "rate_mbps" => self.rate = parse_rate(value)?,
            "trace" => {
                let opportunities = read(value, parse_trace)?.into();
                self.rate = RateSpec::Trace { file: value.to_string(), opportunities };
            }
            "steps" => {
                let steps = read(value, parse_steps)?.into();
                self.rate = RateSpec::Steps { file: value.to_string(), steps };
            }
            "delay_ms" => self.delay = parse_delay(value)?,
            "jitter_ms" => self.jitter = parse_delay(value)?,
            "queue" => self.queue = parse_queue(value)?,
            "loss" => self.loss = parse_loss(value)?,
            "loss_ge" => self.loss = LossSpec::Bursty(parse_gilbert_elliott(value)?),
            "seed" => {
                self.seed =
                    value.parse().map_err(|_| format!("'{value}' is not a whole number >= 0"))?;
            }
            _ => return Err(format!("unknown key; known are {KEYS}")),
        }
        Ok(())
    }
}

/// Keys that say the same thing differently exclude each other.
fn refuse_repetition(key: &str, seen: &[&str]) -> Result<(), String> {
    const RIVALS: [&[&str]; 2] = [&["rate_mbps", "trace", "steps"], &["loss", "loss_ge"]];
    if seen.contains(&key) {
        return Err(format!("{key}: given twice"));
    }
    for group in RIVALS.iter().filter(|group| group.contains(&key)) {
        if let Some(other) = seen.iter().find(|other| group.contains(other)) {
            return Err(format!("{key}: cannot be combined with {other}"));
        }
    }
    Ok(())
}

fn parse_rate(value: &str) -> Result<RateSpec, String> {
    match decimal::parse(value, PLACES)? {
        0 => Ok(RateSpec::Unlimited),
        bps if bps > MAX_RATE_BPS => Err(format!("'{value}' is over 100000 Mbit/s")),
        bps => Ok(RateSpec::Constant { bps }),
    }
}

/// Ms with up to 6 decimals, at most a minute.
pub fn parse_delay(value: &str) -> Result<Ns, String> {
    let delay = decimal::parse(value, PLACES)?;
    if delay > MAX_DELAY {
        return Err(format!("'{value}' is over 60000 ms"));
    }
    Ok(delay)
}

fn parse_queue(value: &str) -> Result<QueueSpec, String> {
    if value == "unlimited" {
        return Ok(QueueSpec::Unlimited);
    }
    let (name, bytes) = value.split_once(':').unwrap_or((value, ""));
    if name != "droptail" && name != "codel" {
        return Err(format!("'{value}' is none of droptail:BYTES, codel:BYTES, unlimited"));
    }
    let limit: usize = bytes
        .parse()
        .map_err(|_| format!("'{bytes}' is not a number of bytes; want {name}:BYTES"))?;
    if limit < MTU {
        return Err(format!("{limit} bytes cannot hold one packet of {MTU} bytes"));
    }
    Ok(match name {
        "codel" => QueueSpec::Codel { limit },
        _ => QueueSpec::DropTail { limit },
    })
}

fn parse_probability(value: &str) -> Result<f64, String> {
    match value.parse::<f64>() {
        // The absolute value makes 0 of -0, which is in the range.
        Ok(chance) if (0.0..=1.0).contains(&chance) => Ok(chance.abs()),
        _ => Err(format!("'{value}' is not a fraction from 0 to 1")),
    }
}

fn parse_loss(value: &str) -> Result<LossSpec, String> {
    let chance = parse_probability(value)?;
    if chance == 0.0 {
        return Ok(LossSpec::None);
    }
    Ok(LossSpec::Independent(chance))
}

fn parse_gilbert_elliott(value: &str) -> Result<GilbertElliott, String> {
    let numbers: Vec<f64> =
        value.split(':').map(parse_probability).collect::<Result<_, String>>()?;
    let (p, r, h, k) = match numbers[..] {
        [p, r] => (p, r, 0.0, 1.0),
        [p, r, h, k] => (p, r, h, k),
        _ => return Err(format!("'{value}' is neither P:R nor P:R:H:K")),
    };
    if r == 0.0 {
        return Err("R is 0, so the bad state would never end".to_string());
    }
    Ok(GilbertElliott { p, r, h, k })
}

fn read<T>(file: &str, parse: fn(&str) -> Result<T, String>) -> Result<T, String> {
    let bytes = fs::read(file).map_err(|error| format!("cannot read '{file}': {error}"))?;
    parse(&String::from_utf8_lossy(&bytes)).map_err(|error| format!("{file}: {error}"))
}

/// The canonical form: parsing it gives the same direction again.
impl fmt::Display for Direction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.rate {
            RateSpec::Unlimited => write!(out, "rate_mbps=0")?,
            RateSpec::Constant { bps } => {
                write!(out, "rate_mbps={}", decimal::format(*bps, PLACES))?
            }
            RateSpec::Steps { file, .. } => write!(out, "steps={file}")?,
            RateSpec::Trace { file, .. } => write!(out, "trace={file}")?,
        }
        write!(out, ",delay_ms={}", decimal::format(self.delay, PLACES))?;
        write!(out, ",jitter_ms={}", decimal::format(self.jitter, PLACES))?;
        match self.queue {
            QueueSpec::Unlimited => write!(out, ",queue=unlimited")?,
            QueueSpec::DropTail { limit } => write!(out, ",queue=droptail:{limit}")?,
            QueueSpec::Codel { limit } => write!(out, ",queue=codel:{limit}")?,
        }
        match &self.loss {
            LossSpec::None => write!(out, ",loss=0")?,
            LossSpec::Independent(chance) => write!(out, ",loss={chance}")?,
            LossSpec::Bursty(GilbertElliott { p, r, h, k }) => {
                write!(out, ",loss_ge={p}:{r}:{h}:{k}")?
            }
        }
        write!(out, ",seed={}", self.seed)
    }
}
