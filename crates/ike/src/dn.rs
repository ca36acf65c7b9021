//! Distinguished names as text, `CN=client,O=Example,C=LV`: certificate order, escapes by RFC 4514, 2.4.

use core::fmt;

use crate::der;

/// Object identifiers of attribute types, with their short names (RFC 4519; RFC 5280, appendix A).
const TYPES: [(&[u8], &str); 13] = [
    (&[0x55, 4, 3], "CN"),
    (&[0x55, 4, 4], "SN"),
    (&[0x55, 4, 5], "serialNumber"),
    (&[0x55, 4, 6], "C"),
    (&[0x55, 4, 7], "L"),
    (&[0x55, 4, 8], "ST"),
    (&[0x55, 4, 9], "street"),
    (&[0x55, 4, 10], "O"),
    (&[0x55, 4, 11], "OU"),
    (&[0x55, 4, 12], "title"),
    (&[0x55, 4, 42], "GN"),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1], "E"),
    (
        &[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25],
        "DC",
    ),
];

/// Returns the text of a DER name; `None` if malformed or with an attribute type outside [`TYPES`].
pub(crate) fn text(name: &[u8]) -> Option<String> {
    let (0x30, mut sets) = der::of(name)? else {
        return None;
    };
    let mut parts = Vec::new();
    while !sets.is_empty() {
        let (mut pairs, rest) = der::first(sets)?;
        sets = rest;
        while !pairs.is_empty() {
            let (pair, rest) = der::first(pairs)?;
            pairs = rest;
            let (kind, value) = der::first(pair)?;
            let (value, _) = der::first(value)?;
            let (_, kind) = TYPES.iter().find(|(id, _)| *id == kind)?;
            parts.push(format!("{kind}={}", Escaped(value)));
        }
    }
    Some(parts.join(","))
}

/// Attribute value, displayed with escapes.
struct Escaped<'a>(&'a [u8]);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for symbol in String::from_utf8_lossy(self.0).chars() {
            match symbol {
                ',' | '+' | '"' | '\\' | '<' | '>' | ';' => write!(f, "\\{symbol}")?,
                _ if symbol.is_control() => f.write_str("?")?,
                _ => write!(f, "{symbol}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(kind: &[u8], value: &str) -> Vec<u8> {
        let kind = [&[6, kind.len() as u8], kind].concat();
        let value = [&[0x0c, value.len() as u8], value.as_bytes()].concat();
        let pair = [&[0x30, (kind.len() + value.len()) as u8], &kind[..], &value].concat();
        [&[0x31, pair.len() as u8], &pair[..]].concat()
    }

    #[test]
    fn a_name_is_the_text_that_people_read() {
        let sets = [set(&[0x55, 4, 6], "LV"), set(&[0x55, 4, 3], "a, b")].concat();
        let name = [&[0x30, sets.len() as u8], &sets[..]].concat();
        assert_eq!(text(&name).as_deref(), Some("C=LV,CN=a\\, b"));
        for len in 0..name.len() {
            assert_eq!(text(&name[..len]), None);
        }
        let odd = set(&[0x55, 4, 99], "x");
        assert_eq!(text(&[&[0x30, odd.len() as u8], &odd[..]].concat()), None);
    }
}
