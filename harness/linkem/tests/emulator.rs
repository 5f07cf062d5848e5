//! The loop between two devices: what comes is delivered, and not before its time, and signals are heard meanwhile.

use std::collections::VecDeque;
use std::io;
use std::os::unix::io::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::thread::JoinHandleExt;
use std::sync::mpsc::{channel, Receiver};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use linkem::cli::{self, Command, Options};
use linkem::clock;
use linkem::device::{Arrival, Device, Ends};
use linkem::emulator::{Emulator, GATHER};
use linkem::events::Events;
use linkem::records::Records;
use linkem::{Ns, NS_PER_MS, NS_PER_S};

const RATE_BPS: Ns = 100_000_000;
const DELAY: Ns = 5 * NS_PER_MS;

/// What a host has sent and nobody has read, and what it was given and when.
#[derive(Default)]
struct Wire {
    sent: VecDeque<(Ns, usize)>,
    given: Vec<(Ns, usize)>,
}

/// A device in memory, which tells by an eventfd that packets came.
#[derive(Clone)]
struct Fake {
    event: Arc<OwnedFd>,
    wire: Arc<Mutex<Wire>>,
}

impl Fake {
    fn new() -> Fake {
        // SAFETY: no pointers; the descriptor is nobody else's.
        let event = unsafe { OwnedFd::from_raw_fd(libc::eventfd(0, libc::EFD_NONBLOCK)) };
        Fake { event: Arc::new(event), wire: Arc::default() }
    }

    /// The host sends a packet now; returns when.
    fn push(&self, bytes: usize) -> Ns {
        self.push_many(1, bytes)
    }

    /// The host sends packets at one moment.
    fn push_many(&self, count: usize, bytes: usize) -> Ns {
        let at = clock::now();
        self.wire.lock().unwrap().sent.extend(vec![(at, bytes); count]);
        // SAFETY: eight bytes that live during the call.
        let written = unsafe { libc::write(self.fd(), 1_u64.to_ne_bytes().as_ptr().cast(), 8) };
        assert_eq!(written, 8);
        at
    }

    fn given(&self) -> Vec<(Ns, usize)> {
        self.wire.lock().unwrap().given.clone()
    }
}

impl Device for Fake {
    fn fd(&self) -> RawFd {
        self.event.as_raw_fd()
    }

    fn framing(&self) -> usize {
        0
    }

    fn receive(&mut self, _: &mut [u8]) -> io::Result<Option<Arrival>> {
        let first = self.wire.lock().unwrap().sent.pop_front();
        if first.is_none() {
            let mut count = [0_u8; 8];
            // SAFETY: eight bytes that live during the call.
            unsafe { libc::read(self.fd(), count.as_mut_ptr().cast(), 8) };
        }
        Ok(first.map(|(at, bytes)| Arrival { at, bytes }))
    }

    fn waiting(&self) -> Option<bool> {
        Some(!self.wire.lock().unwrap().sent.is_empty())
    }

    fn send(&mut self, packet: &[u8]) -> io::Result<()> {
        self.wire.lock().unwrap().given.push((clock::now(), packet.len()));
        Ok(())
    }

    fn stamped(&self) -> bool {
        true
    }

    fn drops(&mut self) -> Option<u64> {
        None
    }

