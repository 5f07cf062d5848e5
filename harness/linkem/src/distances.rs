//! One direction of a link behind which servers lie at distances of their own.
//!
//! What a distance adds lies on the servers' side, beyond the access link: a packet down comes later to the queue of
//! the link, a packet up comes later to its server, and neither ever waits for room on the way. So the link's rate
//! holds for all that comes down, however far it came, and packets of one server keep their order.

use std::collections::{BTreeMap, HashMap};
use std::net::Ipv4Addr;

use crate::direction::{parse_delay, Direction};
use crate::link::{Counters, Due, Link};
use crate::way::{Address, Way};
use crate::Ns;

/// What each way to or from a server takes beyond the link, by its address; to all others nothing.
pub type Distances = HashMap<Address, Ns>;

/// Reads `ADDRESS=MS,ADDRESS=MS`, the ms one way.
pub fn parse_distances(text: &str) -> Result<Distances, String> {
    let mut distances = Distances::new();
    for pair in text.split(',') {
        let (address, ms) =
            pair.split_once('=').ok_or_else(|| format!("'{pair}' is not ADDRESS=MS"))?;
        let address: Ipv4Addr =
            address.parse().map_err(|_| format!("'{address}' is no IPv4 address"))?;
        if distances.insert(address.octets(), parse_delay(ms)?).is_some() {
            return Err(format!("{address} is given twice"));
        }
    }
    Ok(distances)
}

/// A packet in the link, and what its way still takes beyond it.
struct Passing<P> {
    beyond: Ns,
    packet: P,
}

/// The model of one direction, carrying packets of any kind `P`.
pub struct Distant<P> {
    way: Way,
    distances: Distances,
    link: Link<Passing<P>>,
    /// Beyond the link, by the time at which they leave it and the order of entry.
    beyond: BTreeMap<(Ns, u64), Due<P>>,
    entered: u64,
    last_arrival: Ns,
    packets_in: u64,
    bytes_in: u64,
}

impl<P> Distant<P> {
    /// `epoch` is time zero of a trace or step list.
    pub fn new(way: Way, direction: &Direction, distances: &Distances, epoch: Ns) -> Distant<P> {
        Distant {
            way,
            distances: distances.clone(),
            link: Link::new(direction, epoch, way.stream()),
            beyond: BTreeMap::new(),
            entered: 0,
            last_arrival: epoch,
            packets_in: 0,
            bytes_in: 0,
        }
    }

    pub fn way(&self) -> Way {
        self.way
    }

    /// A packet of `bytes` IP bytes from or to this server arrives at `at`; None: it is no IPv4 packet.
    pub fn offer(&mut self, server: Option<Address>, at: Ns, bytes: usize, packet: P) {
        let at = at.max(self.last_arrival);
        self.last_arrival = at;
        self.packets_in += 1;
        self.bytes_in += bytes as u64;
        let beyond = server.and_then(|server| self.distances.get(&server)).copied().unwrap_or(0);
        match self.way {
            Way::Up => self.link.offer(at, bytes, Passing { beyond, packet }),
            Way::Down => self.hold(Due { arrived: at, sent: at, at: at + beyond, bytes, packet }),
        }
    }

    fn hold(&mut self, due: Due<P>) {
        self.entered += 1;
        self.beyond.insert((due.at, self.entered), due);
    }

    /// The next packet beyond the link, if it leaves that at `limit` or before.
    fn take_beyond(&mut self, limit: Ns) -> Option<Due<P>> {
        match self.beyond.keys().next().copied() {
            Some(first) if first.0 <= limit => self.beyond.remove(&first),
            _ => None,
        }
    }

    /// Lets packets that have come to the link at `now` or before enter it, and begins every transmission by then.
    pub fn advance(&mut self, now: Ns) {
        if self.way == Way::Down {
            while let Some(Due { at, bytes, packet, .. }) = self.take_beyond(now) {
                self.link.offer(at, bytes, Passing { beyond: 0, packet });
            }
        }
        self.link.advance(now);
    }

    /// Time zero of a trace or step list is `at`, which is now.
    pub fn restart(&mut self, at: Ns) {
        self.advance(at);
        self.link.restart(at);
    }

    /// The next packet, if it is due at `limit` or before.
    pub fn take_due(&mut self, limit: Ns) -> Option<Due<P>> {
        while let Some(Due { arrived, sent, at, bytes, packet }) = self.link.take_due(limit) {
            let Passing { beyond, packet } = packet;
            let due = Due { arrived, sent, at: at + beyond, bytes, packet };
            match self.way {
                Way::Down => return Some(due),
                Way::Up => self.hold(due),
            }
        }
        match self.way {
            Way::Down => None,
            Way::Up => self.take_beyond(limit),
        }
    }

    /// When to call `advance` and `take_due` next, if packets may leave `early` ns before they are due.
    pub fn next_wake(&self, early: Ns) -> Option<Ns> {
        let ahead = match self.way {
            Way::Down => 0,
            Way::Up => early,
        };
        let beyond = self.beyond.keys().next().map(|(at, _)| at.saturating_sub(ahead));
        match (beyond, self.link.next_wake(early)) {
            (Some(beyond), Some(link)) => Some(beyond.min(link)),
            (beyond, link) => beyond.or(link),
        }
    }

    /// What came, and what the link dropped.
    pub fn counters(&self) -> Counters {
        Counters { packets_in: self.packets_in, bytes_in: self.bytes_in, ..self.link.counters() }
    }

    /// Packets inside the link now, or on their way beyond it.
    pub fn held(&self) -> usize {
        self.beyond.len() + self.link.held()
    }
}
