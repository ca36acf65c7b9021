//! Data rates of wireless links (IEEE 802.11-2020, tables 19-27 to 19-41 and 21-30 to 21-61; 20-14 of
//! 802.11ad).

use crate::units::as_rate;
use crate::{ArgumentValues, Calculator, Rows, argument, row};

pub(crate) const WIRELESS: Calculator = Calculator {
    name: "wireless",
    help: "The data rate of a wireless link",
    arguments: &[
        argument("standard", "n, ac or ad", "ac"),
        argument(
            "mcs",
            "modulation and coding: n 0 to 31, ac 0 to 9, ad 1 to 12; none for a table of all",
            "",
        ),
        argument("streams", "spatial streams of ac, 1 to 8", "2"),
        argument(
            "width",
            "width of the channel in MHz: 20, 40, 80 or 160",
            "80",
        ),
        argument("guard", "interval: short or long", "short"),
    ],
    run: wireless,
};

/// Modulation and code rate, for MCS 0 to 9.
const MODULATIONS: [&str; 10] = [
    "BPSK 1/2",
    "QPSK 1/2",
    "QPSK 3/4",
    "16-QAM 1/2",
    "16-QAM 3/4",
    "64-QAM 2/3",
    "64-QAM 3/4",
    "64-QAM 5/6",
    "256-QAM 3/4",
    "256-QAM 5/6",
];
/// Modulation, coded bits per symbol, repetition and code rate of 802.11ad, for MCS 1 to 12.
const AD_MODULATIONS: [&str; 12] = [
    "π/2-BPSK, 1 bit, repeated twice, 1/2",
    "π/2-BPSK, 1 bit, 1/2",
    "π/2-BPSK, 1 bit, 5/8",
    "π/2-BPSK, 1 bit, 3/4",
    "π/2-BPSK, 1 bit, 13/16",
    "π/2-QPSK, 2 bits, 1/2",
    "π/2-QPSK, 2 bits, 5/8",
    "π/2-QPSK, 2 bits, 3/4",
    "π/2-QPSK, 2 bits, 13/16",
    "π/2-16QAM, 4 bits, 1/2",
    "π/2-16QAM, 4 bits, 5/8",
    "π/2-16QAM, 4 bits, 3/4",
];
/// The widths of channels in MHz, with their data subcarriers.
const WIDTHS: [(&str, f64); 4] = [("20", 52.0), ("40", 108.0), ("80", 234.0), ("160", 468.0)];
/// Spatial streams of the table of 802.11ac.
const TABLE_STREAMS: u8 = 4;

/// Bits per subcarrier and symbol at the code rate, for MCS 0 to 9.
const BITS: [f64; 10] = [0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 4.5, 5.0, 6.0, 20.0 / 3.0];
/// 802.11ad single carrier rates in Mbit/s, MCS 1 to 12.
const AD: [f64; 12] = [
    385.0, 770.0, 962.5, 1_155.0, 1_251.25, 1_540.0, 1_925.0, 2_310.0, 2_502.5, 3_080.0, 3_850.0,
    4_620.0,
];

fn wireless(given: &ArgumentValues<'_>) -> Result<Rows, String> {
    let symbol = given.read("guard", |text| match text {
        "short" => Ok(3.6e-6),
        "long" => Ok(4.0e-6),
        _ => Err("expected short or long".to_owned()),
    })?;
    if given.text("mcs").is_empty() {
        given.read("streams", streams)?;
        given.read("width", carriers)?;
        return table(given.text("standard"), symbol);
    }
    let mcs = given.read("mcs", |text| {
        text.parse::<usize>()
            .map_err(|_| "expected a number".to_owned())
    })?;
    let streams = given.read("streams", streams)?;
    let carriers = given.read("width", carriers)?;
    let rate = match given.text("standard") {
        "n" if mcs > 31 => return Err(format!("mcs={mcs}: 802.11n has 0 to 31")),
        "n" if carriers > 108.0 => {
            return Err("width: 802.11n has channels of 20 and 40 MHz".to_owned());
        }
        "n" => carriers * BITS[mcs % 8] * (mcs / 8 + 1) as f64 / symbol,
        "ac" if mcs > 9 => return Err(format!("mcs={mcs}: 802.11ac has 0 to 9")),
        "ac" => ac(mcs, streams, carriers, symbol)?,
        "ad" => {
            let rate = mcs.checked_sub(1).and_then(|mcs| AD.get(mcs));
            rate.ok_or_else(|| format!("mcs={mcs}: 802.11ad has 1 to 12"))? * 1e6
        }
        other => return Err(format!("standard={other}: expected n, ac or ad")),
    };
    Ok(vec![row("data rate", as_rate(rate))])
}

