//! Signature schemes and their hashes.

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, SHA384, SHA512, digest};

/// Signature scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureScheme {
    /// RSA with PKCS #1 padding over the DigestInfo of the message (RFC 8017, 8.2).
    RsaPkcs1(Hash),
    /// RSA-PSS (RFC 8017, 8.1); the salt is as long as the hash.
    RsaPss(Hash),
    /// RSA with PKCS #1 padding over the message itself (RFC 2409, 5.1).
    RsaRaw,
    /// ECDSA over P-256 with SHA-256; the signature is r followed by s.
    P256,
    /// ECDSA over P-384 with SHA-384.
    P384,
    /// ECDSA over P-521 with SHA-512.
    P521,
}

/// Hash of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// SHA-1, for old peers.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

/// SHA-1 digest, by which IKE names the keys of authorities (RFC 7296, 3.7).
pub fn sha1(bytes: &[u8]) -> [u8; 20] {
    let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, bytes);
    hash.as_ref().try_into().unwrap_or_default()
}

impl Hash {
    /// Digest of a message.
    pub fn digest(self, message: &[u8]) -> Vec<u8> {
        let algorithm = match self {
            Self::Sha1 => &SHA1_FOR_LEGACY_USE_ONLY,
            Self::Sha256 => &SHA256,
            Self::Sha384 => &SHA384,
            Self::Sha512 => &SHA512,
        };
        digest(algorithm, message).as_ref().to_vec()
    }

    /// DigestInfo of a message in DER (RFC 8017, 9.2, note 1).
    pub fn digest_info(self, message: &[u8]) -> Vec<u8> {
        const SHA1: [u8; 15] = [
            0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2b, 0x0e, 0x03, 0x02, 0x1a, 0x05, 0x00, 0x04,
            0x14,
        ];
        // SHA-2: total length, number of the hash, length of the digest.
        let sha2 = |total, number, len| {
            [
                0x30, total, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04,
                0x02, number, 0x05, 0x00, 0x04, len,
            ]
        };
        let digest = self.digest(message);
        match self {
            Self::Sha1 => [&SHA1[..], &digest].concat(),
            Self::Sha256 => [&sha2(0x31, 1, 32)[..], &digest].concat(),
            Self::Sha384 => [&sha2(0x41, 2, 48)[..], &digest].concat(),
            Self::Sha512 => [&sha2(0x51, 3, 64)[..], &digest].concat(),
        }
    }
}
