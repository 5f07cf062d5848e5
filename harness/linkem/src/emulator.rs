//! The loop that joins model and devices: one thread, both directions.

use crate::cli::{Options, PerClient};
use crate::clock;
use crate::crowd::Crowd;
use crate::device::{lost, Device, Ends};
use crate::distances::Distant;
use crate::disturbance::Disturbance;
use crate::error::Result;
use crate::events::{Events, Found, DEVICES};
use crate::json::Object;
use crate::link::Link;
use crate::model::Model;
use crate::path::{Path, BUFFER_BYTES, EARLY};
use crate::process;
use crate::records::Records;
use crate::wakeups::{WakeUps, HANDOVER, MOST_AHEAD};
use crate::way::Way;
use crate::{Ns, NS_PER_MS, NS_PER_S};

const CLIENT: usize = 0;
const SERVER: usize = 1;
const HOSTS: [&str; DEVICES] = ["client", "server"];

/// The longest nap: a sleep in which packets that come wake nobody.
const LONGEST_NAP: Ns = 500_000;

/// Packets of a stream that are due up to so long after an instant leave together at it, as those of a network card that
/// gathers its interrupts: to be woken costs as much as several packets do, in some virtual machines 24 us.
pub const GATHER: Ns = 60_000;

/// More sleeps than these, each of them short, are those of a stream: packets that meet by chance leave one by one.
const OF_A_STREAM: u32 = 4;

/// How long signals, and what shared memory does not tell, may wait while packets are due again and again.
const LOOK_EVERY: Ns = NS_PER_MS;

/// A running link.
pub struct Emulator {
    client: Box<dyn Device>,
    server: Box<dyn Device>,
    down: Path,
    up: Path,
    events: Events,
    /// When the descriptors were last looked at.
    looked: Ns,
    nap: Ns,
    /// How much before they are due packets may leave in the next turn.
    early: Ns,
    /// Naps since the last long sleep.
    naps: u32,
    wake_ups: WakeUps,
    records: Records,
    started: Ns,
    disturbance: Option<Disturbance>,
}

impl Emulator {
    /// The link exists from here on: this is time zero of traces and step lists, until a signal makes it another.
    pub fn new(
        ends: Ends,
        options: &Options,
        records: Records,
        events: Events,
    ) -> Result<Emulator> {
        let started = clock::now();
        events.watch_device(ends.client.fd(), CLIENT)?;
        events.watch_device(ends.server.fd(), SERVER)?;
        Ok(Emulator {
            client: ends.client,
            server: ends.server,
            down: path(options, Way::Down, started),
            up: path(options, Way::Up, started),
            events,
            looked: started,
            nap: longest_nap(options),
            early: EARLY,
            naps: 0,
            wake_ups: WakeUps::new(started),
            records,
            started,
            disturbance: Disturbance::asked_for(started)?,
        })
    }

    /// When the link was made, ns of CLOCK_MONOTONIC.
    pub fn epoch(&self) -> Ns {
        self.started
    }

