//! Many clients, each with a link of its own: what one gets does not depend on the others, unless they share.

use std::collections::HashMap;

use linkem::clients::MAX_CLIENTS;
use linkem::crowd::Crowd;
use linkem::direction::Direction;
use linkem::link::Link;
use linkem::random::Random;
use linkem::way::{Address, Way};
use linkem::{Ns, NS_PER_MS, NS_PER_S};

const EPOCH: Ns = 7_000_000_123;

/// A packet: when it comes (ns after the epoch), whose it is, and its bytes.
type Packet = (Ns, u8, usize);

fn direction(spec: &str) -> Direction {
    Direction::parse(spec).unwrap()
}

/// The address of client 0.
const FIRST: Address = [10, 64, 0, 0];

fn address(client: u8) -> Address {
    [10, 64, 0, client]
}

fn crowd(way: Way, each: &str, shared: Option<&str>) -> Crowd<usize> {
    Crowd::new(way, &direction(each), FIRST, shared.map(direction).as_ref(), EPOCH)
}

/// Takes what is due at `now`.
fn take(crowd: &mut Crowd<usize>, now: Ns, due_at: &mut [Option<Ns>]) {
    crowd.advance(now);
    while let Some(due) = crowd.take_due(now) {
        due_at[due.packet] = Some(due.at - EPOCH);
        crowd.advance(now);
    }
}

/// When each packet is due, by number; None when it was dropped. `glances`: the model is asked now and then.
fn carry(crowd: &mut Crowd<usize>, packets: &[Packet], glances: bool) -> Vec<Option<Ns>> {
    let mut due_at = vec![None; packets.len()];
    for (number, (at, client, bytes)) in packets.iter().enumerate() {
        if glances && number % 7 == 0 {
            take(crowd, EPOCH + at, &mut due_at);
        }
        crowd.offer(address(*client), EPOCH + at, *bytes, number).unwrap();
    }
    while let Some(wake) = crowd.next_wake(0) {
        take(crowd, wake, &mut due_at);
    }
    assert_eq!(crowd.held(), 0);
    due_at
}

/// Packets of `clients` at random times, in order: mean gap `gap`.
fn traffic(seed: u64, count: usize, clients: u8, gap: Ns) -> Vec<Packet> {
    let mut random = Random::new(seed, 9);
    let mut at = 0;
    let mut next = || {
        at += random.up_to(2 * gap);
        let client = random.up_to(u64::from(clients) - 1) as u8;
        (at, client, 1 + random.up_to(1499) as usize)
    };
    (0..count).map(|_| next()).collect()
}

/// When each packet of one client is due over a link of its own, in order.
fn alone(way: Way, spec: &str, client: u8, packets: &[Packet]) -> Vec<Option<Ns>> {
    let mut link = Link::new(&direction(spec), EPOCH, 2 * (1 + u64::from(client)) + way.stream());
    let mine: Vec<_> = packets.iter().filter(|packet| packet.1 == client).collect();
    for (number, (at, _, bytes)) in mine.iter().enumerate() {
        link.offer(EPOCH + at, *bytes, number);
    }
    let mut due_at = vec![None; mine.len()];
    while let Some(wake) = link.next_wake(0) {
        link.advance(wake);
        while let Some(due) = link.take_due(wake) {
            due_at[due.packet] = Some(due.at - EPOCH);
        }
    }
    due_at
}

