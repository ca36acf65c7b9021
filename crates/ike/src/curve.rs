//! ECDSA signatures (r, s) in raw form and in DER.

use crate::config::Scheme;
use crate::der;

/// Returns the length of r and of s in bytes; `None` for RSA.
pub(crate) const fn half(scheme: Scheme) -> Option<usize> {
    match scheme {
        Scheme::EcdsaP256 => Some(32),
        Scheme::EcdsaP384 => Some(48),
        Scheme::EcdsaP521 => Some(66),
        _ => None,
    }
}

/// Encodes a signature, r and s of `half` bytes each, in DER (RFC 3279, 2.2.3). Returns `None` for a shorter one.
pub(crate) fn to_der(signature: &[u8], half: usize) -> Option<Vec<u8>> {
    let (r, s) = signature.split_at_checked(half)?;
    let number = |bytes: &[u8]| {
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        let bytes = bytes.get(zeros..).unwrap_or_default();
        let sign: &[u8] = if bytes.first().is_none_or(|byte| *byte >= 0x80) {
            &[0]
        } else {
            &[]
        };
        der::short(2, &[sign, bytes])
    };
    let contents = [number(r), number(s)].concat();
    let len = contents.len() as u8;
    let head: &[u8] = if len < 0x80 {
        &[0x30, len]
    } else {
        &[0x30, 0x81, len]
    };
    Some([head, &contents].concat())
}

/// Decodes a signature in DER into r and s of `half` bytes each. Returns `None` for malformed DER and longer numbers.
pub(crate) fn of_der(bytes: &[u8], half: usize) -> Option<Vec<u8>> {
    let (_, contents) = der::of(bytes)?;
    let mut out = Vec::new();
    let mut rest = contents;
    for _ in 0..2 {
        let (number, after) = der::first(rest)?;
        let zeros = number.iter().take_while(|byte| **byte == 0).count();
        let number = number.get(zeros..)?;
        out.resize(out.len() + half.checked_sub(number.len())?, 0);
        out.extend_from_slice(number);
        rest = after;
    }
    Some(out)
}
