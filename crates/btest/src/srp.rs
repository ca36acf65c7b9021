//! EC-SRP5: how a client and a server of RouterOS 6.43 and later prove to each other that they know
//! a password, and nothing of it crosses the wire. Winbox and MAC-Telnet use the same.
//!
//! ```text
//! client                                        server: salt, x of Γ, parity of Γ
//! a random, A = a·G            name, A ─▶
//!                              ◀─ B, salt       b random, B = b·G + hash(x of Γ)
//! i = H(salt, H(name:password)), Γ = i·G,       j = H(x of A, x of B)
//! Z = (i·j + a)·(B - hash(x of Γ))              Z = b·(A + j·Γ)
//!                   H(j, x of Z) ─▶
//!                                ◀─ H(j, what the client sent, x of Z)
//! ```
//!
//! H is SHA-256, all numbers have 32 bytes, big-endian. Points are those of [`crate::curve`]. The
//! mathematics are Margin Research's findings (`mikrotik_authentication`); two mistakes that are
//! published with them are excluded by the tests here: the server's Γ is the real point with its own
//! parity, neither `hash(x)` nor the point with an odd y.
//!
//! Steps with secrets take constant time but for `hash` to a point, which tries numbers until one
//! is a point. So is the protocol, and its number of tries depends on the password's x.

use core::fmt;

use curve25519_dalek::{EdwardsPoint, Scalar};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::curve::{Public, mul_generator, scalar};

/// Length of a salt.
pub const SALT_LEN: usize = 16;
/// Length of a proof.
pub const PROOF_LEN: usize = 32;

/// A point of the other end that is none, or of so small an order that a secret would show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadPoint;

/// What a server keeps of a password. Who has it can pretend to be the server, not the user; and
/// can try passwords on it.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    /// Random bytes that make the verifiers of equal passwords different.
    pub salt: [u8; SALT_LEN],
    /// Γ: its x, and its parity, without which the server cannot calculate with it.
    pub gamma: Public,
}

impl Verifier {
    /// The verifier of a user's password, with a salt that shall be random.
    pub fn of(user: &str, password: &str, salt: [u8; SALT_LEN]) -> Self {
        let i = scalar(identity(user, password, &salt));
        Self {
            salt,
            gamma: Public::of(&mul_generator(&i)),
        }
    }

    /// The salt of a name for which none is stored. With the same `secret` of 32 random bytes it is
    /// always the same, as a stored one is.
    pub fn salt(user: &str, secret: &[u8; 32]) -> [u8; SALT_LEN] {
        let seed = hash(&[secret, b"salt", user.as_bytes()]);
        core::array::from_fn(|at| seed[at])
    }

    /// A verifier for a user who does not exist, which no password fits.
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
    /// Who reads a log shall not try passwords on it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier(..)")
    }
}

/// What a server answers to a client's name and point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// The server's point.
    pub public: Public,
    /// The salt of the user's verifier.
    pub salt: [u8; SALT_LEN],
}

impl Challenge {
    /// Length on the wire.
    pub const LEN: usize = Public::LEN + SALT_LEN;

    /// Reads a challenge.
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

    /// The bytes of it.
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..Public::LEN].copy_from_slice(&self.public.to_bytes());
        bytes[Public::LEN..].copy_from_slice(&self.salt);
        bytes
    }
}

/// What each end sends to prove that it knows the password, or the verifier.
#[derive(Clone)]
pub struct Proofs {
    /// The client's.
    pub client: [u8; PROOF_LEN],
    /// The server's.
    pub server: [u8; PROOF_LEN],
}

impl Proofs {
    fn of(j: &[u8; 32], shared: &EdwardsPoint) -> Self {
        let z = Public::of(shared).x;
        let client = hash(&[j, &z]);
        let server = hash(&[j, &client, &z]);
        Self { client, server }
    }

    /// Whether these bytes are the client's proof. It takes the same time however it ends.
    pub fn is_client(&self, proof: &[u8; PROOF_LEN]) -> bool {
        self.client.ct_eq(proof).into()
    }

    /// Whether these bytes are the server's proof. It takes the same time however it ends.
    pub fn is_server(&self, proof: &[u8; PROOF_LEN]) -> bool {
        self.server.ct_eq(proof).into()
    }
}

/// A client's key of one exchange.
pub struct ClientKey {
    secret: Scalar,
    public: Public,
}

impl ClientKey {
    /// The key of 32 bytes that nobody can guess, and that are used once.
    pub fn new(secret: [u8; 32]) -> Self {
        let secret = scalar(secret);
        Self {
            public: Public::of(&mul_generator(&secret)),
            secret,
        }
    }

    /// The point that the server gets.
    pub const fn public(&self) -> &Public {
        &self.public
    }

    /// The proofs that follow from a server's challenge.
    ///
    /// # Errors
    ///
    /// The server's point is bad.
    pub fn proofs(
        &self,
        user: &str,
        password: &str,
        challenge: &Challenge,
    ) -> Result<Proofs, BadPoint> {
        let i = scalar(identity(user, password, &challenge.salt));
        let gamma = Public::of(&mul_generator(&i));
        let server = challenge.public.lift().ok_or(BadPoint)?;
        // With an odd y it is the negative of what the server added.
        let server = server + hash_to_point(&gamma.x, 1);
        if server.is_small_order() {
            return Err(BadPoint);
        }
        let j = hash(&[&self.public.x, &challenge.public.x]);
        let shared = (i * scalar(j) + self.secret) * server;
        Ok(Proofs::of(&j, &shared))
    }
}

/// A server's key of one exchange.
pub struct ServerKey {
    secret: Scalar,
    gamma: EdwardsPoint,
    challenge: Challenge,
}

impl ServerKey {
    /// The key for a user's verifier, of 32 bytes that nobody can guess, and that are used once.
    ///
    /// # Errors
    ///
    /// The verifier's point is none.
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

    /// What the client gets.
    pub const fn challenge(&self) -> &Challenge {
        &self.challenge
    }

    /// The proofs that follow from a client's point.
    ///
    /// # Errors
    ///
    /// The client's point is bad.
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

/// The number that stands for a user's name and password.
fn identity(user: &str, password: &str, salt: &[u8; SALT_LEN]) -> [u8; 32] {
    let inner = hash(&[user.as_bytes(), b":", password.as_bytes()]);
    hash(&[salt, &inner])
}

/// The point that a number hashes to, with a y of this parity.
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
