//! One direction of many clients: a link for each, and, if asked, a link that all share.
//!
//! The shared link lies between the clients and their own links, as the cable segment or radio cell of an access
//! network lies behind the shaper that holds each subscriber to a rate. So a packet down passes its client's queue
//! first and then the shared one, and a packet up the other way round.

use crate::clients::{Clients, MAX_CLIENTS};
use crate::direction::Direction;
use crate::json::Object;
use crate::link::{Counters, Due, Link};
use crate::way::{Address, Way};
use crate::Ns;

/// A packet on its way through both links: whose it is, and when it came.
struct Passing<P> {
    client: usize,
    arrived: Ns,
    packet: P,
}

/// The model of one direction, carrying packets of any kind `P`.
pub struct Crowd<P> {
    way: Way,
    clients: Clients<Passing<P>>,
    shared: Option<Link<Passing<P>>>,
    now: Ns,
    last_arrival: Ns,
    packets_in: u64,
    bytes_in: u64,
    foreign: u64,
}

impl<P> Crowd<P> {
    /// `each` is the link of each client, by whose number from address `first` on it loses; `shared` is that of all.
    /// `epoch` is time zero of traces and step lists.
    pub fn new(
        way: Way,
        each: &Direction,
        first: Address,
        shared: Option<&Direction>,
        epoch: Ns,
    ) -> Crowd<P> {
        Crowd {
            way,
            clients: Clients::new(each, first, way, epoch),
            shared: shared.map(|shared| Link::new(shared, epoch, way.stream())),
            now: epoch,
            last_arrival: epoch,
            packets_in: 0,
            bytes_in: 0,
            foreign: 0,
        }
    }

    pub fn way(&self) -> Way {
        self.way
    }

    /// A packet of `bytes` IP bytes from or to this client arrives at `at`. Fails when there are too many clients.
    pub fn offer(
        &mut self,
        client: Address,
        at: Ns,
        bytes: usize,
        packet: P,
    ) -> Result<(), String> {
        let at = at.max(self.last_arrival);
        self.last_arrival = at;
        let client = self.clients.number(client).ok_or_else(|| {
            format!("more than {MAX_CLIENTS} client addresses sent packets; use fewer clients")
        })?;
        self.packets_in += 1;
        self.bytes_in += bytes as u64;
        let passing = Passing { client, arrived: at, packet };
        match (&mut self.shared, self.way) {
            (Some(shared), Way::Up) => shared.offer(at, bytes, passing),
            _ => self.clients.offer(client, at, bytes, passing),
        }
        Ok(())
    }

    /// Counts a packet that is of no client, as it is no IPv4 packet. It is dropped.
    pub fn refuse_foreign(&mut self) {
        self.foreign += 1;
    }

    /// Lets packets that are through with their first link at `now` or before enter their second one.
    pub fn advance(&mut self, now: Ns) {
        self.now = self.now.max(now);
        let shared = match &mut self.shared {
            Some(shared) => shared,
            None => return,
        };
        match self.way {
            Way::Down => {
                while let Some(due) = self.clients.take_due(now, now) {
                    shared.offer(due.at, due.bytes, due.packet);
                }
                shared.advance(now);
            }
            Way::Up => {
                shared.advance(now);
                while let Some(due) = shared.take_due(now) {
                    self.clients.offer(due.packet.client, due.at, due.bytes, due.packet);
                }
            }
        }
    }

    /// Time zero of all traces and step lists is `at`, which is now.
    pub fn restart(&mut self, at: Ns) {
        self.advance(at);
        self.clients.restart(at);
        if let Some(shared) = &mut self.shared {
            shared.restart(at);
        }
    }

    /// The next packet, if it is due at `limit` or before.
    pub fn take_due(&mut self, limit: Ns) -> Option<Due<P>> {
        let due = match (&mut self.shared, self.way) {
            (Some(shared), Way::Down) => shared.take_due(limit)?,
            _ => self.clients.take_due(self.now, limit)?,
        };
        let Passing { arrived, packet, .. } = due.packet;
        Some(Due { arrived, sent: due.sent, at: due.at, bytes: due.bytes, packet })
    }

    /// When to call `advance` and `take_due` next, if packets may leave `early` ns before they are due.
    pub fn next_wake(&self, early: Ns) -> Option<Ns> {
        let (first, last) = match (&self.shared, self.way) {
            (None, _) => (None, self.clients.next_wake(early)),
            (Some(shared), Way::Down) => (self.clients.next_wake(0), shared.next_wake(early)),
            (Some(shared), Way::Up) => (shared.next_wake(0), self.clients.next_wake(early)),
        };
        match (first, last) {
            (Some(first), Some(last)) => Some(first.min(last)),
            (first, last) => first.or(last),
        }
    }

    /// What came, and what all links dropped; the most that waited in any of them.
    pub fn counters(&self) -> Counters {
        let mut sum = self.clients.drops();
        if let Some(shared) = &self.shared {
            sum.add_drops(&shared.counters());
        }
        Counters { packets_in: self.packets_in, bytes_in: self.bytes_in, ..sum }
    }

    /// Packets inside any link now.
    pub fn held(&self) -> usize {
        self.clients.held() + self.shared.as_ref().map_or(0, Link::held)
    }

    /// Adds the number of clients seen, packets of none, and the drops of the shared link.
    pub fn describe(&self, object: Object) -> Object {
        let object = object.number("clients", self.clients.len()).number("foreign", self.foreign);
        match &self.shared {
            Some(shared) => object.object("shared", drops(Object::default(), &shared.counters())),
            None => object,
        }
    }
}

fn drops(object: Object, counters: &Counters) -> Object {
    object
        .number("drops_queue", counters.drops_queue)
        .number("drops_loss", counters.drops_loss)
        .number("drops_codel", counters.drops_codel)
        .number("max_queue_bytes", counters.max_queue_bytes)
}
