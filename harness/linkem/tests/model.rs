//! The link as a whole obeys physics: serialisation, queueing, propagation, conservation of packets.

use linkem::direction::Direction;
use linkem::link::Link;
use linkem::{Ns, NS_PER_MS};

const EPOCH: Ns = 7_000_000_123;

fn link(spec: &str) -> Link<usize> {
    Link::new(&Direction::parse(spec).unwrap(), EPOCH, 0)
}

/// Offers packets (time after the epoch, bytes); returns when each is due after the epoch, by number.
fn carry(link: &mut Link<usize>, packets: &[(Ns, usize)]) -> Vec<Option<Ns>> {
    for (number, (at, bytes)) in packets.iter().enumerate() {
        link.offer(EPOCH + at, *bytes, number);
    }
    let mut due_at = vec![None; packets.len()];
    drain(link, &mut due_at);
    due_at
}

/// Lets everything leave, each packet at its time.
fn drain(link: &mut Link<usize>, due_at: &mut [Option<Ns>]) {
    while let Some(wake) = link.next_wake(0) {
        take(link, wake, due_at);
    }
}

/// Lets leave what is due at `now`.
fn take(link: &mut Link<usize>, now: Ns, due_at: &mut [Option<Ns>]) {
    link.advance(now);
    while let Some(due) = link.take_due(now) {
        due_at[due.packet] = Some(due.at - EPOCH);
    }
}

#[test]
fn a_packet_takes_its_serialisation_and_the_delay() {
    // 1500 bytes at 12 Mbit/s are 1 ms.
    let mut link = link("rate_mbps=12,delay_ms=25");
    assert_eq!(carry(&mut link, &[(0, 1500)]), [Some(26 * NS_PER_MS)]);
}

#[test]
fn an_unlimited_link_only_delays() {
    let mut link = link("rate_mbps=0,delay_ms=0.000001");
    assert_eq!(carry(&mut link, &[(0, 1500), (0, 1500), (5, 20)]), [Some(1), Some(1), Some(6)]);
}

#[test]
fn n_packets_take_exactly_n_times_one_at_any_rate() {
    for (rate, bps) in [("0.3", 300_000_u64), ("7.777777", 7_777_777), ("99.999989", 99_999_989)] {
        let mut link = link(&format!("rate_mbps={rate}"));
        let due = carry(&mut link, &vec![(0, 1499); 20_000]);
        for n in [1_u64, 3, 777, 20_000] {
            let exact = n as u128 * 1499 * 8 * 1_000_000_000 / u128::from(bps);
            assert_eq!(due[n as usize - 1], Some(exact as Ns), "packet {n} at {rate} Mbit/s");
        }
    }
}

#[test]
fn fractions_of_a_nanosecond_do_not_outlive_a_busy_period() {
    // 3 Mbit/s: 100 bytes take 266666.67 ns. After a pause the next packet starts afresh.
    let mut link = link("rate_mbps=3");
    let due = carry(&mut link, &[(0, 100), (266_667, 100), (1_000_000, 100)]);
    assert_eq!(due, [Some(266_666), Some(533_333), Some(1_266_666)]);
}

#[test]
fn queueing_delay_is_what_waits_divided_by_the_rate() {
    let mut link = link("rate_mbps=8,delay_ms=10");
    let due = carry(&mut link, &vec![(0, 1000); 50]);
    for (number, at) in due.iter().enumerate() {
        assert_eq!(*at, Some((number as Ns + 1 + 10) * NS_PER_MS));
    }
}

#[test]
fn a_full_droptail_queue_holds_its_bytes_and_no_more() {
    // One packet is in transmission and does not count; three of 1000 bytes fit into 3500.
    let mut link = link("rate_mbps=8,queue=droptail:3500");
    let due = carry(&mut link, &[(0, 1000); 6]);
    assert_eq!(due.iter().flatten().count(), 4);
    assert_eq!(link.counters().drops_queue, 2);
    assert_eq!(link.counters().max_queue_bytes, 3000);
}

#[test]
fn droptail_counts_bytes_so_a_small_packet_still_fits() {
    let mut link = link("rate_mbps=8,queue=droptail:1500");
    let due = carry(&mut link, &[(0, 1000), (0, 1000), (0, 1000), (0, 500), (0, 1)]);
    assert_eq!(
        due.iter().map(Option::is_some).collect::<Vec<_>>(),
        [true, true, false, true, false]
    );
}

