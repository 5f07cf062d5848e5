//! The loop that joins model and devices: one thread, both directions.

use std::io;

use crate::clock;
use crate::device::{Device, Ends};
use crate::direction::Direction;
use crate::disturbance::Disturbance;
use crate::error::{Error, Result};
use crate::events::{Events, Found, DEVICES};
use crate::json::Object;
use crate::link::Link;
use crate::path::{Path, BUFFER_BYTES};
use crate::process;
use crate::records::Records;
use crate::{Ns, NS_PER_S};

const CLIENT: usize = 0;
const SERVER: usize = 1;

/// A running link.
pub struct Emulator {
    client: Box<dyn Device>,
    server: Box<dyn Device>,
    down: Path,
    up: Path,
    events: Events,
    records: Records,
    started: Ns,
    disturbance: Option<Disturbance>,
}

impl Emulator {
    /// The link exists from here on: this is time zero of traces and step lists.
    pub fn new(
        ends: Ends,
        down: &Direction,
        up: &Direction,
        records: Records,
        events: Events,
    ) -> Result<Emulator> {
        let started = clock::now();
        events.watch_device(ends.client.fd(), CLIENT)?;
        events.watch_device(ends.server.fd(), SERVER)?;
        Ok(Emulator {
            client: ends.client,
            server: ends.server,
            down: Path::new("down", Link::new(down, started, 0)),
            up: Path::new("up", Link::new(up, started, 1)),
            events,
            records,
            started,
            disturbance: Disturbance::asked_for(started)?,
        })
    }

    /// Time zero of traces and step lists, ns of CLOCK_MONOTONIC.
    pub fn epoch(&self) -> Ns {
        self.started
    }

    /// Who tells when a packet came.
    pub fn arrivals(&self) -> &'static str {
        match self.client.stamped() && self.server.stamped() {
            true => "kernel",
            false => "reader",
        }
    }

    /// Carries packets until a signal ends it. `say` gets one object per report.
    pub fn run(&mut self, say: impl Fn(Object)) -> Result<()> {
        let mut buffer = [0; BUFFER_BYTES];
        let mut found = Found::default();
        loop {
            let busy = self.turn(found.readable, &mut buffer)?;
            found = self.events.wait(self.next_wake(), busy)?;
            if let Some(disturbance) = &mut self.disturbance {
                disturbance.strike(clock::now());
            }
            for &number in &found.broken {
                let device = if number == CLIENT { &mut self.client } else { &mut self.server };
                device.recover().map_err(|error| lost_device(number, &error))?;
            }
            if found.report {
                say(self.describe("stats"));
            }
            if found.stop {
                self.records.finish();
                say(self.describe("final"));
                return Ok(());
            }
        }
    }

    /// One round over both directions. True when a batch was full, so that more may be waiting.
    fn turn(&mut self, readable: [bool; DEVICES], buffer: &mut [u8]) -> Result<bool> {
        let (client, server) = (self.client.as_mut(), self.server.as_mut());
        let mut more = false;
        if readable[SERVER] {
            more |=
                self.down.ingest(server, buffer).map_err(|error| lost_device(SERVER, &error))?;
        }
        more |= self.down.deliver(client, &mut self.records, clock::now);
        if readable[CLIENT] {
            more |= self.up.ingest(client, buffer).map_err(|error| lost_device(CLIENT, &error))?;
        }
        more |= self.up.deliver(server, &mut self.records, clock::now);
        Ok(more)
    }

    fn next_wake(&self) -> Option<Ns> {
        match (self.down.next_wake(), self.up.next_wake()) {
            (Some(down), Some(up)) => Some(down.min(up)),
            (down, up) => down.or(up),
        }
    }

    fn describe(&mut self, event: &str) -> Object {
        let cpu = process::cpu_time();
        let elapsed_s = (clock::now() - self.started) as f64 / NS_PER_S as f64;
        let (packets, error) = match &self.records.capture {
            Some(capture) => (Some(capture.packets()), capture.error()),
            None => (None, None),
        };
        Object::event(event)
            .object("down", self.down.describe(self.server.drops()))
            .object("up", self.up.describe(self.client.drops()))
            .number_or_null("pcap_packets", packets)
            .text_or_null("pcap_error", error.as_deref())
            .number("cpu_user_s", format!("{:.6}", cpu.user_s))
            .number("cpu_system_s", format!("{:.6}", cpu.system_s))
            .number("elapsed_s", format!("{elapsed_s:.6}"))
    }
}

fn lost_device(number: usize, error: &io::Error) -> Error {
    let host = if number == CLIENT { "client" } else { "server" };
    Error::Failure(format!(
        "receive from the {host}'s device: {error}; it was removed while the link was running"
    ))
}
