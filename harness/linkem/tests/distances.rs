//! Servers at distances of their own: what a distance adds, and that the link stays what it is.

use std::collections::HashMap;

use linkem::busy::Busy;
use linkem::direction::Direction;
use linkem::distances::{parse_distances, Distances, Distant};
use linkem::random::Random;
use linkem::way::{Address, Way};
use linkem::{Ns, NS_PER_MS, NS_PER_S};

const EPOCH: Ns = 7_000_000_123;
const NEAR: Address = [10, 0, 0, 1];
const FAR: Address = [10, 0, 0, 2];
const FARTHER: Address = [10, 0, 0, 3];

/// A packet: when it comes (ns after the epoch), of which server, and its bytes.
type Packet = (Ns, Address, usize);

fn distances() -> Distances {
    parse_distances("10.0.0.2=20,10.0.0.3=75.000001").unwrap()
}

fn model(way: Way, spec: &str) -> Distant<usize> {
    Distant::new(way, &Direction::parse(spec).unwrap(), &distances(), EPOCH)
}

/// The packets as they are delivered: number, and when it is due after the epoch. `glances`: the model is asked often.
fn carry(model: &mut Distant<usize>, packets: &[Packet], glances: bool) -> Vec<(usize, Ns)> {
    let mut delivered = Vec::new();
    let mut take = |model: &mut Distant<usize>, now: Ns| {
        model.advance(now);
        while let Some(due) = model.take_due(now) {
            delivered.push((due.packet, due.at - EPOCH));
            model.advance(now);
        }
    };
    for (number, (at, server, bytes)) in packets.iter().enumerate() {
        if glances && number % 3 == 0 {
            take(model, EPOCH + at);
        }
        model.offer(Some(*server), EPOCH + at, *bytes, number);
    }
    while let Some(wake) = model.next_wake(0) {
        take(model, wake);
    }
    assert_eq!(model.held(), 0);
    delivered
}

fn due_at(way: Way, spec: &str, packets: &[Packet]) -> Vec<Ns> {
    let by_number: HashMap<usize, Ns> =
        carry(&mut model(way, spec), packets, false).into_iter().collect();
    (0..packets.len()).map(|number| by_number[&number]).collect()
}

