//! Private, public and preshared keys: 32 bytes, base64 in the configuration.

use core::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use curve25519_dalek::MontgomeryPoint;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

type Bytes = [u8; 32];

fn decode(text: &str) -> Option<Zeroizing<Bytes>> {
    let mut bytes = Zeroizing::new([0; 32]);
    // One byte more than a key: detects longer texts.
    let mut place = Zeroizing::new([0; 33]);
    let len = STANDARD.decode_slice(text, &mut *place).ok()?;
    (len == 32).then(|| bytes.copy_from_slice(&place[..32]))?;
    Some(bytes)
}

/// A private key.
#[derive(Clone)]
pub struct Private(Zeroizing<Bytes>);

/// A preshared key (RouterOS: `preshared-key`).
#[derive(Clone)]
pub struct Preshared(Zeroizing<Bytes>);

/// A public key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Public(pub(crate) Bytes);

impl Private {
    /// Creates a key; X25519 clamps its bits (RFC 7748, 5).
    pub fn new(bytes: Bytes) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Parses base64; `None` unless it encodes 32 bytes.
    pub fn from_base64(text: &str) -> Option<Self> {
        decode(text).map(Self)
    }

    /// Returns the public key.
    pub fn public(&self) -> Public {
        Public(MontgomeryPoint::mul_base_clamped(*self.0).to_bytes())
    }

    pub(crate) fn bytes(&self) -> &Bytes {
        &self.0
    }
}

impl Preshared {
    /// Parses base64; `None` unless it encodes 32 bytes.
    pub fn from_base64(text: &str) -> Option<Self> {
        decode(text).map(Self)
    }

    pub(crate) fn bytes(&self) -> &Bytes {
        &self.0
    }
}

impl Public {
    /// Parses base64; `None` unless it encodes 32 bytes.
    pub fn from_base64(text: &str) -> Option<Self> {
        decode(text).map(|bytes| Self(*bytes))
    }

    /// Returns true for a low-order point, which gives every private key the shared secret zero (RFC 7748,
    /// 6.1).
    pub(crate) fn is_degenerate(&self) -> bool {
        let shared = MontgomeryPoint(self.0).mul_clamped([1; 32]);
        bool::from(shared.to_bytes().ct_eq(&[0; 32]))
    }
}

impl PartialEq for Private {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&*other.0).into()
    }
}

impl Eq for Private {}

impl PartialEq for Preshared {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&*other.0).into()
    }
}

impl Eq for Preshared {}

impl fmt::Debug for Private {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Private")
    }
}

impl fmt::Debug for Preshared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Preshared")
    }
}

impl fmt::Display for Public {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

impl fmt::Debug for Public {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_key_follows_as_wg_pubkey_says() {
        let private = Private::from_base64("yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=");
        let public = private.expect("32 bytes").public();
        assert_eq!(
            public.to_string(),
            "HIgo9xNzJMWLKASShiTqIybxZ0U3wGLiUeJ1PKf8ykw="
        );
        assert_eq!(Public::from_base64(&public.to_string()), Some(public));
    }

    #[test]
    fn invalid_key_texts_are_refused() {
        for text in ["", "x", "AAAA", &"A".repeat(44), &"A".repeat(64)] {
            assert!(Private::from_base64(text).is_none(), "{text}");
        }
    }

    #[test]
    fn secrets_do_not_show() {
        let private = Private::new([7; 32]);
        assert_eq!(format!("{private:?}"), "Private");
        assert_ne!(private, Private::new([8; 32]));
    }

    #[test]
    fn degenerate_keys_are_known() {
        assert!(Public([0; 32]).is_degenerate());
        let mut one = [0; 32];
        one[0] = 1;
        assert!(Public(one).is_degenerate());
        assert!(!Private::new([9; 32]).public().is_degenerate());
    }
}
