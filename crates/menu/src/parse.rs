//! Parses texts to typed values, with RouterOS's error messages.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use crate::{Family, Gateway, Kind, Reason, Value, bytes, matcher, time};

impl Kind {
    /// Parses the value of property `name`.
    ///
    /// Names of other items are not resolved; the store does that.
    ///
    /// # Errors
    /// [`Reason::BadValue`] with the console's message.
    pub fn parse(&self, name: &str, text: &str) -> Result<Value, Reason> {
        match self {
            Self::Bool => boolean(name, text),
            Self::Presence => presence(name, text),
            Self::Number { min, max } => number(name, text, *min, *max),
            Self::Hex { max } => hexadecimal(name, text, *max),
            Self::Time { min, max } => span(name, text, *min, *max),
            Self::Times { min, max } => spans(name, text, *min, *max),
            Self::Text => Ok(Value::text(text)),
            Self::Sized { min, max } if (*min..=*max).contains(&bytes::len(text)) => {
                Ok(Value::text(text))
            }
            Self::Sized { max, .. } if bytes::len(text) > *max => Err(too_long(name, *max)),
            Self::Sized { .. } => Err(invalid(name)),
            Self::Either(first, second) => first
                .parse(name, text)
                .or_else(|_| second.parse(name, text)),
            Self::Rate => number(name, text, 0, i64::MAX).map(|value| match value {
                Value::Number(rate) => Value::Rate(rate),
                other => other,
            }),
            Self::Thousandths => thousandths(text)
                .map(Value::Thousandths)
                .ok_or_else(|| invalid(name)),
            Self::Kib => kib(text).map(Value::Kib).ok_or_else(|| invalid(name)),
            Self::Pair(kind) => pair(name, text, kind),
            Self::Range(between, kind) => range(name, text, between, kind),
            Self::Tuple(between, kinds) => tuple(name, text, between, kinds),
            Self::Not(kind) => matcher::not(name, text, kind),
            Self::Parts(parts) => matcher::parts(name, text, parts),
            Self::Addresses(family) => matcher::addresses(name, text, *family),
            Self::Marked(words) => marked(name, text, words),
            Self::Host => matcher::host(text),
            Self::Digits => matcher::digits(name, text),
            Self::Name | Self::Filled if text.is_empty() => Err(invalid(name)),
            Self::Name if bytes::len(text) > Self::LONGEST_NAME => {
                Err(too_long(name, Self::LONGEST_NAME))
            }
            Self::Name | Self::Filled => Ok(Value::text(text)),
            Self::Spelled(spelling) => (spelling.canonical)(text)
                .map(Value::text)
                .ok_or_else(|| invalid(name)),
            Self::Words(words) => word(name, text, words).map(Value::Word),
            Self::Or(words, kind) => match words.iter().find(|word| **word == text) {
                Some(word) => Ok(Value::Word(word)),
                None => kind
                    .parse(name, text)
                    .or_else(|why| word(name, text, words).map(Value::Word).map_err(|_| why)),
            },
            Self::List(kind) => list(name, text, kind),
            Self::Fields => Ok(fields(text)),
            Self::Set(words) => set(name, text, words),
            Self::Address(family) => address(text, *family)
                .map(Value::Address)
                .ok_or_else(|| invalid(name)),
            Self::Prefix(family) => prefix(text, *family)
                .map(|net| Value::Prefix(net.trunc()))
                .ok_or_else(|| invalid(name)),
            Self::Local(family) => {
                let net = prefix(text, *family).ok_or_else(|| invalid(name))?;
                // RouterOS: an IPv6 address without a length gets a prefix length of 64.
                let bare = net.addr().is_ipv6() && !text.contains('/');
                let net = if bare {
                    IpNet::new(net.addr(), 64).unwrap_or(net)
                } else {
                    net
                };
                Ok(Value::Prefix(net))
            }
            Self::Mac => mac(text).map(Value::Mac).ok_or_else(|| {
                Reason::BadValue(format!("invalid value of {name}, mac address required"))
            }),
            Self::Reference(_) if text.is_empty() => Err(Reason::no_match(name)),
            Self::Reference(_) => Ok(Value::Reference(text.into())),
            Self::Gateway(family) => gateway(text, *family)
                .map(|gateway| Value::Gateway(Box::new(gateway)))
                .ok_or_else(|| invalid(name)),
        }
    }
}

fn invalid(name: &str) -> Reason {
    Reason::BadValue(format!("invalid value for argument {name}"))
}

fn too_long(name: &str, max: usize) -> Reason {
    let text = format!("value of {name} is longer than {max} characters");
    Reason::BadValue(text)
}

