//! ChaCha20-Poly1305 (RFC 7634): the nonce is salt and initialization vector; SPI and sequence number are
//! authenticated.

use aws_lc_rs::aead::{Aad, LessSafeKey, Nonce};

use super::{Additional, Salt};
use crate::Fault;
use crate::association::{HEADER_BYTES, Shared};
use crate::work::Work;

fn nonce(salt: &Salt, header: &[u8; 16]) -> Nonce {
    let mut nonce = [0; 12];
    nonce[..4].copy_from_slice(salt);
    nonce[4..].copy_from_slice(&header[HEADER_BYTES..]);
    Nonce::assume_unique_for_key(nonce)
}

pub(super) fn lock<S, O>(
    key: &LessSafeKey,
    salt: &Salt,
    shared: &Shared,
    work: &mut [Work<'_, S, O>],
) {
    for packet in work {
        let aad = Aad::from(Additional::of(packet.bytes, shared.implied(packet.number)));
        let len = packet.text_len();
        let sealed = packet
            .bytes
            .split_first_chunk_mut()
            .and_then(|(header, rest)| {
                let (text, icv) = rest.split_at_mut_checked(len)?;
                let nonce = nonce(salt, header);
                let tag = key.seal_in_place_separate_tag(nonce, aad, text).ok()?;
                *icv.first_chunk_mut()? = *tag.as_ref().first_chunk::<16>()?;
                Some(())
            });
        if sealed.is_none() {
            packet.fault = Some(Fault::Room);
        }
    }
}

pub(super) fn unlock<S, O>(
    key: &LessSafeKey,
    salt: &Salt,
    shared: &Shared,
    work: &mut [Work<'_, S, O>],
) {
    for packet in work {
        let aad = Aad::from(Additional::of(packet.bytes, shared.implied(packet.number)));
        let opened = packet
            .bytes
            .split_first_chunk_mut()
            .and_then(|(header, rest)| {
                key.open_in_place(nonce(salt, header), aad, rest)
                    .ok()
                    .map(|_| ())
            });
        if opened.is_none() {
            packet.fault = Some(Fault::Integrity);
        }
    }
}
