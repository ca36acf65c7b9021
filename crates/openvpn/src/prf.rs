//! Pseudo-random function of TLS 1.0 (RFC 2246, 5), and the key material that OpenVPN derives with it.

use esp::mac::{Mac, Message, Sum, sums};
use zeroize::Zeroizing;

use crate::packet::Sid;
use crate::record::{PRE_MASTER_BYTES, RANDOM_BYTES};
use crate::suite::{Digest, MATERIAL_BYTES};

/// Returns the untruncated HMAC of a message.
pub(crate) fn hmac(mac: &Mac, bytes: &[u8]) -> Sum {
    let message = Message {
        mac,
        bytes,
        implied: None,
    };
    sums(&[message]).first().copied().unwrap_or([0; _])
}

/// Random input of both ends.
pub(crate) struct Seeds<'a> {
    pub(crate) pre_master: &'a [u8; PRE_MASTER_BYTES],
    pub(crate) client: [&'a [u8; RANDOM_BYTES]; 2],
    pub(crate) server: [&'a [u8; RANDOM_BYTES]; 2],
    pub(crate) client_session: Sid,
    pub(crate) server_session: Sid,
}

impl Seeds<'_> {
    /// Derives the key material of both directions (OpenVPN: `generate_key_expansion_openvpn_prf`).
    pub(crate) fn expand(&self) -> Zeroizing<[u8; MATERIAL_BYTES]> {
        let mut master = Zeroizing::new([0; 48]);
        let [client, server] = [self.client[0], self.server[0]];
        let seed: [&[u8]; 3] = [b"OpenVPN master secret", client, server];
        prf(self.pre_master, &seed, &mut *master);
        let mut material = Zeroizing::new([0; MATERIAL_BYTES]);
        let seed: [&[u8]; 5] = [
            b"OpenVPN key expansion",
            self.client[1],
            self.server[1],
            &self.client_session,
            &self.server_session,
        ];
        prf(&*master, &seed, &mut *material);
        material
    }
}

/// Fills `out` with the XOR of the expansions by MD5 and SHA-1. The halves of a secret of odd length share a byte.
fn prf(secret: &[u8], seed: &[&[u8]], out: &mut [u8]) {
    let half = secret.len().div_ceil(2);
    let seed = seed.concat();
    out.fill(0);
    let halves = [
        (Digest::Md5, secret.get(..half)),
        (Digest::Sha1, secret.get(secret.len() - half..)),
    ];
    for (digest, half) in halves {
        let mac = Mac::new(digest, half.unwrap_or_default());
        expand(&mac, digest.key_len(), &seed, out);
    }
}

/// XORs `out` with the expansion by one hash, whose digest has `len` bytes (RFC 2246, 5: `P_hash`).
fn expand(mac: &Mac, len: usize, seed: &[u8], out: &mut [u8]) {
    let mut input = Zeroizing::new(seed.to_vec());
    for chunk in out.chunks_mut(len) {
        let a = Zeroizing::new(hmac(mac, &input));
        input.clear();
        input.extend_from_slice(&a[..len]);
        let whole = Zeroizing::new([&a[..len], seed].concat());
        let sum = Zeroizing::new(hmac(mac, &whole));
        for (byte, other) in chunk.iter_mut().zip(sum.iter()) {
            *byte ^= other;
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("digits");
        (0..text.len()).step_by(2).map(digit).collect()
    }

    /// Vector of OpenVPN's unit test `test_crypto.c`.
    #[test]
    fn the_function_gives_openvpns_known_answer() {
        let secret = b"Lorem ipsum dolor sit amet, consectetur adipisici elit, sed eiusmod tempor incidunt ut labore \
                       et dolore magna aliqua.";
        let seed: &[u8] = b"Quis aute iure reprehenderit in voluptate velit esse cillum dolore";
        let mut out = [0; 32];
        prf(secret, &[seed], &mut out);
        assert_eq!(
            out.to_vec(),
            hex("d98c8518c85e946927916acfc2d592fbb1567e4b4b1459e6a904ac2ddab72d67")
        );
    }

    /// Key material of known random numbers and session ids.
    pub(crate) fn known_material() -> [u8; MATERIAL_BYTES] {
        let pre_master = core::array::from_fn(|n| n as u8);
        let seeds = Seeds {
            pre_master: &pre_master,
            client: [&[0x11; 32], &[0x12; 32]],
            server: [&[0x21; 32], &[0x22; 32]],
            client_session: [1, 2, 3, 4, 5, 6, 7, 8],
            server_session: [0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8],
        };
        *seeds.expand()
    }

    #[test]
    fn the_key_material_of_a_session_is_a_known_answer() {
        let material = known_material();
        for (at, wanted) in [
            (
                0,
                "e5d965df5dd293e5862653b578b10d4c84a77784882e623d5a7f13e4e3d31b4d",
            ),
            (
                64,
                "17b4ee221553807bff46e5cca4ad2314516e9bb68d4fb3989683076248e583c8",
            ),
            (
                128,
                "c06b0079f95793d5451b833a085c8f6cd29d14773c8a1567e00f47d139aae4a2",
            ),
            (
                192,
                "3878477f9643b576f67fef09d665d6167b15debc8c7dd09de5c6f5f8cc1500ab",
            ),
        ] {
            assert_eq!(material[at..at + 32].to_vec(), hex(wanted));
        }
    }
}
