//! Traffic between two ports of a board.

use crate::rates::{FRAME_LENGTHS, SUITES, Suite};

/// Traffic from one port to another, and back.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Device name of the port where it arrives.
    pub from: String,
    /// Device name of the port by which it leaves.
    pub to: String,
    /// Rate in bit/s on layer 2, FCS included.
    pub bps: f64,
    /// Rate of the return traffic in bit/s.
    pub back_bps: f64,
    /// Length of frames in bytes, FCS included.
    pub frame: u32,
    /// IPsec at port `to`; `None` for clear traffic.
    pub suite: Option<Suite>,
}

impl Flow {
    /// Parses `ether2-ether4=700M`, `=700M/300M` with return traffic, `=700M,512` with a frame length in bytes, and
    /// `=700M,512,ipsec` or `,ipsec:aes-256-cbc+sha256` with encryption at the second port. `ports` are the names of
    /// all ports; `ipsec` alone means the suite `usual`.
    ///
    /// # Errors
    /// Description of the accepted form, or of the ports.
    pub fn parse(text: &str, ports: &[&str], usual: Suite) -> Result<Self, String> {
        let wrong = |what: &str| {
            format!(
                "--flow {text}: {what}; expected ether2-ether4=700M, =700M/300M with return traffic, =700M,512 with a \
                 frame length, =700M,512,ipsec with encryption"
            )
        };
        let (names, words) = (text.split_once('=')).ok_or_else(|| wrong("a rate is missing"))?;
        let no_ports = || wrong(&format!("{names} are not two of {}", ports.join(", ")));
        let (from, to) = ends(names, ports).ok_or_else(no_ports)?;
        let mut words = words.split(',');
        let rates = words.next().unwrap_or_default();
        let (rate, back) = rates.split_once('/').unwrap_or((rates, "0"));
        let bits = |text: &str| calc::bits_per_second(text).map_err(|why| wrong(&why));
        let mut flow = Self {
            from: from.to_owned(),
            to: to.to_owned(),
            bps: bits(rate)?,
            back_bps: bits(back)?,
            frame: FRAME_LENGTHS[0],
            suite: None,
        };
        for word in words {
            match word.strip_prefix("ipsec") {
                Some(of) => flow.suite = Some(suite(of, usual).map_err(|why| wrong(&why))?),
                None => {
                    let length = word
                        .parse()
                        .ok()
                        .filter(|length| (64..=1518).contains(length));
                    flow.frame = length.ok_or_else(|| wrong("a frame has 64 to 1518 bytes"))?;
                }
            }
        }
        Ok(flow)
    }

    /// Returns the rate of both directions in packets per second.
    pub fn packets_per_second(&self) -> f64 {
        (self.bps + self.back_bps) / (8.0 * f64::from(self.frame))
    }

    /// Returns the bits on the wire of port `to` for each bit of a clear frame: more than 1 with encryption.
    /// Packets that exceed 1500 bytes are counted with the headers of their fragments.
    pub fn growth(&self) -> f64 {
        let Some(suite) = self.suite else {
            return 1.0;
        };
        let packet = self.frame - HEADERS;
        let outer = calc::encapsulated_length(&suite.layer(), packet, MTU).unwrap_or(MTU);
        let fragments = outer.div_ceil(MTU);
        let wire = outer + fragments * HEADERS + (fragments - 1) * IP_HEADER;
        f64::from(wire) / f64::from(self.frame)
    }
}

/// Ethernet header and FCS in bytes.
const HEADERS: u32 = 18;
/// IPv4 header in bytes.
const IP_HEADER: u32 = 20;
/// MTU of a link in bytes.
const MTU: u32 = 1500;

/// Cuts `sfp-sfpplus1-ether2` at the hyphen between two ports.
fn ends<'a>(names: &'a str, ports: &[&str]) -> Option<(&'a str, &'a str)> {
    let cuts = names.match_indices('-');
    let mut pairs = cuts.map(|(at, _)| (&names[..at], &names[at + 1..]));
    pairs.find(|(from, to)| from != to && ports.contains(from) && ports.contains(to))
}

/// Parses the rest of `ipsec:aes-256-cbc+sha256`.
fn suite(text: &str, usual: Suite) -> Result<Suite, String> {
    if text.is_empty() {
        return Ok(usual);
    }
    let words = text.strip_prefix(':').unwrap_or(text);
    let (cipher, hash) = words.split_once('+').unwrap_or((words, ""));
    Suite::named(cipher, hash).ok_or_else(|| {
        let known = SUITES.map(|suite| suite.to_string());
        format!("rates are known for ipsec:{}", known.join(", ipsec:"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORTS: [&str; 5] = ["ether1", "ether2", "ether4", "sfp-sfpplus1", "sfp-sfpplus2"];

    fn parse(text: &str) -> Result<Flow, String> {
        Flow::parse(text, &PORTS, SUITES[0])
    }

    #[test]
    fn flows_are_read_whatever_ports_are_called() {
        let one = parse("ether2-ether4=700M/300M").expect("a flow");
        assert_eq!((&*one.from, &*one.to), ("ether2", "ether4"));
        assert_eq!((one.bps, one.back_bps, one.frame), (7e8, 3e8, 1518));
        let other = parse("sfp-sfpplus1-sfp-sfpplus2=10G,64").expect("a flow");
        assert_eq!((&*other.from, &*other.to), ("sfp-sfpplus1", "sfp-sfpplus2"));
        assert_eq!(other.frame, 64);
        let secret = parse("ether1-ether2=700M,512,ipsec").expect("a flow");
        assert_eq!((secret.frame, secret.suite), (512, Some(SUITES[0])));
        let other = parse("ether1-ether2=1M,ipsec:aes-256-cbc+sha256").expect("a flow");
        assert_eq!(other.suite, Some(SUITES[3]));
        for wrong in [
            "ether1",
            "ether1-ether2",
            "ether1=1M",
            "ether1-ether2=x",
            "ether1-lan=1M",
            "ether1-ether1=1M",
            "ether1-ether2=1M,63",
            "ether1-ether2=1M,9000",
            "ether1-ether2=1M,ipsec:rot13",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn encryption_lengthens_frames() {
        let of = |text: &str| parse(text).expect(text).growth();
        assert_eq!(of("ether1-ether2=1M"), 1.0);
        let outer = calc::encapsulated_length("esp-tunnel:aes-cbc-128:sha1", 494, 1500);
        let outer = f64::from(outer.expect("known"));
        assert_eq!(of("ether1-ether2=1M,512,ipsec"), (outer + 18.0) / 512.0);
        // 1500 bytes leave in two fragments.
        assert!(of("ether1-ether2=1M,ipsec") > (1500.0 + 56.0 + 36.0) / 1518.0);
    }
}
