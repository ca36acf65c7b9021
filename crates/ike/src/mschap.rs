//! MS-CHAPv2 (RFC 2759) and its session keys (RFC 3079).

use des::cipher::{Array, BlockCipherEncrypt as _, KeyInit as _};

use crate::config::Secret;
use crate::crypto::digest;
use crate::suite::Hash;

const SIGNING: &[u8] = b"Magic server to client signing constant";
const PAD: &[u8] = b"Pad to make it do more than one iteration";
const MASTER: &[u8] = b"This is the MPPE Master Key";
const TO_SERVER: &[u8] =
    b"On the client side, this is the send key; on the server side, it is the receive key.";
const TO_CLIENT: &[u8] =
    b"On the client side, this is the receive key; on the server side, it is the send key.";

/// Values computed from the password and both challenges.
pub(crate) struct Done {
    /// NT response of the user.
    pub(crate) response: Vec<u8>,
    /// Authenticator response of the server: `S=` and 40 hexadecimal digits.
    pub(crate) proof: String,
    /// EAP session key: receive key of the server, its send key, and 32 zeros.
    pub(crate) msk: Secret,
}

/// Computes responses and key. User and password are UTF-8; `theirs` (server) and `own` (client) are 16 bytes
/// each.
pub(crate) fn answer(user: &[u8], password: &[u8], theirs: &[u8], own: &[u8]) -> Done {
    let text = String::from_utf8_lossy(password);
    let unicode: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let hash = Secret::new(md4(Secret::new(unicode).bytes()));
    let twice = Secret::new(md4(hash.bytes()));
    // The hash covers the name without its domain.
    let name = user.rsplit(|byte| *byte == b'\\').next().unwrap_or(user);
    let mut challenge = digest(Hash::Sha1, &[own, theirs, name]);
    challenge.truncate(8);
    let response = encrypt(&challenge, hash.bytes());
    let signed = digest(Hash::Sha1, &[twice.bytes(), &response, SIGNING]);
    let proof = digest(Hash::Sha1, &[&signed, &challenge, PAD]);
    let proof = proof
        .iter()
        .map(|byte| format!("{byte:02X}"))
        .collect::<String>();
    let half = |bytes: Vec<u8>| Secret::new(bytes.get(..16).unwrap_or_default());
    let master = half(digest(Hash::Sha1, &[twice.bytes(), &response, MASTER]));
    let key = |magic| {
        half(digest(
            Hash::Sha1,
            &[master.bytes(), &[0; 40], magic, &[0xf2; 40]],
        ))
    };
    let msk = [key(TO_SERVER).bytes(), key(TO_CLIENT).bytes(), &[0; 32]].concat();
    Done {
        response,
        proof: format!("S={proof}"),
        msk: Secret::new(msk),
    }
}

/// Encrypts a challenge by DES with three 7-byte parts of a hash (RFC 2759, 8.5).
fn encrypt(challenge: &[u8], hash: &[u8]) -> Vec<u8> {
    let mut padded = hash.to_vec();
    padded.resize(21, 0);
    let mut out = Vec::new();
    for part in padded.chunks_exact(7) {
        let bits = part
            .iter()
            .fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
        // Seven key bits per byte; DES ignores the parity bit.
        let key: [u8; 8] = core::array::from_fn(|at| ((bits >> (49 - 7 * at)) as u8) << 1);
        let Ok(mut block) = Array::try_from(challenge) else {
            return out;
        };
        des::Des::new(&Array::from(key)).encrypt_block(&mut block);
        out.extend_from_slice(&block);
    }
    out
}

/// MD4 (RFC 1320); only MS-CHAP needs it.
fn md4(bytes: &[u8]) -> Vec<u8> {
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    padded.resize((padded.len() + 8).next_multiple_of(64) - 8, 0);
    padded.extend_from_slice(&(bytes.len() as u64 * 8).to_le_bytes());
    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for block in padded.chunks_exact(64) {
        let mut words = [0_u32; 16];
        for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        state = md4_block(state, &words);
    }
    state.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn md4_block(state: [u32; 4], words: &[u32; 16]) -> [u32; 4] {
    const ORDER2: [usize; 16] = [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15];
    const ORDER3: [usize; 16] = [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15];
    let [mut a, mut b, mut c, mut d] = state;
    for step in 0..48 {
        let (mixed, word, constant, shifts) = match step / 16 {
            0 => ((b & c) | (!b & d), step, 0, [3, 7, 11, 19]),
            1 => (
                (b & c) | (b & d) | (c & d),
                ORDER2[step % 16],
                0x5a82_7999,
                [3, 5, 9, 13],
            ),
            _ => (b ^ c ^ d, ORDER3[step % 16], 0x6ed9_eba1, [3, 9, 11, 15]),
        };
        let sum = a
            .wrapping_add(mixed)
            .wrapping_add(words[word])
            .wrapping_add(constant);
        (a, d, c, b) = (d, c, b, sum.rotate_left(shifts[step % 4]));
    }
    let [a0, b0, c0, d0] = state;
    [
        a.wrapping_add(a0),
        b.wrapping_add(b0),
        c.wrapping_add(c0),
        d.wrapping_add(d0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::tests::{hex, unhex};

    #[test]
    fn md4_gives_what_rfc_1320_says() {
        assert_eq!(hex(&md4(b"")), "31d6cfe0d16ae931b73c59d7e0c089c0");
        let long =
            b"12345678901234567890123456789012345678901234567890123456789012345678901234567890";
        assert_eq!(hex(&md4(long)), "e33b4ddc9c38f2199c3e7b164fcc0536");
    }

    #[test]
    fn a_challenge_is_answered_as_rfc_2759_says() {
        // RFC 2759, 9.2.
        let theirs = unhex("5b5d7c7d7b3f2f3e3c2c602132262628");
        let own = unhex("21402324255e262a28295f2b3a337c7e");
        let done = answer(b"User", b"clientPass", &theirs, &own);
        assert_eq!(
            hex(&done.response),
            "82309ecd8d708b5ea08faa3981cd83544233114a3d85d6df"
        );
        assert_eq!(done.proof, "S=407A5589115FD0D6209F510FE9C04566932CDA56");
    }
}
