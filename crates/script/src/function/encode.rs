//! `:convert`: converts byte strings between encodings, numbers and arrays.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use menu::{Reason, bytes};
use sha2::Digest as _;

use super::invalid;
use crate::ast::Command;
use crate::machine::{Machine, Result};
use crate::value::Value;

impl Machine<'_> {
    pub(super) fn convert(&mut self, command: &Command) -> Result<Value> {
        let value = self.value_of(command, "value")?;
        self.charge(value.weight().saturating_mul(2))?;
        let from = self.text_of(command, "from")?;
        let to = self.text_of(command, "to")?;
        let transform = self.text_of(command, "transform")?;
        let decoded = decode(from.as_deref().unwrap_or("raw"), &value);
        let decoded = decoded.map_err(|reason| reason.at(command.at))?;
        let changed = transformed(transform.as_deref().unwrap_or("none"), decoded);
        let changed = changed.map_err(|reason| reason.at(command.at))?;
        let to = to.as_deref().unwrap_or("raw");
        self.charge(changed.len().saturating_mul(match to {
            "bit-array-lsb" | "bit-array-msb" => 16 * size_of::<Value>(),
            "byte-array" => 2 * size_of::<Value>(),
            _ => 2,
        }))?;
        encode(to, &changed).map_err(|reason| reason.at(command.at).into())
    }
}

/// Decodes a value from one encoding to bytes.
fn decode(form: &str, value: &Value) -> std::result::Result<Vec<u8>, Reason> {
    let text = || bytes::to_bytes(&value.text());
    let bad = || invalid("value");
    match form {
        "raw" | "none" => Ok(text()),
        "hex" => unhex(&value.text()).ok_or_else(bad),
        "base64" => {
            let mut text = text();
            text.retain(|byte| !byte.is_ascii_whitespace() && *byte != b'=');
            let engine = base64::engine::general_purpose::STANDARD_NO_PAD;
            engine.decode(text).map_err(|_| bad())
        }
        "base32" => from_base32(&value.text()).ok_or_else(bad),
        "url" => Ok(from_url(&text())),
        "rot13" => Ok(text().into_iter().map(rot13).collect()),
        "num" => {
            let number = value.to_num().ok_or_else(bad)?.to_be_bytes();
            let zeros = number.iter().take_while(|byte| **byte == 0).count().min(7);
            Ok(number.get(zeros..).unwrap_or_default().to_vec())
        }
        "byte-array" => value
            .to_array()
            .iter()
            .map(|(_, value)| value.to_num().and_then(|n| u8::try_from(n).ok()))
            .collect::<Option<_>>()
            .ok_or_else(bad),
        "bit-array-lsb" | "bit-array-msb" => {
            let bits: Option<Vec<u8>> = value
                .to_array()
                .iter()
                .map(|(_, bit)| {
                    bit.to_num()
                        .and_then(|n| u8::try_from(n).ok())
                        .filter(|n| *n < 2)
                })
                .collect();
            let lsb = form == "bit-array-lsb";
            Ok(bits
                .ok_or_else(bad)?
                .chunks(8)
                .map(|bits| byte_of(bits, lsb))
                .collect())
        }
        _ => Err(Reason::no_match("from")),
    }
}

/// Encodes bytes in one encoding.
fn encode(form: &str, data: &[u8]) -> std::result::Result<Value, Reason> {
    Ok(match form {
        "raw" | "none" => Value::str(bytes::from_bytes(data)),
        "hex" => Value::str(hex(data)),
        "base64" => Value::str(STANDARD.encode(data)),
        "base32" => Value::str(base32(data)),
        "url" => Value::str(url(data)),
        "rot13" => {
            let turned: Vec<_> = data.iter().copied().map(rot13).collect();
            Value::str(bytes::from_bytes(&turned))
        }
        "num" => {
            let zeros = data.iter().take_while(|byte| **byte == 0).count();
            let rest = data.get(zeros..).unwrap_or_default();
            if rest.len() > 8 {
                return Err(invalid("value"));
            }
            let number = rest
                .iter()
                .fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
            Value::Num(number.cast_signed())
        }
        "byte-array" => Value::list(data.iter().map(|byte| Value::Num(i64::from(*byte)))),
        "bit-array-lsb" | "bit-array-msb" => {
            let lsb = form == "bit-array-lsb";
            let bits = data.iter().flat_map(|byte| {
                (0..8).map(move |place| {
                    let shift = if lsb { place } else { 7 - place };
                    Value::Num(i64::from(byte >> shift & 1))
                })
            });
            Value::list(bits)
        }
        _ => return Err(Reason::no_match("to")),
    })
}

