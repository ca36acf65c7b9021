//! A peer's claim to be a user, and the server's proof that it knows the password, too.

use core::fmt;
use std::borrow::Cow;

use md5::Digest as _;
use mschap::{AUTHENTICATOR_BYTES, ChallengeHash, NtHash};
use subtle::ConstantTimeEq as _;

use crate::mppe::MppeKeys;
use crate::settings::{Method, Password, Role};

/// A password, or the response to a challenge.
#[derive(Clone, PartialEq, Eq)]
pub enum Response {
    /// PAP: the password.
    Pap {
        /// The password as it was sent.
        password: Password,
    },
    /// CHAP: MD5 over identifier, password and challenge.
    Chap {
        /// Identifier of challenge and response.
        id: u8,
        /// Challenge of the server.
        challenge: [u8; 16],
        /// The digest.
        digest: [u8; 16],
    },
    /// MS-CHAP version 1: LM response, NT response, and 1 if the NT response is valid.
    MsChap1 {
        /// Identifier of challenge and response.
        id: u8,
        /// Challenge of the server.
        challenge: [u8; 8],
        /// The value field of the response.
        response: [u8; 49],
    },
    /// MS-CHAP version 2: the client's challenge, 8 zeros, NT response, flags.
    MsChap2 {
        /// Identifier of challenge and response.
        id: u8,
        /// Challenge of the server.
        challenge: [u8; 16],
        /// The value field of the response.
        response: [u8; 49],
    },
}

/// A user name, and what its bearer says to prove it.
#[derive(Clone, PartialEq, Eq)]
pub struct Claim {
    /// User name as it was sent, at most 255 bytes.
    pub name: Box<[u8]>,
    /// The response to the challenge, or the password.
    pub response: Response,
}

impl Claim {
    /// Returns the user name; bytes that are not UTF-8 are replaced by U+FFFD.
    pub fn user(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.name)
    }

    /// Returns the method of authentication.
    pub const fn method(&self) -> Method {
        match self.response {
            Response::Pap { .. } => Method::Pap,
            Response::Chap { .. } => Method::Chap,
            Response::MsChap1 { .. } => Method::MsChap1,
            Response::MsChap2 { .. } => Method::MsChap2,
        }
    }

    /// Verifies the claim with the user's password, in time that does not depend on where they differ. Returns
    /// the proof for [`Grant::proof`](crate::Grant::proof), or `None` if the password is another.
    pub fn check(&self, password: &str) -> Option<Proof> {
        let password = password.as_bytes();
        match &self.response {
            Response::Pap { password: claimed } => {
                equal(claimed.bytes(), password).then(Proof::default)
            }
            Response::Chap {
                id,
                challenge,
                digest,
            } => {
                let expected = chap_digest(*id, password, challenge);
                equal(digest, &expected).then(Proof::default)
            }
            Response::MsChap1 {
                challenge,
                response,
                ..
            } => {
                let expected = NtHash::new(password).response(challenge);
                let claimed = NtResponse::of_version_1(response)?;
                equal(&claimed.0, &expected).then(|| Proof {
                    authenticator: None,
                    keys: Some(MppeKeys::of_version_1(password, challenge)),
                })
            }
            Response::MsChap2 {
                challenge,
                response,
                ..
            } => {
                let (client, response) = NtResponse::of_version_2(response);
                let challenge = ChallengeHash::new(&client, challenge, &self.name);
                let hash = NtHash::new(password);
                let authenticator = hash.authenticator(challenge, &response.0);
                equal(&response.0, &hash.response_v2(challenge)).then(|| {
                    let master = hash.master_key(&response.0);
                    Proof {
                        authenticator: Some(authenticator),
                        keys: Some(MppeKeys::of_version_2(&master, Role::Server)),
                    }
                })
            }
        }
    }
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim")
            .field("user", &self.user())
            .field("method", &self.method())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Response(..)")
    }
}

/// Proof of a server that it knows the password, which MS-CHAPv2 sends to the client, and the keys of MPPE, which
/// derive from an MS-CHAP login.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    authenticator: Option<[u8; AUTHENTICATOR_BYTES]>,
    keys: Option<MppeKeys>,
}

impl Proof {
    /// Reads the text of a RADIUS server's MS-CHAP2-Success, behind its identifier: `S=` and 40 hexadecimal digits
    /// (RFC 2548, 2.3.3). Returns `None` if it has another form.
    pub fn from_success(text: &[u8]) -> Option<Self> {
        let text = text.first_chunk::<AUTHENTICATOR_BYTES>()?;
        let digits = text.strip_prefix(b"S=")?;
        digits.iter().all(u8::is_ascii_hexdigit).then_some(Self {
            authenticator: Some(*text),
            keys: None,
        })
    }