fn boolean(name: &str, text: &str) -> Result<Value, Reason> {
    match text {
        "yes" | "true" => Ok(Value::Bool(true)),
        "no" | "false" => Ok(Value::Bool(false)),
        _ => Err(invalid(name)),
    }
}

fn presence(name: &str, text: &str) -> Result<Value, Reason> {
    match text {
        "" | "yes" | "true" => Ok(Value::Bool(true)),
        "no" | "false" => Ok(Value::Bool(false)),
        _ => Err(invalid(name)),
    }
}

/// Parses decimal digits, or hexadecimal digits after `0x`; `k`, `M` and `G` multiply by powers of 1000.
fn integer(text: &str) -> Option<i64> {
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return i64::from_str_radix(hex, 16).ok();
    }
    if let Some(bytes) = size(text) {
        return Some(bytes);
    }
    let (digits, factor) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 1_000),
        b'M' => (&text[..text.len() - 1], 1_000_000),
        b'G' => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    digits.parse::<i64>().ok()?.checked_mul(factor)
}

/// Parses a size in bytes: `2048.0KiB`, `4MiB`.
fn size(text: &str) -> Option<i64> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let (number, shift) = units
        .iter()
        .find_map(|(u, s)| Some((text.strip_suffix(u)?, s)))?;
    let (whole, tenth) = number.split_once('.').unwrap_or((number, "0"));
    let tenths = whole.parse::<u32>().ok()?.checked_mul(10)?;
    let tenths = tenths.checked_add(tenth.parse::<u8>().ok().filter(|t| *t < 10)?.into())?;
    Some((i64::from(tenths) << shift) / 10)
}

fn number(name: &str, text: &str, min: i64, max: i64) -> Result<Value, Reason> {
    let value = integer(text).ok_or_else(|| invalid(name))?;
    if (min..=max).contains(&value) {
        return Ok(Value::Number(value));
    }
    Err(Reason::BadValue(format!(
        "value of {name} out of range ({min}..{max})"
    )))
}

fn hexadecimal(name: &str, text: &str, max: u64) -> Result<Value, Reason> {
    let value = integer(text)
        .and_then(|v| u64::try_from(v).ok())
        .ok_or_else(|| invalid(name))?;
    if value <= max {
        return Ok(Value::Hex(value));
    }
    Err(Reason::BadValue(format!(
        "value of {name} out of range (0..0x{max:x})"
    )))
}

fn span(name: &str, text: &str, min: i64, max: i64) -> Result<Value, Reason> {
    let nanos = time::parse(text)
        .ok_or_else(|| Reason::BadValue(format!("invalid time value for argument {name}")))?;
    if (min..=max).contains(&nanos) {
        return Ok(Value::Time(nanos));
    }
    Err(Reason::BadValue(format!(
        "value of {name} is out of range ({} .. {})",
        time::clock_text(min),
        time::clock_text(max)
    )))
}

fn spans(name: &str, text: &str, min: i64, max: i64) -> Result<Value, Reason> {
    let (first, second) = text.split_once('-').unwrap_or((text, text));
    match (span(name, first, min, max)?, span(name, second, min, max)?) {
        (Value::Time(a), Value::Time(b)) if a <= b => Ok(Value::Times(a, b)),
        _ => Err(invalid(name)),
    }
}

/// Returns the word that `text` equals or is a unique prefix of.
fn word(name: &str, text: &str, words: &'static [&'static str]) -> Result<&'static str, Reason> {
    if let Some(word) = words.iter().find(|word| **word == text) {
        return Ok(word);
    }
    let mut matches = words
        .iter()
        .filter(|word| !text.is_empty() && word.starts_with(text));
    match (matches.next(), matches.next()) {
        (Some(word), None) => Ok(word),
        (Some(_), Some(_)) => Err(Reason::BadValue(format!(
            "ambiguous value of {name}, more than one possible value matches input"
        ))),
        _ => Err(Reason::no_match(name)),
    }
}

fn list(name: &str, text: &str, kind: &Kind) -> Result<Value, Reason> {
    if text.is_empty() {
        return Ok(Value::List(Vec::new()));
    }
    // Arrays of scripts become text with semicolons.
    let parts = text.split([',', ';']);
    parts
        .map(|part| kind.parse(name, part))
        .collect::<Result<_, _>>()
        .map(Value::List)
}

/// Splits HTTP header lines at commas before `Name:`. A piece without a name continues the previous value.
fn fields(text: &str) -> Value {
    let mut lines: Vec<String> = Vec::new();
    for piece in text.split(',') {
        match lines.last_mut().filter(|_| !begins_field(piece)) {
            Some(line) => {
                line.push(',');
                line.push_str(piece);
            }
            None if piece.is_empty() => {}
            None => lines.push(piece.to_owned()),
        }
    }
    Value::List(lines.into_iter().map(Value::text).collect())
}