/// Applies the `transform` option to bytes.
fn transformed(how: &str, mut data: Vec<u8>) -> std::result::Result<Vec<u8>, Reason> {
    match how {
        "none" => {}
        "lc" => data.make_ascii_lowercase(),
        "uc" => data.make_ascii_uppercase(),
        "lcfirst" => data
            .iter_mut()
            .take(1)
            .for_each(|byte| byte.make_ascii_lowercase()),
        "ucfirst" => data
            .iter_mut()
            .take(1)
            .for_each(|byte| byte.make_ascii_uppercase()),
        "reverse" => data.reverse(),
        "rot13" => data.iter_mut().for_each(|byte| *byte = rot13(*byte)),
        "crlf" => {
            let text = bytes::from_bytes(&data).replace("\r\n", "\n");
            data = bytes::to_bytes(&text.replace('\n', "\r\n"));
        }
        "lf" => data = bytes::to_bytes(&bytes::from_bytes(&data).replace("\r\n", "\n")),
        "md5" => data = hex(&md5::compute(&data).0).into_bytes(),
        "sha256" => data = hex(&sha2::Sha256::digest(&data)).into_bytes(),
        "sha512" => data = hex(&sha2::Sha512::digest(&data)).into_bytes(),
        _ => return Err(Reason::no_match("transform")),
    }
    Ok(data)
}

pub(crate) fn hex(data: &[u8]) -> String {
    data.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    let digits = digits.strip_prefix(b"0x").unwrap_or(&digits);
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|n| u8::try_from(n).ok())
    };
    let (pairs, []) = digits.as_chunks::<2>() else {
        return None;
    };
    pairs
        .iter()
        .map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?))
        .collect()
}

const fn rot13(byte: u8) -> u8 {
    match byte {
        b'a'..=b'm' | b'A'..=b'M' => byte + 13,
        b'n'..=b'z' | b'N'..=b'Z' => byte - 13,
        other => other,
    }
}

/// RouterOS: percent-encodes all bytes except letters, digits and `-._~`.
fn url(data: &[u8]) -> String {
    let mut text = String::with_capacity(data.len());
    for byte in data {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(*byte));
            }
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text
}

fn from_url(text: &[u8]) -> Vec<u8> {
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|n| u8::try_from(n).ok())
    };
    let mut data = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, after @ ..] = rest {
        rest = after;
        let escaped = match (first, after) {
            (b'%', [high, low, ..]) => digit(*high).zip(digit(*low)),
            _ => None,
        };
        match (escaped, first) {
            (Some((high, low)), _) => {
                data.push(high << 4 | low);
                rest = after.get(2..).unwrap_or_default();
            }
            (None, b'+') => data.push(b' '),
            (None, other) => data.push(*other),
        }
    }
    data
}

/// Base 32 alphabet (RFC 4648, 6).
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

fn base32(data: &[u8]) -> String {
    let mut text = String::with_capacity(data.len() * 8 / 5 + 8);
    for group in data.chunks(5) {
        let mut bits = [0; 8];
        bits[3..3 + group.len()].copy_from_slice(group);
        let bits = u64::from_be_bytes(bits);
        let letters = (group.len() * 8).div_ceil(5);
        for place in 0..8 {
            let index = (bits >> (35 - 5 * place) & 31) as usize;
            text.push(if place < letters {
                char::from(BASE32[index])
            } else {
                '='
            });
        }
    }
    text
}

