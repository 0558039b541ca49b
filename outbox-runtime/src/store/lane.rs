//! Which lane carries an aggregate.

use xxhash_rust::xxh3::xxh3_64;

/// The 31 low bits of `xxh3_64(aggregate_type ‖ 0x00 ‖ aggregate_id)`, UTF-8, seed 0.
///
/// 31 bits fit every database's integer without a sign; the statement that appends takes it modulo the
/// number of lanes in `outbox_meta`, so that no writer can hold a stale number.
pub(crate) fn lane_hash(aggregate_type: &str, aggregate_id: &str) -> i64 {
    let mut text = Vec::with_capacity(aggregate_type.len() + aggregate_id.len() + 1);
    text.extend_from_slice(aggregate_type.as_bytes());
    text.push(0);
    text.extend_from_slice(aggregate_id.as_bytes());
    i64::try_from(xxh3_64(&text) & 0x7fff_ffff).unwrap_or_default()
}

/// The lane of an aggregate: the 31 low bits of `xxh3_64(aggregate_type ‖ 0x00 ‖ aggregate_id)` modulo `lanes`.
///
/// The hash is part of the stored format: it is the same in every version and on every machine. An aggregate
/// that was renamed keeps the lane of its first name (`formerly`). `None` if `lanes` is 0.
///
/// ```
/// assert_eq!(outbox_runtime::lane_of("order", "42", 64), Some(28));
/// ```
pub fn lane_of(aggregate_type: &str, aggregate_id: &str, lanes: u16) -> Option<u16> {
    let lane = lane_hash(aggregate_type, aggregate_id).checked_rem(i64::from(lanes))?;
    u16::try_from(lane).ok()
}
