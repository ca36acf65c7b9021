//! MODP Diffie-Hellman groups (RFC 2409, 6; RFC 3526), in constant time.

use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, Odd, Resize as _};

use crate::suite::Group;

/// Hexadecimal digits of 2^8062 π: the primes are 2^n - 2^(n-64) - 1 + 2^64 (⌊2^(n-130) π⌋ + k).
const PI: &[u8; 2016] = b"\
    c90fdaa22168c234c4c6628b80dc1cd129024e088a67cc74020bbea63b139b22514a08798e3404ddef9519b3cd3a431b\
    302b0a6df25f14374fe1356d6d51c245e485b576625e7ec6f44c42e9a637ed6b0bff5cb6f406b7edee386bfb5a899fa5\
    ae9f24117c4b1fe649286651ece45b3dc2007cb8a163bf0598da48361c55d39a69163fa8fd24cf5f83655d23dca3ad96\
    1c62f356208552bb9ed529077096966d670c354e4abc9804f1746c08ca18217c32905e462e36ce3be39e772c180e8603\
    9b2783a2ec07a28fb5c55df06f4c52c9de2bcbf6955817183995497cea956ae515d2261898fa051015728e5a8aaac42d\
    ad33170d04507a33a85521abdf1cba64ecfb850458dbef0a8aea71575d060c7db3970f85a6e1e4c7abf5ae8cdb0933d7\
    1e8c94e04a25619dcee3d2261ad2ee6bf12ffa06d98a0864d87602733ec86a64521f2b18177b200cbbe117577a615d6c\
    770988c0bad946e208e24fa074e5ab3143db5bfce0fd108e4b82d120a92108011a723c12a787e6d788719a10bdba5b26\
    99c327186af4e23c1a946834b6150bda2583e9ca2ad44ce8dbbbc2db04de8ef92e8efc141fbecaa6287c59474e6bc05d\
    99b2964fa090c3a2233ba186515be7ed1f612970cee2d7afb81bdd762170481cd0069127d5b05aa993b4ea988d8fddc1\
    86ffb7dc90a6c08f4df435c93402849236c3fab4d27c7026c1d4dcb2602646dec9751e763dba37bdf8ff9406ad9e530e\
    e5db382f413001aeb06a53ed9027d831179727b0865a8918da3edbebcf9b14ed44ce6cbaced4bb1bdb7f1447e6cc254b\
    332051512bd7af426fb8f401378cd2bf5983ca01c64b92ecf032ea15d1721d03f482d7ce6e74fef6d55e702f46980c82\
    b5a84031900b1c9e59e7c97fbec7e8f323a97a7e36cc88be0f1d45b7ff585ac54bd407b22b4154aacc8f6d7ebf48e1d8\
    14cc5ed20f8037e0a79715eef29be32806a1d58bb7c5da76f550aa3d8a1fbff0eb19ccb1a313d55cda56c9ec2ef29632\
    387fe8d76e3c0468043e8f663f4860ee12bf2d5b0b7474d6e694f91e6dbe115974a3926f12fee5e438777cb6a932df8c\
    d8bec4d073b931ba3bc832b68d9dd300741fa7bf8afc47ed2576f6936ba424663aab639c5ae4f5683423b4742bf1c978\
    238f16cbe39d652de3fdb8befc848ad922222e04a4037c0713eb57a81a23f0c73473fc646cea306b4bcbc8862f8385dd\
    fa9d4b7fa2c087e879683303ed5bdd3a062b3cf5b3a278a66d2a13f83f44f82ddf310ee074ab6a364597e899a0255dc1\
    64f31cc50846851df9ab48195ded7ea1b1d510bd7ee74d73faf36bc31ecfa268359046f4eb879f924009438b481c6cd7\
    889a002ed5ee382bc9190da6fc026e479558e4475677e9aa9e3050e2765694dfc81f56e880b96e7160c980dd98a573ea\
";

/// Returns bits of the prime, bits of secret exponents (RFC 3526, 8, higher estimate), and k.
const fn shape(group: Group) -> Option<(u32, u32, u32)> {
    Some(match group {
        Group::Modp768 => (768, 256, 149_686),
        Group::Modp1024 => (1024, 256, 129_093),
        Group::Modp1536 => (1536, 256, 741_804),
        Group::Modp2048 => (2048, 320, 124_476),
        Group::Modp3072 => (3072, 448, 1_690_314),
        Group::Modp4096 => (4096, 512, 240_904),
        Group::Modp6144 => (6144, 576, 929_484),
        Group::Modp8192 => (8192, 640, 4_743_158),
        _ => return None,
    })
}

