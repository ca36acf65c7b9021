//! Encodes values of DHCP options for `raw-value`.
//!
//! RouterOS: `0x01ff` is a byte sequence, `'text'` a string, `'10.0.0.1'` an address, `'10'` a number; an `s`
//! before the quote makes an address or number a string. Several values may be concatenated. Variables such as
//! `$(HOSTNAME)` are replaced when the option is sent.

use std::fmt::Write;
use std::net::IpAddr;

use menu::{Draft, Value};

/// Sets `raw-value` to the encoded `value`; unsets it if the value is invalid or contains variables.
pub(crate) fn raw_value(draft: &mut Draft<'_>) {
    let value = draft.get("value").and_then(Value::as_str);
    let raw = value
        .and_then(|value| bytes(value, &|_| None))
        .map(|bytes| {
            let mut text = String::with_capacity(bytes.len() * 2);
            for byte in bytes {
                let _ = write!(text, "{byte:02x}");
            }
            Value::text(text)
        });
    draft.set("raw-value", raw);
}

/// Encodes a value. `variable` returns the bytes of a variable. Returns `None` if the value is invalid or a
/// variable is unknown.
pub fn bytes(mut text: &str, variable: &dyn Fn(&str) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    while !text.is_empty() {
        if let Some(rest) = text.strip_prefix("$(") {
            let (name, rest) = rest.split_once(')')?;
            all.extend(variable(name)?);
            text = rest;
        } else if let Some(rest) = text.strip_prefix("0x") {
            let end = rest.find(|c: char| !c.is_ascii_hexdigit());
            let (digits, rest) = rest.split_at(end.unwrap_or(rest.len()));
            all.extend(from_digits(digits)?);
            text = rest;
        } else {
            let plain = text.strip_prefix('s');
            let (quoted, rest) = plain.unwrap_or(text).strip_prefix('\'')?.split_once('\'')?;
            match plain {
                Some(_) => all.extend(quoted.bytes()),
                None => all.extend(of_quoted(quoted)),
            }
            text = rest;
        }
    }
    Some(all)
}

/// Decodes hexadecimal digits; an odd first digit forms a separate byte.
fn from_digits(digits: &str) -> Option<Vec<u8>> {
    let (first, pairs) = digits.split_at(digits.len() % 2);
    let first = (!first.is_empty()).then_some(first);
    let pairs = pairs.as_bytes().chunks(2).map(std::str::from_utf8);
    let all = first.into_iter().map(Ok).chain(pairs);
    all.map(|pair| u8::from_str_radix(pair.ok()?, 16).ok())
        .collect()
}

/// Encodes the content of quotes: an address, a number, or otherwise a string.
fn of_quoted(text: &str) -> Vec<u8> {
    match (text.parse(), text.parse::<u32>()) {
        (Ok(IpAddr::V4(address)), _) => address.octets().to_vec(),
        (Ok(IpAddr::V6(address)), _) => address.octets().to_vec(),
        (_, Ok(number)) => {
            let bytes = number.to_be_bytes();
            // The minimum number of bytes, at least one.
            let unused = number.leading_zeros() / 8;
            bytes[usize::try_from(unused).map_or(0, |unused| unused.min(3))..].to_vec()
        }
        _ => text.as_bytes().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_bytes_text_addresses_and_numbers_one_behind_the_other() {
        for (value, raw) in [
            ("", &b""[..]),
            ("0x0a0b", b"\x0a\x0b"),
            ("0xabc", b"\x0a\xbc"),
            ("'kvm'", b"kvm"),
            ("'10.0.0.1''10.0.0.2'", b"\x0a\x00\x00\x01\x0a\x00\x00\x02"),
            ("s'10.0.0.1'", b"10.0.0.1"),
            ("'0'", b"\x00"),
            ("'10'", b"\x0a"),
            ("'1492'", b"\x05\xd4"),
            ("s'10'", b"10"),
            ("0x01'vards'", b"\x01vards"),
            ("'::1'", b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01"),
        ] {
            assert_eq!(bytes(value, &|_| None).as_deref(), Some(raw), "{value}");
        }
        for unknown in ["0x01$(HOSTNAME)", "'open", "text", "s", "0x'"] {
            assert_eq!(bytes(unknown, &|_| None), None, "{unknown}");
        }
    }

    #[test]
    fn option_variables_are_replaced() {
        let variable = |name: &str| match name {
            "HOSTNAME" => Some(b"router".to_vec()),
            _ => None,
        };
        let of = |text| bytes(text, &variable);
        assert_eq!(
            of("0x01$(HOSTNAME)'.lan'").as_deref(),
            Some(&b"\x01router.lan"[..])
        );
        assert_eq!(of("$(HOSTNAME)").as_deref(), Some(&b"router"[..]));
        assert_eq!(
            (of("$(OTHER)"), of("$(HOSTNAME"), of("'a'$")),
            (None, None, None)
        );
    }

    #[test]
    fn the_raw_value_follows_the_value() {
        let mut store = crate::store();
        let menu = crate::ALL
            .iter()
            .find(|menu| menu.path == "/ip/dhcp-server/option");
        let menu = menu.expect("the menu is declared");
        let of = |name: &str, text: &str| {
            let property = menu.property(name).expect("the property is declared");
            (
                property.name,
                Some(property.kind.parse(name, text).expect("a value")),
            )
        };
        let given = [of("name", "a"), of("code", "66"), of("value", "'tftp'")];
        let id = store.add(menu, &given, None).expect("the item is good");
        let raw = |store: &menu::Store| {
            let item = store.item(menu.path, id).expect("it is there");
            item.get("raw-value").map(ToString::to_string)
        };

        assert_eq!(raw(&store).as_deref(), Some("74667470"));
        store
            .set(menu, id, &[of("value", "$(HOSTNAME)")])
            .expect("the value is good");
        assert_eq!(raw(&store), None);
    }
}
