//! The queue in front of the transmitter.
//!
//! It counts IP bytes of packets that WAIT; the packet being transmitted has left it, as in a router.

use std::collections::VecDeque;

use crate::codel::Codel;
use crate::Ns;

/// Bytes at which even an "unlimited" queue drops, so that a flood cannot exhaust the machine's memory.
pub const UNLIMITED_BYTES: usize = 256 << 20;

/// Which discipline, and the largest number of waiting bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueSpec {
    Unlimited,
    DropTail { limit: usize },
    Codel { limit: usize },
}

/// A packet on its way through the link. `bytes` is its IP length, whatever `packet` holds.
#[derive(Debug)]
pub struct Waiting<P> {
    pub arrived: Ns,
    pub bytes: usize,
    pub packet: P,
}

/// Packets in order of arrival, counted in bytes.
pub struct Backlog<P> {
    packets: VecDeque<Waiting<P>>,
    bytes: usize,
}

impl<P> Backlog<P> {
    pub fn push(&mut self, packet: Waiting<P>) {
        self.bytes += packet.bytes;
        self.packets.push_back(packet);
    }

    pub fn pop(&mut self) -> Option<Waiting<P>> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.bytes;
        Some(packet)
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl<P> Default for Backlog<P> {
    fn default() -> Backlog<P> {
        Backlog { packets: VecDeque::new(), bytes: 0 }
    }
}

/// The queue of one direction.
pub struct Queue<P> {
    backlog: Backlog<P>,
    limit: usize,
    codel: Option<Codel>,
}

impl<P> Queue<P> {
    pub fn new(spec: QueueSpec) -> Queue<P> {
        let (limit, codel) = match spec {
            QueueSpec::Unlimited => (UNLIMITED_BYTES, None),
            QueueSpec::DropTail { limit } => (limit, None),
            QueueSpec::Codel { limit } => (limit, Some(Codel::default())),
        };
        Queue { backlog: Backlog::default(), limit, codel }
    }

    /// Takes a packet in, or returns false when it does not fit.
    pub fn push(&mut self, packet: Waiting<P>) -> bool {
        let fits = self.backlog.bytes + packet.bytes <= self.limit;
        if fits {
            self.backlog.push(packet);
        }
        fits
    }

    /// When the packet at the head arrived; None when nothing waits.
    pub fn head_arrived(&self) -> Option<Ns> {
        self.backlog.packets.front().map(|head| head.arrived)
    }

    /// The packet to transmit at `now`, and how many the discipline dropped to get at it.
    pub fn pop(&mut self, now: Ns) -> (Option<Waiting<P>>, u64) {
        match &mut self.codel {
            None => (self.backlog.pop(), 0),
            Some(codel) => codel.pop(now, &mut self.backlog),
        }
    }

    pub fn bytes(&self) -> usize {
        self.backlog.bytes
    }

    pub fn packets(&self) -> usize {
        self.backlog.packets.len()
    }
}
