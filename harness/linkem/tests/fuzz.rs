//! Random input, always the same: nothing the outside sends may stop the link.

use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::os::unix::io::RawFd;

use linkem::crowd::Crowd;
use linkem::device::{Arrival, Device};
use linkem::direction::Direction;
use linkem::link::Link;
use linkem::model::Model;
use linkem::path::{Path, BUFFER_BYTES, EARLY};
use linkem::random::Random;
use linkem::rate::{parse_steps, parse_trace};
use linkem::records::Records;
use linkem::way::{Address, Way};
use linkem::{Ns, MTU};

const FIRST: Address = [10, 64, 0, 0];

fn garbage(random: &mut Random, alphabet: &[u8], longest: u64) -> String {
    let length = random.up_to(longest);
    let mut letter = || alphabet[random.up_to(alphabet.len() as u64 - 1) as usize];
    String::from_utf8_lossy(&(0..length).map(|_| letter()).collect::<Vec<u8>>()).into_owned()
}

#[test]
fn parsers_never_panic_and_what_they_accept_reads_back() {
    let mut random = Random::new(1, 0);
    let any: Vec<u8> = (0..=255).collect();
    for round in 0..30_000 {
        let alphabet: &[u8] = if round % 2 == 0 { &any } else { b"0123456789.,=:-e _\n#" };
        let text = garbage(&mut random, alphabet, 40);
        let _ = parse_trace(&text);
        let _ = parse_steps(&text);
        let keys = ["rate_mbps=", "delay_ms=", "loss=", "loss_ge=", "queue=droptail:", "seed=", ""];
        let key = keys[random.up_to(keys.len() as u64 - 1) as usize];
        if let Ok(direction) = Direction::parse(&format!("{key}{text}")) {
            assert_eq!(Direction::parse(&direction.to_string()), Ok(direction));
        }
    }
}

/// A device that has frames to give, and takes some of those it is given.
struct Fake {
    framing: usize,
    frames: VecDeque<(Ns, Vec<u8>)>,
    taken: Vec<usize>,
    refuse: Random,
}

impl Device for Fake {
    fn stamped(&self) -> bool {
        true
    }

    fn fd(&self) -> RawFd {
        -1
    }

    fn framing(&self) -> usize {
        self.framing
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Arrival>> {
        Ok(self.frames.pop_front().map(|(at, frame)| {
            let copied = frame.len().min(buffer.len());
            buffer[..copied].copy_from_slice(&frame[..copied]);
            Arrival { at, bytes: frame.len() }
        }))
    }

    fn send(&mut self, packet: &[u8]) -> io::Result<()> {
        if self.refuse.happens(0.1) {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        self.taken.push(packet.len());
        Ok(())
    }

    fn drops(&mut self) -> Option<u64> {
        None
    }

    fn recover(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn fake(framing: usize, seed: u64) -> Fake {
    let refuse = Random::new(seed, 1);
    Fake { framing, frames: VecDeque::new(), taken: Vec::new(), refuse }
}

/// Bytes of any kind, or what might be an IPv4 packet between two of a few hosts.
fn frame(random: &mut Random, framing: usize) -> Vec<u8> {
    let mut frame: Vec<u8> = (0..random.up_to(3000)).map(|_| random.draw() as u8).collect();
    if random.happens(0.8) && frame.len() >= framing + 20 {
        frame[framing] = 0x45;
        for host in [12, 16] {
            frame[framing + host..framing + host + 4].copy_from_slice(&[
                10,
                64,
                0,
                random.up_to(20) as u8,
            ]);
        }
        if framing == 14 {
            frame[12..14].copy_from_slice(&[0x08, 0x00]);
        }
    }
    frame
}

/// A count of the account, out of its JSON.
fn count(account: &str, key: &str) -> u64 {
    let (_, rest) = account.split_once(&format!("\"{key}\":")).unwrap();
    rest.split([',', '}']).next().unwrap().parse().unwrap()
}

#[test]
fn the_packet_path_survives_any_bytes_and_accounts_for_each_packet() {
    let spec = "rate_mbps=50,delay_ms=2,jitter_ms=1,queue=codel:20000,loss_ge=0.01:0.2,seed=4";
    let direction = Direction::parse(spec).unwrap();
    let each = Direction::parse(&spec.replace("rate_mbps=50", "rate_mbps=3")).unwrap();
    let shared = Direction::parse("rate_mbps=40,queue=droptail:30000").unwrap();
    for (framing, seed) in [(0, 1), (14, 2)] {
        let models: [Box<dyn Model>; 4] = [
            Box::new(Link::new(&direction, 0, 0)),
            Box::new(Crowd::new(Way::Down, &each, FIRST, None, 0)),
            Box::new(Crowd::new(Way::Down, &each, FIRST, Some(&shared), 0)),
            Box::new(Crowd::new(Way::Up, &each, FIRST, Some(&shared), 0)),
        ];
        for model in models {
            carry_garbage(model, framing, seed);
        }
    }
}

fn carry_garbage(model: Box<dyn Model>, framing: usize, seed: u64) {
    let mut random = Random::new(seed, 0);
    let (mut source, mut sink) = (fake(framing, seed), fake(framing, seed));
    let mut path = Path::new(Way::Down, model, 0);
    let mut buffer = [0; BUFFER_BYTES];
    let mut records = Records::default();
    let now = Cell::new(0);
    let mut given = 0;
    for _ in 0..5000 {
        now.set(now.get() + random.up_to(1_000_000));
        for _ in 0..random.up_to(8) {
            let bytes = frame(&mut random, framing);
            // Timestamps a little in the past, not even in order.
            source.frames.push_back((now.get() - random.up_to(now.get().min(50_000)), bytes));
            given += 1;
        }
        while path.ingest(&mut source, &mut buffer).unwrap() {}
        while path.deliver(&mut sink, &mut records, EARLY, || now.get()) {}
    }
    while let Some(wake) = path.next_wake(EARLY) {
        now.set(wake);
        while path.deliver(&mut sink, &mut records, EARLY, || now.get()) {}
    }
    let account = path.describe(None).finish();
    let sum = |keys: &[&str]| keys.iter().map(|key| count(&account, key)).sum::<u64>();
    let foreign = if account.contains("foreign") { count(&account, "foreign") } else { 0 };
    assert_eq!(given, foreign + sum(&["packets_in", "oversize", "malformed"]));
    let lost = sum(&["drops_queue", "drops_loss", "drops_codel", "write_errors"]);
    assert_eq!(count(&account, "packets_in"), count(&account, "packets_out") + lost);
    assert_eq!(count(&account, "held_packets"), 0);
    assert_eq!(count(&account, "packets_out"), sink.taken.len() as u64);
    let ip_bytes: usize = sink.taken.iter().map(|bytes| bytes - framing).sum();
    assert_eq!(count(&account, "bytes_out"), ip_bytes as u64);
    assert!(sink.taken.iter().all(|bytes| bytes - framing <= MTU));
    assert!(count(&account, "oversize") > 0 && lost > 0);
    assert_eq!(count(&account, "malformed") > 0, framing > 0);
}
