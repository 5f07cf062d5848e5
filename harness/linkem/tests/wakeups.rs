//! Being woken for a packet: early enough for most wake-ups of this machine, at a cost that is bounded.

use linkem::random::Random;
use linkem::wakeups::{WakeUps, HANDOVER, MOST_AHEAD};
use linkem::{Ns, NS_PER_MS, NS_PER_S};

/// Feeds wake-ups that are late by `least` and up to `spread` more. The share that `ahead` made up for in the end.
fn in_time(least: Ns, spread: Ns) -> f64 {
    const ROUNDS: u64 = 4000;
    let mut random = Random::new(1, 0);
    let mut wake_ups = WakeUps::new(0);
    let mut good: u32 = 0;
    for round in 0..ROUNDS {
        let late = least + random.up_to(spread);
        let ahead = wake_ups.ahead(round * NS_PER_MS).unwrap();
        if round >= ROUNDS / 2 && late + HANDOVER <= ahead {
            good += 1;
        }
        wake_ups.add(late);
    }
    f64::from(good) / (ROUNDS / 2) as f64
}

#[test]
fn nine_of_ten_wake_ups_come_in_time_however_slow_the_machine_is() {
    for (least, spread) in [(20_000, 10_000), (30_000, 40_000), (50_000, 30_000)] {
        let share = in_time(least, spread);
        assert!((0.85..=0.95).contains(&share), "{least} to {}: {share}", least + spread);
    }
}

#[test]
fn a_machine_that_is_too_slow_is_not_waited_for() {
    let mut wake_ups = WakeUps::new(0);
    for _ in 0..1000 {
        wake_ups.add(5 * NS_PER_MS);
    }
    assert_eq!(wake_ups.ahead(1), Some(MOST_AHEAD));
    for _ in 0..1000 {
        wake_ups.add(1000);
    }
    assert!(wake_ups.ahead(2).unwrap() < HANDOVER + 4000);
}

#[test]
fn a_hundredth_of_the_time_is_spent_awake_and_no_more() {
    let mut wake_ups = WakeUps::new(0);
    for _ in 0..100 {
        wake_ups.add(60_000);
    }
    // 10,000 wake-ups in a second, each of which would wait for 50 us.
    let mut spent = 0;
    for round in 0..50_000 {
        if wake_ups.ahead(round * 100_000).is_some() {
            wake_ups.spend(50_000);
            spent += 50_000;
        }
    }
    // 5 s: a hundredth of it, and what was saved up before.
    let allowed = 5 * NS_PER_S / 100 + 10 * NS_PER_MS;
    assert!(spent <= allowed && spent > allowed * 9 / 10, "{spent} of {allowed}");
}
