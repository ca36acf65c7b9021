//! Parses and formats numbers with units.

/// Parses bits per second: `700M`, `1G`, `64k`, `1500000`.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    const WANTED: &str = "expected bits per second, such as 64k, 700M or 1G";
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor = match text.get(digits.len()..).unwrap_or_default() {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        _ => return Err(WANTED.to_owned()),
    };
    positive(digits, WANTED).map(|number| number * factor)
}

/// Parses a duration to seconds: `60ms`, `1s`, `250us`; a bare number is seconds.
pub(crate) fn span(text: &str) -> Result<f64, String> {
    const WANTED: &str = "expected a time, such as 250us, 60ms or 1s";
    for (unit, factor) in [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)] {
        if let Some(number) = text.strip_suffix(unit) {
            return positive(number, WANTED).map(|number| number * factor);
        }
    }
    positive(text, WANTED)
}

/// Parses a number of bytes: `65535`, `64KiB`, `4MiB`.
pub(crate) fn bytes(text: &str) -> Result<f64, String> {
    const WANTED: &str = "expected bytes, such as 65535, 64KiB or 4MiB";
    for (unit, factor) in [
        ("KiB", 1_024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
    ] {
        if let Some(number) = text.strip_suffix(unit) {
            return positive(number, WANTED).map(|number| number * factor);
        }
    }
    positive(text, WANTED)
}

/// Parses a non-negative number.
pub(crate) fn number(text: &str) -> Result<f64, String> {
    positive(text, "expected a number")
}

/// Parses the length of a frame or packet in bytes.
pub(crate) fn length(text: &str) -> Result<u32, String> {
    let wrong = "expected 28 to 65535 bytes";
    let length = text.parse().map_err(|_| wrong.to_owned())?;
    (28..=65_535)
        .contains(&length)
        .then_some(length)
        .ok_or_else(|| wrong.to_owned())
}

fn positive(text: &str, wanted: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| wanted.to_owned())?;
    let is_one = number.is_finite() && (0.0..1e18).contains(&number);
    is_one.then_some(number).ok_or_else(|| wanted.to_owned())
}

/// Formats bits per second: `761.9 Mbps`.
pub(crate) fn as_rate(bits: f64) -> String {
    let units = [("Tbps", 1e12), ("Gbps", 1e9), ("Mbps", 1e6), ("kbps", 1e3)];
    let found = units.into_iter().find(|(_, step)| bits >= *step);
    found.map_or_else(
        || format!("{bits:.0} bps"),
        |(unit, step)| format!("{:.2} {unit}", bits / step),
    )
}

/// Formats seconds: `60.0 ms`.
pub(crate) fn as_span(seconds: f64) -> String {
    let units = [("s", 1.0), ("ms", 1e-3), ("us", 1e-6)];
    let found = units.into_iter().find(|(_, step)| seconds >= *step);
    found.map_or_else(
        || format!("{:.0} ns", seconds * 1e9),
        |(unit, step)| format!("{:.2} {unit}", seconds / step),
    )
}

/// Formats a ratio in percent: `76.19 %`.
pub(crate) fn as_share(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_their_units() {
        assert_eq!((rate("700M"), rate("64k")), (Ok(7e8), Ok(64e3)));
        assert_eq!((span("60ms"), span("2")), (Ok(0.06), Ok(2.0)));
        assert_eq!(bytes("64KiB"), Ok(65_536.0));
        for text in ["", "M", "1X", "-1M", "inf", "NaN", "1e99"] {
            assert!(rate(text).is_err(), "{text}");
        }
        assert!(length("27").is_err() && length("65536").is_err());
    }

    #[test]
    fn numbers_are_shown_with_units_that_fit() {
        assert_eq!(as_rate(563_336_533.0), "563.34 Mbps");
        assert_eq!(
            (as_rate(12.0), as_span(0.06)),
            ("12 bps".into(), "60.00 ms".into())
        );
        assert_eq!(
            (as_span(0.0), as_share(0.4762)),
            ("0 ns".into(), "47.62 %".into())
        );
    }
}
