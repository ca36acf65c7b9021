//! SSH host key: Ed25519 (RFC 8709) or RSA (RFC 8332).

use ssh_key::private::{Ed25519Keypair, KeypairData, RsaKeypair};
use ssh_key::{Algorithm, Cipher, HashAlg, Kdf, LineEnding, PrivateKey};

/// Rounds of the passphrase hash, as in `ssh-keygen`.
const ROUNDS: u32 = 16;
/// Minimum length of an RSA key in bits.
const BITS: usize = 2_048;

/// Host key.
#[derive(Clone, Debug)]
pub struct HostKey(PrivateKey);

impl HostKey {
    /// Derives an Ed25519 key from a random seed.
    pub fn ed25519(seed: &[u8; 32]) -> Self {
        Self(PrivateKey::from(Ed25519Keypair::from_seed(seed)))
    }

    /// Reads a PKCS#8 key: RSA or Ed25519 (RFC 8410, 7).
    ///
    /// # Errors
    /// Fails for other kinds of keys and for RSA keys below 2048 bits.
    pub fn of_pkcs8(der: &[u8]) -> Result<Self, String> {
        use rsa::pkcs8::DecodePrivateKey as _;
        if let Some(seed) = ed25519_seed(der) {
            return Ok(Self::ed25519(seed));
        }
        let wrong = |_| "host keys must be RSA or Ed25519".to_owned();
        let key = rsa::RsaPrivateKey::from_pkcs8_der(der).map_err(wrong)?;
        let pair = RsaKeypair::try_from(key).map_err(|error| error.to_string())?;
        Self::checked(PrivateKey::from(pair))
    }

    /// Reads a key in OpenSSH format.
    ///
    /// # Errors
    /// Fails for malformed keys, other kinds of keys and wrong passphrases.
    pub fn read(pem: &[u8], passphrase: &str) -> Result<Self, String> {
        let key = PrivateKey::from_openssh(pem).map_err(|error| error.to_string())?;
        let key = match key.is_encrypted() {
            true => key.decrypt(passphrase).map_err(|_| "wrong passphrase")?,
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
            KeypairData::Rsa(_) => Err(format!("RSA keys must have at least {BITS} bits")),
            _ => Err("host keys must be RSA or Ed25519".to_owned()),
        }
    }

    /// Private key in OpenSSH format, not encrypted.
    ///
    /// # Errors
    /// Returns the library's error.
    pub fn to_pem(&self) -> Result<String, String> {
        let pem = self.0.to_openssh(LineEnding::LF);
        pem.map(|pem| pem.to_string())
            .map_err(|error| error.to_string())
    }

    /// Private key in OpenSSH format, encrypted with a passphrase. Use `random` only once.
    ///
    /// # Errors
    /// Returns the library's error.
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

    /// Public key in one line.
    ///
    /// # Errors
    /// Returns the library's error.
    pub fn public(&self) -> Result<String, String> {
        self.0
            .public_key()
            .to_openssh()
            .map_err(|error| error.to_string())
    }

    /// Fingerprint: SHA-256 of the public key.
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

    /// Private key.
    pub const fn private(&self) -> &PrivateKey {
        &self.0
    }
}

/// Seed of an Ed25519 key in PKCS#8, which follows a fixed byte sequence.
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
    fn a_host_key_round_trips_through_its_file() {
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
    fn an_ed25519_key_is_read_from_pkcs8() {
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