/// True if a text begins with a header name (RFC 9110, 5.6.2: a token) and a colon.
fn begins_field(text: &str) -> bool {
    let is_token = |name: &str| {
        let special = "!#$%&'*+-.^_`|~";
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || special.as_bytes().contains(&byte);
        !name.is_empty() && name.bytes().all(fits)
    };
    text.split_once(':')
        .is_some_and(|(name, value)| is_token(name.trim_start()) && !value.starts_with("//"))
}

/// Parses included words and words excluded by `!`. Returns included words first, both in declared order.
fn marked(name: &str, text: &str, words: &'static [&'static str]) -> Result<Value, Reason> {
    let mut is_in = vec![false; words.len()];
    for part in text.split([',', ';']).filter(|part| !part.is_empty()) {
        let bare = part.strip_prefix('!');
        let found = word(name, bare.unwrap_or(part), words)?;
        for (slot, _) in is_in.iter_mut().zip(words).filter(|(_, w)| **w == found) {
            *slot = bare.is_none();
        }
    }
    let with = |wanted: bool| {
        let chosen = is_in
            .iter()
            .zip(words)
            .filter(move |(is, _)| **is == wanted);
        chosen.map(move |(_, word)| match wanted {
            true => Value::text(*word),
            false => Value::text(format!("!{word}")),
        })
    };
    Ok(Value::List(with(true).chain(with(false)).collect()))
}

/// Parses a set of words; returns them in declared order without duplicates.
fn set(name: &str, text: &str, words: &'static [&'static str]) -> Result<Value, Reason> {
    let given = list(name, text, &Kind::Words(words))?;
    let has = |word: &&'static str| given.as_list().contains(&Value::Word(word));
    let words = words.iter().copied().filter(|word| has(word));
    Ok(Value::List(words.map(Value::Word).collect()))
}

/// Parses `50`, `50KiB`, `2MiB`.
fn kib(text: &str) -> Option<i64> {
    match size(text) {
        Some(bytes) => Some(bytes >> 10),
        None => text.parse().ok().filter(|count| *count >= 0),
    }
}

/// Parses `0.1`, `10`.
fn thousandths(text: &str) -> Option<i64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !plain(whole) || !plain(decimals) || decimals.len() > 3 {
        return None;
    }
    let decimals: i64 = format!("{decimals:0<3}").parse().ok()?;
    whole
        .parse::<i64>()
        .ok()?
        .checked_mul(1_000)?
        .checked_add(decimals)
}

fn pair(name: &str, text: &str, kind: &Kind) -> Result<Value, Reason> {
    let (first, second) = text.split_once('/').unwrap_or((text, text));
    let both = [kind.parse(name, first)?, kind.parse(name, second)?];
    Ok(Value::Tuple("/", Box::new(both)))
}

/// Parses a range. A single value is a range of itself and shown as a single value.
fn range(name: &str, text: &str, between: &'static str, kind: &Kind) -> Result<Value, Reason> {
    // The first character may be a minus sign.
    let found = text.get(1..).and_then(|tail| tail.find(between));
    let Some(at) = found.map(|at| at + 1) else {
        return kind.parse(name, text);
    };
    let first = kind.parse(name, &text[..at])?;
    let last = kind.parse(name, &text[at + between.len()..])?;
    match first.cmp(&last) {
        std::cmp::Ordering::Less => Ok(Value::Tuple(between, Box::new([first, last]))),
        std::cmp::Ordering::Equal => Ok(first),
        std::cmp::Ordering::Greater => Err(invalid(name)),
    }
}

fn tuple(name: &str, text: &str, between: &'static str, kinds: &[Kind]) -> Result<Value, Reason> {
    let parts: Vec<_> = text.splitn(kinds.len(), between).collect();
    if parts.len() != kinds.len() {
        return Err(invalid(name));
    }
    let values = kinds
        .iter()
        .zip(parts)
        .map(|(kind, part)| kind.parse(name, part));
    let values = values.collect::<Result<_, _>>()?;
    Ok(Value::Tuple(between, values))
}

/// Parses an IP address of this family. An IPv4 address must have four numbers.
pub(crate) fn address(text: &str, family: Family) -> Option<IpAddr> {
    match family {
        Family::V4 => text.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
        Family::V6 => text.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        Family::Any => text.parse().ok(),
    }
}