fn from_base32(text: &str) -> Option<Vec<u8>> {
    let mut data = Vec::with_capacity(text.len() * 5 / 8);
    let (mut bits, mut count) = (0_u32, 0);
    for byte in text
        .bytes()
        .filter(|b| !b.is_ascii_whitespace() && *b != b'=')
    {
        let upper = byte.to_ascii_uppercase();
        let digit = BASE32.iter().position(|letter| *letter == upper)?;
        bits = bits << 5 | u32::try_from(digit).ok()?;
        count += 5;
        if count >= 8 {
            count -= 8;
            data.push((bits >> count & 0xff) as u8);
        }
    }
    Some(data)
}

fn byte_of(bits: &[u8], lsb: bool) -> u8 {
    let placed = bits.iter().enumerate().map(|(place, bit)| {
        let shift = if lsb { place } else { 7 - place };
        bit << shift
    });
    placed.fold(0, |byte, bit| byte | bit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn converted(text: &str, from: &str, how: &str, to: &str) -> String {
        let data = decode(from, &Value::of_word(text)).expect("it can be read");
        let data = transformed(how, data).expect("it can be changed");
        encode(to, &data).expect("it can be written").to_string()
    }

    #[test]
    fn conversions_of_the_manual_give_its_results() {
        let cases = [
            ("001", "raw", "none", "hex", "31"),
            ("AAA", "raw", "lc", "raw", "aaa"),
            ("4d696b726f54696b", "hex", "none", "raw", "MikroTik"),
            ("foobar", "raw", "none", "base32", "MZXW6YTBOI======"),
            ("MZXW6YQ=", "base32", "none", "raw", "foob"),
            ("foob", "raw", "none", "base64", "Zm9vYg=="),
            ("Zm9vYg", "base64", "none", "raw", "foob"),
            ("a b/ä", "raw", "none", "url", "a%20b%2F%C3%A4"),
            ("a%20b%2F+%", "url", "none", "raw", "a b/ %"),
            (
                "abc",
                "raw",
                "md5",
                "raw",
                "900150983cd24fb0d6963f7d28e17f72",
            ),
            ("abc", "raw", "reverse", "raw", "cba"),
            ("abc", "raw", "ucfirst", "rot13", "Nop"),
            ("A", "raw", "none", "bit-array-msb", "0;1;0;0;0;0;0;1"),
            ("A", "raw", "none", "bit-array-lsb", "1;0;0;0;0;0;1;0"),
            ("AB", "raw", "none", "byte-array", "65;66"),
            ("ff00", "hex", "none", "num", "65280"),
            ("65280", "num", "none", "hex", "ff00"),
        ];
        for (text, from, how, to, expected) in cases {
            assert_eq!(
                converted(text, from, how, to),
                expected,
                "{text} {from} {how} {to}"
            );
        }
        let long = transformed("sha512", b"abc".to_vec()).expect("it can be changed");
        assert!(long.starts_with(b"ddaf35a193617aba"));
        for (form, bad) in [("hex", "abc"), ("base64", "!"), ("base32", "1"), ("x", "a")] {
            assert!(decode(form, &Value::str(bad)).is_err(), "{form} {bad}");
        }
    }

    proptest! {
        #[test]
        fn every_encoding_round_trips(data: Vec<u8>) {
            let forms = [
                "raw", "hex", "base32", "base64", "url", "rot13", "byte-array", "bit-array-lsb",
                "bit-array-msb",
            ];
            for form in forms {
                let written = encode(form, &data).expect("every byte can be written");
                prop_assert_eq!(decode(form, &written).expect("what was written is read"), data.clone(), "{}", form);
            }
        }

        #[test]
        fn no_text_makes_a_decoder_panic(text: String, form in 0..10_usize) {
            let forms = [
                "raw", "hex", "base32", "base64", "url", "rot13", "num", "byte-array",
                "bit-array-lsb", "bit-array-msb",
            ];
            let _ = decode(forms[form], &Value::str(text));
        }
    }
}
