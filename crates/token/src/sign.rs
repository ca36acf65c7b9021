//! Signature schemes as mechanisms of PKCS #11. Hashes are computed here: old cards support few combined mechanisms.

use certificate::{Hash, SignatureScheme};
use cryptoki::mechanism::rsa::{PkcsMgfType, PkcsPssParams};
use cryptoki::mechanism::{Mechanism, MechanismType};

/// Returns the mechanism of a scheme, and the bytes that the token signs.
pub(crate) fn operation(scheme: SignatureScheme, message: &[u8]) -> (Mechanism<'static>, Vec<u8>) {
    match scheme {
        SignatureScheme::RsaPkcs1(hash) => (Mechanism::RsaPkcs, hash.digest_info(message)),
        SignatureScheme::RsaRaw => (Mechanism::RsaPkcs, message.to_vec()),
        SignatureScheme::RsaPss(hash) => (
            Mechanism::RsaPkcsPss(parameters(hash)),
            hash.digest(message),
        ),
        SignatureScheme::P256 => (Mechanism::Ecdsa, Hash::Sha256.digest(message)),
        SignatureScheme::P384 => (Mechanism::Ecdsa, Hash::Sha384.digest(message)),
        SignatureScheme::P521 => (Mechanism::Ecdsa, Hash::Sha512.digest(message)),
    }
}

/// Parameters of PSS: the salt is as long as the hash.
fn parameters(hash: Hash) -> PkcsPssParams {
    let (hash_alg, mgf, salt_bytes) = match hash {
        Hash::Sha1 => (MechanismType::SHA1, PkcsMgfType::MGF1_SHA1, 20_u64),
        Hash::Sha256 => (MechanismType::SHA256, PkcsMgfType::MGF1_SHA256, 32),
        Hash::Sha384 => (MechanismType::SHA384, PkcsMgfType::MGF1_SHA384, 48),
        Hash::Sha512 => (MechanismType::SHA512, PkcsMgfType::MGF1_SHA512, 64),
    };
    PkcsPssParams {
        hash_alg,
        mgf,
        s_len: salt_bytes.into(),
    }
}