#[test]
fn room_in_the_queue_comes_back_at_the_very_nanosecond_a_transmission_ends() {
    for (at, fits) in [(999_999, false), (1_000_000, true)] {
        let mut link = link("rate_mbps=8,queue=droptail:1500");
        let due = carry(&mut link, &[(0, 1000), (0, 1000), (at, 1000)]);
        assert_eq!(due[2].is_some(), fits, "at {at} ns");
    }
}

#[test]
fn a_late_caller_does_not_change_when_packets_are_due() {
    let spec = "rate_mbps=5,delay_ms=3,queue=codel:60000,loss=0.05,jitter_ms=2,seed=9";
    let packets: Vec<(Ns, usize)> = (0..4000).map(|n| (n * 1_700_000, 1200)).collect();
    let at_once = carry(&mut link(spec), &packets);

    let mut polled = link(spec);
    let mut due_at = vec![None; packets.len()];
    for (number, (at, bytes)) in packets.iter().enumerate() {
        polled.offer(EPOCH + at, *bytes, number);
        if number % 7 == 0 {
            // A glance at the model, up to some time before the next arrival.
            take(&mut polled, EPOCH + at + 1_234_567, &mut due_at);
        }
    }
    drain(&mut polled, &mut due_at);
    assert_eq!(due_at, at_once);
}

#[test]
fn every_packet_is_delivered_dropped_or_held() {
    let mut link = link("rate_mbps=3,delay_ms=30,queue=codel:30000,loss=0.1");
    let mut delivered = 0;
    for number in 0..20_000 {
        let now = EPOCH + number as Ns * 2_000_000;
        link.offer(now, 1 + number % 1500, number);
        link.advance(now);
        while link.take_due(now).is_some() {
            delivered += 1;
        }
        let counters = link.counters();
        let lost = counters.drops_codel + counters.drops_loss + counters.drops_queue;
        assert_eq!(counters.packets_in, delivered + lost + link.held() as u64);
    }
    let counters = link.counters();
    assert!(counters.drops_codel > 0 && counters.drops_loss > 0 && counters.drops_queue > 0);
}

#[test]
fn jitter_varies_delay_but_never_order() {
    let mut link = link("rate_mbps=0,delay_ms=10,jitter_ms=8,seed=3");
    let packets: Vec<(Ns, usize)> = (0..5000).map(|n| (n * 500_000, 100)).collect();
    let due: Vec<Ns> = carry(&mut link, &packets).into_iter().map(Option::unwrap).collect();
    assert!(due.windows(2).all(|pair| pair[0] <= pair[1]));
    let delays: Vec<Ns> = due.iter().zip(&packets).map(|(due, packet)| due - packet.0).collect();
    assert!(delays.iter().all(|delay| (10 * NS_PER_MS..=18 * NS_PER_MS).contains(delay)));
    assert!(delays.iter().min() != delays.iter().max());
}

#[test]
fn widely_spaced_packets_show_the_whole_uniform_jitter() {
    let mut link = link("rate_mbps=0,jitter_ms=8,seed=3");
    let packets: Vec<(Ns, usize)> = (0..5000).map(|n| (n * 10_000_000, 100)).collect();
    let due = carry(&mut link, &packets);
    let mean = due.iter().zip(&packets).map(|(due, packet)| due.unwrap() - packet.0).sum::<Ns>()
        / packets.len() as Ns;
    // Uniform over 8 ms: mean 4 ms, standard error 8/sqrt(12*5000) = 0.033 ms; four of them.
    assert!(mean.abs_diff(4 * NS_PER_MS) < 132_000, "mean {mean} ns");
}

#[test]
fn the_two_directions_of_one_seed_lose_different_packets() {
    let direction = Direction::parse("rate_mbps=0,loss=0.5,seed=1").unwrap();
    let fate = |stream| {
        let packets: Vec<(Ns, usize)> = (0..200).map(|n| (n, 100)).collect();
        carry(&mut Link::new(&direction, EPOCH, stream), &packets)
    };
    assert_eq!(fate(0), fate(0));
    assert_ne!(fate(0), fate(1));
}

#[test]
fn packets_may_leave_early_by_the_window_and_not_more() {
    let mut link = link("rate_mbps=0,delay_ms=1");
    link.offer(EPOCH, 100, 0);
    assert_eq!(link.next_wake(30_000), Some(EPOCH + 970_000));
    link.advance(EPOCH + 969_999);
    assert!(link.take_due(EPOCH + 969_999 + 30_000).is_none());
    assert_eq!(link.take_due(EPOCH + 970_000 + 30_000).unwrap().at, EPOCH + NS_PER_MS);
}
