//! Minimal DER: writes short elements, and reads subject and public key of a certificate (RFC 5280, 4.1).

/// Tag, contents, whole element with header, and the bytes that follow it.
type Element<'a> = (u8, &'a [u8], &'a [u8], &'a [u8]);

/// Splits the first element off.
fn element(bytes: &[u8]) -> Option<Element<'_>> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (len, rest) = if *first < 0x80 {
        (usize::from(*first), rest)
    } else {
        let count = usize::from(first & 0x7f);
        let (digits, rest) = rest.split_at_checked(count).filter(|_| count <= 4)?;
        let len = digits
            .iter()
            .fold(0_usize, |all, byte| all << 8 | usize::from(*byte));
        (len, rest)
    };
    let (contents, after) = rest.split_at_checked(len)?;
    let whole = bytes.get(..bytes.len() - after.len())?;
    Some((*tag, contents, whole, after))
}

/// Encodes an element with contents of less than 128 bytes.
pub(crate) fn short(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let contents = parts.concat();
    [&[tag, contents.len() as u8], contents.as_slice()].concat()
}

/// Returns tag and contents; `None` if bytes follow the element.
pub(crate) fn of(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let (tag, contents, _, after) = element(bytes)?;
    after.is_empty().then_some((tag, contents))
}

/// Returns the contents of the first element and the bytes that follow it.
pub(crate) fn first(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (_, contents, _, after) = element(bytes)?;
    Some((contents, after))
}

/// Iterates over the elements of the TBSCertificate, beginning with the serial number.
fn fields(certificate: &[u8]) -> Option<impl Iterator<Item = &[u8]>> {
    let (_, certificate, ..) = element(certificate)?;
    let (_, mut rest, ..) = element(certificate)?;
    let (tag, .., after) = element(rest)?;
    if tag == 0xa0 {
        rest = after;
    }
    Some(core::iter::from_fn(move || {
        let (.., whole, after) = element(rest)?;
        rest = after;
        Some(whole)
    }))
}

/// Returns the subject's distinguished name.
pub(crate) fn subject(certificate: &[u8]) -> Option<Vec<u8>> {
    fields(certificate)?.nth(4).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subject_is_the_fifth_field() {
        let mut signed = vec![0xa0, 3, 2, 1, 2];
        for field in 1..=6 {
            signed.extend_from_slice(&[0x30, 1, field]);
        }
        let mut tbs = vec![0x30, signed.len() as u8];
        tbs.extend_from_slice(&signed);
        let mut certificate = vec![0x30, 0x81, tbs.len() as u8];
        certificate.extend_from_slice(&tbs);
        assert_eq!(subject(&certificate), Some(vec![0x30, 1, 5]));
        for len in 0..certificate.len() {
            assert_eq!(subject(&certificate[..len]), None);
        }
    }
}
