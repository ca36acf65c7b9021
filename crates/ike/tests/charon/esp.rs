//! Minimal ESP (RFC 4303) for a ping: AES-CBC with HMAC-SHA1-96, without replay window.

use aes::Aes256;
use aes::cipher::{Array, BlockCipherDecrypt as _, BlockCipherEncrypt as _, KeyInit as _};
use hmac::{Hmac, Mac as _};
use ike::Sa;
use sha1::Sha1;

fn check(sa: &Sa, bytes: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha1>::new_from_slice(sa.authentication_key.bytes()).expect("a key");
    mac.update(bytes);
    mac.finalize().into_bytes()[..12].to_vec()
}

fn cipher(sa: &Sa) -> Aes256 {
    Aes256::new_from_slice(sa.encryption_key.bytes()).expect("a key of 256 bits")
}

fn sum(bytes: &[u8]) -> [u8; 2] {
    let words = bytes
        .chunks(2)
        .map(|two| u32::from(two[0]) << 8 | u32::from(*two.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

/// Builds an echo request from 10.1.0.1 to 10.2.0.1.
pub(crate) fn ping() -> Vec<u8> {
    let mut icmp = vec![8, 0, 0, 0, 0, 7, 0, 1];
    icmp.extend_from_slice(b"through the tunnel");
    let icmp_sum = sum(&icmp);
    icmp[2..4].copy_from_slice(&icmp_sum);
    let len = (20 + icmp.len() as u16).to_be_bytes();
    let mut packet = vec![
        0x45, 0, len[0], len[1], 0, 1, 0, 0, 64, 1, 0, 0, 10, 1, 0, 1, 10, 2, 0, 1,
    ];
    let header_sum = sum(&packet);
    packet[10..12].copy_from_slice(&header_sum);
    packet.extend_from_slice(&icmp);
    packet
}

/// Returns true for the reply to [`ping`].
pub(crate) fn is_reply(packet: &[u8]) -> bool {
    packet.len() > 28
        && packet[9] == 1
        && packet[20] == 0
        && packet[12..20] == [10, 2, 0, 1, 10, 1, 0, 1]
}

pub(crate) fn seal(sa: &Sa, sequence: u32, packet: &[u8]) -> Vec<u8> {
    let mut plain = packet.to_vec();
    let padding = (plain.len() + 2).next_multiple_of(16) - plain.len() - 2;
    plain.extend(1..=padding as u8);
    plain.extend_from_slice(&[padding as u8, 4]);
    let mut last = [sequence as u8; 16];
    let mut out = [sa.spi.to_be_bytes(), sequence.to_be_bytes()].concat();
    out.extend_from_slice(&last);
    for block in plain.chunks(16) {
        let mut block = Array::from(core::array::from_fn::<u8, 16, _>(|at| block[at] ^ last[at]));
        cipher(sa).encrypt_block(&mut block);
        last = block.into();
        out.extend_from_slice(&last);
    }
    let check = check(sa, &out);
    out.extend_from_slice(&check);
    out
}

pub(crate) fn open(sa: &Sa, bytes: &[u8]) -> Option<Vec<u8>> {
    let (covered, icv) = bytes.split_at_checked(bytes.len().checked_sub(12)?)?;
    if check(sa, covered) != icv {
        return None;
    }
    let mut plain = Vec::new();
    let blocks = covered.get(8..)?;
    for two in blocks.chunks(16).collect::<Vec<_>>().windows(2) {
        let mut block = Array::from(<[u8; 16]>::try_from(two[1]).ok()?);
        cipher(sa).decrypt_block(&mut block);
        plain.extend(block.iter().zip(two[0]).map(|(byte, before)| byte ^ before));
    }
    let padding = usize::from(*plain.get(plain.len().checked_sub(2)?)?);
    plain.truncate(plain.len().checked_sub(padding + 2)?);
    Some(plain)
}