    /// Who tells when a packet came.
    pub fn arrivals(&self) -> &'static str {
        match self.stamped() {
            true => "kernel",
            false => "reader",
        }
    }

    fn stamped(&self) -> bool {
        self.client.stamped() && self.server.stamped()
    }

    /// Carries packets until a signal ends it. `say` gets one object per report.
    pub fn run(&mut self, say: impl Fn(Object)) -> Result<()> {
        let mut buffer = [0; BUFFER_BYTES];
        let mut found = Found::default();
        loop {
            let busy = self.turn(found.readable, &mut buffer)?;
            found = self.rest(busy)?;
            if let Some(disturbance) = &mut self.disturbance {
                disturbance.strike(clock::now());
            }
            for &number in &found.broken {
                let device = if number == CLIENT { &mut self.client } else { &mut self.server };
                device.recover().map_err(|error| lost(HOSTS[number], &error))?;
            }
            if found.restart {
                say(self.restart());
            }
            if found.report {
                say(self.describe("stats"));
            }
            if found.details {
                say(self.describe_busy());
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
        if readable[SERVER] || server.waiting() == Some(true) {
            more |= self.down.ingest(server, buffer)?;
        }
        more |= self.down.deliver(client, &mut self.records, self.early, clock::now);
        if readable[CLIENT] || client.waiting() == Some(true) {
            more |= self.up.ingest(client, buffer)?;
        }
        more |= self.up.deliver(server, &mut self.records, self.early, clock::now);
        Ok(more)
    }

    /// Waits until there is something to do; not at all when `busy` with it already.
    ///
    /// Where the kernel stamps packets, shared memory tells whether there are any, and one that waits unread is not
    /// late: so the descriptors need not be asked, and a packet that is due soon is all that is waited for.
    fn rest(&mut self, busy: bool) -> Result<Found> {
        let now = clock::now();
        self.early = EARLY;
        let wake = self.next_wake(EARLY);
        let busy = busy || self.packets_wait();
        if self.stamped() && now < self.looked + LOOK_EVERY {
            if busy {
                return Ok(Found::default());
            }
            if let Some(wake) = wake.filter(|&wake| wake <= now + self.nap) {
                self.take_nap(now, wake);
                return Ok(Found::default());
            }
        }
        if wake.map_or(true, |wake| wake > now + LONGEST_NAP) && !busy {
            self.naps = 0;
        }
        let planned = if busy { None } else { self.planned(now, wake) };
        let found = self.events.wait(planned.or(wake), busy)?;
        self.looked = clock::now();
        if let (Some(planned), true) = (planned, found.timed) {
            self.hold(planned, self.looked);
        }
        Ok(found)
    }

    /// Sleeps until a packet may leave at `wake`; in a stream a little longer, so that the next ones leave with it.
    fn take_nap(&mut self, now: Ns, wake: Ns) {
        self.naps += 1;
        if self.naps > OF_A_STREAM {
            let gathered = GATHER.min(self.nap);
            clock::sleep_until(wake + gathered);
            self.early = EARLY.max(gathered);
        } else if let Some(planned) = self.ahead(now) {
            clock::sleep_until(planned);
            self.hold(planned, clock::now());
        } else {
            clock::sleep_until(wake);
        }
    }

    /// When to be woken for a single packet that may leave at `wake`. None in a stream of packets, and where those that
    /// come may not wait while this process holds one.
    fn planned(&mut self, now: Ns, wake: Option<Ns>) -> Option<Ns> {
        let single = wake.map_or(false, |wake| wake > now + LONGEST_NAP);
        if !single || !self.stamped() {
            return None;
        }
        self.ahead(now)
    }

    /// When to be woken at the latest for the next packet to leave in time; None where that may not be.
    fn ahead(&mut self, now: Ns) -> Option<Ns> {
        if self.nap < MOST_AHEAD {
            return None;
        }
        let ahead = self.wake_ups.ahead(now)?;
        self.next_wake(ahead)
    }

    /// Woken at `now` for `planned`: waits, without sleeping, until it is time to hand over the next packet.
    fn hold(&mut self, planned: Ns, woken: Ns) {
        self.wake_ups.add(woken.saturating_sub(planned));
        let until = self.next_wake(HANDOVER).unwrap_or(0).min(woken + MOST_AHEAD);
        let mut now = woken;
        // No `spin_loop`: its PAUSE lets the host of a virtual machine take the core away.
        while now < until {
            now = clock::now();
        }
        self.wake_ups.spend(now - woken);
    }

    /// Whether a device has a packet, as far as shared memory tells.
    fn packets_wait(&self) -> bool {
        self.client.waiting() == Some(true) || self.server.waiting() == Some(true)
    }

    fn next_wake(&self, ahead: Ns) -> Option<Ns> {
        match (self.down.next_wake(ahead), self.up.next_wake(ahead)) {
            (Some(down), Some(up)) => Some(down.min(up)),
            (down, up) => down.or(up),
        }
    }

    /// Makes this moment time zero of traces and step lists, and tells it.
    fn restart(&mut self) -> Object {
        let now = clock::now();
        self.down.restart(now);
        self.up.restart(now);
        Object::event("restart").number("epoch_ns", now)
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

    fn describe_busy(&self) -> Object {
        Object::event("busy")
            .numbers("down", &self.down.busy_us(self.started))
            .numbers("up", &self.up.busy_us(self.started))
    }
}

/// Half the link's delay, within bounds: a packet that comes in a nap is read long before it is due.
fn longest_nap(options: &Options) -> Ns {
    LONGEST_NAP.min(options.down.delay.min(options.up.delay) / 2)
}

fn path(options: &Options, way: Way, epoch: Ns) -> Path {
    let (each, shared) = match (way, &options.per_client) {
        (Way::Down, Some(given)) => (&options.down, given.shared_down.as_ref()),
        (Way::Down, None) => (&options.down, None),
        (Way::Up, _) => (&options.up, None),
    };
    Path::new(way, model(options, way, epoch), shared.unwrap_or(each).delay)
}

/// What carries the packets of one direction.
fn model(options: &Options, way: Way, epoch: Ns) -> Box<dyn Model> {
    let direction = match way {
        Way::Down => &options.down,
        Way::Up => &options.up,
    };
    match &options.per_client {
        None if options.distances.is_empty() => Box::new(Link::new(direction, epoch, way.stream())),
        None => Box::new(Distant::new(way, direction, &options.distances, epoch)),
        Some(PerClient { first, shared_down, shared_up }) => {
            let shared = match way {
                Way::Down => shared_down,
                Way::Up => shared_up,
            };
            Box::new(Crowd::new(way, direction, *first, shared.as_ref(), epoch))
        }
    }
}