#[test]
fn each_client_gets_what_it_would_get_alone() {
    let specs = [
        "rate_mbps=5,delay_ms=40,queue=droptail:15000",
        "rate_mbps=1.6,delay_ms=3,queue=codel:60000,loss=0.05,jitter_ms=2,seed=9",
        "rate_mbps=0,delay_ms=0.000001,loss_ge=0.05:0.3",
        "rate_mbps=0",
    ];
    for (number, spec) in specs.iter().enumerate() {
        for way in [Way::Down, Way::Up] {
            let packets = traffic(number as u64, 6000, 12, 150_000);
            let together = carry(&mut crowd(way, spec, None), &packets, false);
            let glanced = carry(&mut crowd(way, spec, None), &packets, true);
            assert_eq!(together, glanced, "{spec}");
            for client in 0..12 {
                let mine: Vec<_> = packets
                    .iter()
                    .zip(&together)
                    .filter(|(packet, _)| packet.1 == client)
                    .map(|(_, due)| *due)
                    .collect();
                assert_eq!(mine, alone(way, spec, client, &packets), "client {client} of {spec}");
            }
        }
    }
}

/// What is compared is a crowd each, at addresses that no other had: its clients lose alike by number.
#[test]
fn clients_of_a_number_lose_alike_whatever_their_addresses() {
    let spec = "rate_mbps=0,loss=0.3,jitter_ms=2,queue=droptail:9000";
    let due_from = |first: Address| -> Vec<Option<Ns>> {
        let mut crowd = Crowd::new(Way::Down, &direction(spec), first, None, EPOCH);
        let mut due_at = vec![None; 400];
        for number in 0..400 {
            let client = [first[0], first[1], first[2], first[3] + (number % 8) as u8];
            crowd.offer(client, EPOCH + number as Ns, 100, number).unwrap();
        }
        while let Some(wake) = crowd.next_wake(0) {
            take(&mut crowd, wake, &mut due_at);
        }
        due_at
    };
    let due = due_from([10, 64, 0, 8]);
    assert_eq!(due, due_from([10, 64, 7, 240]));
    let of_client = |client| due.iter().skip(client).step_by(8).map(Option::is_some);
    assert!(!of_client(0).eq(of_client(1)));
}

/// A crowd of which each client has the trace.
fn traced(name: &str, way: Way, trace: &str, shared: Option<&str>) -> Crowd<usize> {
    let file = std::env::temp_dir().join(format!("linkem-{name}-{}", std::process::id()));
    std::fs::write(&file, trace).unwrap();
    let made = crowd(way, &format!("trace={},queue=droptail:9000", file.display()), shared);
    std::fs::remove_file(&file).unwrap();
    made
}

/// One client waits for a delivery that the new time zero brings near, the other comes after it.
#[test]
fn a_restart_begins_everyones_trace_anew() {
    for (way, shared) in [(Way::Down, None), (Way::Up, None), (Way::Up, Some("rate_mbps=0"))] {
        let mut crowd = traced("restart", way, "2\n900\n", shared);
        let mut due_at = vec![None; 2];
        crowd.offer(address(1), EPOCH + 50 * NS_PER_MS, 1500, 0).unwrap();
        crowd.advance(EPOCH + 99 * NS_PER_MS);
        crowd.restart(EPOCH + 100 * NS_PER_MS);
        crowd.offer(address(2), EPOCH + 100 * NS_PER_MS, 1500, 1).unwrap();
        assert!(crowd.next_wake(0) <= Some(EPOCH + 102 * NS_PER_MS));
        take(&mut crowd, EPOCH + 102 * NS_PER_MS, &mut due_at);
        assert_eq!(due_at, [Some(102 * NS_PER_MS); 2]);
    }
}

#[test]
fn a_trace_is_everyones_own() {
    let mut crowd = traced("clients", Way::Down, "2\n4\n", None);
    let due = carry(&mut crowd, &[(0, 1, 1500), (0, 2, 1500), (0, 1, 1500), (0, 2, 1500)], false);
    assert_eq!(due, [2, 2, 4, 4].map(|ms| Some(ms * NS_PER_MS)));
}

