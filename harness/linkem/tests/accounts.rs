//! What the link says about itself: lateness, JSON, captures.

use std::fs;

use linkem::busy::{Busy, MOST_SPANS};
use linkem::device::{sent_but_dropped, trusted_stamp};
use linkem::direction::Direction;
use linkem::disturbance::Disturbance;
use linkem::histogram::Histogram;
use linkem::json::Object;
use linkem::link::Link;
use linkem::pcap::Capture;
use linkem::stalls::Stalls;
use linkem::times::Times;
use linkem::way::Way;
use linkem::{Ns, NS_PER_MS, NS_PER_S};

#[test]
fn an_empty_histogram_knows_nothing() {
    let histogram = Histogram::default();
    assert_eq!((histogram.quantile_us(0.5), histogram.max_us()), (None, None));
}

#[test]
fn short_spans_are_kept_to_the_microsecond() {
    let mut histogram = Histogram::default();
    for us in 1..=1000 {
        histogram.add(us * 1000 + 999);
    }
    assert_eq!(histogram.quantile_us(0.5), Some(500));
    assert_eq!(histogram.quantile_us(0.99), Some(990));
    assert_eq!(histogram.quantile_us(1.0), Some(1000));
    assert_eq!(histogram.max_us(), Some(1000));
}

#[test]
fn long_spans_are_kept_to_two_percent() {
    for us in [2047_u64, 2048, 2049, 5000, 65_535, 65_536, 1_000_000, 86_400_000_000] {
        let mut histogram = Histogram::default();
        histogram.add(us * 1000);
        histogram.add(u64::MAX);
        let read = histogram.quantile_us(0.5).unwrap();
        assert!(read <= us && us - read <= us / 50, "{us} read as {read}");
    }
}

#[test]
fn late_means_later_than_the_threshold() {
    let mut histogram = Histogram::default();
    for span in [0, 1_000_000, 1_000_001, 5_000_000, 5_000_001] {
        histogram.add(span);
    }
    assert_eq!((histogram.over_1ms(), histogram.over_5ms()), (3, 1));
}

fn stalled_us(deliveries: &[(f64, f64)]) -> u64 {
    let ns = |ms: f64| (ms * NS_PER_MS as f64) as u64;
    let mut stalls = Stalls::default();
    for &(due_ms, left_ms) in deliveries {
        stalls.add(ns(due_ms), ns(left_ms));
    }
    stalls.total_us()
}

#[test]
fn what_is_punctual_or_early_is_no_stall() {
    assert_eq!(stalled_us(&[]), 0);
    assert_eq!(stalled_us(&[(10.0, 9.97), (11.0, 11.0), (12.0, 13.0)]), 0);
}

#[test]
fn a_stall_is_what_goes_beyond_a_millisecond() {
    assert_eq!(stalled_us(&[(10.0, 19.0)]), 8000);
    assert_eq!(stalled_us(&[(10.0, 11.001)]), 1);
}

#[test]
fn a_burst_that_waited_for_one_wake_up_is_one_stall() {
    let burst: Vec<_> = (0..50).map(|number| (10.0 + 0.1 * number as f64, 19.0)).collect();
    assert_eq!(stalled_us(&burst), 8000);
    let as_it_is_given: Vec<_> =
        burst.iter().enumerate().map(|(n, &(due, left))| (due, left + 0.01 * n as f64)).collect();
    assert_eq!(stalled_us(&as_it_is_given), 8490);
}

#[test]
fn stalls_apart_add_up_and_those_that_overlap_do_not() {
    assert_eq!(stalled_us(&[(10.0, 14.0), (20.0, 25.0)]), 3000 + 4000);
    assert_eq!(stalled_us(&[(10.0, 14.0), (11.0, 16.0)]), 3000 + 2000);
    assert_eq!(stalled_us(&[(10.0, 14.0), (14.0, 14.5), (14.0, 16.0)]), 3000 + 1000);
}

#[test]
fn a_disturbance_comes_after_each_period_and_not_before() {
    let mut disturbance = Disturbance::parse("8:200", NS_PER_S).unwrap();
    let ms = |ms: u64| NS_PER_S + ms * NS_PER_MS;
    let lengths: Vec<_> = [0, 199, 205, 300, 412, 413, 414]
        .iter()
        .map(|&at| disturbance.length_at(ms(at)) / NS_PER_MS)
        .collect();
    assert_eq!(lengths, [0, 0, 8, 0, 0, 8, 0]);
}

