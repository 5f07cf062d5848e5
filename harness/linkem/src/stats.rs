//! The account of a link, as JSON. README.md explains every key.

use crate::json::Object;
use crate::link::Counters;
use crate::path::Traffic;

/// One direction. packets_in = packets_out + drops_{queue,loss,codel} + write_errors + held_packets.
pub fn direction(
    model: &Counters,
    traffic: &Traffic,
    held: usize,
    drops_device: Option<u64>,
) -> Object {
    let lateness = &traffic.lateness;
    Object::default()
        .number("packets_in", model.packets_in)
        .number("bytes_in", model.bytes_in)
        .number("packets_out", traffic.packets_out)
        .number("bytes_out", traffic.bytes_out)
        .number("drops_queue", model.drops_queue)
        .number("drops_loss", model.drops_loss)
        .number("drops_codel", model.drops_codel)
        .number_or_null("drops_device", drops_device)
        .number("oversize", traffic.oversize)
        .number("malformed", traffic.malformed)
        .number("write_errors", traffic.write_errors)
        .number("held_packets", held)
        .number("max_queue_bytes", model.max_queue_bytes)
        .number_or_null("lateness_p50_us", lateness.quantile_us(0.50))
        .number_or_null("lateness_p99_us", lateness.quantile_us(0.99))
        .number_or_null("lateness_max_us", lateness.max_us())
        .number("late_1ms", lateness.over_1ms())
        .number("late_5ms", lateness.over_5ms())
        .number("stalled_us", traffic.stalls.total_us())
}
