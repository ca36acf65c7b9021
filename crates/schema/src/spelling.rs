//! Text formats used by several menus.

use std::net::IpAddr;

use menu::{Kind, Spelling};

/// Weekdays in the spelling of the user manager.
pub(crate) const WEEKDAYS: &[&str] = &[
    "sunday",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
];

/// Date and time: `2026-11-21 18:57:57`.
pub(crate) const DATE_TIME: Kind = Kind::Spelled(&Spelling {
    describe: "YYYY-MM-DD HH:MM:SS    (date and time)",
    canonical: date_time,
});

/// Offset from UTC: `+02:00`.
pub(crate) const OFFSET: Kind = Kind::Spelled(&Spelling {
    describe: "[+|-]HH:MM    (offset)",
    canonical: offset,
});

/// A host by IP address, with an optional interface, or by DNS name.
pub(crate) const HOST: Kind = Kind::Spelled(&Spelling {
    describe: "IP or IPv6 address, or DNS name",
    canonical: host,
});

/// An IP address with an optional port: `10.0.0.1:37008`, `[2001:db8::1]:37008`.
pub(crate) const SOCKET: Kind = Kind::Spelled(&Spelling {
    describe: "A.B.C.D[:PORT] or [IPv6]:PORT    (IP address and port)",
    canonical: socket,
});

/// A size in bytes with an optional unit: `524288B`.
pub(crate) const BYTES: Kind = Kind::Spelled(&Spelling {
    describe: "number of bytes, such as 524288B",
    canonical: |text| {
        let number = text.strip_suffix('B').unwrap_or(text);
        is_number(number).then(|| number.to_owned())
    },
});

/// A temperature with an optional unit: `65C`.
pub(crate) const DEGREES: Kind = Kind::Spelled(&Spelling {
    describe: "degrees Celsius, such as 65C",
    canonical: |text| {
        let degrees = text.strip_suffix('C').unwrap_or(text);
        is_number(degrees.strip_prefix('-').unwrap_or(degrees)).then(|| degrees.to_owned())
    },
});

/// A percentage with an optional sign: `12%`.
pub(crate) const PERCENT: Kind = Kind::Spelled(&Spelling {
    describe: "0..100, such as 12%    (percent)",
    canonical: |text| {
        let percent = text.strip_suffix('%').unwrap_or(text);
        digits(percent, 3, 100).map(|percent| percent.to_string())
    },
});

/// A decimal number with optional sign and fraction, such as a coordinate or a gain.
pub(crate) const DECIMAL: Kind = Kind::Spelled(&Spelling {
    describe: "decimal number",
    canonical: |text| {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
        (is_number(whole) && is_number(fraction)).then(|| text.to_owned())
    },
});

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Parses at most `length` digits with a value of at most `max`.
fn digits(text: &str, length: usize, max: u32) -> Option<u32> {
    let fits = is_number(text) && text.len() <= length;
    text.parse().ok().filter(|value| fits && *value <= max)
}

/// Parses a date: `2026-11-21`, or `nov/21/2026` as in older versions.
fn date(text: &str) -> Option<String> {
    let by_dash = text.splitn(3, '-').collect::<Vec<_>>();
    let by_slash = text.splitn(3, '/').collect::<Vec<_>>();
    let (year, month, day) = match (by_dash.as_slice(), by_slash.as_slice()) {
        ([year, month, day], _) => (*year, digits(month, 2, 12)?, *day),
        (_, [month, day, year]) => {
            let lower = month.to_ascii_lowercase();
            let place = MONTHS.iter().position(|name| *name == lower)?;
            (*year, u32::try_from(place).ok()? + 1, *day)
        }
        _ => return None,
    };
    let (year, day) = (digits(year, 4, 9_999)?, digits(day, 2, 31)?);
    (year >= 1_970 && month > 0 && day > 0).then(|| format!("{year:04}-{month:02}-{day:02}"))
}

fn time_of_day(text: &str) -> Option<String> {
    let mut parts = text.split(':');
    let hours = digits(parts.next()?, 2, 23)?;
    let minutes = digits(parts.next()?, 2, 59)?;
    let seconds = parts.next().map_or(Some(0), |part| digits(part, 2, 59))?;
    let ends = parts.next().is_none();
    ends.then(|| format!("{hours:02}:{minutes:02}:{seconds:02}"))
}

