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

/// Frames and bits per second of links that are full.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WireRate {
    /// Frames per second.
    pub frames: f64,
    /// Bits per second of layer 2: frames with FCS.
    pub layer2_bps: f64,
    /// Bits per second of layer 1: frames with preamble, start delimiter and interframe gap.
    pub layer1_bps: f64,
}

impl WireRate {
    /// Returns the rates of links with this speed in bits per second, full of frames of this length with FCS, in bytes.
    pub fn of_speed(speed_bps: f64, frame_bytes: u32) -> Self {
        Self::of_frames(
            speed_bps / 8.0 / (f64::from(frame_bytes) + WIRE),
            frame_bytes,
        )
    }

    /// Returns the rates of this number of frames per second, of this length with FCS, in bytes.
    pub fn of_frames(frames: f64, frame_bytes: u32) -> Self {
        let bytes = f64::from(frame_bytes);
        Self {
            frames,
            layer2_bps: frames * bytes * 8.0,
            layer1_bps: frames * (bytes + WIRE) * 8.0,
        }
    }
}

pub(crate) const RATES: Calculator = Calculator {
    name: "rates",
    help: "Rates of a link on layers 1, 2 and 3, by the length of its frames",
    arguments: &[
        argument("frame", "length of a frame with FCS, in bytes", "64"),
        argument(
            "packet",
            "length of an IP packet in bytes, in place of frame; short packets are padded",
            "",
        ),
        argument("speed", "speed of the link, in bits per second", "1G"),
    ],
    run: rates,
};

fn rates(given: &ArgumentValues<'_>) -> Result<Rows, String> {
    let speed = given.read("speed", rate)?;
    let (frame, packet) = match given.text("packet") {
        "" => {
            let frame = given.read("frame", length)?;
            if frame < SHORTEST {
                return Err(format!("frame={frame}: expected {SHORTEST} bytes or more"));
            }
            let frame = f64::from(frame);
            (frame, frame - ETHERNET)
        }
        _ => {
            let packet = f64::from(given.read("packet", length)?);
            ((packet + ETHERNET).max(f64::from(SHORTEST)), packet)
        }
    };
    let (padding, wire) = (frame - ETHERNET - packet, frame + WIRE);
    let packets = speed / 8.0 / wire;
    let padded = match padding {
        0.0 => String::new(),
        bytes => format!(", padded by {bytes}"),
    };
    Ok(vec![
        row("packets a second", format!("{packets:.0}")),
        row("layer 1", format!("{}: {wire} bytes", as_rate(speed))),
        row(
            "layer 2",
            format!("{}: {frame} bytes", as_rate(packets * frame * 8.0)),
        ),
        row(
            "layer 3",
            format!(
                "{}: {packet} bytes{padded}",
                as_rate(packets * packet * 8.0)
            ),
        ),
        row(
            "TCP over IPv4",
            as_rate(packets * (packet - 40.0).max(0.0) * 8.0),
        ),
        row("efficiency", as_share(packet / wire)),
    ])
}

pub(crate) const CAPACITY: Calculator = Calculator {
    name: "capacity",
    help: "Throughput and capacity of a router whose ports all send and receive at full speed",
    arguments: &[
        argument(
            "ports",
            "number and speed of the ports, such as 10x1G,1x10G",
            "5x1G",
        ),
        argument(
            "radios",
            "number and data rate of wireless interfaces, such as 1x1300M,1x300M",
            "",
        ),
    ],
    run: capacity,
};

