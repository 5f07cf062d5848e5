//! One direction at work: packets from one device, through the model, into the other device.

use crate::busy::Busy;
use crate::device::{lost, Device};
use crate::error::{Error, Result};
use crate::histogram::Histogram;
use crate::json::Object;
use crate::model::Model;
use crate::records::Records;
use crate::stalls::Stalls;
use crate::stats;
use crate::way::Way;
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
    way: Way,
    model: Box<dyn Model>,
    /// What lies between the time when a packet begins to be sent and that when it is due, at least.
    delay: Ns,
    /// When the last packet came that was read, if more of them wait.
    read_until: Option<Ns>,
    traffic: Traffic,
    busy: Busy,
}

impl Path {
    /// `delay` is what a packet takes at least once it has begun to be sent, by the last link on its way.
    pub fn new(way: Way, model: Box<dyn Model>, delay: Ns) -> Path {
        let (traffic, busy) = (Traffic::default(), Busy::default());
        Path { way, model, delay, read_until: None, traffic, busy }
    }

    /// Takes waiting packets from `source` into the model. True when more may be waiting.
    pub fn ingest(&mut self, source: &mut dyn Device, buffer: &mut [u8]) -> Result<bool> {
        let mut last = None;
        for _ in 0..BATCH {
            let arrival =
                match source.receive(buffer).map_err(|error| lost(self.way.sender(), &error))? {
                    Some(arrival) => arrival,
                    None => return Ok(false),
                };
            last = Some(arrival.at);
            match arrival.bytes.checked_sub(source.framing()) {
                None => self.traffic.malformed += 1,
                Some(bytes) if bytes > MTU => self.traffic.oversize += 1,
                Some(bytes) => self
                    .model
                    .offer(arrival.at, bytes, &buffer[..arrival.bytes], source.framing())
                    .map_err(Error::Failure)?,
            }
            if source.waiting() == Some(false) {
                return Ok(false);
            }
        }
        self.read_until = last;
        Ok(true)
    }

    /// Gives `sink` the packets that are due by now, or `early` after it. True when more may be due.
    pub fn deliver(
        &mut self,
        sink: &mut dyn Device,
        records: &mut Records,
        early: Ns,
        clock: impl Fn() -> Ns,
    ) -> bool {
        let read_until = self.read_until.take();
        let mut now = clock();
        for _ in 0..BATCH {
            self.model.advance(self.known_until(read_until, now, early));
            let due = match self.model.take_due(now + early) {
                Some(due) => due,
                None => return false,
            };
            self.traffic.lateness.add(now.saturating_sub(due.at));
            self.traffic.stalls.add(due.at, now);
            self.busy.add(self.way, &due);
            match sink.send(&due.packet) {
                Ok(()) => {
                    self.traffic.packets_out += 1;
                    self.traffic.bytes_out += due.bytes as u64;
                    records.add(self.way.name(), now, &due, sink.framing());
                }
                Err(_) => self.traffic.write_errors += 1,
            }
            now = clock();
        }
        true
    }

    /// Time zero of traces and step lists is `at`, which is now.
    pub fn restart(&mut self, at: Ns) {
        self.model.restart(at);
    }

    /// How far the model can go at `now`. What waits unread may find no room in a queue that is as full as it was then,
    /// so the model goes no further than what is due needs.
    fn known_until(&self, read_until: Option<Ns>, now: Ns, early: Ns) -> Ns {
        let needed = (now + early).saturating_sub(self.delay);
        read_until.map_or(now, |until| until.max(needed).min(now))
    }

    /// When `deliver` has something to do next, or `ahead` before a packet is due.
    pub fn next_wake(&self, ahead: Ns) -> Option<Ns> {
        self.model.next_wake(ahead)
    }

    /// The counts so far; `drops_device` comes from the device the packets are taken from.
    pub fn describe(&self, drops_device: Option<u64>) -> Object {
        let (counters, held) = (self.model.counters(), self.model.held());
        self.model.describe(stats::direction(&counters, &self.traffic, held, drops_device))
    }

    /// When packets kept it busy, on the client's side: begins and ends by turns, in us since `epoch`.
    pub fn busy_us(&self, epoch: Ns) -> Vec<Ns> {
        let edges = self.busy.spans().iter().flat_map(|&(begin, end)| [begin, end]);
        edges.map(|edge| (edge - epoch) / 1000).collect()
    }
}