fn date_time(text: &str) -> Option<String> {
    let (day, time) = text.split_once(' ').unwrap_or((text, "00:00:00"));
    Some(format!("{} {}", date(day)?, time_of_day(time)?))
}

fn offset(text: &str) -> Option<String> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ('-', rest),
        None => ('+', text.strip_prefix('+').unwrap_or(text)),
    };
    let (hours, minutes) = rest.split_once(':').unwrap_or((rest, "00"));
    let (hours, minutes) = (digits(hours, 2, 14)?, digits(minutes, 2, 59)?);
    Some(format!("{sign}{hours:02}:{minutes:02}"))
}

/// True for DNS names: labels of letters, digits, `-` and `_`.
fn is_domain(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(plain);
    let whole = text.strip_suffix('.').unwrap_or(text);
    whole.len() <= 253 && whole.split('.').all(label)
}

fn host(text: &str) -> Option<String> {
    let (address, interface) = text.split_once('%').unwrap_or((text, ""));
    if let Ok(address) = address.parse::<IpAddr>() {
        let shown = match interface {
            "" => address.to_string(),
            interface => format!("{address}%{interface}"),
        };
        return Some(shown);
    }
    // Dotted numbers that are no valid address are no DNS name either.
    let numbers = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    (!numbers && is_domain(text)).then(|| text.to_owned())
}

fn socket(text: &str) -> Option<String> {
    if let Ok(address) = text.parse::<std::net::Ipv6Addr>() {
        return Some(address.to_string());
    }
    if let Ok(socket) = text.parse::<std::net::SocketAddrV6>() {
        return Some(socket.to_string());
    }
    let (address, port) = text.split_once(':').unwrap_or((text, "0"));
    let address: std::net::Ipv4Addr = address.parse().ok()?;
    let port = digits(port, 5, 65_535)?;
    Some(match text.contains(':') {
        true => format!("{address}:{port}"),
        false => address.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(kind: Kind, text: &str) -> Option<String> {
        kind.parse("x", text).ok().map(|value| value.to_string())
    }

    #[test]
    fn dates_and_times_have_one_spelling() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(date("Nov/21/2026"), some("2026-11-21"));
        assert_eq!(date("2026-11-1"), some("2026-11-01"));
        assert_eq!(
            canonical(DATE_TIME, "jan/01/1970 00:00:00"),
            some("1970-01-01 00:00:00")
        );
        assert_eq!(time_of_day("7:05"), some("07:05:00"));
        assert_eq!(canonical(OFFSET, "-3:30"), some("-03:30"));
        for bad in [
            "2026-13-01",
            "2026-00-01",
            "foo/01/2026",
            "2026",
            "",
            "1-2-3-4",
        ] {
            assert_eq!(canonical(DATE_TIME, bad), None, "{bad}");
        }
        for bad in ["24:00:00", "1:2:3:4", "1", "a:b", "+1:00"] {
            assert_eq!(time_of_day(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_host_is_an_address_or_a_name() {
        for good in ["10.0.0.1", "fe80::1%ether1", "ntp.example.org", "a_b-c."] {
            assert_eq!(canonical(HOST, good).as_deref(), Some(good), "{good}");
        }
        for bad in ["", "10.0.0", "a..b", "a b", "10.0.0.256"] {
            assert_eq!(canonical(HOST, bad), None, "{bad}");
        }
        assert_eq!(canonical(SOCKET, "10.0.0.1:99999"), None);
        for good in ["10.0.0.1:37008", "2001:db8::1", "[2001:db8::1]:37008"] {
            assert_eq!(canonical(SOCKET, good).as_deref(), Some(good), "{good}");
        }
        assert_eq!(canonical(SOCKET, "[2001:db8::1]"), None);
        assert_eq!(canonical(DECIMAL, "-1.5").as_deref(), Some("-1.5"));
        assert_eq!(canonical(DECIMAL, "1."), None);
    }
}
