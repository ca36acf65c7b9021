//! Authentication and encryption with the shared secret (RFC 2865, 3 and 5.2; RFC 2866, 3; RFC 2869, 5.14; RFC 5176,
//! 2.3).

use md5::Context;
use subtle::ConstantTimeEq as _;
use wire::radius::{Packet, kind};

/// Length of an authenticator and of an MD5 digest.
pub(super) const SUM: usize = 16;
/// Block length of MD5.
const BLOCK: usize = 64;
/// Maximum password length (RFC 2865, 5.2).
pub const PASSWORD: usize = 128;

fn md5(parts: &[&[u8]]) -> [u8; SUM] {
    let mut sum = Context::new();
    parts.iter().for_each(|part| sum.consume(part));
    sum.finalize().0
}

/// HMAC-MD5 (RFC 2104).
pub(super) fn hmac(key: &[u8], message: &[&[u8]]) -> [u8; SUM] {
    let mut block = [0; BLOCK];
    let short = md5(&[key]);
    let key = if key.len() > BLOCK { &short[..] } else { key };
    block
        .iter_mut()
        .zip(key)
        .for_each(|(slot, byte)| *slot = *byte);
    let mut inner = Context::new();
    inner.consume(block.map(|byte| byte ^ 0x36));
    message.iter().for_each(|part| inner.consume(part));
    let inner = inner.finalize().0;
    md5(&[&block.map(|byte| byte ^ 0x5c), &inner])
}

/// Encrypts a password: each block of 16 bytes is XORed with MD5 over the secret and the previous block.
pub(super) fn hide(password: &[u8], secret: &[u8], authenticator: &[u8; SUM]) -> Vec<u8> {
    let mut hidden = password.get(..PASSWORD).unwrap_or(password).to_vec();
    hidden.resize(hidden.len().max(1).next_multiple_of(SUM), 0);
    let mut before = *authenticator;
    for piece in hidden.chunks_exact_mut(SUM) {
        let sum = md5(&[secret, &before]);
        piece.iter_mut().zip(sum).for_each(|(byte, of)| *byte ^= of);
        before.copy_from_slice(piece);
    }
    hidden
}

/// Decrypts a value that was encrypted like a password (RFC 2548, 2.4.1); `None` if its length is no multiple of 16.
pub(super) fn reveal_password(
    hidden: &[u8],
    secret: &[u8],
    authenticator: &[u8; SUM],
) -> Option<Vec<u8>> {
    let (pieces, []) = hidden.as_chunks::<SUM>() else {
        return None;
    };
    let mut before = authenticator;
    let mut shown = Vec::with_capacity(hidden.len());
    for piece in pieces {
        let sum = md5(&[secret, before]);
        shown.extend(piece.iter().zip(sum).map(|(byte, of)| byte ^ of));
        before = piece;
    }
    Some(shown)
}

/// Decrypts an MS-MPPE key (RFC 2548, 2.4.2); `None` if malformed.
pub(super) fn reveal(hidden: &[u8], secret: &[u8], authenticator: &[u8; SUM]) -> Option<Vec<u8>> {
    let (salt, hidden) = hidden.split_first_chunk::<2>()?;
    let mut before = [&authenticator[..], salt].concat();
    let mut shown = Vec::with_capacity(hidden.len());
    for piece in hidden.chunks_exact(SUM) {
        let sum = md5(&[secret, &before]);
        shown.extend(piece.iter().zip(sum).map(|(byte, of)| byte ^ of));
        before = piece.to_vec();
    }
    let (len, rest) = shown.split_first()?;
    Some(rest.get(..usize::from(*len))?.to_vec())
}

/// Fills in the zeroed Message-Authenticator and, for accounting, the request authenticator.
pub(super) fn sign(bytes: &mut [u8], secret: &[u8], is_accounting: bool) {
    let at = Packet::new_checked(bytes)
        .ok()
        .and_then(|packet| packet.get(kind::MESSAGE_AUTHENTICATOR));
    let at = at.map(|attribute| attribute.at);
    let sum = hmac(secret, &[bytes]);
    if let Some(slot) = at.and_then(|at| bytes.get_mut(at..at + SUM)) {
        slot.copy_from_slice(&sum);
    }
    if is_accounting {
        let sum = md5(&[bytes, secret]);
        if let Some(slot) = bytes.get_mut(4..4 + SUM) {
            slot.copy_from_slice(&sum);
        }
    }
}

/// Signs a packet of a server: a request (RFC 5176, 2.3) with a zeroed authenticator, or an answer that still has the
/// authenticator of its request (RFC 2865, 3).
pub fn sign_as_server(bytes: &mut [u8], secret: &[u8]) {
    sign(bytes, secret, true);
}

