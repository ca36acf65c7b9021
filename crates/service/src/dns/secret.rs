//! Unpredictable random numbers for ports, ids and case: SHA in counter mode over a secret seed (RFC 5452, 9.2;
//! draft-vixie-dnsext-dns0x20).

use sha2::{Digest as _, Sha256};

/// Random number generator.
#[derive(Clone)]
pub(super) struct Secret {
    seed: [u8; 32],
    count: u64,
    block: [u8; 32],
    left: usize,
}

impl core::fmt::Debug for Secret {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    pub(super) fn new(seed: [u8; 32]) -> Self {
        Self {
            seed,
            count: 0,
            block: [0; 32],
            left: 0,
        }
    }

    fn byte(&mut self) -> u8 {
        if self.left == 0 {
            self.count += 1;
            let mut hash = Sha256::new();
            hash.update(self.seed);
            hash.update(self.count.to_be_bytes());
            self.block.copy_from_slice(&hash.finalize());
            self.left = self.block.len();
        }
        self.left -= 1;
        self.block[self.left]
    }

    /// Returns 16 random bits.
    pub(super) fn word(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }

    /// Returns 64 random bits.
    pub(super) fn long(&mut self) -> u64 {
        let mut bytes = [0; 8];
        bytes.fill_with(|| self.byte());
        u64::from_be_bytes(bytes)
    }

    /// Randomizes the case of the letters of a name.
    pub(super) fn mix(&mut self, name: &mut [u8]) {
        for bytes in name.chunks_mut(8) {
            let mut bits = self.byte();
            for byte in bytes {
                // Label lengths are not letters and stay unchanged.
                if bits & 1 == 1 {
                    byte.make_ascii_uppercase();
                }
                bits >>= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_randomize_the_case_of_the_name_only() {
        let mut secret = Secret::new([7; 32]);
        let mut name = *b"\x08abcdefgh\x03-09\0";
        secret.mix(&mut name);

        assert_ne!(&name, b"\x08abcdefgh\x03-09\0");
        assert_eq!(name.to_ascii_lowercase(), b"\x08abcdefgh\x03-09\0");
        assert_ne!(secret.long(), secret.long());
    }
}
