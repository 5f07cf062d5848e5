//! Step lists and delivery traces: what they say, when packets leave, what is refused.

use linkem::rate::{parse_steps, parse_trace, Deliveries, Serialiser};
use linkem::{Ns, NS_PER_MS};

const EPOCH: Ns = 5_000_000_000;

/// A trace given in whole ms, and when packets (arrival in us, bytes) leave, in us.
fn replay(trace: &str, packets: &[(u64, usize)]) -> Vec<u64> {
    let mut link = Deliveries::new(parse_trace(trace).unwrap(), EPOCH);
    let send = |(arrived, bytes): &(u64, usize)| {
        let start = link.next_start(EPOCH + arrived * 1000);
        (link.transmit(start, *bytes) - EPOCH) / 1000
    };
    packets.iter().map(send).collect()
}

#[test]
fn each_line_carries_one_full_packet() {
    assert_eq!(replay("1\n3\n9\n", &[(0, 1500); 3]), [1000, 3000, 9000]);
}

#[test]
fn repeated_lines_are_several_opportunities() {
    assert_eq!(replay("2\n2\n2\n5\n", &[(0, 1500); 4]), [2000, 2000, 2000, 5000]);
}

#[test]
fn the_trace_repeats_with_the_period_of_its_last_line() {
    assert_eq!(replay("3\n10\n", &[(0, 1500); 5]), [3000, 10_000, 13_000, 20_000, 23_000]);
    assert_eq!(replay("3\n10\n", &[(95_000, 1500), (1_000_001, 1500)]), [100_000, 1_003_000]);
}

#[test]
fn a_line_at_zero_repeats_at_the_end_of_the_period() {
    assert_eq!(replay("0\n10\n", &[(1, 1500); 4]), [10_000, 10_000, 20_000, 20_000]);
}

#[test]
fn small_packets_share_an_opportunity_and_large_ones_span_two() {
    let packets = [(0, 700), (0, 700), (0, 700), (0, 1500)];
    // 1400 of 1500 bytes; then 100 + 600; then 900 + 600.
    assert_eq!(replay("1\n2\n3\n4\n", &packets), [1000, 1000, 2000, 3000]);
}

#[test]
fn what_is_left_of_an_opportunity_is_lost_when_nothing_waits() {
    // The second packet comes after the opportunity at 1 ms, which had 1400 bytes to spare.
    assert_eq!(replay("1\n2\n3\n", &[(0, 100), (1500, 100)]), [1000, 2000]);
    // Missed opportunities are not saved up either.
    assert_eq!(replay("1\n2\n3\n9\n", &[(3500, 1500), (3500, 1500)]), [9000, 10_000]);
}

#[test]
fn a_packet_must_wait_before_its_opportunity_comes() {
    assert_eq!(replay("1\n2\n", &[(1000, 1500)]), [2000]);
}

#[test]
fn a_trace_of_12_mbps_carries_12_mbps() {
    let left = replay("1\n", &[(0, 1500); 1000]);
    assert_eq!(left[999], 1_000_000);
}

#[test]
fn trace_errors_name_the_line() {
    let cases = [
        ("", "no delivery in the file; want one integer ms per line"),
        ("\n\n", "no delivery in the file; want one integer ms per line"),
        ("1\n5\n4\n", "line 3: time runs backwards"),
        ("1\nx\n", "line 2: 'x' is not a plain decimal number"),
        ("1\n\n2 3\n", "line 3: '2 3' is not a plain decimal number"),
        ("-1\n", "line 1: '-1' is negative"),
        ("1.5\n", "line 1: '1.5' is not a whole number"),
        ("0\n0\n", "all deliveries are at 0 ms, so the trace has no duration"),
        ("99999999999999999999999\n", "line 1: '99999999999999999999999' is too large"),
        ("9999999999999\n", "line 1: '9999999999999' ms is too large"),
    ];
    for (text, error) in cases {
        assert_eq!(parse_trace(text).unwrap_err(), error);
    }
}

