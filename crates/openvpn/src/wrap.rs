//! Protection of control packets by a static key: tls-auth and tls-crypt (OpenVPN `ssl_pkt.c`, `tls_crypt.c`).
//!
//! ```text
//! plain      front 9 │ body
//! tls-auth   front 9 │ HMAC · packet id 4 · time 4 │ body      HMAC over packet id ‖ time ‖ front ‖ body
//! tls-crypt  front 9 │ packet id 4 · time 4 · tag 32 │ encrypted body    tag over front ‖ packet id ‖ time ‖ body
//! ```

use aws_lc_rs::cipher::{
    AES_256, DecryptingKey, DecryptionContext, EncryptingKey, EncryptionContext, UnboundCipherKey,
};
use aws_lc_rs::iv::FixedLength;
use esp::Window;
use esp::mac::Mac;
use subtle::ConstantTimeEq as _;

use crate::fault::Fault;
use crate::packet::FRONT_BYTES;
use crate::prf::hmac;
use crate::static_key::StaticKey;
use crate::suite::Digest;

/// Length of packet id and time in bytes.
const REPLAY_BYTES: usize = 8;
/// Length of the tag of tls-crypt in bytes.
const TAG_BYTES: usize = 32;
/// Length of the initialization vector of tls-crypt in bytes: the beginning of the tag.
const IV_BYTES: usize = 16;
/// Packet ids of the replay window.
const WINDOW: u32 = 64;

/// Protection of control packets, of a client's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Protection {
    /// None.
    None,
    /// HMAC by `tls-auth`.
    TlsAuth {
        /// The static key.
        key: StaticKey,
        /// HMAC algorithm (`auth` of the file).
        digest: Digest,
        /// `key-direction`: 0 or 1; `None`: both ends send with one key.
        direction: Option<u8>,
    },
    /// Encryption and HMAC by `tls-crypt`.
    TlsCrypt {
        /// The static key.
        key: StaticKey,
    },
}

/// Protects the packets of one session.
pub(crate) struct Wrapper {
    form: WrapperForm,
    /// Packet id of the next packet, and the time of the session's first one in seconds since 1970.
    next_id: u32,
    time: u32,
    /// Numbers of received packets: time and packet id.
    window: Window,
}

enum WrapperForm {
    Plain,
    TlsAuth(Box<AuthKeys>),
    /// Keys for sending and receiving.
    TlsCrypt(Box<[CryptKey; 2]>),
}

/// Keys of tls-auth, and the length of its HMAC in bytes.
struct AuthKeys {
    send: Mac,
    receive: Mac,
    sum: usize,
}

/// Key of tls-crypt for one direction.
struct CryptKey {
    cipher: [u8; 32],
    mac: Mac,
}

impl Drop for CryptKey {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.cipher);
    }
}

impl CryptKey {
    fn new(key: &StaticKey, slot: usize) -> Self {
        let mac = key.hmac(slot).get(..TAG_BYTES).unwrap_or_default();
        Self {
            cipher: key.cipher(slot).first_chunk().copied().unwrap_or_default(),
            mac: Mac::new(Digest::Sha256, mac),
        }
    }

    /// Encrypts or decrypts by AES-256-CTR. Returns false if the library fails.
    fn apply(&self, tag: &[u8], text: &mut [u8], encrypts: bool) -> bool {
        let iv: [u8; IV_BYTES] = tag.first_chunk().copied().unwrap_or_default();
        let iv = FixedLength::from(iv);
        let Ok(key) = UnboundCipherKey::new(&AES_256, &self.cipher) else {
            return false;
        };
        match encrypts {
            true => EncryptingKey::ctr(key).is_ok_and(|key| {
                let context = EncryptionContext::Iv128(iv);
                key.less_safe_encrypt(text, context).is_ok()
            }),
            false => DecryptingKey::ctr(key).is_ok_and(|key| {
                let context = DecryptionContext::Iv128(iv);
                key.decrypt(text, context).is_ok()
            }),
        }
    }
}

impl Wrapper {
    /// Returns the protection of a client's session that begins at `unix_time` seconds since 1970.
    pub(crate) fn new(protection: &Protection, unix_time: u32) -> Self {
        let form = match protection {
            Protection::None => WrapperForm::Plain,
            Protection::TlsAuth {
                key,
                digest,
                direction,
            } => {
                let (send, receive) = match direction {
                    None => (0, 0),
                    Some(0) => (0, 1),
                    Some(_) => (1, 0),
                };
                let len = digest.key_len();
                let mac = |slot| Mac::new(*digest, key.hmac(slot).get(..len).unwrap_or_default());
                WrapperForm::TlsAuth(Box::new(AuthKeys {
                    send: mac(send),
                    receive: mac(receive),
                    sum: len,
                }))
            }
            Protection::TlsCrypt { key } => {
                WrapperForm::TlsCrypt(Box::new([CryptKey::new(key, 1), CryptKey::new(key, 0)]))
            }
        };
        Self {
            form,
            next_id: 1,
            time: unix_time,
            window: Window::new(WINDOW),
        }
    }

