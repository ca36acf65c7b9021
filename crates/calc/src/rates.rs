//! Rates by layer, and the capacity of a router with several ports.
//!
//! On the wire a frame takes 20 bytes more than on layer 2: 7 of preamble, 1 of start delimiter, 12 of
//! interframe gap. Layer 2 adds 18 bytes to layer 3: header and FCS (IEEE 802.3, 3.1.1 and 4.4.2).

use crate::units::{as_rate, as_share, length, rate};
use crate::{ArgumentValues, Calculator, Rows, argument, row};

/// Overhead in bytes of layer 1 and of layer 2.
const WIRE: f64 = 20.0;
const ETHERNET: f64 = 18.0;
/// Minimum frame length (IEEE 802.3, 4.4.2).
const SHORTEST: u32 = 64;
/// Typical internet traffic: packet lengths, and their counts per twelve packets ("simple IMIX").
const MIX: [(f64, f64); 3] = [(40.0, 7.0), (576.0, 4.0), (1_500.0, 1.0)];

pub(crate) const RATES: Calculator = Calculator {
    name: "rates",
    help: "Rates of a link on layers 1, 2 and 3, by the length of its frames",
    arguments: &[
        argument("frame", "length of a frame with FCS, in bytes", "64"),
        argument("speed", "speed of the link, in bits per second", "1G"),
    ],
    run: rates,
};

fn rates(given: &ArgumentValues<'_>) -> Result<Rows, String> {
    let (frame, speed) = (given.read("frame", length)?, given.read("speed", rate)?);
    if frame < SHORTEST {
        return Err(format!("frame={frame}: expected {SHORTEST} bytes or more"));
    }
    let frame = f64::from(frame);
    let packets = speed / 8.0 / (frame + WIRE);
    Ok(vec![
        row("packets a second", format!("{packets:.0}")),
        row("layer 1", as_rate(speed)),
        row("layer 2", as_rate(packets * frame * 8.0)),
        row("layer 3", as_rate(packets * (frame - ETHERNET) * 8.0)),
        row(
            "TCP over IPv4",
            as_rate(packets * (frame - ETHERNET - 40.0).max(0.0) * 8.0),
        ),
        row("efficiency", as_share((frame - ETHERNET) / (frame + WIRE))),
    ])
}

pub(crate) const CAPACITY: Calculator = Calculator {
    name: "capacity",
    help: "Maximum throughput of a router whose ports all send and receive at full speed",
    arguments: &[argument(
        "ports",
        "number and speed of the ports, such as 10x1G,1x10G",
        "5x1G",
    )],
    run: capacity,
};

fn capacity(given: &ArgumentValues<'_>) -> Result<Rows, String> {
    let speed = given.read("ports", ports)?;
    let mut rows = vec![
        row("throughput", format!("{} leave it", as_rate(speed))),
        row(
            "capacity",
            format!("{}, counting both directions", as_rate(2.0 * speed)),
        ),
    ];
    for frame in [64.0, 512.0, 1_518.0] {
        let packets = speed / 8.0 / (frame + WIRE);
        rows.push(row(
            format!("frames of {frame}"),
            format!("{packets:.0} a second"),
        ));
    }
    let all: f64 = MIX.iter().map(|(_, count)| count).sum();
    let bytes = |len: f64| (len + ETHERNET).max(f64::from(SHORTEST)) + WIRE;
    let mean: f64 = MIX
        .iter()
        .map(|(len, count)| bytes(*len) * count)
        .sum::<f64>()
        / all;
    let packets = speed / 8.0 / mean;
    rows.push(row("simple IMIX", format!("{packets:.0} a second")));
    Ok(rows)
}

/// Parses `10x1G,1x10G` to the sum of all speeds.
fn ports(text: &str) -> Result<f64, String> {
    let wrong = || "expected numbers and speeds, such as 10x1G,1x10G".to_owned();
    let parts = text.split(',').map(|part| {
        let (count, speed) = part.split_once('x').unwrap_or(("1", part));
        let count: u16 = count.parse().map_err(|_| wrong())?;
        Ok(f64::from(count) * rate(speed).map_err(|_| wrong())?)
    });
    parts.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gigabit_carries_the_known_numbers_of_frames() {
        let of = |frame| RATES.run(&[("frame", frame)]).expect("it calculates");
        let short = of("64");
        assert_eq!(short[0].1, "1488095");
        assert_eq!(short[2].1, "761.90 Mbps");
        assert_eq!(short[5].1, "54.76 %");
        let long = of("1518");
        assert_eq!((&*long[0].1, &*long[5].1), ("81274", "97.53 %"));
        assert!(RATES.run(&[("frame", "63")]).is_err());
    }

    #[test]
    fn capacity_counts_all_ports_in_both_directions() {
        let rows = CAPACITY
            .run(&[("ports", "10x1G,1x10G")])
            .expect("it calculates");
        assert_eq!(rows[1].1, "40.00 Gbps, counting both directions");
        assert_eq!(rows[2].1, "29761905 a second");
    }
}