/// Verifies an answer to the request with this authenticator.
pub(super) fn is_proved(
    answer: &Packet<'_>,
    asked: &[u8; SUM],
    secret: &[u8],
    needs_message_authenticator: bool,
) -> bool {
    let Some((head, attributes)) = answer
        .bytes()
        .split_first_chunk::<{ wire::radius::HEADER }>()
    else {
        return false;
    };
    let wanted = md5(&[&head[..4], asked, attributes, secret]);
    let is_its = bool::from(wanted.ct_eq(&answer.authenticator()));
    is_its
        && match answer.get(kind::MESSAGE_AUTHENTICATOR) {
            None => !needs_message_authenticator,
            Some(attribute) => {
                let Ok(given) = <[u8; SUM]>::try_from(attribute.value) else {
                    return false;
                };
                let (before, behind) = (attribute.at - wire::radius::HEADER, attribute.at + SUM);
                let whole = answer.bytes();
                let wanted = hmac(
                    secret,
                    &[
                        &head[..4],
                        asked,
                        attributes.get(..before).unwrap_or_default(),
                        &[0; SUM],
                        whole.get(behind..).unwrap_or_default(),
                    ],
                );
                bool::from(wanted.ct_eq(&given))
            }
        }
}

/// Verifies a request of a server (RFC 5176).
pub fn is_servers(request: &Packet<'_>, secret: &[u8]) -> bool {
    is_proved(request, &[0; SUM], secret, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hmac_matches_rfc_2202() {
        let cases: [(&[u8], &[u8], [u8; SUM]); 3] = [
            (
                &[0x0b; 16],
                b"Hi There",
                0x9294_727a_3638_bb1c_13f4_8ef8_158b_fc9d_u128.to_be_bytes(),
            ),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                0x750c_783e_6ab0_b503_eaa8_6e31_0a5d_b738_u128.to_be_bytes(),
            ),
            (
                &[0xaa; 80],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                0x6b1a_b7fe_4bd7_bf8f_0b62_e6ce_61b9_d0cd_u128.to_be_bytes(),
            ),
        ];
        for (key, message, sum) in cases {
            assert_eq!(hmac(key, &[message]), sum);
        }
    }

    /// RFC 2865, 7.1: the user `nemo` with the password `arctangent`.
    #[test]
    fn a_password_is_hidden_as_in_rfc_2865() {
        let authenticator = 0x0f40_3f94_7397_8057_bd83_d5cb_98f4_227a_u128.to_be_bytes();

        let hidden = hide(b"arctangent", b"xyzzy5461", &authenticator);

        let wanted: [u8; 16] = 0x0dbe_708d_93d4_13ce_3196_e43f_782a_0aee_u128.to_be_bytes();
        assert_eq!(hidden, wanted);
        let shown = reveal_password(&hidden, b"xyzzy5461", &authenticator);
        assert_eq!(shown.as_deref(), Some(&b"arctangent\0\0\0\0\0\0"[..]));
        assert_eq!(
            reveal_password(&hidden[1..], b"xyzzy5461", &authenticator),
            None
        );
        let long = hide(&[7; 48], b"x", &authenticator);
        assert_eq!(
            reveal_password(&long, b"x", &authenticator),
            Some(vec![7; 48])
        );
        assert_eq!(hide(&[7; 200], b"x", &authenticator).len(), PASSWORD);
        assert_eq!(hide(b"", b"x", &authenticator).len(), 16);
    }

    /// RFC 2865, 7.1: the answer to this request.
    #[test]
    fn response_authenticators_follow_rfc_2865() {
        let asked = 0x0f40_3f94_7397_8057_bd83_d5cb_98f4_227a_u128.to_be_bytes();
        let mut answer = vec![
            0x02, 0x00, 0x00, 0x26, 0x86, 0xfe, 0x22, 0x0e, 0x76, 0x24, 0xba, 0x2a, 0x10, 0x05,
            0xf6, 0xbf, 0x9b, 0x55, 0xe0, 0xb2, 0x06, 0x06, 0x00, 0x00, 0x00, 0x01, 0x0f, 0x06,
            0x00, 0x00, 0x00, 0x00, 0x0e, 0x06, 0xc0, 0xa8, 0x01, 0x03,
        ];
        let proved = |bytes: &[u8], needs| {
            let packet = Packet::new_checked(bytes).expect("it is one");
            is_proved(&packet, &asked, b"xyzzy5461", needs)
        };

        assert!(proved(&answer, false));
        assert!(!proved(&answer, true));
        for at in (0..answer.len()).filter(|at| !matches!(at, 2 | 3 | 21 | 27 | 33)) {
            answer[at] ^= 1;
            assert!(!proved(&answer, false), "byte {at}");
            answer[at] ^= 1;
        }
    }
}
