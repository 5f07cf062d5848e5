//! CoDel against a literal transcription of RFC 8289, section 5, and against its own promises.

use std::collections::VecDeque;

use linkem::direction::Direction;
use linkem::link::Link;
use linkem::random::Random;
use linkem::{Ns, NS_PER_MS};

/// The RFC's pseudo-code with its own names: a queue of (arrival, bytes, number).
#[derive(Default)]
struct Rfc {
    queue: VecDeque<(Ns, usize, usize)>,
    bytes: usize,
    first_above_time: Ns,
    drop_next: Ns,
    count: u64,
    lastcount: u64,
    dropping: bool,
}

impl Rfc {
    fn dodequeue(&mut self, now: Ns) -> (Option<usize>, usize, bool) {
        let (arrival, bytes, number) = match self.queue.pop_front() {
            None => {
                self.first_above_time = 0;
                return (None, 0, false);
            }
            Some(packet) => packet,
        };
        self.bytes -= bytes;
        let mut ok_to_drop = false;
        if now - arrival < 5 * NS_PER_MS || self.bytes <= 1500 {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + 100 * NS_PER_MS;
        } else if now >= self.first_above_time {
            ok_to_drop = true;
        }
        (Some(number), bytes, ok_to_drop)
    }

    fn control_law(&self, t: Ns) -> Ns {
        t + (100e6 / (self.count as f64).sqrt()) as Ns
    }

    fn dequeue(&mut self, now: Ns) -> Option<(usize, usize)> {
        let (mut packet, mut bytes, mut ok_to_drop) = self.dodequeue(now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                self.count += 1;
                (packet, bytes, ok_to_drop) = self.dodequeue(now);
                if !ok_to_drop {
                    self.dropping = false;
                } else {
                    self.drop_next = self.control_law(self.drop_next);
                }
            }
        } else if ok_to_drop {
            (packet, bytes, _) = self.dodequeue(now);
            self.dropping = true;
            let delta = self.count.wrapping_sub(self.lastcount) as i64;
            self.count = 1;
            if delta > 1 && (now as i64 - self.drop_next as i64) < 16 * 100_000_000 {
                self.count = delta as u64;
            }
            self.drop_next = self.control_law(now);
            self.lastcount = self.count;
        }
        packet.map(|number| (number, bytes))
    }
}

/// Which packets the RFC's CoDel delivers and when, behind a link of `bps`.
fn by_the_rfc(packets: &[(Ns, usize)], bps: u64) -> Vec<(usize, Ns)> {
    let mut codel = Rfc::default();
    let mut delivered = Vec::new();
    let mut free = 0;
    let mut arrivals = packets.iter().copied().enumerate().peekable();
    loop {
        let next = arrivals.peek().map(|(_, (at, _))| *at);
        let start = codel.queue.front().map(|(arrival, ..)| free.max(*arrival));
        match (next, start) {
            (None, None) => return delivered,
            (next, Some(start)) if next.map_or(true, |at| start <= at) => {
                if let Some((number, bytes)) = codel.dequeue(start) {
                    free = start + bytes as Ns * 8_000_000_000 / bps;
                    delivered.push((number, free));
                }
            }
            _ => {
                let (number, (at, bytes)) = arrivals.next().unwrap();
                codel.queue.push_back((at, bytes, number));
                codel.bytes += bytes;
            }
        }
    }
}

fn by_the_model(packets: &[(Ns, usize)], spec: &str) -> (Vec<(usize, Ns)>, u64) {
    let mut link = Link::new(&Direction::parse(spec).unwrap(), 0, 0);
    for (number, (at, bytes)) in packets.iter().enumerate() {
        link.offer(*at, *bytes, number);
    }
    let mut delivered = Vec::new();
    while let Some(wake) = link.next_wake(0) {
        link.advance(wake);
        delivered.extend(link.take_due(wake).map(|due| (due.packet, due.at)));
    }
    (delivered, link.counters().drops_codel)
}

/// Bursts and pauses: loads from idle to twice the rate.
fn traffic(seed: u64) -> Vec<(Ns, usize)> {
    let mut random = Random::new(seed, 0);
    let (mut now, mut gap) = (0, 1_000_000);
    let mut packet = |number: usize| {
        if number % 400 == 0 {
            gap = 400_000 + random.up_to(1_600_000);
        }
        // Never at the same nanosecond: which comes first, arrival or departure, is then no question.
        now += 1 + random.up_to(2 * gap);
        (now, 1 + random.up_to(1499) as usize)
    };
    (0..20_000).map(&mut packet).collect()
}

#[test]
fn the_model_drops_what_the_rfc_drops() {
    // 8 Mbit/s: a byte takes exactly 1000 ns, so rounding plays no part.
    let mut drops = 0;
    for seed in 0..20 {
        let packets = traffic(seed);
        let (delivered, dropped) = by_the_model(&packets, "rate_mbps=8,queue=codel:100000000");
        assert_eq!(delivered, by_the_rfc(&packets, 8_000_000), "seed {seed}");
        assert_eq!(delivered.len() as u64 + dropped, packets.len() as u64);
        drops += dropped;
    }
    assert!(drops > 1000, "only {drops} drops: the traffic proves nothing");
}

#[test]
fn a_burst_shorter_than_an_interval_loses_nothing() {
    let burst: Vec<(Ns, usize)> = (0..60).map(|n| (n, 1500)).collect();
    let (delivered, dropped) = by_the_model(&burst, "rate_mbps=12,queue=codel:1000000");
    assert_eq!((delivered.len(), dropped), (60, 0));
}

#[test]
fn a_standing_queue_is_dropped_from_after_one_interval() {
    // 1 ms per packet, one arriving per 0.9 ms: the delay passes 5 ms after 50 packets.
    let packets: Vec<(Ns, usize)> = (0..400).map(|n| (n * 900_000, 1500)).collect();
    let (delivered, _) = by_the_model(&packets, "rate_mbps=12,queue=codel:1000000");
    let first = (0..400).find(|n| delivered.iter().all(|(number, _)| number != n)).unwrap();
    let above = 50 * NS_PER_MS;
    let dropped_at = first as Ns * 900_000 + (dropped_delay(first) as Ns);
    assert!((above + 100 * NS_PER_MS..above + 104 * NS_PER_MS).contains(&dropped_at));
}

/// The delay packet `n` had when it came to the head: 0.1 ms more for each before it.
fn dropped_delay(n: usize) -> u64 {
    n as u64 * 100_000
}

#[test]
fn even_codel_has_an_end() {
    let packets: Vec<(Ns, usize)> = (0..20).map(|n| (n, 1500)).collect();
    let (delivered, dropped) = by_the_model(&packets, "rate_mbps=12,queue=codel:15000");
    // One in transmission and ten waiting.
    assert_eq!((delivered.len(), dropped), (11, 0));
}
