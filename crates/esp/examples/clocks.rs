//! Processor clocks per packet of sealing and opening: `cargo run --release -p esp --example clocks`.
//!
//! Seals and opens a batch of 256 packets, round after round; the packets stay in the second-level cache.
//! Prints best round, median, and interquartile range per suite. An argument selects suites by part of their
//! name.

use esp::{
    Authentication, Bits, Encryption, Inbound, Keys, Numbering, Opening, Outbound, Sealing, Suite,
    open, seal,
};

const PACKETS: usize = 256;
const ROUNDS: usize = 301;
const PAYLOADS: [usize; 3] = [64, 512, 1400];

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    println!(
        "suite                      associations  payload   seal best, median (half between)     open best, median (half between)"
    );
    for suite in suites() {
        let name = format!("{} {}", suite.encryption, suite.authentication);
        if !name.contains(&wanted) {
            continue;
        }
        for associations in [1, PACKETS] {
            for payload in PAYLOADS {
                let [seal, open] = Rig::new(suite, associations, payload).measure();
                println!("{name:26} {associations:12} {payload:8} {seal} {open}");
            }
        }
    }
}

fn suites() -> Vec<Suite> {
    let suite = |encryption, authentication| Suite {
        encryption,
        authentication,
    };
    vec![
        suite(Encryption::AesGcm(Bits::B128), Authentication::None),
        suite(Encryption::AesGcm(Bits::B256), Authentication::None),
        suite(Encryption::ChaCha20Poly1305, Authentication::None),
        suite(Encryption::AesCbc(Bits::B128), Authentication::Sha1),
        suite(Encryption::AesCbc(Bits::B128), Authentication::Sha256),
        suite(Encryption::AesCbc(Bits::B256), Authentication::Sha256),
        suite(Encryption::AesCbc(Bits::B128), Authentication::None),
        suite(Encryption::AesCtr(Bits::B128), Authentication::Sha1),
        suite(Encryption::Null, Authentication::Sha1),
        suite(Encryption::Null, Authentication::Sha256),
        suite(Encryption::Null, Authentication::Sha512),
        suite(Encryption::Null, Authentication::Md5),
        suite(Encryption::TripleDes, Authentication::Sha1),
    ]
}

/// Associations of both directions, and the packets between them.
struct Rig {
    outbound: Vec<Outbound>,
    inbound: Vec<Inbound>,
    packets: Vec<Vec<u8>>,
    payload: usize,
}

impl Rig {
    fn new(suite: Suite, associations: usize, payload: usize) -> Self {
        let keys = |number: usize| {
            let key =
                |len: usize| -> Vec<u8> { (0..len).map(|at| (at * 7 + number) as u8).collect() };
            Keys::new(
                &key(suite.encryption.key_len()),
                &key(suite.authentication.key_len()),
            )
        };
        let window = if suite.has_integrity() { 128 } else { 0 };
        let spi = |number: usize| 0x1000 + number as u32;
        let short = Numbering::Short;
        let outbound: Vec<Outbound> = (0..associations)
            .map(|number| Outbound::new(spi(number), suite, &keys(number), short, &[7; 16]))
            .map(|sa| sa.expect("the suite is valid"))
            .collect();
        let inbound = (0..associations)
            .map(|number| Inbound::new(spi(number), suite, &keys(number), short, window))
            .map(|sa| sa.expect("the suite is valid"))
            .collect();
        let (front, back) = outbound[0].room(payload);
        Self {
            outbound,
            inbound,
            packets: vec![vec![0x5a; front + payload + back]; PACKETS],
            payload,
        }
    }

    fn measure(&mut self) -> [Spread; 2] {
        let (mut sealed, mut opened) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let (one, other) = self.round();
            sealed.push(one);
            opened.push(other);
        }
        [Spread::of(sealed), Spread::of(opened)]
    }

    /// Seals and opens all packets; returns clocks per packet of both.
    fn round(&mut self) -> (f64, f64) {
        let payload = self.payload;
        let of = |number: usize, all: usize| number % all;
        let mut batch: Vec<Sealing<'_>> = (0..)
            .zip(&mut self.packets)
            .map(|(number, bytes)| {
                let sa = &self.outbound[of(number, self.outbound.len())];
                Sealing::new(sa, bytes, payload, 4)
            })
            .collect();
        let start = kernels::tsc();
        seal(&mut batch);
        let sealed = kernels::tsc().wrapping_sub(start);
        assert!(batch.iter().all(|packet| packet.outcome.is_ok()));
        let mut batch: Vec<Opening<'_>> = (0..)
            .zip(&mut self.packets)
            .map(|(number, bytes)| {
                Opening::new(&self.inbound[of(number, self.inbound.len())], bytes)
            })
            .collect();
        let start = kernels::tsc();
        open(&mut batch);
        let opened = kernels::tsc().wrapping_sub(start);
        assert!(batch.iter().all(|packet| packet.outcome.is_ok()));
        let per_packet = |clocks: u64| clocks as f64 / PACKETS as f64;
        (per_packet(sealed), per_packet(opened))
    }
}

/// Minimum, median and interquartile range.
struct Spread {
    best: f64,
    low: f64,
    median: f64,
    high: f64,
}

impl Spread {
    fn of(mut rounds: Vec<f64>) -> Self {
        rounds.sort_unstable_by(f64::total_cmp);
        let at = |part: usize| rounds[rounds.len() * part / 4];
        Self {
            best: at(0),
            low: at(1),
            median: at(2),
            high: at(3),
        }
    }
}

impl core::fmt::Display for Spread {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self {
            best,
            low,
            median,
            high,
        } = self;
        write!(f, "{best:7.0} {median:6.0} ({low:6.0}–{high:6.0})")
    }
}
