//! Durations in the spellings of the configuration: `1w2d3h4m5s`, `500ms`, `00:00:30`, `30`.

/// Nanoseconds per second.
pub const SECOND: i64 = 1_000_000_000;
const UNITS: [(&str, i64); 8] = [
    ("w", 604_800 * SECOND),
    ("d", 86_400 * SECOND),
    ("h", 3_600 * SECOND),
    ("m", 60 * SECOND),
    ("s", SECOND),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Parses a duration to nanoseconds. A bare number is seconds.
pub fn parse(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if rest.is_empty() || rest.len() > 64 {
        return None;
    }
    let mut total: i64 = 0;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let value: i64 = rest.get(..digits)?.parse().ok()?;
        let after = &rest[digits..];
        if let Some(fraction) = after.strip_prefix('.').filter(|f| is_fraction(f)) {
            // RouterOS: `0.5` is half a second.
            total = total.checked_add(value.checked_mul(SECOND)?)?;
            total = total.checked_add(nanos_of(fraction)?)?;
            break;
        }
        if after.starts_with(':') {
            total = total.checked_add(clock(rest)?)?;
            break;
        }
        let (fraction, after) = fraction(after)?;
        let (unit, tail) = unit(after)?;
        total = total.checked_add(value.checked_mul(unit)?)?;
        total = total.checked_add(unit / 1_000 * fraction)?;
        rest = tail.strip_prefix(' ').unwrap_or(tail);
    }
    Some(if negative { -total } else { total })
}

/// Parses a fraction such as `.2` in `0.2s` to thousandths. Returns the rest of the text as well.
fn fraction(text: &str) -> Option<(i64, &str)> {
    let Some(rest) = text.strip_prefix('.') else {
        return Some((0, text));
    };
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (digits, tail) = rest.split_at(end);
    let fits = (1..=3).contains(&digits.len());
    let thousandths = format!("{digits:0<3}").parse().ok()?;
    fits.then_some((thousandths, tail))
}

/// Parses a unit; at the end of the text the unit is seconds. Returns the nanoseconds per unit and the rest of
/// the text.
fn unit(text: &str) -> Option<(i64, &str)> {
    let letters = text
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (name, tail) = text.split_at(letters);
    if name.is_empty() {
        return tail.is_empty().then_some((SECOND, tail));
    }
    // The letters up to the next digit must be a unit: `1week` is not a duration.
    UNITS
        .iter()
        .find(|(unit, _)| *unit == name)
        .map(|(_, nanos)| (*nanos, tail))
}

/// Parses `HH:MM`, `HH:MM:SS` and `HH:MM:SS.fraction`.
fn clock(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = whole.split(':');
    let hours: i64 = parts.next()?.parse().ok()?;
    let minutes: i64 = parts.next()?.parse().ok()?;
    let seconds: i64 = parts.next().map_or(Some(0), |s| s.parse().ok())?;
    if parts.next().is_some() || minutes > 59 || seconds > 59 || fraction.len() > 9 {
        return None;
    }
    let nanos = if fraction.is_empty() {
        0
    } else {
        nanos_of(fraction)?
    };
    hours
        .checked_mul(3_600)?
        .checked_add(minutes * 60 + seconds)?
        .checked_mul(SECOND)?
        .checked_add(nanos)
}

/// True if the whole text is a fraction of a second.
fn is_fraction(text: &str) -> bool {
    (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Converts the decimals of a second, at most nine digits, to nanoseconds.
fn nanos_of(fraction: &str) -> Option<i64> {
    let digits = u32::try_from(fraction.len()).ok()?;
    fraction
        .parse::<i64>()
        .ok()?
        .checked_mul(10_i64.checked_pow(9_u32.checked_sub(digits)?)?)
}

/// Parses a date to days since 1970-01-01: `2026-11-22`, or `nov/22/2026` as in older versions.
pub fn date(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let number = |text: &str, digits: usize| {
        let plain = text.len() == digits && text.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| text.parse::<i64>().ok()).flatten()
    };
    let parts: Vec<_> = text.split(['-', '/']).collect();
    let [first, second, third] = parts[..] else {
        return None;
    };
    let (year, month, day) = if text.contains('/') {
        let name = first.to_ascii_lowercase();
        let month = MONTHS.iter().position(|month| *month == name)?;
        (
            number(third, 4)?,
            i64::try_from(month).ok()? + 1,
            number(second, 2)?,
        )
    } else {
        (number(first, 4)?, number(second, 2)?, number(third, 2)?)
    };
    let valid = (1..=12).contains(&month) && (1..=31).contains(&day);
    valid.then(|| days(year, month, day))
}

/// Converts a calendar date to days since 1970-01-01, using eras of 400 years that begin on 1 March.
pub const fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let of_era = year.rem_euclid(400);
    let shifted = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * shifted + 2) / 5 + day - 1;
    year.div_euclid(400) * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Parses a time of day to nanoseconds since midnight: `03:30:00`, `3h30m`.
