//! One direction of the link, as a pure model: loss -> queue -> transmitter -> propagation.
//!
//! Every instant is computed from arrival times, never from when the model happened to be asked. So a
//! late caller changes when packets leave this process, but not when they were due.

use std::collections::VecDeque;

use crate::direction::Direction;
use crate::jitter::Jitter;
use crate::loss::Loss;
use crate::queue::{Queue, Waiting};
use crate::random::Random;
use crate::rate::Rate;
use crate::Ns;

/// What happened to the packets offered so far. Bytes are IP bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub packets_in: u64,
    pub bytes_in: u64,
    pub drops_queue: u64,
    pub drops_loss: u64,
    pub drops_codel: u64,
    pub max_queue_bytes: usize,
}

impl Counters {
    /// Adds the drops of another link; of the queues the fuller one counts.
    pub fn add_drops(&mut self, other: &Counters) {
        self.drops_queue += other.drops_queue;
        self.drops_loss += other.drops_loss;
        self.drops_codel += other.drops_codel;
        self.max_queue_bytes = self.max_queue_bytes.max(other.max_queue_bytes);
    }
}

/// A packet, when it came, when its last bit was out, and the instant it is due at the far end.
#[derive(Debug)]
pub struct Due<P> {
    pub arrived: Ns,
    pub sent: Ns,
    pub at: Ns,
    pub bytes: usize,
    pub packet: P,
}

/// The model of one direction, carrying packets of any kind `P`.
pub struct Link<P> {
    loss: Loss,
    queue: Queue<P>,
    rate: Rate,
    delay: Ns,
    jitter: Jitter,
    /// Transmitted or in transmission, in order of delivery.
    in_flight: VecDeque<Due<P>>,
    last_arrival: Ns,
    counters: Counters,
}

impl<P> Link<P> {
    /// `epoch` is time zero of a trace or step list; `stream` keeps directions with one seed apart.
    pub fn new(direction: &Direction, epoch: Ns, stream: u64) -> Link<P> {
        let random = |purpose| Random::new(direction.seed, 2 * stream + purpose);
        Link {
            loss: Loss::new(direction.loss.clone(), random(0)),
            queue: Queue::new(direction.queue),
            rate: Rate::new(&direction.rate, epoch),
            delay: direction.delay,
            jitter: Jitter::new(direction.jitter, random(1)),
            in_flight: VecDeque::new(),
            last_arrival: epoch,
            counters: Counters::default(),
        }
    }

    /// A packet of `bytes` IP bytes arrives at `at`. It is dropped or becomes due in good time.
    pub fn offer(&mut self, at: Ns, bytes: usize, packet: P) {
        // Timestamps from two clocks may disagree by a little; packets still arrive in order.
        let at = at.max(self.last_arrival);
        self.last_arrival = at;
        self.advance(at);
        self.counters.packets_in += 1;
        self.counters.bytes_in += bytes as u64;
        if self.loss.takes() {
            self.counters.drops_loss += 1;
        } else if !self.queue.push(Waiting { arrived: at, bytes, packet }) {
            self.counters.drops_queue += 1;
        } else {
            self.advance(at);
            let waiting = self.queue.bytes();
            self.counters.max_queue_bytes = self.counters.max_queue_bytes.max(waiting);
        }
    }

    /// Starts every transmission that begins at `now` or before.
    pub fn advance(&mut self, now: Ns) {
        while let Some(start) = self.next_start() {
            if start > now {
                break;
            }
            let (packet, dropped) = self.queue.pop(start);
            self.counters.drops_codel += dropped;
            if let Some(packet) = packet {
                self.transmit(start, packet);
            }
        }
    }

    /// Time zero of a trace or step list is `at`, which is now: what was to begin before it has begun.
    pub fn restart(&mut self, at: Ns) {
        self.advance(at);
        self.rate.restart(at);
    }

    fn transmit(&mut self, start: Ns, waiting: Waiting<P>) {
        let sent = self.rate.transmit(start, waiting.bytes);
        let at = self.jitter.deliver_at(sent + self.delay);
        self.in_flight.push_back(Due {
            arrived: waiting.arrived,
            sent,
            at,
            bytes: waiting.bytes,
            packet: waiting.packet,
        });
    }

    fn next_start(&self) -> Option<Ns> {
        self.queue.head_arrived().map(|arrived| self.rate.next_start(arrived))
    }

    /// When to call `advance` and `take_due` next, if packets may leave `early` ns before they are due.
    pub fn next_wake(&self, early: Ns) -> Option<Ns> {
        match self.in_flight.front() {
            // Whatever waits starts no later than the packet ahead of it is delivered.
            Some(due) => Some(due.at.saturating_sub(early)),
            None => self.next_start(),
        }
    }

    /// The next packet, if it is due at `limit` or before.
    pub fn take_due(&mut self, limit: Ns) -> Option<Due<P>> {
        match self.in_flight.front() {
            Some(due) if due.at <= limit => self.in_flight.pop_front(),
            _ => None,
        }
    }

    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Packets that left the queue and are on their way.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Packets inside the link now: waiting, in transmission or in flight.
    pub fn held(&self) -> usize {
        self.queue.packets() + self.in_flight.len()
    }
}
