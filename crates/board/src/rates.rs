//! Published rates by frame length, and rates between the published lengths.
//!
//! Between two published lengths, the time of a packet is interpolated in the length. Outside of them no rate is
//! given.

/// Lengths of frames with FCS in [`Forwarding`], in bytes.
pub const FRAME_LENGTHS: [u32; 3] = [1518, 512, 64];
/// Lengths of IP packets in [`SuiteRates`], in bytes.
pub const PACKET_LENGTHS: [u32; 3] = [1400, 512, 64];
/// Number of rules or queues in the published configurations.
pub(crate) const PUBLISHED_RULES: u32 = 25;

/// A published forwarding test: the traffic of all ports, in thousands of packets per second, by
/// [`FRAME_LENGTHS`].
#[derive(Clone, Debug, PartialEq)]
pub struct Forwarding {
    /// Bridging without rules, on the fast path.
    pub bridging: [f64; 3],
    /// Bridging with 25 bridge filter rules.
    pub bridge_filter: [f64; 3],
    /// Routing without rules, on the fast path.
    pub routing: [f64; 3],
    /// Routing with 25 simple queues.
    pub queues: [f64; 3],
    /// Routing with 25 filter rules.
    pub filter: [f64; 3],
    /// Whether the source lists the numbers of queues and filter rules apart from its table, so that their places are
    /// a guess.
    pub rules_are_guessed: bool,
}

impl Forwarding {
    /// Returns the rows in the order of the manufacturer's table.
    pub fn rows(&self) -> [[f64; 3]; 5] {
        [
            self.bridging,
            self.bridge_filter,
            self.routing,
            self.queues,
            self.filter,
        ]
    }
}

/// Number of tunnels of a published IPsec test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tunnels {
    /// One tunnel.
    One,
    /// 256 tunnels.
    Many,
}

/// Cipher and hash of IPsec, as RouterOS names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Suite {
    /// `enc-algorithms`.
    pub cipher: &'static str,
    /// `auth-algorithms`; empty if the cipher authenticates.
    pub hash: &'static str,
}

/// Suites of the published tests.
pub const SUITES: [Suite; 5] = [
    suite("aes-128-cbc", "sha1"),
    suite("aes-128-cbc", "sha256"),
    suite("aes-256-cbc", "sha1"),
    suite("aes-256-cbc", "sha256"),
    suite("aes-128-gcm", ""),
];

const fn suite(cipher: &'static str, hash: &'static str) -> Suite {
    Suite { cipher, hash }
}

impl Suite {
    /// Returns the published suite with this cipher and hash.
    pub fn named(cipher: &str, hash: &str) -> Option<Self> {
        let hash = if cipher.ends_with("-gcm") { "" } else { hash };
        let mut suites = SUITES.into_iter();
        suites.find(|suite| suite.cipher == cipher && suite.hash == hash)
    }

    /// Returns the suite in the notation of the tunnel calculator.
    pub fn layer(self) -> String {
        let words: Vec<_> = self.cipher.split('-').collect();
        let cipher = match words[..] {
            [name, bits, mode] => format!("{name}-{mode}-{bits}"),
            _ => self.cipher.to_owned(),
        };
        match self.hash {
            "" => format!("esp-tunnel:{cipher}"),
            hash => format!("esp-tunnel:{cipher}:{hash}"),
        }
    }
}

impl core::fmt::Display for Suite {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.hash {
            "" => f.write_str(self.cipher),
            hash => write!(f, "{}+{hash}", self.cipher),
        }
    }
}

/// Published rates of IPsec tunnels, in thousands of packets per second, by [`PACKET_LENGTHS`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SuiteRates {
    /// Number of tunnels.
    pub tunnels: Tunnels,
    /// Cipher and hash.
    pub suite: Suite,
    /// The rates.
    pub kpps: [f64; 3],
    /// Whether the source lists the numbers without the name of the suite, so that their place is a guess.
    pub is_guessed: bool,
}

/// A measured rate of a tunnel that the processor encrypts: one file over TCP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftwareRate {
    /// Kind of the tunnel, with its cipher.
    pub tunnel: &'static str,
    /// Payload in Mbps.
    pub mbps: f64,
    /// Share of the processor, in percent.
    pub processor_percent: u32,
}

/// Returns the time of a packet in seconds for a length between the published `lengths` (longest first), and
/// whether it is interpolated. Returns `None` for a length beyond them.
pub(crate) fn packet_time(kpps: &[f64; 3], lengths: &[u32; 3], length: u32) -> Option<(f64, bool)> {
    let seconds = |at: usize| 1e-3 / kpps[at];
    if let Some(at) = lengths.iter().position(|published| *published == length) {
        return Some((seconds(at), false));
    }
    let at = (0..2).find(|at| lengths[*at] > length && length > lengths[at + 1])?;
    let (long, short) = (f64::from(lengths[at]), f64::from(lengths[at + 1]));
    let part = (f64::from(length) - short) / (long - short);
    let (slow, fast) = (seconds(at), seconds(at + 1));
    Some((fast + part * (slow - fast), true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_between_published_lengths_are_between_the_published_rates() {
        let kpps = [162.4, 444.4, 1035.0];
        let at = |length| packet_time(&kpps, &FRAME_LENGTHS, length);
        let (exact, interpolated) = at(512).expect("published");
        assert!((1e-3 / exact - 444.4).abs() < 1e-9 && !interpolated);
        let (between, interpolated) = at(1015).expect("between 512 and 1518");
        let middle = (1e-3 / 162.4 + 1e-3 / 444.4) / 2.0;
        assert!((between - middle).abs() < 1e-12 && interpolated);
        assert_eq!((at(63), at(1519)), (None, None));
    }

    #[test]
    fn suites_are_written_for_the_calculator() {
        let layers: Vec<_> = SUITES.iter().map(|suite| suite.layer()).collect();
        assert_eq!(layers[3], "esp-tunnel:aes-cbc-256:sha256");
        assert_eq!(layers[4], "esp-tunnel:aes-gcm-128");
        for layer in layers {
            assert!(calc::encapsulated_length(&layer, 1400, 1500).is_ok());
        }
        assert_eq!(
            Suite::named("aes-128-gcm", "sha1").map(|suite| suite.to_string()),
            Some(String::from("aes-128-gcm"))
        );
    }
}