/// Throughput is what leaves the router; capacity counts what arrives and what leaves. A radio sends and receives by
/// turns, so its data rate counts once.
fn capacity(given: &ArgumentValues<'_>) -> Result<Rows, String> {
    let speed = given.read("ports", ports)?;
    let radios = match given.text("radios") {
        "" => 0.0,
        _ => given.read("radios", ports)?,
    };
    let mut rows = vec![
        row(
            "throughput",
            format!("{} leave it", as_rate(speed + radios / 2.0)),
        ),
        row(
            "capacity",
            format!(
                "{}, counting both directions",
                as_rate(2.0 * speed + radios)
            ),
        ),
    ];
    if radios > 0.0 {
        let air = format!("{} of the capacity, by turns", as_rate(radios));
        rows.push(row("radios", air));
    }
    for frame in [64, 512, 1_518] {
        let WireRate {
            frames: packets,
            layer2_bps: layer2,
            ..
        } = WireRate::of_speed(speed, frame);
        rows.push(row(
            format!("frames of {frame}"),
            format!(
                "{packets:.0} a second by the ports: layer 2 {}, capacity {}; layer 1 {}, capacity {}",
                as_rate(layer2),
                as_rate(2.0 * layer2),
                as_rate(speed),
                as_rate(2.0 * speed),
            ),
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
    rows.push(row(
        "simple IMIX",
        format!("{packets:.0} a second by the ports"),
    ));
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
    fn the_wire_rates_of_eight_ports_of_10g_and_one_of_1g_are_those_of_the_crs309() {
        for (frame, kpps, layer2) in [
            (1_518, 6_583.2, 79_946.7),
            (512, 19_032.0, 77_954.9),
            (64, 120_535.7, 61_714.3),
        ] {
            let rate = WireRate::of_speed(81e9, frame);
            assert!((rate.frames / 1e3 - kpps).abs() < 0.1, "{rate:?}");
            assert!((rate.layer2_bps / 1e6 - layer2).abs() < 0.1, "{rate:?}");
            assert!((rate.layer1_bps - 81e9).abs() < 1.0, "{rate:?}");
            assert_eq!(WireRate::of_frames(rate.frames, frame), rate);
        }
    }

    #[test]
    fn a_gigabit_carries_the_known_numbers_of_frames() {
        let of = |frame| RATES.run(&[("frame", frame)]).expect("it calculates");
        let short = of("64");
        assert_eq!(short[0].1, "1488095");
        assert_eq!(short[2].1, "761.90 Mbps: 64 bytes");
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
        assert!(rows[2].1.starts_with("29761905 a second"), "{rows:?}");
    }

    /// The three examples of MikroTik's talk "Understanding throughput": an acknowledgement, a full packet, and the
    /// mean packet of a router.
    #[test]
    fn efficiencies_equal_those_of_the_talk() {
        let of = |packet| RATES.run(&[("packet", packet)]).expect("it calculates");
        let ack = of("40");
        assert_eq!(ack[1].1, "1.00 Gbps: 84 bytes");
        assert!(ack[3].1.ends_with(": 40 bytes, padded by 6"), "{ack:?}");
        assert_eq!(ack[5].1, "47.62 %");
        assert_eq!(
            (&*of("1500")[5].1, &*of("1028")[5].1),
            ("97.53 %", "96.44 %")
        );
        assert_eq!(of("1028")[1].1, "1.00 Gbps: 1066 bytes");
    }

    /// The talk's table of a switch with nine ports, and its router with two radios, whose sum is 3.6 Gbps: the slide
    /// says 4.6.
    #[test]
    fn capacities_equal_those_of_the_talk() {
        let rows = CAPACITY
            .run(&[("ports", "8x10G,1x1G")])
            .expect("it calculates");
        assert_eq!(rows[1].1, "162.00 Gbps, counting both directions");
        let full = &rows[4].1;
        assert!(full.starts_with("6583225 a second"), "{full}");
        assert!(
            full.contains("layer 2 79.95 Gbps, capacity 159.89 Gbps"),
            "{full}"
        );
        let radios = [("ports", "1x1G"), ("radios", "1x1300M,1x300M")];
        let rows = CAPACITY.run(&radios).expect("it calculates");
        assert_eq!(rows[0].1, "1.80 Gbps leave it");
        assert_eq!(rows[1].1, "3.60 Gbps, counting both directions");
    }
}
