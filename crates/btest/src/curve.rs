//! Curve25519 for EC-SRP5, with points encoded as Montgomery x and the low bit of Montgomery y.
//!
//! MikroTik computes in Weierstrass form, which is isomorphic. This module computes in Edwards form by
//! curve25519-dalek, in constant time. Dalek decodes a point from x and the sign of *Edwards* x, so the module
//! translates between the two low bits. With v² = u³ + 486662·u² + u and x = c·u/v (RFC 7748, 4.1), both bits
//! change when v changes its sign; so whether they differ depends on u alone.

use crypto_bigint::{U256, const_prime_monty_params, modular::ConstMontyForm};
use curve25519_dalek::{EdwardsPoint, MontgomeryPoint, Scalar};
use subtle::{Choice, ConditionallySelectable};

/// A public point as encoded on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Public {
    /// Montgomery x, big-endian.
    pub x: [u8; 32],
    /// Low bit of Montgomery y.
    pub parity: u8,
}

impl Public {
    /// Encoded length in bytes.
    pub const LEN: usize = 33;

    /// Decodes a point without checking that it is on the curve.
    pub fn parse(bytes: &[u8; Self::LEN]) -> Self {
        let [x @ .., parity] = *bytes;
        Self { x, parity }
    }

    /// Encodes the point.
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..32].copy_from_slice(&self.x);
        bytes[32] = self.parity;
        bytes
    }

    /// Encodes a curve point. The neutral element, which has no Montgomery x, becomes x 0.
    pub(crate) fn of(point: &EdwardsPoint) -> Self {
        let mut x = point.to_montgomery().to_bytes();
        x.reverse();
        let sign = point.compress().to_bytes()[31] >> 7;
        let (differs, _) = bits_differ(&field(&x));
        Self {
            x,
            parity: sign ^ differs,
        }
    }

    /// Returns the curve point; `None` if no point has this x.
    pub(crate) fn lift(&self) -> Option<EdwardsPoint> {
        let x = field(&self.x);
        let (differs, exists) = bits_differ(&x);
        if !bool::from(exists) {
            return None;
        }
        let sign = (self.parity & 1) ^ differs;
        let u = MontgomeryPoint(x.retrieve().to_le_bytes().into());
        u.to_edwards(sign)
    }
}

/// Returns `scalar` times the generator: the point with x 9 and even y, which is the base point of Ed25519.
pub(crate) fn mul_generator(scalar: &Scalar) -> EdwardsPoint {
    EdwardsPoint::mul_base(scalar)
}

/// Reduces a big-endian number modulo the group order.
pub(crate) fn scalar(mut bytes: [u8; 32]) -> Scalar {
    bytes.reverse();
    Scalar::from_bytes_mod_order(bytes)
}

const_prime_monty_params!(
    Modulus,
    U256,
    "7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffed",
    2,
    "2^255 - 19, of which 2 is a generator."
);

type Field = ConstMontyForm<Modulus, { U256::LIMBS }>;

/// Square root of -486664 that makes the generator's two low bits equal.
const ROOT: Field = Field::new(&U256::from_be_hex(
    "0f26edf460a006bbd27b08dc03fc4f7ec5a1d3d14b7d1a82cc6e04aaff457e06",
));
/// Coefficient of the curve.
const A: Field = Field::new(&U256::from_u32(486_662));

/// Reduces a big-endian number modulo the field prime.
fn field(bytes: &[u8; 32]) -> Field {
    Field::new(&U256::from_be_slice(bytes))
}

/// Returns 1 if the low bits of Montgomery y and Edwards x differ at this Montgomery x, and whether the curve
/// has points there.
fn bits_differ(u: &Field) -> (u8, Choice) {
    let square = (u.square() + A * *u + Field::ONE) * *u;
    let root = square.sqrt();
    let exists = root.is_some();
    let v = root.unwrap_or(Field::ZERO);
    // u = 0 has a single point, whose x is 0.
    let x = ROOT * *u * v.invert().unwrap_or(Field::ZERO);
    let differs = low_bit(&v) ^ low_bit(&x);
    let exists = Choice::from(exists.to_u8());
    (u8::conditional_select(&0, &differs, exists), exists)
}

fn low_bit(element: &Field) -> u8 {
    element.retrieve().to_be_bytes().as_ref()[31] & 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_has_x_9_and_an_even_y() {
        let mut x = [0; 32];
        x[31] = 9;
        let generator = Public { x, parity: 0 };
        let base = mul_generator(&Scalar::ONE);
        assert_eq!(Public::of(&base), generator);
        assert_eq!(generator.lift(), Some(base));
        assert_eq!(Public { x, parity: 1 }.lift(), Some(-base));
    }

    #[test]
    fn points_read_as_they_were_written() {
        for number in 1..200u8 {
            let point = mul_generator(&Scalar::from(number));
            let public = Public::parse(&Public::of(&point).to_bytes());
            assert_eq!(public.lift(), Some(point), "{number}");
            assert_ne!(Public::of(&-point).parity, public.parity, "{number}");
        }
    }

    #[test]
    fn a_number_above_the_modulus_is_reduced() {
        let mut x = [0xff; 32];
        x[0] = 0x7f;
        x[31] = 0xed + 9;
        let base = mul_generator(&Scalar::ONE);
        assert_eq!(Public { x, parity: 0 }.lift(), Some(base));
        assert_eq!(field(&[0xff; 32]).retrieve(), U256::from_u32(37));
    }

    #[test]
    fn half_of_all_numbers_are_no_point() {
        let mut found = 0;
        for number in 0..=u8::MAX {
            let public = Public {
                x: [number; 32],
                parity: 1,
            };
            if let Some(point) = public.lift() {
                found += 1;
                assert_eq!(Public::of(&point).parity, u8::from(number != 0), "{number}");
            }
        }
        assert!((90..170).contains(&found), "{found}");
    }
}