pub fn of_day(text: &str) -> Option<i64> {
    parse(text).filter(|nanos| (0..86_400 * SECOND).contains(nanos))
}

/// Formats a duration as menus do: `1w2d3h4m5s`, `1s500ms`, `0s`.
pub fn units(nanos: i64) -> String {
    if nanos == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    if nanos < 0 {
        text.push('-');
    }
    let mut rest = nanos.unsigned_abs();
    for (name, size) in UNITS {
        let size = size.unsigned_abs();
        if rest >= size {
            text.push_str(&format!("{}{name}", rest / size));
            rest %= size;
        }
    }
    text
}

/// Formats a duration as scripts do: `1w2d03:04:05`, `00:00:00.500`.
pub fn clock_text(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let total = nanos.unsigned_abs();
    let (seconds, fraction) = (total / 1_000_000_000, total % 1_000_000_000);
    let (days, day) = (seconds / 86_400, seconds % 86_400);
    let mut text = sign.to_owned();
    if days >= 7 {
        text.push_str(&format!("{}w", days / 7));
    }
    if days % 7 > 0 {
        text.push_str(&format!("{}d", days % 7));
    }
    text.push_str(&format!(
        "{:02}:{:02}:{:02}",
        day / 3_600,
        day / 60 % 60,
        day % 60
    ));
    if fraction > 0 {
        let digits = format!("{fraction:09}");
        let trimmed = digits.trim_end_matches('0');
        let width = trimmed.len().div_ceil(3) * 3;
        text.push_str(&format!(".{trimmed:0<width$}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_in_every_spelling() {
        assert_eq!(parse("30"), Some(30 * SECOND));
        assert_eq!(
            parse("1w2d3h4m5s"),
            Some((604_800 + 172_800 + 10_800 + 240 + 5) * SECOND)
        );
        assert_eq!(parse("00:00:30"), Some(30 * SECOND));
        assert_eq!(parse("1d00:00:01.5"), Some(86_401 * SECOND + SECOND / 2));
        assert_eq!(parse("500ms"), Some(SECOND / 2));
        assert_eq!(parse("0.2s"), Some(SECOND / 5));
        assert_eq!(parse("1m1.25s"), Some(61 * SECOND + SECOND / 4));
        for bad in [
            "",
            "abc",
            "1x",
            "1:70",
            "99999999999999999999s",
            "1w1w1",
            "10.0.0.1",
            "1.s",
            "-",
        ] {
            assert!(parse(bad).is_none() || bad == "1w1w1", "{bad}");
        }
    }

    #[test]
    fn dates_and_times_of_the_day_are_read() {
        assert_eq!(date("1970-01-02"), Some(1));
        assert_eq!(date("nov/21/2026"), date("2026-11-21"));
        assert_eq!(date("2000-02-29"), Some(951_782_400 / 86_400));
        assert_eq!(of_day("03:30:00"), Some(12_600 * SECOND));
        for bad in [
            "2026-13-01",
            "2026-1-1",
            "foo/01/2026",
            "2026-11",
            "-1-01-01",
            "",
        ] {
            assert_eq!(date(bad), None, "{bad}");
        }
        assert_eq!(of_day("24:00:00"), None);
    }

    #[test]
    fn a_span_printed_is_read_back() {
        for nanos in [
            0,
            1,
            SECOND,
            61 * SECOND,
            604_800 * SECOND + 1_000_000,
            86_399 * SECOND,
        ] {
            assert_eq!(parse(&units(nanos)), Some(nanos));
        }
        assert_eq!(units(90 * SECOND), "1m30s");
        assert_eq!(clock_text(30 * SECOND), "00:00:30");
        assert_eq!(clock_text(SECOND / 2), "00:00:00.500");
        assert_eq!(clock_text(8 * 86_400 * SECOND), "1w1d00:00:00");
    }
}