/// Returns the data rates of all modulations of a standard.
fn table(standard: &str, symbol: f64) -> Result<Rows, String> {
    match standard {
        "n" => Ok((0..32)
            .map(|mcs| {
                let streams = mcs / 8 + 1;
                let rates = WIDTHS[..2].iter().map(|(width, carriers)| {
                    let rate = carriers * BITS[mcs % 8] * streams as f64 / symbol;
                    (*width, Some(rate))
                });
                row(
                    format!("MCS {mcs}"),
                    line(streams, MODULATIONS[mcs % 8], rates),
                )
            })
            .collect()),
        "ac" => Ok((1..=TABLE_STREAMS)
            .flat_map(|streams| (0..BITS.len()).map(move |mcs| (streams, mcs)))
            .map(|(streams, mcs)| {
                let rates = WIDTHS
                    .iter()
                    .map(|(width, carriers)| (*width, ac(mcs, streams, *carriers, symbol).ok()));
                row(
                    format!("MCS {mcs}"),
                    line(streams.into(), MODULATIONS[mcs], rates),
                )
            })
            .collect()),
        "ad" => {
            let control = row("MCS 0", "DBPSK, 1/2: 27.50 Mbps");
            let rates = AD.iter().zip(AD_MODULATIONS).zip(1..);
            let rates = rates.map(|((rate, modulation), mcs)| {
                let rate = as_rate(rate * 1e6);
                row(format!("MCS {mcs}"), format!("{modulation}: {rate}"))
            });
            Ok([control].into_iter().chain(rates).collect())
        }
        other => Err(format!("standard={other}: expected n, ac or ad")),
    }
}

/// Returns a line of a table: streams, modulation, and the rate at each width.
fn line<'a>(
    streams: usize,
    modulation: &str,
    rates: impl Iterator<Item = (&'a str, Option<f64>)>,
) -> String {
    let rates: Vec<_> = rates
        .map(|(width, rate)| {
            let rate = rate.map_or_else(|| "n/a".to_owned(), as_rate);
            format!("{width} MHz {rate}")
        })
        .collect();
    let plural = if streams == 1 { "" } else { "s" };
    let rates = rates.join(", ");
    format!("{streams} stream{plural}, {modulation}: {rates}")
}

fn ac(mcs: usize, streams: u8, carriers: f64, symbol: f64) -> Result<f64, String> {
    // Combinations whose bits do not fill whole symbols of all encoders are not defined.
    let missing = match (carriers as u32, mcs) {
        (52, 9) => !matches!(streams, 3 | 6),
        (234, 6) => matches!(streams, 3 | 7),
        (234, 9) => streams == 6,
        (468, 9) => streams == 3,
        _ => false,
    };
    match missing {
        true => Err(format!(
            "mcs={mcs}: not available in 802.11ac with {streams} streams at this width"
        )),
        false => Ok(carriers * BITS[mcs] * f64::from(streams) / symbol),
    }
}

fn streams(text: &str) -> Result<u8, String> {
    let streams = text
        .parse()
        .ok()
        .filter(|streams| (1..=8).contains(streams));
    streams.ok_or_else(|| "expected 1 to 8".to_owned())
}

/// Returns the number of data subcarriers for a channel width in MHz.
fn carriers(text: &str) -> Result<f64, String> {
    let found = WIDTHS.iter().find(|(width, _)| *width == text);
    let wrong = || "expected 20, 40, 80 or 160".to_owned();
    found.map(|(_, carriers)| *carriers).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(standard: &str, mcs: &str, streams: &str, width: &str) -> String {
        let values = [
            ("standard", standard),
            ("mcs", mcs),
            ("streams", streams),
            ("width", width),
        ];
        WIRELESS
            .run(&values)
            .map_or_else(|why| why, |rows| rows[0].1.clone())
    }

    #[test]
    fn rates_are_those_of_the_standards_tables() {
        assert_eq!(rate("n", "7", "1", "20"), "72.22 Mbps");
        assert_eq!(rate("n", "15", "1", "40"), "300.00 Mbps");
        assert_eq!(rate("n", "31", "1", "40"), "600.00 Mbps");
        assert_eq!(rate("ac", "7", "1", "80"), "325.00 Mbps");
        assert_eq!(rate("ac", "9", "2", "160"), "1.73 Gbps");
        assert_eq!(rate("ac", "9", "3", "20"), "288.89 Mbps");
        assert_eq!(rate("ad", "12", "1", "80"), "4.62 Gbps");
    }

    /// The slides "Wireless wire speed" and "802.11ad Data rates" of MikroTik's talk.
    #[test]
    fn tables_equal_those_of_the_talk() {
        let of = |standard| WIRELESS.run(&[("standard", standard)]).expect("a table");
        let n = of("n");
        assert_eq!(
            (&*n[23].0, &*n[23].1),
            (
                "MCS 23",
                "3 streams, 64-QAM 5/6: 20 MHz 216.67 Mbps, 40 MHz 450.00 Mbps"
            )
        );
        let ac = of("ac");
        assert_eq!(
            ac[9].1,
            "1 stream, 256-QAM 5/6: 20 MHz n/a, 40 MHz 200.00 Mbps, 80 MHz 433.33 Mbps, 160 MHz 866.67 Mbps"
        );
        assert!(ac[29].1.contains("3 streams") && ac[29].1.ends_with("160 MHz n/a"));
        let ad = of("ad");
        assert_eq!(ad[1].1, "π/2-BPSK, 1 bit, repeated twice, 1/2: 385.00 Mbps");
        assert_eq!(ad.len(), 13);
    }

    #[test]
    fn unavailable_rates_are_refused() {
        assert!(rate("ac", "9", "1", "20").contains("not available"));
        assert!(rate("ac", "9", "3", "160").contains("not available"));
        assert!(rate("n", "7", "1", "80").contains("20 and 40 MHz"));
        assert!(rate("ad", "0", "1", "80").contains("1 to 12"));
    }
}