    /// Returns the proof with the keys of a RADIUS server.
    #[must_use]
    pub fn with_keys(self, keys: Option<MppeKeys>) -> Self {
        Self { keys, ..self }
    }

    /// Returns true if MPPE has keys.
    pub fn has_keys(&self) -> bool {
        self.keys.is_some()
    }

    /// Returns the keys of MPPE.
    pub(crate) fn keys(&self) -> Option<&MppeKeys> {
        self.keys.as_ref()
    }

    /// Returns the authenticator response of MS-CHAPv2.
    pub(crate) fn authenticator(&self) -> Option<&[u8; AUTHENTICATOR_BYTES]> {
        self.authenticator.as_ref()
    }
}

/// Response to an MS-CHAP challenge, computed with the NT hash.
struct NtResponse([u8; 24]);

impl NtResponse {
    /// Reads the value field of version 1; `None` if it has the LM response alone, which is refused.
    fn of_version_1(value: &[u8; 49]) -> Option<Self> {
        (value[48] == 1).then(|| Self(core::array::from_fn(|at| value[24 + at])))
    }

    /// Reads the client's challenge and the response of version 2.
    fn of_version_2(value: &[u8; 49]) -> ([u8; 16], Self) {
        let challenge = core::array::from_fn(|at| value[at]);
        let response = core::array::from_fn(|at| value[24 + at]);
        (challenge, Self(response))
    }
}

/// Computes the response of CHAP with MD5 (RFC 1994, 4.1).
pub(crate) fn chap_digest(id: u8, password: &[u8], challenge: &[u8]) -> [u8; 16] {
    let mut hash = md5::Md5::default();
    hash.update([id]);
    hash.update(password);
    hash.update(challenge);
    hash.finalize().into()
}

/// Compares two byte strings in constant time; the length is no secret.
pub(crate) fn equal(one: &[u8], other: &[u8]) -> bool {
    one.ct_eq(other).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(response: Response) -> Claim {
        Claim {
            name: (*b"User").into(),
            response,
        }
    }

    fn bytes<const N: usize>(hex: &str) -> [u8; N] {
        core::array::from_fn(|at| {
            u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("two hexadecimal digits")
        })
    }

    #[test]
    fn each_method_knows_the_password() {
        let mut value = [0; 49];
        value[..16].copy_from_slice(&bytes::<16>("21402324255e262a28295f2b3a337c7e"));
        value[24..48].copy_from_slice(&bytes::<24>(
            "82309ecd8d708b5ea08faa3981cd83544233114a3d85d6df",
        ));
        let version_2 = claim(Response::MsChap2 {
            id: 1,
            challenge: bytes("5b5d7c7d7b3f2f3e3c2c602132262628"),
            response: value,
        });
        let proof = version_2.check("clientPass").expect("RFC 2759, 9.2");
        let success = b"S=407A5589115FD0D6209F510FE9C04566932CDA56";
        assert_eq!(proof.authenticator(), Some(success));
        let of_radius = Proof::from_success(success).expect("a proof");
        assert_eq!(of_radius.with_keys(proof.keys().cloned()), proof);

        let challenge = [7; 8];
        let mut value = [0; 49];
        value[24..48].copy_from_slice(&NtHash::new(b"clientPass").response(&challenge));
        let without_flag = claim(Response::MsChap1 {
            id: 1,
            challenge,
            response: value,
        });
        assert_eq!(without_flag.check("clientPass"), None);
        value[48] = 1;
        let claims = [
            version_2,
            claim(Response::MsChap1 {
                id: 1,
                challenge,
                response: value,
            }),
            claim(Response::Chap {
                id: 9,
                challenge: [3; 16],
                digest: chap_digest(9, b"clientPass", &[3; 16]),
            }),
            claim(Response::Pap {
                password: Password::new("clientPass"),
            }),
        ];
        for claim in claims {
            assert!(claim.check("clientPass").is_some(), "{claim:?}");
            assert_eq!(claim.check("clientPas"), None, "{claim:?}");
            assert_eq!(claim.check("clientpass"), None, "{claim:?}");
        }
    }

    #[test]
    fn a_proof_of_radius_has_a_form() {
        assert_eq!(
            Proof::from_success(b"E=407A5589115FD0D6209F510FE9C04566932CDA56"),
            None
        );
        assert_eq!(Proof::from_success(b"S=407A"), None);
        let with_text = b"S=407A5589115FD0D6209F510FE9C04566932CDA56 M=Welcome";
        assert!(Proof::from_success(with_text).is_some());
    }

    #[test]
    fn debug_hides_what_proves_a_user() {
        let claim = claim(Response::Pap {
            password: Password::new("geheim"),
        });
        assert_eq!(
            format!("{claim:?}"),
            "Claim { user: \"User\", method: Pap, .. }"
        );
    }
}
