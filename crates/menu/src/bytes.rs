//! Carries bytes that are not UTF-8 inside Rust strings.
//!
//! Configurations hold bytes of any encoding. Each byte that is not part of valid UTF-8 is mapped to one
//! character of a private range (U+EF80 to U+EFFF, as MirBSD's OPTU-8 does). Text is a `String` everywhere, and
//! is written out with exactly the bytes that were read. Characters of the private range in the input are
//! mapped byte by byte.

const BASE: u32 = 0xef00;

/// Decodes bytes to text; each byte that is not UTF-8 becomes one private character.
pub fn from_bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        push_valid(chunk.valid(), &mut text);
        text.extend(chunk.invalid().iter().filter_map(|byte| private(*byte)));
    }
    text
}

/// Decodes bytes that already contain texts made by [`from_bytes`]: their private characters are kept.
pub fn from_pieces(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().filter_map(|byte| private(*byte)));
    }
    text
}

fn push_valid(valid: &str, text: &mut String) {
    // All private characters begin with this byte in UTF-8; few other characters do.
    if !valid.as_bytes().contains(&0xee) {
        return text.push_str(valid);
    }
    let mut buffer = [0; 4];
    for c in valid.chars() {
        match raw(c) {
            Some(_) => {
                let bytes = c.encode_utf8(&mut buffer).bytes();
                text.extend(bytes.filter_map(private));
            }
            None => text.push(c),
        }
    }
}

/// Encodes a text to its original bytes: the inverse of [`from_bytes`].
pub fn to_bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut buffer = [0; 4];
    for c in text.chars() {
        match raw(c) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes()),
        }
    }
    bytes
}

/// Joins private characters that together form a valid UTF-8 character. A text concatenated from parts may
/// contain the bytes of a character one by one.
pub fn whole(text: String) -> String {
    if text.chars().any(|c| raw(c).is_some()) {
        return from_bytes(&to_bytes(&text));
    }
    text
}

/// Returns the length in bytes after [`to_bytes`].
pub fn len(text: &str) -> usize {
    text.chars()
        .map(|c| if raw(c).is_some() { 1 } else { c.len_utf8() })
        .sum()
}

/// Returns the byte that a private character stands for; `None` for other characters.
pub fn raw(c: char) -> Option<u8> {
    let code = u32::from(c);
    (0xef80..=0xefff)
        .contains(&code)
        .then_some((code & 0xff) as u8)
}

fn private(byte: u8) -> Option<char> {
    char::from_u32(BASE | u32::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_come_out_as_they_went_in() {
        let all: Vec<u8> = (0..=255).collect();

        assert_eq!(to_bytes(&from_bytes(&all)), all);
        assert_eq!(len(&from_bytes(&all)), 256);
        assert_eq!(from_bytes("Tamás".as_bytes()), "Tamás");
        let pieces = [from_bytes(b"Tam\xc3"), from_bytes(b"\xa1s")].concat();
        assert_eq!(whole(pieces), "Tamás");
        let itself = "a\u{ef80}\u{efff}\u{e000}b".as_bytes();
        assert_eq!(to_bytes(&from_bytes(itself)), itself);
    }
}