#[test]
fn a_disturbance_that_makes_no_sense_is_refused() {
    for text in ["", "8", "8:", ":200", "8:often", "-1:200"] {
        assert!(Disturbance::parse(text, 0).is_err(), "{text}");
    }
}

#[test]
fn json_is_escaped_and_absent_is_null() {
    let object = Object::event("x")
        .text("quote", "a\"b\\c\n\u{e9}")
        .number_or_null("none", None::<u64>)
        .text_or_null("some", Some("y"))
        .object("empty", Object::default());
    let expected = "{\"event\":\"x\",\"quote\":\"a\\\"b\\\\c\\u000a\u{e9}\",\"none\":null,\
                    \"some\":\"y\",\"empty\":{}}";
    assert_eq!(object.finish(), expected);
}

#[test]
fn the_drop_column_is_found_for_the_right_device() {
    let table = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo
    lo:       0       0    0    0    0     0          0         0        0       0    0    5    0
  lk01:       0       0    0    0    0     0          0         0        0       0    0    6    0
   lk0:      10       1    2    3    4     5          6         7        8       9   10   11   12
";
    assert_eq!(sent_but_dropped(table, "lk0"), Some(11));
    assert_eq!(sent_but_dropped(table, "lk"), None);
}

#[test]
fn a_stamp_from_a_clock_that_was_set_is_not_believed() {
    let now = 100 * NS_PER_S;
    assert_eq!(trusted_stamp(now as i64 - 5000, now), now - 5000);
    assert_eq!(trusted_stamp(now as i64 + 1, now), now);
    assert_eq!(trusted_stamp(now as i64 - 2_000_000_000, now), now);
    assert_eq!(trusted_stamp(-5, now), now);
}

fn word(bytes: &[u8], index: usize) -> u32 {
    u32::from_le_bytes(bytes[index * 4..index * 4 + 4].try_into().unwrap())
}

#[test]
fn a_capture_holds_ip_packets_without_framing_cut_to_the_snaplen() {
    let name = std::env::temp_dir().join(format!("linkem-{}.pcap", std::process::id()));
    let mut capture = Capture::create(name.to_str().unwrap(), 20).unwrap();
    let mut framed = vec![0; 12];
    framed.extend([0x08, 0x00]);
    framed.extend([0x45; 40]);
    capture.add(1, &framed, 14);
    framed[13] = 0x06;
    capture.add(2, &framed, 14);
    capture.add(3, &[0x60; 8], 0);
    capture.finish();
    assert_eq!((capture.packets(), capture.error()), (2, None));

    let bytes = fs::read(&name).unwrap();
    fs::remove_file(&name).unwrap();
    let header = [0xa1b2_3c4d, 4 << 16 | 2, 0, 0, 20, 101];
    assert_eq!((0..6).map(|index| word(&bytes, index)).collect::<Vec<_>>(), header);
    assert_eq!((word(&bytes, 8), word(&bytes, 9)), (20, 40));
    assert_eq!(bytes[40..60], [0x45; 20]);
    assert_eq!((word(&bytes[60..], 2), word(&bytes[60..], 3)), (8, 8));
    assert_eq!(bytes[76..], [0x60; 8]);
}

#[test]
fn a_long_capture_is_complete_and_in_order() {
    let name = std::env::temp_dir().join(format!("linkem-long-{}.pcap", std::process::id()));
    let mut capture = Capture::create(name.to_str().unwrap(), 65535).unwrap();
    for number in 0..3000_u64 {
        capture.add(number, &[number as u8; 1000], 0);
    }
    capture.finish();
    let bytes = fs::read(&name).unwrap();
    fs::remove_file(&name).unwrap();
    assert_eq!((capture.packets(), bytes.len()), (3000, 24 + 3000 * 1016));
    assert!((0..3000).all(|number| bytes[24 + number * 1016 + 16] == number as u8));
}

