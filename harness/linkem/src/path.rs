//! One direction at work: packets from one device, through the model, into the other device.

use std::io;

use crate::device::Device;
use crate::histogram::Histogram;
use crate::json::Object;
use crate::link::Link;
use crate::records::Records;
use crate::stalls::Stalls;
use crate::stats;
use crate::{Ns, MTU};

/// Packets taken or given in one go before the other direction gets its turn.
pub const BATCH: usize = 64;

/// A packet may leave this much before it is due: less than what waking up costs.
pub const EARLY: Ns = 30_000;

/// Larger than any frame of MTU bytes, so that a larger one is noticed.
pub const BUFFER_BYTES: usize = 2048;

/// What passed the devices, besides what the model counts.
#[derive(Default)]
pub struct Traffic {
    pub packets_out: u64,
    pub bytes_out: u64,
    pub oversize: u64,
    pub malformed: u64,
    pub write_errors: u64,
    pub lateness: Histogram,
    pub stalls: Stalls,
}

/// One direction: its model and its counts.
pub struct Path {
    way: &'static str,
    link: Link<Box<[u8]>>,
    traffic: Traffic,
}

impl Path {
    pub fn new(way: &'static str, link: Link<Box<[u8]>>) -> Path {
        Path { way, link, traffic: Traffic::default() }
    }

    /// Takes waiting packets from `source` into the model. True when more may be waiting.
    pub fn ingest(&mut self, source: &mut dyn Device, buffer: &mut [u8]) -> io::Result<bool> {
        for _ in 0..BATCH {
            let arrival = match source.receive(buffer)? {
                Some(arrival) => arrival,
                None => return Ok(false),
            };
            match arrival.bytes.checked_sub(source.framing()) {
                None => self.traffic.malformed += 1,
                Some(bytes) if bytes > MTU => self.traffic.oversize += 1,
                Some(bytes) => self.link.offer(arrival.at, bytes, buffer[..arrival.bytes].into()),
            }
        }
        Ok(true)
    }

    /// Gives due packets to `sink`. True when more may be due.
    pub fn deliver(
        &mut self,
        sink: &mut dyn Device,
        records: &mut Records,
        clock: impl Fn() -> Ns,
    ) -> bool {
        let mut now = clock();
        for _ in 0..BATCH {
            self.link.advance(now);
            let due = match self.link.take_due(now + EARLY) {
                Some(due) => due,
                None => return false,
            };
            self.traffic.lateness.add(now.saturating_sub(due.at));
            self.traffic.stalls.add(due.at, now);
            match sink.send(&due.packet) {
                Ok(()) => {
                    self.traffic.packets_out += 1;
                    self.traffic.bytes_out += due.bytes as u64;
                    records.add(self.way, now, &due, sink.framing());
                }
                Err(_) => self.traffic.write_errors += 1,
            }
            now = clock();
        }
        true
    }

    /// When `deliver` has something to do next.
    pub fn next_wake(&self) -> Option<Ns> {
        self.link.next_wake(EARLY)
    }

    /// The counts so far; `drops_device` comes from the device the packets are taken from.
    pub fn describe(&self, drops_device: Option<u64>) -> Object {
        stats::direction(&self.link.counters(), &self.traffic, self.link.held(), drops_device)
    }
}
