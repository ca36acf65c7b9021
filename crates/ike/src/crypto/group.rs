//! Diffie-Hellman key agreement: MODP (RFC 2409, RFC 3526), NIST curves (RFC 5903), Curve25519 (RFC 8031).

use curve25519_dalek::montgomery::MontgomeryPoint;
use p256::elliptic_curve::sec1::ToSec1Point as _;

use super::Entropy;
use super::modp::Modp;
use crate::config::Secret;
use crate::suite::Group;

/// Local key pair of one key exchange.
pub(crate) struct Agreement {
    group: Group,
    private: Secret,
    public: Vec<u8>,
}

/// First byte of uncompressed points (SEC 1, 2.3.3); IKE omits it.
const UNCOMPRESSED: u8 = 4;

/// Defines key generation and shared secret of a NIST curve.
macro_rules! curve {
    ($module:ident, $curve:ident, $bytes:literal, $mask:literal) => {
        mod $curve {
            use super::*;

            pub(super) fn fresh(entropy: &mut Entropy) -> (Secret, Vec<u8>) {
                loop {
                    let mut private = [0; $bytes];
                    entropy(&mut private);
                    private[0] &= $mask;
                    // Draws again for zero and for numbers above the order.
                    if let Ok(key) = $module::SecretKey::from_slice(&private) {
                        let public = key.public_key().to_sec1_point(false);
                        let public = public.as_bytes().get(1..).unwrap_or_default().to_vec();
                        return (Secret::new(private), public);
                    }
                }
            }

            pub(super) fn shared(private: &Secret, peer: &[u8]) -> Option<Vec<u8>> {
                if peer.len() != 2 * $bytes {
                    return None;
                }
                let key = $module::SecretKey::from_slice(private.bytes()).ok()?;
                let peer = [&[UNCOMPRESSED], peer].concat();
                let peer = $module::PublicKey::from_sec1_bytes(&peer).ok()?;
                let shared =
                    $module::ecdh::diffie_hellman(key.to_nonzero_scalar(), peer.as_affine());
                Some(shared.raw_secret_bytes().to_vec())
            }
        }
    };
}

curve!(p256, ecp256, 32, 0xff);
curve!(p384, ecp384, 48, 0xff);
curve!(p521, ecp521, 66, 0x01);

impl Agreement {
    /// Generates a key pair. `Some` for every variant of [`Group`].
    pub(crate) fn new(group: Group, entropy: &mut Entropy) -> Option<Self> {
        let (private, public) = match group {
            Group::Ecp256 => ecp256::fresh(entropy),
            Group::Ecp384 => ecp384::fresh(entropy),
            Group::Ecp521 => ecp521::fresh(entropy),
            Group::X25519 => {
                let mut private = [0; 32];
                entropy(&mut private);
                let public = MontgomeryPoint::mul_base_clamped(private);
                (Secret::new(private), public.to_bytes().to_vec())
            }
            _ => {
                let modp = Modp::new(group)?;
                let mut private = vec![0; modp.exponent_len()];
                entropy(&mut private);
                let public = modp.public(&private)?;
                (Secret::new(private), public)
            }
        };
        Some(Self {
            group,
            private,
            public,
        })
    }

    /// Returns the group.
    pub(crate) const fn group(&self) -> Group {
        self.group
    }

    /// Returns the public value for the KE payload.
    pub(crate) fn public(&self) -> &[u8] {
        &self.public
    }

    /// Returns the shared secret; `None` if the peer's value is not in the group.
    pub(crate) fn shared(&self, peer: &[u8]) -> Option<Secret> {
        let shared = match self.group {
            Group::Ecp256 => ecp256::shared(&self.private, peer)?,
            Group::Ecp384 => ecp384::shared(&self.private, peer)?,
            Group::Ecp521 => ecp521::shared(&self.private, peer)?,
            Group::X25519 => {
                let peer = MontgomeryPoint(peer.try_into().ok()?);
                let private = self.private.bytes().try_into().ok()?;
                let shared = peer.mul_clamped(private).to_bytes();
                // RFC 8031, 3.2: an all-zero secret aborts the exchange.
                let zero = shared.iter().fold(0, |all, byte| all | byte) == 0;
                if zero {
                    return None;
                }
                shared.to_vec()
            }
            _ => Modp::new(self.group)?.shared(self.private.bytes(), peer)?,
        };
        Some(Secret::new(shared))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::tests::entropy;

    #[test]
    fn two_sides_share_a_secret_in_every_group() {
        let mut entropy = entropy(7);
        for number in 0..40 {
            let Some(group) = Group::of(number) else {
                continue;
            };
            let one = Agreement::new(group, &mut entropy).expect("a group");
            let two = Agreement::new(group, &mut entropy).expect("a group");

            let shared = one.shared(two.public()).expect("a secret");

            assert_eq!(
                Some(&shared),
                two.shared(one.public()).as_ref(),
                "{group:?}"
            );
            assert_ne!(one.public(), two.public());
            let nothing = vec![0; one.public().len()];
            assert!(one.shared(&nothing).is_none(), "{group:?}");
            assert!(one.shared(&one.public()[1..]).is_none(), "{group:?}");
        }
    }
}