/// Returns the prime, big endian.
fn prime(bits: u32, k: u32) -> Vec<u8> {
    let digit = |at: usize| (PI[at] as char).to_digit(16).unwrap_or(0) as u8;
    let middle = bits as usize / 8 - 16;
    let mut pi: Vec<u8> = (0..middle)
        .map(|at| digit(2 * at) << 4 | digit(2 * at + 1))
        .collect();
    // Subtracting 1 borrows from the middle part; 64 one-bits remain below it.
    let mut carry = k - 1;
    for byte in pi.iter_mut().rev() {
        let sum = u32::from(*byte) + (carry & 0xff);
        *byte = sum as u8;
        carry = (carry >> 8) + (sum >> 8);
    }
    [&[0xff; 8][..], &pi, &[0xff; 8]].concat()
}

/// A MODP group with its modular arithmetic.
pub(super) struct Modp {
    bits: u32,
    exponent_bits: u32,
    parameters: BoxedMontyParams,
}

impl Modp {
    /// Returns `None` for elliptic curves.
    pub(super) fn new(group: Group) -> Option<Self> {
        let (bits, exponent_bits, k) = shape(group)?;
        let prime = BoxedUint::from_be_slice(&prime(bits, k), bits).ok()?;
        let prime = Odd::new(prime).into_option()?;
        let parameters = BoxedMontyParams::new(prime);
        Some(Self {
            bits,
            exponent_bits,
            parameters,
        })
    }

    /// Length of a secret exponent in bytes.
    pub(super) const fn exponent_len(&self) -> usize {
        self.exponent_bits as usize / 8
    }

    /// Returns the public value of a secret exponent.
    pub(super) fn public(&self, exponent: &[u8]) -> Option<Vec<u8>> {
        self.power(BoxedUint::from(2_u8).resize(self.bits), exponent)
    }

    /// Returns the shared secret; `None` if the peer's value lies outside 2 to p - 2 (RFC 6989, 2.1).
    pub(super) fn shared(&self, exponent: &[u8], peer: &[u8]) -> Option<Vec<u8>> {
        if peer.len() != self.bits as usize / 8 {
            return None;
        }
        let peer = BoxedUint::from_be_slice(peer, self.bits).ok()?;
        let one = BoxedUint::one_with_precision(self.bits);
        let last = self.parameters.modulus().as_ref().wrapping_sub(&one);
        if peer <= one || peer >= last {
            return None;
        }
        self.power(peer, exponent)
    }

    fn power(&self, base: BoxedUint, exponent: &[u8]) -> Option<Vec<u8>> {
        let exponent = BoxedUint::from_be_slice(exponent, self.exponent_bits).ok()?;
        let base = BoxedMontyForm::new(base, &self.parameters);
        let power = base.pow(&exponent).retrieve();
        Some(power.to_be_bytes().to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_equal_those_of_the_rfcs() {
        // The last 16 bytes as RFC 2409, 6.1 and 6.2, and RFC 3526, 2 and 3, print them.
        for (group, tail) in [
            (Group::Modp768, "f44c42e9a63a3620ffffffffffffffff"),
            (Group::Modp1024, "49286651ece65381ffffffffffffffff"),
            (Group::Modp1536, "f1746c08ca237327ffffffffffffffff"),
            (Group::Modp2048, "15728e5a8aacaa68ffffffffffffffff"),
        ] {
            let (bits, _, k) = shape(group).expect("a prime");
            let prime = prime(bits, k);
            let end: String = prime[prime.len() - 16..]
                .iter()
                .map(|b| format!("{b:02x}"))
                .collect();
            assert_eq!(end, tail, "{group:?}");
            assert_eq!(
                prime[..12],
                [
                    255, 255, 255, 255, 255, 255, 255, 255, 0xc9, 0x0f, 0xda, 0xa2
                ]
            );
        }
    }

    #[test]
    fn values_outside_of_the_group_are_refused() {
        let group = Modp::new(Group::Modp768).expect("a group");
        let exponent = [7; 32];
        let mut end = prime(768, 149_686);
        assert!(group.shared(&exponent, &end).is_none());
        *end.last_mut().expect("a byte") = 0xfe;
        assert!(group.shared(&exponent, &end).is_none());
        *end.last_mut().expect("a byte") = 0xfd;
        assert!(group.shared(&exponent, &end).is_some());
        for small in [0, 1] {
            let mut value = vec![0; 96];
            value[95] = small;
            assert!(group.shared(&exponent, &value).is_none());
        }
    }
}