    /// Returns the packet of a front and a body.
    pub(crate) fn seal(&mut self, front: [u8; FRONT_BYTES], body: &[u8]) -> Vec<u8> {
        let mut replay = [0; REPLAY_BYTES];
        replay[..4].copy_from_slice(&self.next_id.to_be_bytes());
        replay[4..].copy_from_slice(&self.time.to_be_bytes());
        match &self.form {
            WrapperForm::Plain => return [&front, body].concat(),
            _ => self.next_id = self.next_id.wrapping_add(1),
        }
        match &self.form {
            WrapperForm::Plain => Vec::new(),
            WrapperForm::TlsAuth(keys) => {
                let digest = hmac(&keys.send, &[&replay, &front[..], body].concat());
                [&front, &digest[..keys.sum], &replay, body].concat()
            }
            WrapperForm::TlsCrypt(keys) => {
                let tag = hmac(&keys[0].mac, &[&front, &replay[..], body].concat());
                let tag = &tag[..TAG_BYTES];
                let mut text = body.to_vec();
                match keys[0].apply(tag, &mut text, true) {
                    true => [&front, &replay[..], tag, &text].concat(),
                    false => Vec::new(),
                }
            }
        }
    }

    /// Checks a packet, and returns its body.
    ///
    /// # Errors
    /// [`Fault::Malformed`], [`Fault::Protection`] for a wrong HMAC, and [`Fault::Replayed`].
    pub(crate) fn open(&mut self, packet: &[u8]) -> Result<Vec<u8>, Fault> {
        let (front, rest) = packet
            .split_first_chunk::<FRONT_BYTES>()
            .ok_or(Fault::Malformed)?;
        let (body, replay) = match &self.form {
            WrapperForm::Plain => return Ok(rest.to_vec()),
            WrapperForm::TlsAuth(keys) => {
                let (digest, rest) = rest.split_at_checked(keys.sum).ok_or(Fault::Malformed)?;
                let (replay, body) = rest.split_first_chunk().ok_or(Fault::Malformed)?;
                let wanted = hmac(&keys.receive, &[replay, &front[..], body].concat());
                if !bool::from(wanted[..keys.sum].ct_eq(digest)) {
                    return Err(Fault::Protection);
                }
                (body.to_vec(), *replay)
            }
            WrapperForm::TlsCrypt(keys) => {
                let (replay, rest) = rest.split_first_chunk().ok_or(Fault::Malformed)?;
                let (tag, text) = rest.split_at_checked(TAG_BYTES).ok_or(Fault::Malformed)?;
                let mut body = text.to_vec();
                if !keys[1].apply(tag, &mut body, false) {
                    return Err(Fault::Protection);
                }
                let wanted = hmac(&keys[1].mac, &[front, &replay[..], &body].concat());
                if !bool::from(wanted[..TAG_BYTES].ct_eq(tag)) {
                    return Err(Fault::Protection);
                }
                (body, *replay)
            }
        };
        self.check_replay(replay)?;
        Ok(body)
    }

    /// Marks the number of an authenticated packet as received.
    fn check_replay(&mut self, replay: [u8; REPLAY_BYTES]) -> Result<(), Fault> {
        let (low, high) = (
            u64::from_be_bytes(replay) >> 32,
            u64::from_be_bytes(replay) << 32,
        );
        let mut is_new = [true];
        self.window
            .take(&mut is_new, |_| Some(high | low), |is_new| *is_new = false);
        match is_new[0] {
            true => Ok(()),
            false => Err(Fault::Replayed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::static_key::tests::numbered;

    fn pair(protection: [Protection; 2]) -> [Wrapper; 2] {
        protection.map(|protection| Wrapper::new(&protection, 1_700_000_000))
    }

    fn protections() -> Vec<[Protection; 2]> {
        let key = numbered();
        let tls_auth = |digest, direction: Option<u8>| Protection::TlsAuth {
            key: key.clone(),
            digest,
            direction,
        };
        let digests = [Digest::Md5, Digest::Sha1, Digest::Sha256, Digest::Sha512];
        let directed = digests.map(|digest| [tls_auth(digest, Some(1)), tls_auth(digest, Some(0))]);
        let mut all = directed.to_vec();
        all.push([tls_auth(Digest::Sha1, None), tls_auth(Digest::Sha1, None)]);
        all
    }

    #[test]
    fn tls_auth_opens_what_the_peer_sealed_once_and_no_changed_packet() {
        for protection in protections() {
            let [mut client, mut server] = pair(protection);
            let packet = client.seal([0x38, 1, 2, 3, 4, 5, 6, 7, 8], b"body");
            for at in 0..packet.len() {
                let mut changed = packet.clone();
                changed[at] ^= 1;
                assert_eq!(server.open(&changed), Err(Fault::Protection), "byte {at}");
                assert!(server.open(&packet[..at]).is_err());
            }
            assert_eq!(server.open(&packet), Ok(b"body".to_vec()));
            assert_eq!(server.open(&packet), Err(Fault::Replayed));
            let next = client.seal([0x38; 9], b"");
            assert_eq!(server.open(&next), Ok(Vec::new()));
        }
    }

    #[test]
    fn tls_crypt_encrypts_bodies_and_opens_no_changed_packet() {
        let key = numbered();
        let mut client = Wrapper::new(&Protection::TlsCrypt { key: key.clone() }, 7);
        let mut server = Wrapper::new(&Protection::TlsCrypt { key }, 7);
        if let WrapperForm::TlsCrypt(keys) = &mut server.form {
            keys.swap(0, 1);
        }
        let packet = client.seal([0x38; 9], b"a body in clear text");
        assert!(!packet.windows(4).any(|part| part == b"body"));
        for at in 0..packet.len() {
            let mut changed = packet.clone();
            changed[at] ^= 1;
            assert_eq!(server.open(&changed), Err(Fault::Protection));
        }
        assert_eq!(server.open(&packet), Ok(b"a body in clear text".to_vec()));
        assert_eq!(server.open(&packet), Err(Fault::Replayed));
    }
}