#[test]
fn step_errors_name_the_line() {
    let cases = [
        ("", "no steps in the file; want lines 'time_ms rate_mbps'"),
        ("# nothing\n", "no steps in the file; want lines 'time_ms rate_mbps'"),
        ("5 1\n", "line 1: the first step must be at 0 ms"),
        ("0 1\n9 2\n9 3\n", "line 3: time must rise from step to step"),
        ("0 1\n5\n", "line 2: want 'time_ms rate_mbps', found '5'"),
        ("0 1\n5 1 1\n", "line 2: want 'time_ms rate_mbps', found '5 1 1'"),
        ("0 0\n", "line 1: rate '0' is not above 0 and at most 100000 Mbit/s"),
        ("0 100000.1\n", "line 1: rate '100000.1' is not above 0 and at most 100000 Mbit/s"),
        ("0 nan\n", "line 1: 'nan' is not a plain decimal number"),
        ("0 -3\n", "line 1: '-3' is negative"),
    ];
    for (text, error) in cases {
        assert_eq!(parse_steps(text).unwrap_err(), error);
    }
}

#[test]
fn a_step_changes_the_rate_in_the_middle_of_a_packet() {
    // 1000 bytes: 4000 bits in 1 ms at 4 Mbit/s, the other 4000 in 4 ms at 1 Mbit/s.
    let mut link = Serialiser::new(parse_steps("0 4\n1 1\n").unwrap(), EPOCH);
    assert_eq!(link.transmit(EPOCH, 1000), EPOCH + 5 * NS_PER_MS);
}

#[test]
fn a_packet_may_span_many_steps() {
    let steps = "0 1\n1 2\n2 3\n3 4\n";
    let mut link = Serialiser::new(parse_steps(steps).unwrap(), EPOCH);
    // 1000 + 2000 + 3000 bits in the first 3 ms, 6000 more at 4 Mbit/s.
    assert_eq!(link.transmit(EPOCH, 1500), EPOCH + 4_500_000);
}

#[test]
fn the_last_step_holds() {
    let mut link = Serialiser::new(parse_steps("0 100\n10 8\n").unwrap(), EPOCH);
    let late = EPOCH + 3_600_000 * NS_PER_MS;
    assert_eq!(link.next_start(late), late);
    assert_eq!(link.transmit(late, 1000), late + NS_PER_MS);
}

#[test]
fn a_restart_begins_the_steps_anew_and_leaves_the_wire_as_it_is() {
    let mut link = Serialiser::new(parse_steps("0 8\n10 1\n").unwrap(), EPOCH);
    let late = EPOCH + 20 * NS_PER_MS;
    assert_eq!(link.transmit(late, 1000), late + 8 * NS_PER_MS);
    link.restart(late + NS_PER_MS);
    assert_eq!(link.next_start(late + NS_PER_MS), late + 8 * NS_PER_MS);
    assert_eq!(link.transmit(late + 8 * NS_PER_MS, 1000), late + 9 * NS_PER_MS);
    // 2000 of 8000 bits until the step 10 ms after the restart.
    assert_eq!(link.transmit(late + 10_750_000, 1000), late + 17 * NS_PER_MS);
}

#[test]
fn a_restart_begins_a_trace_anew_behind_the_packet_that_is_being_sent() {
    let mut link = Deliveries::new(parse_trace("3\n50\n").unwrap(), EPOCH);
    let after = |ms: u64| EPOCH + ms * NS_PER_MS;
    link.restart(after(10));
    assert_eq!(link.next_start(after(10)), after(13));
    // It spans the deliveries at 13 and 60 ms.
    assert_eq!(link.transmit(after(13), 2000), after(60));
    link.restart(after(20));
    assert_eq!(link.next_start(after(20)), after(70));
    assert_eq!(link.transmit(after(70), 1500), after(70));
}

#[test]
fn steps_of_equal_rate_are_a_constant_rate() {
    let constant = parse_steps("0 7.3\n").unwrap();
    let stepped = parse_steps("0 7.3\n1 7.3\n2 7.3\n500 7.3\n").unwrap();
    let mut one = Serialiser::new(constant, EPOCH);
    let mut many = Serialiser::new(stepped, EPOCH);
    for _ in 0..5000 {
        let (a, b) = (one.next_start(EPOCH), many.next_start(EPOCH));
        assert_eq!(one.transmit(a, 1499), many.transmit(b, 1499));
    }
}