#[test]
fn packets_come_in_the_order_of_their_due_times() {
    let mut crowd = crowd(Way::Up, "rate_mbps=1,delay_ms=9,jitter_ms=5,queue=droptail:9000", None);
    for (number, (at, client, bytes)) in traffic(5, 4000, 40, 100_000).iter().enumerate() {
        crowd.offer(address(*client), EPOCH + at, *bytes, number).unwrap();
    }
    let (mut last, mut taken) = (0, 0);
    while let Some(wake) = crowd.next_wake(30_000) {
        crowd.advance(wake);
        while let Some(due) = crowd.take_due(wake + 30_000) {
            assert!(last <= due.at && due.at <= wake + 30_000);
            (last, taken) = (due.at, taken + 1);
        }
    }
    let counters = crowd.counters();
    assert_eq!(taken + counters.drops_queue, 4000);
    assert!(counters.drops_queue > 0);
}

#[test]
fn down_the_clients_queue_comes_before_the_shared_one_and_up_after_it() {
    // At 12 Mbit/s a full packet takes 1 ms, at 6 Mbit/s 2 ms.
    let (each, shared) = ("rate_mbps=6,delay_ms=10,queue=droptail:9000", Some("rate_mbps=12"));
    let packets = [(0, 1, 1500), (0, 2, 1500), (0, 1, 1500)];
    let down = carry(&mut crowd(Way::Down, each, shared), &packets, false);
    assert_eq!(down, [13, 14, 15].map(|ms| Some(ms * NS_PER_MS)));
    let up = carry(&mut crowd(Way::Up, each, shared), &packets, false);
    assert_eq!(up, [13, 14, 15].map(|ms| Some(ms * NS_PER_MS)));
    // Only the first queue sees a burst: down that of the client, up the shared one.
    let burst: Vec<Packet> = (0..20).map(|_| (0, 1, 1500)).collect();
    let mut down = crowd(Way::Down, each, Some("rate_mbps=12,queue=droptail:1500"));
    assert_eq!(carry(&mut down, &burst, false).iter().flatten().count(), 7);
    let mut up = crowd(Way::Up, each, Some("rate_mbps=12,queue=droptail:1500"));
    assert_eq!(carry(&mut up, &burst, false).iter().flatten().count(), 2);
}

#[test]
fn a_shared_rate_holds_for_all_together_to_the_nanosecond() {
    for way in [Way::Down, Way::Up] {
        let (each, shared) = ("rate_mbps=50,queue=droptail:900000", "rate_mbps=7.777777");
        let packets: Vec<Packet> = (0..2000).map(|n| (0, (n % 40) as u8, 1000)).collect();
        let due = carry(&mut crowd(way, each, Some(shared)), &packets, false);
        let own = 8 * 1000 * NS_PER_S / 50_000_000;
        let all = 2000 * 8 * 1000 * u128::from(NS_PER_S) / 7_777_777;
        assert_eq!(*due.iter().flatten().max().unwrap(), own + all as Ns);
        assert_eq!(due.iter().flatten().count(), 2000);
    }
}

#[test]
fn who_shares_gets_an_equal_share() {
    let (each, shared) = ("rate_mbps=10,queue=droptail:30000", "rate_mbps=20,queue=droptail:30000");
    let mut crowd = crowd(Way::Down, each, Some(shared));
    // Ten clients, each of whom sends 5 Mbit/s for two seconds, at random times: at regular ones a full drop-tail
    // queue would always drop the same clients' packets.
    let packets: Vec<Packet> =
        traffic(8, 8330, 10, 240_096).iter().map(|(at, client, _)| (*at, *client, 1500)).collect();
    let due = carry(&mut crowd, &packets, false);
    let mut got: HashMap<u8, f64> = HashMap::new();
    for (packet, _) in packets.iter().zip(&due).filter(|(_, due)| due.is_some()) {
        *got.entry(packet.1).or_default() += 1.0;
    }
    let (sum, squares) =
        got.values().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    assert_eq!(got.len(), 10);
    // 20 Mbit/s until the last packet comes, a queue of 20 packets, and one in transmission; and what leaves the
    // clients' own queues afterwards, which takes 24 ms at most.
    let fitting = packets[8329].0 as f64 / (1500.0 * 8.0 / 20e6 * 1e9) + 21.0;
    let after = 0.024 / (1500.0 * 8.0 / 20e6);
    assert!(fitting - 2.0 < sum && sum < fitting + after, "{sum} packets of {fitting} got through");
    let jain = sum * sum / (10.0 * squares);
    assert!(jain > 0.95, "Jain's index {jain}: {got:?}");
}

