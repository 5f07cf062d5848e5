//! A link emulator between two network namespaces, in user space.
//!
//! The model is pure: `Link` and everything below it (`queue`, `codel`, `rate`, `loss`, `jitter`), and
//! `Crowd`, which has a `Link` for each client, and `Distant`, which has servers beyond a `Link`, receive time and seed
//! from outside and never look at a clock. Devices, clock, timers and signals stand at the edge, and `emulator` joins
//! the two.

pub mod busy;
pub mod cli;
pub mod clients;
pub mod clock;
pub mod codel;
pub mod crowd;
pub mod decimal;
pub mod device;
pub mod direction;
pub mod distances;
pub mod disturbance;
pub mod emulator;
pub mod error;
pub mod events;
pub mod histogram;
pub mod interface;
pub mod jitter;
pub mod json;
pub mod link;
pub mod loss;
pub mod model;
pub mod namespace;
pub mod path;
pub mod pcap;
pub mod process;
pub mod queue;
pub mod random;
pub mod rate;
pub mod recorder;
pub mod records;
pub mod schedule;
pub mod stalls;
pub mod stats;
pub mod times;
pub mod wakeups;
pub mod way;

/// A point in time or a span, in nanoseconds. Points are CLOCK_MONOTONIC.
pub type Ns = u64;

pub const NS_PER_MS: Ns = 1_000_000;
pub const NS_PER_S: Ns = 1_000_000_000;

/// Largest IP packet the link carries, in bytes: what an Ethernet access link carries.
pub const MTU: usize = 1500;

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The digest of the sources, where `build.py` compiled them: builds of one version differ in it.
pub const SOURCES: &str = match option_env!("LINKEM_SOURCES") {
    Some(digest) => digest,
    None => "unknown",
};