/// Parses `address`, `address/length` or `address/netmask`.
pub(crate) fn prefix(text: &str, family: Family) -> Option<IpNet> {
    let Some((addr, length)) = text.split_once('/') else {
        return address(text, family).map(IpNet::from);
    };
    let addr = address(addr, family)?;
    if let Ok(mask) = length.parse::<IpAddr>() {
        return IpNet::with_netmask(addr, mask).ok();
    }
    if length.is_empty() || length.len() > 3 || !length.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    IpNet::new(addr, length.parse().ok()?).ok()
}

/// Parses six pairs of hexadecimal digits separated by `:`, `-`, `.` or nothing.
pub(crate) fn mac(text: &str) -> Option<[u8; 6]> {
    let mut digits = [0; 12];
    let mut count = 0;
    for (index, byte) in text.bytes().enumerate() {
        if matches!(byte, b':' | b'-' | b'.') && count % 2 == 0 && index > 0 && count < 12 {
            continue;
        }
        let digit = (byte as char).to_digit(16)?;
        *digits.get_mut(count)? = digit as u8;
        count += 1;
    }
    (count == 12).then(|| std::array::from_fn(|i| digits[2 * i] << 4 | digits[2 * i + 1]))
}

fn gateway(text: &str, family: Family) -> Option<Gateway> {
    let (rest, table) = match text.rsplit_once('@') {
        Some((rest, table)) if !table.is_empty() => (rest, Some(table.into())),
        Some(_) => return None,
        None => (text, None),
    };
    if rest.is_empty() {
        return None;
    }
    if let Some(address) = address(rest, family) {
        return Some(Gateway {
            address: Some(address),
            interface: None,
            table,
        });
    }
    if let Some((addr, interface)) = rest.split_once('%') {
        let address = Some(address(addr, family)?);
        return (!interface.is_empty()).then(|| Gateway {
            address,
            interface: Some(interface.into()),
            table,
        });
    }
    // An address of the other family, or a prefix, cannot be an interface name.
    if address(rest, Family::Any).is_some() || rest.contains('/') {
        return None;
    }
    Some(Gateway {
        address: None,
        interface: Some(rest.into()),
        table,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spelling;

    const DAY: Kind = Kind::Time {
        min: time::SECOND,
        max: 86_400 * time::SECOND,
    };

    fn shown(kind: &Kind, text: &str) -> String {
        match kind.parse("x", text) {
            Ok(value) => value.to_string(),
            Err(reason) => reason.to_string(),
        }
    }

    #[test]
    fn header_fields_keep_commas_and_semicolons_in_their_values() {
        let fields = |text: &str| match Kind::Fields.parse("fields", text) {
            Ok(Value::List(fields)) => fields.iter().map(ToString::to_string).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };

        assert_eq!(fields(""), Vec::<String>::new());
        assert_eq!(fields("A: 1,B: 2"), ["A: 1", "B: 2"]);
        let agent = "User-Agent: Router/1 (https://a.example/; b, c),X: y";
        assert_eq!(
            fields(agent),
            ["User-Agent: Router/1 (https://a.example/; b, c)", "X: y"]
        );
        let date = "Date: Sun, 29 Nov 2026 01:00:00 GMT,Accept: a/b;q=1, c/d";
        assert_eq!(
            fields(date),
            [
                "Date: Sun, 29 Nov 2026 01:00:00 GMT",
                "Accept: a/b;q=1, c/d"
            ]
        );
        assert_eq!(
            fields("Link: <https://a>,https://b"),
            ["Link: <https://a>,https://b"]
        );
    }

    #[test]
    fn values_are_stored_in_canonical_spelling() {
        assert_eq!(shown(&Kind::Bool, "true"), "yes");
        assert_eq!(shown(&Kind::Number { min: 0, max: 9_000 }, "1k"), "1000");
        assert_eq!(shown(&Kind::Hex { max: 0xffff }, "6168"), "0x1818");
        assert_eq!(shown(&DAY, "00:01:30"), "1m30s");
        assert_eq!(
            shown(&Kind::Words(&["accept", "add", "drop"]), "ac"),
            "accept"
        );
        assert_eq!(
            shown(&Kind::Prefix(Family::V4), "10.1.2.3/255.255.0.0"),
            "10.1.0.0/16"
        );
        assert_eq!(
            shown(&Kind::Local(Family::V4), "10.1.2.3/16"),
            "10.1.2.3/16"
        );
        assert_eq!(
            shown(&Kind::Local(Family::V6), "2001:DB8:0::1/64"),
            "2001:db8::1/64"
        );
        assert_eq!(shown(&Kind::Mac, "2c-c8-1b-25-fb-3f"), "2C:C8:1B:25:FB:3F");
        assert_eq!(shown(&Kind::Mac, "2cc81b25fb3f"), "2C:C8:1B:25:FB:3F");
        let gateways = Kind::List(&Kind::Gateway(Family::V4));
        assert_eq!(
            shown(&gateways, "1.2.3.4%ether1,10.0.0.1@main"),
            "1.2.3.4%ether1,10.0.0.1@main"
        );
        assert_eq!(shown(&Kind::Or(&["auto"], &DAY), "auto"), "auto");
        let set = Kind::Marked(&["read", "write", "test"]);
        assert_eq!(shown(&set, "test,read"), "read,test,!write");
        assert_eq!(shown(&set, "!read,w"), "write,!read,!test");
        assert_eq!(shown(&set, "reed"), "input does not match any value of x");
        const SHOUT: Spelling = Spelling {
            describe: "capitals",
            canonical: |text| text.is_ascii().then(|| text.to_ascii_uppercase()),
        };
        assert_eq!(shown(&Kind::Spelled(&SHOUT), "ab"), "AB");
        assert_eq!(
            shown(&Kind::Spelled(&SHOUT), "ä"),
            "invalid value for argument x"
        );
    }

    #[test]
    fn values_of_several_parts_keep_their_form() {
        const NUMBER: Kind = Kind::Number {
            min: -200,
            max: 4_094,
        };
        const RANGES: Kind = Kind::List(&Kind::Range("-", &NUMBER));
        const SECONDS_AND_TIMES: Kind = Kind::Tuple(",", &[Kind::SPAN, Kind::COUNTER]);

        assert_eq!(shown(&Kind::Pair(&Kind::Rate), "10M/768k"), "10M/768k");
        assert_eq!(shown(&Kind::Pair(&Kind::Rate), "1500000"), "1500k/1500k");
        assert_eq!(shown(&Kind::Pair(&Kind::Thousandths), "0.10"), "0.1/0.1");
        assert_eq!(
            shown(&Kind::Thousandths, "1."),
            "invalid value for argument x"
        );
        assert_eq!(shown(&Kind::Kib, "50"), "50KiB");
        assert_eq!(shown(&Kind::Kib, "2MiB"), "2048KiB");
        assert_eq!(shown(&RANGES, "10,20-30,7-7"), "10,20-30,7");
        assert_eq!(shown(&Kind::Range("..", &NUMBER), "-120..120"), "-120..120");
        assert_eq!(shown(&SECONDS_AND_TIMES, "10,5"), "10s,5");
        let either = Kind::Either(&Kind::Prefix(Family::V4), &Kind::Reference("interface"));
        assert_eq!(shown(&either, "10.0.0.1/24"), "10.0.0.0/24");
        assert_eq!(shown(&either, "ether1"), "ether1");
        for (kind, bad) in [
            (&RANGES, "30-20"),
            (&Kind::Range("-", &NUMBER), "1-"),
            (&SECONDS_AND_TIMES, "10"),
            (&Kind::Kib, "-1"),
            (&Kind::Sized { min: 8, max: 63 }, "short"),
        ] {
            let refused = kind.parse("x", bad).is_err();
            assert!(refused, "{bad}");
        }
    }

    #[test]
    fn invalid_values_are_refused_with_console_texts() {
        assert_eq!(
            shown(&Kind::Words(&["accept", "add"]), "a"),
            "ambiguous value of x, more than one possible value matches input"
        );
        assert_eq!(
            shown(&Kind::Words(&["accept"]), "foo"),
            "input does not match any value of x"
        );
        assert_eq!(
            shown(&Kind::Number { min: 1, max: 4094 }, "5000"),
            "value of x out of range (1..4094)"
        );
        assert_eq!(
            shown(&DAY, "2d"),
            "value of x is out of range (00:00:01 .. 1d00:00:00)"
        );
        assert_eq!(shown(&DAY, "soon"), "invalid time value for argument x");
        assert_eq!(
            shown(&Kind::Mac, "2c:c8"),
            "invalid value of x, mac address required"
        );
        for bad in [
            "10.0.0.0/33",
            "10.0.0/8",
            "10.0.0.0/",
            "::1/64",
            "a.a.a.a/24",
            "10.0.0.0/+8",
        ] {
            assert_eq!(
                shown(&Kind::Prefix(Family::V4), bad),
                "invalid value for argument x",
                "{bad}"
            );
        }
        for bad in ["", "@main", "1.2.3.4%", "::1", "10.0.0.0/8"] {
            assert_eq!(
                shown(&Kind::Gateway(Family::V4), bad),
                "invalid value for argument x",
                "{bad}"
            );
        }
    }
}
