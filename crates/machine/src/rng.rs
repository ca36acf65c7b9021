//! Random numbers, from a seed or from the operating system.
//!
//! A seeded source (xoshiro256++ seeded by splitmix64) is small and fast, for jitter and sampling, and for
//! simulations, where the same seed must give the same run. Observing a few numbers suffices to compute all
//! others. Numbers that an attacker must not guess, such as transaction ids and keys of hash tables, come from
//! the system's source.

/// A random number generator.
#[derive(Clone, Debug)]
pub struct Rng(Source);

#[derive(Clone, Debug)]
enum Source {
    Seeded([u64; 4]),
    /// A function that fills a buffer with unpredictable bytes.
    System(fn(&mut [u8])),
}

impl From<u64> for Rng {
    fn from(seed: u64) -> Self {
        Self::seeded(seed)
    }
}

impl Rng {
    /// Creates a generator that uses the operating system's random numbers; `fill` must fill a buffer with
    /// unpredictable bytes.
    pub const fn system(fill: fn(&mut [u8])) -> Self {
        Self(Source::System(fill))
    }

    /// Creates a generator whose sequence depends on `seed` only.
    pub fn seeded(seed: u64) -> Self {
        let mut mix = seed;
        let mut next = || {
            mix = mix.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = mix;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        Self(Source::Seeded([next(), next(), next(), next()]))
    }

    /// Creates another generator of the same kind.
    #[must_use]
    pub fn split(&mut self) -> Self {
        match &self.0 {
            Source::Seeded(_) => Self::seeded(self.next_u64()),
            Source::System(fill) => Self::system(*fill),
        }
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = match &mut self.0 {
            Source::Seeded(state) => state,
            Source::System(fill) => {
                let mut bytes = [0; 8];
                fill(&mut bytes);
                return u64::from_le_bytes(bytes);
            }
        };
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// The next 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// A number below `bound`; 0 if `bound` is 0. The bias is below `bound / 2^64`.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns true with a probability of `percent` percent.
    pub fn percent(&mut self, percent: u8) -> bool {
        self.below(100) < u64::from(percent)
    }

    /// Fills `out` with random bytes.
    pub fn fill(&mut self, out: &mut [u8]) {
        for chunk in out.chunks_mut(8) {
            let bytes = self.next_u64().to_le_bytes();
            chunk.copy_from_slice(&bytes[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_sequence() {
        let (mut a, mut b) = (Rng::seeded(7), Rng::seeded(7));

        assert!((0..100).all(|_| a.next_u64() == b.next_u64()));
        assert_ne!(Rng::seeded(7).next_u64(), Rng::seeded(8).next_u64());
    }

    #[test]
    fn numbers_of_the_systems_source_are_what_the_system_gives() {
        let mut rng = Rng::system(|bytes| bytes.fill(3));

        assert_eq!(rng.next_u64(), 0x0303_0303_0303_0303);
        assert_eq!(rng.split().next_u32(), 0x0303_0303);
        assert_eq!(
            Rng::seeded(7).split().next_u64(),
            Rng::seeded(7).split().next_u64()
        );
    }

    #[test]
    fn a_bound_is_never_reached() {
        let mut rng = Rng::seeded(1);

        assert!((0..10_000).all(|_| rng.below(3) < 3));
        assert_eq!(rng.below(0), 0);
    }
}
