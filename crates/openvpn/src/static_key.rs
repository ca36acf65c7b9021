//! Static keys of tls-auth and tls-crypt, as files hold them.

use zeroize::Zeroizing;

/// Length of a static key in bytes.
const KEY_BYTES: usize = 256;
/// Length of each of its four parts: cipher and HMAC keys of both directions.
const PART_BYTES: usize = 64;

/// A static key of 2048 bits: `cipher 0 · HMAC 0 · cipher 1 · HMAC 1`. Dropping wipes it.
#[derive(Clone, PartialEq, Eq)]
pub struct StaticKey(Box<Zeroizing<[u8; KEY_BYTES]>>);

impl core::fmt::Debug for StaticKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("StaticKey")
    }
}

impl StaticKey {
    /// Parses the text between `BEGIN OpenVPN Static key V1` and its end line: 512 hexadecimal digits. Lines before
    /// the begin line are comments.
    ///
    /// Returns `None` without the lines, and for other lengths.
    pub fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.split_once("-----BEGIN OpenVPN Static key V1-----")?;
        let (digits, _) = rest.split_once("-----END OpenVPN Static key V1-----")?;
        let mut key = Box::new(Zeroizing::new([0; KEY_BYTES]));
        let mut digits = digits.chars().filter(|digit| !digit.is_ascii_whitespace());
        for byte in key.iter_mut() {
            let (high, low) = (digits.next()?.to_digit(16)?, digits.next()?.to_digit(16)?);
            *byte = (high << 4 | low) as u8;
        }
        digits.next().is_none().then_some(Self(key))
    }

    /// Returns the cipher key of a slot, 0 or 1.
    pub(crate) fn cipher(&self, slot: usize) -> &[u8] {
        self.part(2 * slot)
    }

    /// Returns the HMAC key of a slot, 0 or 1.
    pub(crate) fn hmac(&self, slot: usize) -> &[u8] {
        self.part(2 * slot + 1)
    }

    fn part(&self, part: usize) -> &[u8] {
        let (parts, _) = self.0.as_chunks::<PART_BYTES>();
        parts.get(part).map_or(&[], |part| part)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A key whose parts hold their number.
    pub(crate) fn numbered() -> StaticKey {
        let digits: String = (0..4)
            .map(|part| format!("0{part}").repeat(PART_BYTES) + "\n")
            .collect();
        let text = format!(
            "# comment\n-----BEGIN OpenVPN Static key V1-----\n{digits}-----END OpenVPN Static key V1-----\n"
        );
        StaticKey::parse(&text).expect("a key")
    }

    #[test]
    fn a_key_file_has_four_parts() {
        let key = numbered();
        assert_eq!(key.cipher(0), [0; 64]);
        assert_eq!(key.hmac(0), [1; 64]);
        assert_eq!(key.cipher(1), [2; 64]);
        assert_eq!(key.hmac(1), [3; 64]);
        for wrong in [
            "",
            "-----BEGIN OpenVPN Static key V1-----\n00\n-----END OpenVPN Static key V1-----",
        ] {
            assert_eq!(StaticKey::parse(wrong), None);
        }
    }
}
