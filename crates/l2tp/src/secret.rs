//! Secrets of tunnels, and tunnel authentication (RFC 2661, 5.1.1).

use core::net::IpAddr;
use std::sync::Arc;

use md5::{Digest as _, Md5};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// Bytes of a challenge response.
pub(crate) const RESPONSE: usize = 16;

/// The secret that both ends of a tunnel share.
#[derive(Clone)]
pub struct Secret(Arc<Zeroizing<Vec<u8>>>);

impl core::fmt::Debug for Secret {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Secret")
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.bytes().ct_eq(other.bytes()).into()
    }
}

impl Eq for Secret {}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::from(text.as_bytes())
    }
}

impl From<&[u8]> for Secret {
    fn from(bytes: &[u8]) -> Self {
        Self(Arc::new(Zeroizing::new(bytes.to_vec())))
    }
}

impl Secret {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the response to a challenge. `kind` is the kind of the message that carries the response.
    pub(crate) fn response(&self, kind: u16, challenge: &[u8]) -> [u8; RESPONSE] {
        let hash = Md5::new()
            .chain_update([kind as u8])
            .chain_update(self.bytes())
            .chain_update(challenge);
        hash.finalize().into()
    }

    /// Checks a response, in time that does not depend on its bytes.
    pub(crate) fn accepts(&self, kind: u16, challenge: &[u8], response: Option<&[u8]>) -> bool {
        let right = self.response(kind, challenge);
        response.is_some_and(|response| right.ct_eq(response).into())
    }
}

/// Secrets by the address of the other end. The longest prefix that contains an address has its secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Secrets(Vec<(IpAddr, u8, Secret)>);

impl Secrets {
    /// Adds the secret of a prefix of `length` bits.
    pub fn add(&mut self, address: IpAddr, length: u8, secret: Secret) {
        self.0.push((address, length, secret));
    }

    /// Returns the secret for tunnels with an address.
    pub fn of(&self, address: IpAddr) -> Option<&Secret> {
        let all = self.0.iter();
        let fitting = all.filter(|(prefix, length, _)| contains(*prefix, *length, address));
        let longest = fitting.max_by_key(|(_, length, _)| *length)?;
        Some(&longest.2)
    }
}

fn contains(prefix: IpAddr, length: u8, address: IpAddr) -> bool {
    match (prefix, address) {
        (IpAddr::V4(prefix), IpAddr::V4(address)) => {
            let different = prefix.to_bits() ^ address.to_bits();
            different.leading_zeros() >= length.min(32).into()
        }
        (IpAddr::V6(prefix), IpAddr::V6(address)) => {
            let different = prefix.to_bits() ^ address.to_bits();
            different.leading_zeros() >= length.min(128).into()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_depend_on_the_message_that_carries_them() {
        let secret = Secret::from("secret");
        let challenge: Vec<u8> = (0..16).collect();
        let hex = |bytes: [u8; 16]| bytes.map(|byte| format!("{byte:02x}")).concat();
        let (reply, connected) = (
            secret.response(2, &challenge),
            secret.response(3, &challenge),
        );
        assert_eq!(hex(reply), "dd4186e2196f00124a9d588f02701259");
        assert_eq!(hex(connected), "8f3c2fa6fcfea72215ae83ea89ec2b77");
        assert!(secret.accepts(2, &challenge, Some(&reply)));
        assert!(!secret.accepts(3, &challenge, Some(&reply)));
        assert!(!secret.accepts(2, &challenge, Some(&reply[..15])));
        assert!(!secret.accepts(2, &challenge, None));
    }

    #[test]
    fn the_longest_prefix_has_the_secret() {
        let mut secrets = Secrets::default();
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        secrets.add(address("0.0.0.0"), 0, "any".into());
        secrets.add(address("192.0.2.0"), 24, "net".into());
        secrets.add(address("2001:db8::"), 32, "six".into());
        assert_eq!(secrets.of(address("192.0.2.9")), Some(&Secret::from("net")));
        assert_eq!(
            secrets.of(address("198.51.100.1")),
            Some(&Secret::from("any"))
        );
        assert_eq!(
            secrets.of(address("2001:db8:1::1")),
            Some(&Secret::from("six"))
        );
        assert_eq!(secrets.of(address("2001:db9::1")), None);
    }
}