#[test]
fn a_restart_reaches_the_link() {
    let file = std::env::temp_dir().join(format!("linkem-distances-{}", std::process::id()));
    std::fs::write(&file, "0 8\n10 1\n").unwrap();
    for way in [Way::Down, Way::Up] {
        let mut model = model(way, &format!("steps={}", file.display()));
        // 1000 bytes take 8 ms at 1 Mbit/s, and 1 ms at 8.
        assert_eq!(
            carry(&mut model, &[(50 * NS_PER_MS, NEAR, 1000)], false),
            [(0, 58 * NS_PER_MS)]
        );
        model.restart(EPOCH + 60 * NS_PER_MS);
        assert_eq!(
            carry(&mut model, &[(60 * NS_PER_MS, NEAR, 1000)], false),
            [(0, 61 * NS_PER_MS)]
        );
    }
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn each_way_to_a_server_takes_its_distance_longer() {
    // 1500 bytes at 12 Mbit/s are 1 ms.
    for way in [Way::Down, Way::Up] {
        let packets =
            [(0, NEAR, 1500), (100 * NS_PER_MS, FAR, 1500), (200 * NS_PER_MS, FARTHER, 1500)];
        let due = due_at(way, "rate_mbps=12,delay_ms=25", &packets);
        let ms = NS_PER_MS;
        assert_eq!(due, [26 * ms, 146 * ms, 301 * ms + 1]);
    }
}

#[test]
fn what_comes_down_from_afar_waits_for_the_link_when_it_gets_there() {
    // The far packet is there at 20 ms, while the near one is in transmission until 20.5 ms.
    let packets = [(0, FAR, 1500), (NS_PER_MS * 39 / 2, NEAR, 1500)];
    assert_eq!(
        due_at(Way::Down, "rate_mbps=12", &packets),
        [NS_PER_MS * 43 / 2, NS_PER_MS * 41 / 2]
    );
}

#[test]
fn a_near_server_is_reached_before_a_far_one_that_was_sent_to_earlier() {
    let packets = [(0, FAR, 1500), (0, NEAR, 1500)];
    let delivered = carry(&mut model(Way::Up, "rate_mbps=12"), &packets, false);
    assert_eq!(delivered, [(1, 2 * NS_PER_MS), (0, 21 * NS_PER_MS)]);
}

#[test]
fn the_link_was_busy_when_a_packet_was_sent_however_late_its_server_gets_it() {
    let mut model = model(Way::Up, "rate_mbps=12");
    let mut busy = Busy::default();
    for (number, at) in [(0, 0), (1, 5), (2, 8)] {
        let server = if number == 0 { FAR } else { NEAR };
        model.offer(Some(server), EPOCH + at * NS_PER_MS, 1500, number);
    }
    while let Some(wake) = model.next_wake(0) {
        model.advance(wake);
        while let Some(due) = model.take_due(wake) {
            busy.add(Way::Up, &due);
        }
    }
    let ms = |at: Ns| (at - EPOCH) / NS_PER_MS;
    let spans: Vec<(Ns, Ns)> =
        busy.spans().iter().map(|&(begin, end)| (ms(begin), ms(end))).collect();
    assert_eq!(spans, [(0, 1), (5, 6), (8, 9)]);
}

#[test]
fn a_packet_that_is_not_ipv4_is_of_a_near_server() {
    let mut model = model(Way::Up, "rate_mbps=0,delay_ms=3");
    model.offer(None, EPOCH, 100, 0);
    assert_eq!(model.next_wake(0), Some(EPOCH + 3 * NS_PER_MS));
}

/// Packets of three servers at random times.
fn traffic(seed: u64, count: usize, gap: Ns) -> Vec<Packet> {
    let mut random = Random::new(seed, 5);
    let mut at = 0;
    let mut next = || {
        at += random.up_to(2 * gap);
        let server = [NEAR, FAR, FARTHER][random.up_to(2) as usize];
        (at, server, 40 + random.up_to(1460) as usize)
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn packets_of_one_server_keep_their_order_and_the_link_its_rate() {
    for way in [Way::Down, Way::Up] {
        for (seed, spec) in [
            (1, "rate_mbps=8,delay_ms=10"),
            (2, "rate_mbps=3,delay_ms=1,jitter_ms=9,queue=droptail:30000"),
            (3, "rate_mbps=8,delay_ms=10,loss=0.1,queue=codel:60000"),
        ] {
            let packets = traffic(seed, 3_000, NS_PER_MS);
            let mut model = model(way, spec);
            let delivered = carry(&mut model, &packets, true);
            let counters = model.counters();
            let dropped = counters.drops_queue + counters.drops_loss + counters.drops_codel;
            assert_eq!(counters.packets_in, delivered.len() as u64 + dropped);
            assert!(delivered.windows(2).all(|pair| pair[0].1 <= pair[1].1), "in order of time");
            for server in [NEAR, FAR, FARTHER] {
                let own: Vec<usize> = delivered
                    .iter()
                    .map(|(number, _)| *number)
                    .filter(|number| packets[*number].1 == server)
                    .collect();
                assert!(own.windows(2).all(|pair| pair[0] < pair[1]), "{way:?} {spec}");
            }
            if way == Way::Down && !spec.contains("jitter") {
                for pair in delivered.windows(2) {
                    let own = packets[pair[1].0].2 as Ns * 8 * NS_PER_S / 8_000_000;
                    assert!(pair[1].1 - pair[0].1 + 1 >= own, "faster than the link: {pair:?}");
                }
            }
        }
    }
}

#[test]
fn how_often_the_model_is_asked_changes_nothing() {
    for way in [Way::Down, Way::Up] {
        let packets = traffic(4, 2_000, NS_PER_MS / 2);
        let spec = "rate_mbps=12,delay_ms=10,jitter_ms=2,queue=droptail:40000,loss=0.02";
        let seldom = carry(&mut model(way, spec), &packets, false);
        assert_eq!(carry(&mut model(way, spec), &packets, true), seldom);
    }
}

#[test]
fn without_distances_it_is_the_link() {
    for way in [Way::Down, Way::Up] {
        let packets: Vec<Packet> =
            traffic(6, 1_000, NS_PER_MS).iter().map(|&(at, _, bytes)| (at, NEAR, bytes)).collect();
        let spec = "rate_mbps=6,delay_ms=12,jitter_ms=3,queue=droptail:30000,loss=0.01,seed=4";
        let direction = Direction::parse(spec).unwrap();
        let mut link = linkem::link::Link::new(&direction, EPOCH, way.stream());
        let mut plain = Vec::new();
        for (number, (at, _, bytes)) in packets.iter().enumerate() {
            link.offer(EPOCH + at, *bytes, number);
        }
        while let Some(wake) = link.next_wake(0) {
            link.advance(wake);
            while let Some(due) = link.take_due(wake) {
                plain.push((due.packet, due.at - EPOCH));
            }
        }
        assert_eq!(carry(&mut model(way, spec), &packets, false), plain);
    }
}

#[test]
fn nonsense_is_refused() {
    for (text, error) in [
        ("", "'' is not ADDRESS=MS"),
        ("10.0.0.1", "'10.0.0.1' is not ADDRESS=MS"),
        ("host=3", "'host' is no IPv4 address"),
        ("10.0.0.1=3,10.0.0.1=4", "10.0.0.1 is given twice"),
        ("10.0.0.1=-3", "'-3' is negative"),
        ("10.0.0.1=60001", "'60001' is over 60000 ms"),
    ] {
        assert_eq!(parse_distances(text).unwrap_err(), error);
    }
}