#[test]
fn every_packet_is_delivered_dropped_or_held() {
    for way in [Way::Down, Way::Up] {
        let each = "rate_mbps=1,delay_ms=30,queue=codel:20000,loss=0.1";
        let mut crowd = crowd(way, each, Some("rate_mbps=4,queue=droptail:9000"));
        let mut delivered = 0;
        for (number, (at, client, bytes)) in traffic(3, 20_000, 30, 400_000).iter().enumerate() {
            let now = EPOCH + at;
            crowd.offer(address(*client), now, *bytes, number).unwrap();
            crowd.advance(now);
            while crowd.take_due(now).is_some() {
                delivered += 1;
            }
            let counters = crowd.counters();
            let lost = counters.drops_codel + counters.drops_loss + counters.drops_queue;
            assert_eq!(counters.packets_in, delivered + lost + crowd.held() as u64);
        }
        let counters = crowd.counters();
        assert!(counters.drops_loss > 0 && counters.drops_queue > 0 && delivered > 5000);
    }
}

#[test]
fn a_client_that_is_idle_asks_for_nothing() {
    let mut crowd = crowd(Way::Down, "rate_mbps=5,delay_ms=40,queue=droptail:15000", None);
    let packets: Vec<Packet> = (0..200).map(|n| (0, n as u8, 1500)).collect();
    assert_eq!(crowd.next_wake(0), None);
    assert!(carry(&mut crowd, &packets, false).iter().all(|due| *due == Some(42_400_000)));
    assert_eq!(crowd.next_wake(0), None);
}

#[test]
fn only_so_many_clients_fit() {
    let mut crowd = crowd(Way::Down, "rate_mbps=0", None);
    for number in 0..MAX_CLIENTS as u32 {
        crowd.offer(number.to_be_bytes(), EPOCH, 100, 0).unwrap();
    }
    crowd.offer([0, 0, 0, 7], EPOCH, 100, 0).unwrap();
    let error = crowd.offer([9, 9, 9, 9], EPOCH, 100, 0).unwrap_err();
    assert_eq!(error, "more than 65536 client addresses sent packets; use fewer clients");
}

fn packet(source: Address, destination: Address) -> Vec<u8> {
    let mut packet = vec![0; 20];
    packet[0] = 0x45;
    packet[12..16].copy_from_slice(&source);
    packet[16..20].copy_from_slice(&destination);
    packet
}

#[test]
fn the_client_is_where_a_packet_down_goes_and_where_one_up_is_from() {
    let packet = packet([10, 0, 0, 1], [10, 64, 0, 7]);
    assert_eq!(Way::Down.client_address(&packet, 0), Some([10, 64, 0, 7]));
    assert_eq!(Way::Up.client_address(&packet, 0), Some([10, 0, 0, 1]));
    let frame = [&[0; 12][..], &[0x08, 0x00], &packet].concat();
    assert_eq!(Way::Down.client_address(&frame, 14), Some([10, 64, 0, 7]));
}

#[test]
fn what_is_no_ipv4_packet_is_nobodys() {
    let packet = packet([10, 0, 0, 1], [10, 64, 0, 7]);
    let arp = [&[0; 12][..], &[0x08, 0x06], &packet].concat();
    let mut six = packet.clone();
    six[0] = 0x65;
    for (frame, framing) in [(&packet[..19], 0), (&[], 0), (&six, 0), (&arp, 14), (&arp[..13], 14)]
    {
        assert_eq!(Way::Up.client_address(frame, framing), None);
        assert_eq!(Way::Down.client_address(frame, framing), None);
    }
}
