//! How late deliveries were, in bounded memory.

use crate::Ns;

/// Below this many microseconds every one has its own bucket.
const EXACT: usize = 2048;

/// Above, each doubling is cut into this many buckets, so a value is off by less than 1/64.
const PER_DOUBLING: usize = 64;

/// Doublings from 2048 us on; the last bucket also takes everything above 2^41 us.
const DOUBLINGS: usize = 30;

/// Counts of spans by their length in microseconds.
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    max: Ns,
    over_1ms: u64,
    over_5ms: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        let buckets = vec![0; EXACT + DOUBLINGS * PER_DOUBLING];
        Histogram { buckets, count: 0, max: 0, over_1ms: 0, over_5ms: 0 }
    }
}

impl Histogram {
    pub fn add(&mut self, span: Ns) {
        self.buckets[bucket_of(span / 1000)] += 1;
        self.count += 1;
        self.max = self.max.max(span);
        self.over_1ms += u64::from(span > 1_000_000);
        self.over_5ms += u64::from(span > 5_000_000);
    }

    /// The smallest length, in us, that at least `fraction` of the spans do not exceed; None if empty.
    pub fn quantile_us(&self, fraction: f64) -> Option<u64> {
        let rank = ((self.count as f64 * fraction).ceil() as u64).max(1);
        let mut below = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            below += count;
            if below >= rank {
                return Some(start_of(bucket).min(self.max / 1000));
            }
        }
        None
    }

    pub fn max_us(&self) -> Option<u64> {
        match self.count {
            0 => None,
            _ => Some(self.max / 1000),
        }
    }

    pub fn over_1ms(&self) -> u64 {
        self.over_1ms
    }

    pub fn over_5ms(&self) -> u64 {
        self.over_5ms
    }
}

fn bucket_of(us: u64) -> usize {
    if us < EXACT as u64 {
        return us as usize;
    }
    let doubling = (63 - us.leading_zeros()) as usize - EXACT.trailing_zeros() as usize;
    if doubling >= DOUBLINGS {
        return EXACT + DOUBLINGS * PER_DOUBLING - 1;
    }
    let width = (EXACT / PER_DOUBLING) << doubling;
    EXACT + doubling * PER_DOUBLING + us as usize / width - PER_DOUBLING
}

/// The smallest value of a bucket.
fn start_of(bucket: usize) -> u64 {
    if bucket < EXACT {
        return bucket as u64;
    }
    let (doubling, part) = ((bucket - EXACT) / PER_DOUBLING, (bucket - EXACT) % PER_DOUBLING);
    (((PER_DOUBLING + part) * (EXACT / PER_DOUBLING)) as u64) << doubling
}