    fn recover(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An emulator between two such devices.
struct Running {
    client: Fake,
    server: Fake,
    thread: JoinHandle<()>,
    reports: Receiver<String>,
}

impl Running {
    fn start(spec: &'static str) -> Running {
        let (client, server) = (Fake::new(), Fake::new());
        let ends = (client.clone(), server.clone());
        let (report, reports) = channel();
        let (ready, is_ready) = channel();
        let thread = thread::spawn(move || {
            let events = Events::new().unwrap();
            let ends = Ends { client: Box::new(ends.0), server: Box::new(ends.1) };
            let records = Records::default();
            let mut emulator = Emulator::new(ends, &options(spec), records, events).unwrap();
            ready.send(()).unwrap();
            emulator.run(|told| report.send(told.finish()).unwrap()).unwrap();
        });
        is_ready.recv().unwrap();
        Running { client, server, thread, reports }
    }

    fn signal(&self, number: libc::c_int) -> String {
        // SAFETY: the thread has not been joined. It blocks these signals, and reads them from its signalfd.
        assert_eq!(unsafe { libc::pthread_kill(self.thread.as_pthread_t(), number) }, 0);
        self.reports.recv_timeout(Duration::from_secs(10)).unwrap()
    }

    /// Waits until the client was given so many packets.
    fn await_given(&self, count: usize) {
        for _ in 0..10_000 {
            if self.client.given().len() >= count {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
        panic!("{} of {count} packets were delivered in 10 s", self.client.given().len());
    }
}

fn options(spec: &str) -> Options {
    let words =
        format!("--backend tun --client-ns c --server-ns s --device d --down {spec} --up {spec}");
    let words: Vec<String> = words.split_whitespace().map(str::to_string).collect();
    match cli::parse(&words) {
        Ok(Command::Run(options)) => *options,
        _ => panic!("{words:?} is refused"),
    }
}

/// Sends packets down, one every `gap_us`, asks for a report half-way, and ends the link.
fn carry(count: usize, gap_us: u64) {
    let link = Running::start("rate_mbps=100,delay_ms=5");
    let mut sent = Vec::new();
    for number in 0..count {
        let bytes = 1000 + number;
        sent.push((link.server.push(bytes), bytes));
        if number == count / 2 {
            assert!(link.signal(libc::SIGUSR1).contains("\"event\":\"stats\""));
        }
        thread::sleep(Duration::from_micros(gap_us));
    }
    link.await_given(count);
    let last = link.signal(libc::SIGTERM);
    assert!(last.contains("\"event\":\"final\""), "{last}");
    let given = link.client.given();
    assert_eq!(given.len(), count);
    for ((came, bytes), (left, delivered)) in sent.into_iter().zip(given) {
        assert_eq!(bytes, delivered);
        let due = came + bytes as Ns * 8 * NS_PER_S / RATE_BPS + DELAY;
        assert!(left + GATHER >= due, "{} ns early", due - left);
    }
    link.thread.join().unwrap();
}

#[test]
fn packets_of_a_stream_are_delivered_and_none_too_early() {
    carry(400, 100);
}

#[test]
fn packets_that_come_alone_are_delivered_and_none_too_early() {
    carry(20, 4000);
}

#[test]
fn a_signal_makes_its_moment_time_zero_of_a_step_list() {
    let file = std::env::temp_dir().join(format!("linkem-emulator-{}", std::process::id()));
    std::fs::write(&file, "0 1\n300 100\n").unwrap();
    let spec = Box::leak(format!("steps={},delay_ms=5", file.display()).into_boxed_str());
    let link = Running::start(spec);
    std::fs::remove_file(&file).unwrap();
    thread::sleep(Duration::from_millis(400));
    let before = clock::now();
    let told = link.signal(libc::SIGALRM);
    let told = told.strip_prefix("{\"event\":\"restart\",\"epoch_ns\":").unwrap();
    let epoch: Ns = told.strip_suffix('}').unwrap().parse().unwrap();
    assert!((before..=clock::now()).contains(&epoch));
    let came = link.server.push(1500);
    link.await_given(1);
    let (left, _) = link.client.given()[0];
    // At 1 Mbit/s for 12 ms, or until the step to 100 Mbit/s, on a machine that was held up.
    let due = (came + 12 * NS_PER_MS).min(epoch + 300 * NS_PER_MS).max(came) + DELAY;
    assert!(left + GATHER >= due, "{} ns early", due - left);
    link.signal(libc::SIGTERM);
    link.thread.join().unwrap();
}

/// The link holds one packet in transmission and 60 that wait. That the last of a burst are read later makes no room.
#[test]
fn a_burst_fills_the_queue_by_when_it_came_and_not_by_when_it_was_read() {
    const BURSTS: usize = 20;
    let link = Running::start("rate_mbps=100,delay_ms=50,queue=droptail:90000");
    for burst in 0..BURSTS {
        // Packets up, so that one is due again and again when the bursts come.
        for number in 0..100 {
            link.client.push(100);
            thread::sleep(Duration::from_micros(200));
            if number == 90 {
                link.server.push_many(200, 1500);
            }
        }
        link.await_given(61 * burst);
    }
    link.await_given(61 * BURSTS);
    thread::sleep(Duration::from_millis(20));
    link.signal(libc::SIGTERM);
    assert_eq!(link.client.given().len(), 61 * BURSTS);
    link.thread.join().unwrap();
}
