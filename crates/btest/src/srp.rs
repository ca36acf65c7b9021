//! EC-SRP5: password-authenticated key exchange of RouterOS 6.43 and later. Client and server prove
//! to each other that they know a password without sending it. Winbox and MAC-Telnet use it, too.
//!
//! ```text
//! client                                        server: salt, x of Γ, parity of Γ
//! a random, A = a·G            name, A ─▶
//!                              ◀─ B, salt       b random, B = b·G + hash(x of Γ)
//! i = H(salt, H(name:password)), Γ = i·G,       j = H(x of A, x of B)
//! Z = (i·j + a)·(B - hash(x of Γ))              Z = b·(A + j·Γ)
//!                   H(j, x of Z) ─▶
//!                                ◀─ H(j, the client's proof, x of Z)
//! ```
//!
//! H is SHA-256, all numbers have 32 bytes, big-endian. Points are those of [`crate::curve`]. The
//! mathematics are Margin Research's findings (`mikrotik_authentication`). The tests exclude two
//! mistakes of that publication: the server's Γ is the real point with its own parity, neither
//! `hash(x)` nor the point with an odd y.
//!
//! Operations on secrets take constant time, except for hashing to a point, which tries numbers until one is
//! the x of a point. That is part of the protocol, and the number of tries depends on the password's x.

use core::fmt;

use curve25519_dalek::{EdwardsPoint, Scalar};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::curve::{Public, mul_generator, scalar};

/// Length of a salt in bytes.
pub const SALT_LEN: usize = 16;
/// Length of a proof in bytes.
pub const PROOF_LEN: usize = 32;

/// Error: the other end's point is not on the curve, or its small order would leak the secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadPoint;

/// Stored form of a password. A thief can impersonate the server but not the user, and can test passwords
/// against it.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    /// Random bytes, so that equal passwords have different verifiers.
    pub salt: [u8; SALT_LEN],
    /// Γ: x and parity.
    pub gamma: Public,
}

impl Verifier {
    /// Computes the verifier of a user's password. `salt` should be random.
    pub fn of(user: &str, password: &str, salt: [u8; SALT_LEN]) -> Self {
        let i = scalar(identity(user, password, &salt));
        Self {
            salt,
            gamma: Public::of(&mul_generator(&i)),
        }
    }

    /// Returns a fake salt for an unknown user: constant per name and `secret` (32 random bytes), like a stored
    /// one.
    pub fn salt(user: &str, secret: &[u8; 32]) -> [u8; SALT_LEN] {
        let seed = hash(&[secret, b"salt", user.as_bytes()]);
        core::array::from_fn(|at| seed[at])
    }

    /// Encodes the verifier in hexadecimal digits: salt, x and parity of Γ.
    pub fn to_text(&self) -> String {
        let bytes = [&self.salt[..], &self.gamma.to_bytes()].concat();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Decodes a verifier; `None` if the text is none.
    pub fn from_text(text: &str) -> Option<Self> {
        const LEN: usize = SALT_LEN + Public::LEN;
        let digits = text.as_bytes();
        if digits.len() != 2 * LEN {
            return None;
        }
        let mut bytes = [0; LEN];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16);
            *byte = (digit(0)? << 4 | digit(1)?) as u8;
        }
        Some(Self {
            salt: *bytes.first_chunk()?,
            gamma: Public::parse(bytes.last_chunk()?),
        })
    }

    /// Returns a verifier for an unknown user, which matches no password.
    pub fn decoy(user: &str, secret: &[u8; 32]) -> Self {
        let salt = Self::salt(user, secret);
        let i = scalar(hash(&[secret, b"gamma", user.as_bytes()]));
        Self {
            salt,
            gamma: Public::of(&mul_generator(&i)),
        }
    }
}

impl fmt::Debug for Verifier {
    /// Logs must not allow testing passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier(..)")
    }
}

/// Server's answer to a client's name and point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// Public point of the server.
    pub public: Public,
    /// Salt of the user's verifier.
    pub salt: [u8; SALT_LEN],
}

impl Challenge {
    /// Encoded length in bytes.
    pub const LEN: usize = Public::LEN + SALT_LEN;

    /// Decodes a challenge.
    pub fn parse(bytes: &[u8; Self::LEN]) -> Self {
        let mut public = [0; Public::LEN];
        let mut salt = [0; SALT_LEN];
        public.copy_from_slice(&bytes[..Public::LEN]);
        salt.copy_from_slice(&bytes[Public::LEN..]);
        Self {
            public: Public::parse(&public),
            salt,
        }
    }

