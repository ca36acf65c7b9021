//! AEADs (RFC 4106, RFC 7634): nonce is salt and vector, SPI and number are authenticated.

use aws_lc_rs::aead::{Aad, LessSafeKey, Nonce};

use super::Salt;
use crate::Fault;
use crate::association::HEADER;
use crate::work::Work;

/// Bytes that are authenticated and not encrypted: SPI and number, which is whole where numbers are
/// extended (RFC 4106, 5).
struct Additional {
    bytes: [u8; 12],
    len: usize,
}

impl AsRef<[u8]> for Additional {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

fn parts<'a>(salt: &Salt, header: &[u8; 16], implied: Option<[u8; 4]>) -> (Nonce, Aad<Additional>) {
    let mut nonce = [0; 12];
    nonce[..4].copy_from_slice(salt);
    nonce[4..].copy_from_slice(&header[HEADER..]);
    let mut bytes = [0; 12];
    let len = match implied {
        None => {
            bytes[..8].copy_from_slice(&header[..8]);
            8
        }
        Some(high) => {
            bytes[..4].copy_from_slice(&header[..4]);
            bytes[4..8].copy_from_slice(&high);
            bytes[8..].copy_from_slice(&header[4..8]);
            12
        }
    };
    let nonce = Nonce::assume_unique_for_key(nonce);
    (nonce, Aad::from(Additional { bytes, len }))
}

pub(super) fn lock<S, O>(
    key: &LessSafeKey,
    salt: &Salt,
    work: &mut Work<'_, S, O>,
    implied: Option<[u8; 4]>,
) {
    let len = work.text_len();
    let Some((header, rest)) = work.bytes.split_first_chunk_mut() else {
        work.fault = Some(Fault::Room);
        return;
    };
    let (nonce, aad) = parts(salt, header, implied);
    let Some((text, icv)) = rest.split_at_mut_checked(len) else {
        work.fault = Some(Fault::Room);
        return;
    };
    match key.seal_in_place_separate_tag(nonce, aad, text) {
        Ok(tag) if tag.as_ref().len() == icv.len() => icv.copy_from_slice(tag.as_ref()),
        _ => work.fault = Some(Fault::Room),
    }
}

pub(super) fn unlock<S, O>(
    key: &LessSafeKey,
    salt: &Salt,
    work: &mut Work<'_, S, O>,
    implied: Option<[u8; 4]>,
) {
    let Some((header, rest)) = work.bytes.split_first_chunk_mut() else {
        work.fault = Some(Fault::Malformed);
        return;
    };
    let (nonce, aad) = parts(salt, header, implied);
    if key.open_in_place(nonce, aad, rest).is_err() {
        work.fault = Some(Fault::Integrity);
    }
}
