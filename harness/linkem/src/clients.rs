//! A link of its own for each client address, and one list of what happens when.
//!
//! A packet costs one look-up of its address and one step in a heap of the clients that hold packets. A client
//! without packets stands in no list.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, HashMap};

use crate::direction::Direction;
use crate::link::{Counters, Due, Link};
use crate::way::{Address, Way};
use crate::Ns;

/// Most client addresses: a /16 full of them.
pub const MAX_CLIENTS: usize = 65_536;

/// When a client's link has something to do: time, order of entry, number of the client. Never later than it has.
type Appointment = Reverse<(Ns, u64, usize)>;

/// The links of all clients in one direction, carrying packets of any kind `P`.
pub struct Clients<P> {
    direction: Direction,
    /// The address from which clients are counted for their random numbers.
    first: Address,
    way: Way,
    epoch: Ns,
    numbers: HashMap<Address, usize>,
    links: Vec<Link<P>>,
    /// One entry for each client that holds packets.
    agenda: BinaryHeap<Appointment>,
    entered: u64,
}

impl<P> Clients<P> {
    /// `direction` is that of each client, and `first` the address of the first; `epoch` is time zero of its trace or
    /// step list.
    pub fn new(direction: &Direction, first: Address, way: Way, epoch: Ns) -> Clients<P> {
        Clients {
            direction: direction.clone(),
            first,
            way,
            epoch,
            numbers: HashMap::new(),
            links: Vec::new(),
            agenda: BinaryHeap::new(),
            entered: 0,
        }
    }

    /// The number of a client, who gets a link when it is seen for the first time. None: there are too many.
    pub fn number(&mut self, address: Address) -> Option<usize> {
        match self.numbers.entry(address) {
            Entry::Occupied(known) => Some(*known.get()),
            Entry::Vacant(_) if self.links.len() == MAX_CLIENTS => None,
            Entry::Vacant(free) => {
                // What a client loses depends on its place among the addresses and the seed: not on who came before it,
                // nor on which addresses the clients have.
                let first = u32::from_be_bytes(self.first);
                let own = 1 + u64::from(u32::from_be_bytes(address).wrapping_sub(first));
                let link = Link::new(&self.direction, self.epoch, 2 * own + self.way.stream());
                let number = *free.insert(self.links.len());
                self.links.push(link);
                Some(number)
            }
        }
    }

    /// Time zero of all traces and step lists is `at`, which is now; also of clients that come later.
    pub fn restart(&mut self, at: Ns) {
        self.epoch = at;
        self.agenda.clear();
        for (number, link) in self.links.iter_mut().enumerate() {
            link.restart(at);
            // What waits may begin earlier than its appointment was.
            if let Some(wake) = link.next_wake(0) {
                self.entered += 1;
                self.agenda.push(Reverse((wake, self.entered, number)));
            }
        }
    }

    /// A packet for the link of client `number` arrives at `at`.
    pub fn offer(&mut self, number: usize, at: Ns, bytes: usize, packet: P) {
        let link = &mut self.links[number];
        let idle = link.next_wake(0).is_none();
        link.offer(at, bytes, packet);
        // Links keep the order of their packets, so what came now changes no appointment that was made.
        if let (true, Some(wake)) = (idle, link.next_wake(0)) {
            self.entered += 1;
            self.agenda.push(Reverse((wake, self.entered, number)));
        }
    }

    /// The next packet of all, if it is due at `limit` or before.
    ///
    /// Transmissions that begin at `now` or before have begun. Packets come in the order of their due times.
    pub fn take_due(&mut self, now: Ns, limit: Ns) -> Option<Due<P>> {
        while let Some(mut first) = self.agenda.peek_mut() {
            let Reverse((wake, _, number)) = *first;
            if wake > limit {
                return None;
            }
            let link = &mut self.links[number];
            link.advance(now);
            let due = link.take_due(wake);
            let next = link.next_wake(0);
            match next {
                Some(next) => {
                    self.entered += 1;
                    *first = Reverse((next, self.entered, number));
                }
                None => {
                    PeekMut::pop(first);
                }
            }
            if due.is_some() {
                return due;
            }
            if next == Some(wake) {
                // A transmission that begins after `now`: nothing is early there.
                return None;
            }
        }
        None
    }

    /// When to call `take_due` next, if packets may leave `early` ns before they are due.
    pub fn next_wake(&self, early: Ns) -> Option<Ns> {
        let Reverse((wake, _, number)) = self.agenda.peek()?;
        match self.links[*number].in_flight() {
            0 => Some(*wake),
            _ => Some(wake.saturating_sub(early)),
        }
    }

    pub fn len(&self) -> usize {
        self.links.len()
    }

    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// What all links dropped, and the most that waited in any of them.
    pub fn drops(&self) -> Counters {
        let mut sum = Counters::default();
        for link in &self.links {
            sum.add_drops(&link.counters());
        }
        sum
    }

    pub fn held(&self) -> usize {
        self.links.iter().map(Link::held).sum()
    }
}
