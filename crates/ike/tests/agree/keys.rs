//! Keys and verifiers for tests: a certificate is a name, and its key signs by a secret derived from the name.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use ike::{Certified, Id, NoSignature, Scheme, Signer, Verifier};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    Rsa,
    P256,
}

struct Test {
    name: String,
    key: Key,
    trusts: Vec<String>,
    /// Number of times that the key still answers that it has not signed yet.
    delays: AtomicU32,
}

/// Returns a signature as long as one of P-256, distinct for every name, scheme and message.
fn sign(name: &str, scheme: Scheme, message: &[u8]) -> Vec<u8> {
    let mut sum = format!("{scheme:?}{name}")
        .bytes()
        .fold(7_u64, |sum, byte| sum * 31 % 0xffff_fffb + u64::from(byte));
    let mut out = vec![1];
    for (at, byte) in message.iter().enumerate() {
        sum = (sum * 257 + at as u64 + u64::from(*byte)) % 0xffff_ffff_fffb;
    }
    out.resize(64, sum as u8);
    out[40..48].copy_from_slice(&sum.to_be_bytes());
    out
}

impl Signer for Test {
    fn can(&self, scheme: Scheme) -> bool {
        match scheme {
            Scheme::RsaPkcs1(_) | Scheme::RsaRaw => self.key == Key::Rsa,
            Scheme::EcdsaP256 => self.key == Key::P256,
            _ => false,
        }
    }

    fn sign(&self, scheme: Scheme, message: &[u8]) -> Result<Vec<u8>, NoSignature> {
        let before = |count: u32| count.checked_sub(1);
        match self.delays.fetch_update(Relaxed, Relaxed, before) {
            Ok(_) => Err(NoSignature::Pending),
            Err(_) => Ok(sign(&self.name, scheme, message)),
        }
    }
}

impl Verifier for Test {
    fn authorities(&self) -> Vec<[u8; 20]> {
        vec![[1; 20]]
    }

    fn names(&self) -> Vec<Vec<u8>> {
        vec![vec![0x30, 0]]
    }

    fn verify(
        &self,
        chain: &[Vec<u8>],
        id: Option<&Id>,
        scheme: Scheme,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), String> {
        let name = chain
            .first()
            .and_then(|der| String::from_utf8(der.clone()).ok())
            .ok_or("no certificate")?;
        if !self.trusts.contains(&name) {
            return Err(format!("{name} is not trusted"));
        }
        if id.is_some_and(|id| *id != Id::Fqdn(name.clone())) {
            return Err(format!("{name} is not {id:?}"));
        }
        let right = sign(&name, scheme, message) == signature;
        right
            .then_some(())
            .ok_or_else(|| "the signature is wrong".into())
    }
}

/// Returns the credentials of a name, with a verifier that trusts these names.
pub(crate) fn certified(name: &str, key: Key, trusts: &[&str]) -> Certified {
    slow(name, key, trusts, 0)
}

/// Returns credentials whose key answers so many times that it has not signed yet.
pub(crate) fn slow(name: &str, key: Key, trusts: &[&str], delays: u32) -> Certified {
    let test = Arc::new(Test {
        name: name.into(),
        key,
        trusts: trusts.iter().map(|name| (*name).into()).collect(),
        delays: delays.into(),
    });
    Certified {
        chain: vec![name.as_bytes().to_vec()],
        signer: test.clone(),
        verifier: test,
    }
}