    /// Encodes the challenge.
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..Public::LEN].copy_from_slice(&self.public.to_bytes());
        bytes[Public::LEN..].copy_from_slice(&self.salt);
        bytes
    }
}

/// Proofs that each end knows password or verifier.
#[derive(Clone)]
pub struct Proofs {
    /// Proof of the client.
    pub client: [u8; PROOF_LEN],
    /// Proof of the server.
    pub server: [u8; PROOF_LEN],
}

impl Proofs {
    fn of(j: &[u8; 32], shared: &EdwardsPoint) -> Self {
        let z = Public::of(shared).x;
        let client = hash(&[j, &z]);
        let server = hash(&[j, &client, &z]);
        Self { client, server }
    }

    /// Verifies the client's proof in constant time.
    pub fn is_client(&self, proof: &[u8; PROOF_LEN]) -> bool {
        self.client.ct_eq(proof).into()
    }

    /// Verifies the server's proof in constant time.
    pub fn is_server(&self, proof: &[u8; PROOF_LEN]) -> bool {
        self.server.ct_eq(proof).into()
    }
}

/// Client's key pair of one exchange.
pub struct ClientKey {
    secret: Scalar,
    public: Public,
}

impl ClientKey {
    /// Creates the key pair from 32 random bytes, to be used once.
    pub fn new(secret: [u8; 32]) -> Self {
        let secret = scalar(secret);
        Self {
            public: Public::of(&mul_generator(&secret)),
            secret,
        }
    }

    /// Returns the public point for the server.
    pub const fn public(&self) -> &Public {
        &self.public
    }

    /// Computes the proofs for a server's challenge.
    ///
    /// # Errors
    ///
    /// The server's point is invalid.
    pub fn proofs(
        &self,
        user: &str,
        password: &str,
        challenge: &Challenge,
    ) -> Result<Proofs, BadPoint> {
        let i = scalar(identity(user, password, &challenge.salt));
        let gamma = Public::of(&mul_generator(&i));
        let server = challenge.public.lift().ok_or(BadPoint)?;
        // With odd y, the hash point is the negative of what the server added.
        let server = server + hash_to_point(&gamma.x, 1);
        if server.is_small_order() {
            return Err(BadPoint);
        }
        let j = hash(&[&self.public.x, &challenge.public.x]);
        let shared = (i * scalar(j) + self.secret) * server;
        Ok(Proofs::of(&j, &shared))
    }
}

/// Server's key pair of one exchange.
pub struct ServerKey {
    secret: Scalar,
    gamma: EdwardsPoint,
    challenge: Challenge,
}

impl ServerKey {
    /// Creates the key pair for a user's verifier from 32 random bytes, to be used once.
    ///
    /// # Errors
    ///
    /// The verifier's point is invalid.
    pub fn new(secret: [u8; 32], verifier: &Verifier) -> Result<Self, BadPoint> {
        let secret = scalar(secret);
        let hidden = mul_generator(&secret) + hash_to_point(&verifier.gamma.x, 0);
        Ok(Self {
            secret,
            gamma: verifier.gamma.lift().ok_or(BadPoint)?,
            challenge: Challenge {
                public: Public::of(&hidden),
                salt: verifier.salt,
            },
        })
    }

    /// Returns the challenge for the client.
    pub const fn challenge(&self) -> &Challenge {
        &self.challenge
    }

    /// Computes the proofs for a client's point.
    ///
    /// # Errors
    ///
    /// The client's point is invalid.
    pub fn proofs(&self, client: &Public) -> Result<Proofs, BadPoint> {
        let j = hash(&[&client.x, &self.challenge.public.x]);
        let point = client.lift().ok_or(BadPoint)?;
        let point = point + scalar(j) * self.gamma;
        if point.is_small_order() {
            return Err(BadPoint);
        }
        Ok(Proofs::of(&j, &(self.secret * point)))
    }
}

/// Hashes user name and password.
fn identity(user: &str, password: &str, salt: &[u8; SALT_LEN]) -> [u8; 32] {
    let inner = hash(&[user.as_bytes(), b":", password.as_bytes()]);
    hash(&[salt, &inner])
}

/// Hashes a number to a point whose y has this parity.
fn hash_to_point(x: &[u8; 32], parity: u8) -> EdwardsPoint {
    let mut number = hash(&[x]);
    loop {
        let x = hash(&[&number]);
        if let Some(point) = (Public { x, parity }).lift() {
            return point;
        }
        increment(&mut number);
    }
}

/// Adds 1 to a big-endian number, modulo 2^256.
fn increment(number: &mut [u8; 32]) {
    for byte in number.iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            return;
        }
    }
}

fn hash(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}

#[cfg(test)]
mod tests;