#[test]
fn times_are_a_table_with_a_line_for_each_packet() {
    let name = std::env::temp_dir().join(format!("linkem-{}.csv", std::process::id()));
    let mut times = Times::create(name.to_str().unwrap()).unwrap();
    times.add("up", 28, 1, 25_000_001, 25_000_007);
    times.add("down", 1500, 3, 4, 5);
    assert_eq!(times.finish(), None);
    let text = fs::read_to_string(&name).unwrap();
    fs::remove_file(&name).unwrap();
    let expected =
        "way,bytes,arrived_ns,due_ns,left_ns\nup,28,1,25000001,25000007\ndown,1500,3,4,5\n";
    assert_eq!(text, expected);
}

#[test]
fn a_full_disk_ends_the_times_and_says_so() {
    let mut times = Times::create("/dev/full").unwrap();
    times.add("up", 28, 1, 2, 3);
    assert!(times.finish().unwrap().starts_with("No space left on device"));
}

#[test]
fn a_full_disk_ends_the_capture_and_says_so() {
    let mut capture = Capture::create("/dev/full", 65535).unwrap();
    for number in 0..1000 {
        capture.add(number, &[0; 1500], 0);
    }
    capture.finish();
    assert_eq!(capture.packets(), 0);
    assert!(capture.error().unwrap().starts_with("No space left on device"));
}

#[test]
fn a_capture_that_cannot_be_created_is_the_environments_fault() {
    let error = Capture::create("/does/not/exist", 65535).err().unwrap();
    assert_eq!(error.exit_code(), 3);
}

/// When packets (ms of arrival, bytes) keep a direction busy, in ms on the client's side.
fn busy_ms(spec: &str, way: Way, packets: &[(f64, usize)]) -> Vec<(f64, f64)> {
    let mut link = Link::new(&Direction::parse(spec).unwrap(), 0, 0);
    for &(at, bytes) in packets {
        link.offer((at * NS_PER_MS as f64) as Ns, bytes, ());
    }
    let mut busy = Busy::default();
    while let Some(wake) = link.next_wake(0) {
        link.advance(wake);
        while let Some(due) = link.take_due(wake) {
            busy.add(way, &due);
        }
    }
    let ms = |ns: Ns| ns as f64 / NS_PER_MS as f64;
    busy.spans().iter().map(|&(begin, end)| (ms(begin), ms(end))).collect()
}

#[test]
fn a_direction_is_busy_while_packets_wait_or_are_sent_and_not_while_they_travel() {
    // 1500 bytes at 12 Mbit/s are 1 ms. Two packets at once, and one much later.
    let (spec, packets) = ("rate_mbps=12,delay_ms=25", [(0.0, 1500), (0.0, 1500), (10.0, 750)]);
    assert_eq!(busy_ms(spec, Way::Up, &packets), [(0.0, 2.0), (10.0, 10.5)]);
    assert_eq!(busy_ms(spec, Way::Down, &packets), [(25.0, 27.0), (35.0, 35.5)]);
}

#[test]
fn a_link_without_a_rate_is_never_busy() {
    assert_eq!(busy_ms("rate_mbps=0,delay_ms=5", Way::Down, &[(0.0, 1500), (1.0, 1500)]), []);
}

#[test]
fn a_delivery_trace_keeps_a_waiting_packet_busy() {
    let file = std::env::temp_dir().join(format!("linkem-busy-{}", std::process::id()));
    fs::write(&file, "10\n20\n").unwrap();
    let spec = format!("trace={},delay_ms=1", file.display());
    let busy = busy_ms(&spec, Way::Down, &[(3.0, 1500), (4.0, 1500)]);
    fs::remove_file(&file).unwrap();
    assert_eq!(busy, [(4.0, 21.0)]);
}

#[test]
fn too_many_spans_grow_together_and_lose_no_time() {
    // 100 bytes at 800 Mbit/s are 1 us.
    let packets: Vec<_> = (0..2 * MOST_SPANS).map(|number| (number as f64, 100)).collect();
    let spans = busy_ms("rate_mbps=800", Way::Up, &packets);
    assert!(spans.len() <= MOST_SPANS);
    assert!(spans.windows(2).all(|pair| pair[0].1 < pair[1].0));
    assert_eq!(spans[0].0, 0.0);
    assert!((spans.last().unwrap().1 - packets.last().unwrap().0 - 0.001).abs() < 1e-6);
}
