//! The key by which clients of SSH know the router again: Ed25519 (RFC 8709) or RSA (RFC 8332).

use ssh_key::private::{Ed25519Keypair, KeypairData, RsaKeypair};
use ssh_key::{Algorithm, Cipher, HashAlg, Kdf, LineEnding, PrivateKey};

/// Rounds of the passphrase's hash: as `ssh-keygen` has them.
const ROUNDS: u32 = 16;
/// Bits of an RSA key at least: fewer protect nothing.
const BITS: usize = 2_048;

/// A host key.
#[derive(Clone, Debug)]
pub struct HostKey(PrivateKey);

impl HostKey {
    /// The key of Ed25519 that follows from a random number.
    pub fn ed25519(seed: &[u8; 32]) -> Self {
        Self(PrivateKey::from(Ed25519Keypair::from_seed(seed)))
    }

    /// A key in PKCS#8: of RSA, or of Ed25519 (RFC 8410, 7).
    ///
    /// # Errors
    /// It is of another kind, or shorter than 2048 bits.
    pub fn of_pkcs8(der: &[u8]) -> Result<Self, String> {
        use rsa::pkcs8::DecodePrivateKey as _;
        if let Some(seed) = ed25519_seed(der) {
            return Ok(Self::ed25519(seed));
        }
        let wrong = |_| "host keys are of RSA or Ed25519".to_owned();
        let key = rsa::RsaPrivateKey::from_pkcs8_der(der).map_err(wrong)?;
        let pair = RsaKeypair::try_from(key).map_err(|error| error.to_string())?;
        Self::checked(PrivateKey::from(pair))
    }

    /// A key as OpenSSH writes it.
    ///
    /// # Errors
    /// It is none, of another kind, or the passphrase does not open it.
    pub fn read(pem: &[u8], passphrase: &str) -> Result<Self, String> {
        let key = PrivateKey::from_openssh(pem).map_err(|error| error.to_string())?;
        let key = match key.is_encrypted() {
            true => key
                .decrypt(passphrase)
                .map_err(|_| "the passphrase does not open it")?,
            false => key,
        };
        Self::checked(key)
    }

    fn checked(key: PrivateKey) -> Result<Self, String> {
        match key.key_data() {
            KeypairData::Ed25519(_) => Ok(Self(key)),
            KeypairData::Rsa(pair) if usize::try_from(pair.key_size()).unwrap_or(0) >= BITS => {
                Ok(Self(key))
            }
            KeypairData::Rsa(_) => Err(format!(
                "a key of RSA with fewer than {BITS} bits is not safe"
            )),
            _ => Err("host keys are of RSA or Ed25519".to_owned()),
        }
    }

    /// The key as OpenSSH writes it. Whoever reads that is the router.
    ///
    /// # Errors
    /// What the library says.
    pub fn to_pem(&self) -> Result<String, String> {
        let pem = self.0.to_openssh(LineEnding::LF);
        pem.map(|pem| pem.to_string())
            .map_err(|error| error.to_string())
    }

    /// The same, closed by a passphrase. The random number is used once only.
    ///
    /// # Errors
    /// What the library says.
    pub fn sealed(&self, passphrase: &str, random: [u8; 20]) -> Result<String, String> {
        let (salt, check) = random.split_at(16);
        let check = check.try_into().map(u32::from_be_bytes).unwrap_or_default();
        let kdf = Kdf::Bcrypt {
            salt: salt.to_vec(),
            rounds: ROUNDS,
        };
        let sealed = self
            .0
            .encrypt_with(Cipher::Aes256Ctr, kdf, check, passphrase);
        let sealed = sealed.map_err(|error| error.to_string())?;
        Self(sealed).to_pem()
    }

    /// The public key in one line.
    ///
    /// # Errors
    /// What the library says.
    pub fn public(&self) -> Result<String, String> {
        self.0
            .public_key()
            .to_openssh()
            .map_err(|error| error.to_string())
    }

    /// What users compare: SHA-256 of the public key.
    pub fn fingerprint(&self) -> String {
        self.0.public_key().fingerprint(HashAlg::Sha256).to_string()
    }

    /// `rsa` or `ed25519`.
    pub fn kind(&self) -> &'static str {
        match self.0.algorithm() {
            Algorithm::Rsa { .. } => "rsa",
            _ => "ed25519",
        }
    }

    /// The key itself.
    pub const fn private(&self) -> &PrivateKey {
        &self.0
    }
}

/// What a key of Ed25519 in PKCS#8 follows from: it stands behind the same bytes in all of them.
fn ed25519_seed(der: &[u8]) -> Option<&[u8; 32]> {
    const BEFORE: &[u8] = b"\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";
    let at = der
        .windows(BEFORE.len())
        .position(|window| window == BEFORE)?;
    der.get(at + BEFORE.len()..)?.first_chunk()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_same_after_it_was_written_and_read() {
        let key = HostKey::ed25519(&[7; 32]);

        let plain = key.to_pem().expect("it is written");
        let sealed = key.sealed("secret", [9; 20]).expect("it is written");

        let same = |pem: &str, passphrase| {
            let read = HostKey::read(pem.as_bytes(), passphrase);
            read.map(|read| read.fingerprint() == key.fingerprint())
        };
        assert_eq!(same(&plain, ""), Ok(true));
        assert_eq!(same(&sealed, "secret"), Ok(true));
        assert!(same(&sealed, "other").is_err());
        assert!(same(&plain[..plain.len() / 2], "").is_err());
        assert!(
            key.public()
                .is_ok_and(|line| line.starts_with("ssh-ed25519 AAAA"))
        );
        assert_eq!(key.kind(), "ed25519");
    }

    #[test]
    fn a_key_of_ed25519_comes_out_of_pkcs8() {
        // RFC 8410, 10.3.
        let der = [
            b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20".as_slice(),
            &[7; 32],
        ]
        .concat();

        let key = HostKey::of_pkcs8(&der).expect("a key");

        assert_eq!(key.fingerprint(), HostKey::ed25519(&[7; 32]).fingerprint());
        for end in 0..der.len() {
            assert!(HostKey::of_pkcs8(&der[..end]).is_err());
        }
    }
}
