//! A small seeded generator: the same seed gives the same losses and the same jitter everywhere.
//!
//! xoshiro256** seeded through SplitMix64, both by Blackman and Vigna (<https://prng.di.unimi.it/>).

/// SplitMix64: spreads a poor seed over 64 bits.
#[derive(Clone, Debug)]
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// xoshiro256**: period 2^256 - 1.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// `stream` separates consumers of one seed: down and up must not lose the same packets.
    pub fn new(seed: u64, stream: u64) -> Random {
        let mut mixer = SplitMix64(seed ^ SplitMix64(stream).draw());
        Random::from_state([mixer.draw(), mixer.draw(), mixer.draw(), mixer.draw()])
    }

    pub fn from_state(state: [u64; 4]) -> Random {
        Random { state }
    }

    pub fn draw(&mut self) -> u64 {
        let state = &mut self.state;
        let drawn = state[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = state[1] << 17;
        state[2] ^= state[0];
        state[3] ^= state[1];
        state[1] ^= state[2];
        state[0] ^= state[3];
        state[2] ^= shifted;
        state[3] = state[3].rotate_left(45);
        drawn
    }

    /// True with probability `chance` (0 never, 1 always).
    pub fn happens(&mut self, chance: f64) -> bool {
        // The upper 53 bits make an f64 in [0, 1), every value of which is exact.
        ((self.draw() >> 11) as f64) / ((1_u64 << 53) as f64) < chance
    }

    /// Uniform over 0..=`largest`, by Lemire's multiplication; its bias is below 2^-28 for any delay.
    pub fn up_to(&mut self, largest: u64) -> u64 {
        ((u128::from(self.draw()) * (u128::from(largest) + 1)) >> 64) as u64
    }
}
