//! Benchmark rows of IPsec: the walk of `routing-fast-path`, with a policy that protects all
//! leaving packets, or with received packets of one or many associations. Associations for
//! reception accept repeated sequence numbers, because the templates repeat.

use core::net::Ipv4Addr;
use std::sync::Arc;

use dataplane::firewall::Firewall;
use dataplane::ipsec::{
    Action, Arriving, Ipsec, Leaving, Mode, Policies, Policy, Protocol, Selector,
};
use dataplane::snapshot::Prefix;
use esp::{Authentication, Bits, Encryption, Inbound, Keys, Numbering, Outbound, Suite};

use super::far::{self, ETHERNET, Far, IP};
use super::measure::Bench;
use super::packets::{Templates, link_of};
use super::rig::{CLIENTS4, FAR_END, OWN4, Rig};
use super::{Family, Invalid, Options, Row};

/// The names of these rows: the algorithms, and the direction. Each is measured with frames of 64,
/// 512 and 1418 bytes (packets of 1400) and one association; the first also with 256 associations.
pub const PROTECTED: &[&str] = &[
    "esp-gcm-128-out",
    "esp-gcm-128-in",
    "esp-gcm-128-256-tunnels-out",
    "esp-gcm-128-256-tunnels-in",
    "esp-cbc-128-sha1-out",
    "esp-cbc-128-sha1-in",
    "esp-cbc-128-sha256-out",
    "esp-cbc-128-sha256-in",
];

/// Further rows for [`protected_sizes`], in the naming of [`PROTECTED`]: suites of test results, each by 256
/// associations.
pub const SUITES: &[&str] = &[
    "esp-cbc-128-sha1-256-tunnels-out",
    "esp-cbc-128-sha256-256-tunnels-out",
    "esp-cbc-256-sha1-256-tunnels-out",
    "esp-cbc-256-sha256-256-tunnels-out",
    "esp-gcm-256-256-tunnels-out",
    "esp-chacha20-256-tunnels-out",
];

/// Number of flows.
const FLOWS: u32 = 1_024;
/// Bytes of frames with check sequence; for reception, of the inner frames.
const FRAMES: [u16; 3] = [64, 512, 1418];
/// Number of bits in which client addresses differ.
const CLIENT_BITS: u32 = 22;

/// The properties of a row.
#[derive(Clone, Copy)]
struct Kind {
    suite: Suite,
    out: bool,
    tunnels: u32,
}

impl Kind {
    fn of(name: &str) -> Self {
        let cipher = name.strip_prefix("esp-").unwrap_or(name);
        let bits = match cipher.starts_with("gcm-256-") || cipher.starts_with("cbc-256-") {
            true => Bits::B256,
            false => Bits::B128,
        };
        let encryption = match cipher {
            _ if cipher.starts_with("gcm-") => Encryption::AesGcm(bits),
            _ if cipher.starts_with("chacha20-") => Encryption::ChaCha20Poly1305,
            _ => Encryption::AesCbc(bits),
        };
        Self {
            suite: Suite {
                encryption,
                authentication: match encryption {
                    Encryption::AesCbc(_) if name.contains("-sha1-") => Authentication::Sha1,
                    Encryption::AesCbc(_) => Authentication::Sha256,
                    _ => Authentication::None,
                },
            },
            out: name.ends_with("-out"),
            tunnels: if name.contains("256-tunnels") { 256 } else { 1 },
        }
    }

    fn keys(&self) -> Keys {
        let encryption = self.suite.encryption;
        let authentication = self.suite.authentication.key_len();
        Keys::new(&vec![7; encryption.key_len()], &vec![8; authentication])
    }

    /// Returns the policies, one per slot, each for a share of the clients.
    fn policies(&self) -> Vec<Policy> {
        let share = (32 - CLIENT_BITS + self.tunnels.ilog2()) as u8;
        let shares = (0..self.tunnels).map(|number| {
            let clients = Prefix {
                ipv6: false,
                bits: (CLIENTS4 | number << (32 - share)).into(),
                len: share,
            };
            let all = Prefix {
                ipv6: false,
                bits: 0,
                len: 0,
            };
            let (source, destination) = match self.out {
                true => (clients, all),
                // Received packets match with source and destination exchanged.
                false => (all, clients),
            };
            Policy {
                selector: Selector {
                    source,
                    destination,
                    protocol: 0,
                    source_port: 0,
                    destination_port: 0,
                },
                action: Action::Protect {
                    slot: number,
                    required: true,
                },
            }
        });
        shares.collect()
    }

    fn ipsec(&self) -> Ipsec {
        let policies = self.policies();
        let count = policies.len() as u32;
        let made = Ipsec {
            policies: Arc::new(Policies::new(policies)),
            associations: Arc::default(),
        };
        for number in 0..count {
            match self.out {
                true => self.add_leaving(&made, number),
                false => self.add_arriving(&made, number),
            }
        }
        made
    }

    /// Adds the association for transmission of a slot.
    fn add_leaving(&self, ipsec: &Ipsec, number: u32) {
        let leaving = Leaving {
            protocol: Protocol::Esp,
            sa: Arc::new(self.outbound(number)),
            mode: Mode::Tunnel,
            local: (Ipv4Addr::from(OWN4), 0).into(),
            remote: (Ipv4Addr::from(FAR_END), 0).into(),
            in_udp: false,
            peer_port: None,
        };
        let associations = &ipsec.associations;
        associations.set_leaving(number, Some(Arc::new(leaving)));
    }

    /// Adds the association for reception of a slot.
    fn add_arriving(&self, ipsec: &Ipsec, number: u32) {
        ipsec.associations.put_arriving(Arc::new(Arriving {
            protocol: Protocol::Esp,
            sa: self.inbound(number),
            mode: Mode::Tunnel,
            slot: number,
            remote: Ipv4Addr::from(FAR_END).into(),
            in_udp: false,
            peer_port: None,
        }));
    }

    fn outbound(&self, number: u32) -> Outbound {
        let (suite, short) = (self.suite, Numbering::Short);
        let sa = Outbound::new(spi(number), suite, &self.keys(), short, &[9; 16]);
        sa.expect("keys of the right length")
    }

    /// Returns an association that accepts repeated sequence numbers.
    fn inbound(&self, number: u32) -> Inbound {
        let sa = Inbound::new(spi(number), self.suite, &self.keys(), Numbering::Short, 0);
        sa.expect("keys of the right length")
    }
}

/// Returns an AES-128-GCM tunnel for all traffic of the clients, in both directions.
pub(super) fn both_directions() -> Ipsec {
    let kind = Kind::of(PROTECTED[0]);
    let ipsec = kind.ipsec();
    kind.add_arriving(&ipsec, 0);
    ipsec
}

/// Returns the tunnel of [`both_directions`] for the packets to this network and from it.
pub(super) fn to_site(network: Prefix) -> Ipsec {
    let mut policies = Kind::of(PROTECTED[0]).policies();
    for policy in &mut policies {
        policy.selector.destination = network;
    }
    Ipsec {
        policies: Arc::new(Policies::new(policies)),
        ..both_directions()
    }
}

/// Returns the remote end of [`both_directions`].
pub(super) fn far() -> Far {
    let kind = Kind::of(PROTECTED[0]);
    Far::Esp {
        sending: Box::new(kind.outbound(0)),
        receiving: Box::new(kind.inbound(0)),
    }
}

const fn spi(number: u32) -> u32 {
    0x1000 + number
}

/// Measures the rows of these names, with IPv4.
///
/// # Errors
/// [`Invalid`]: the first row that could not be measured.
pub fn protected(
    options: &Options,
    rows: &[&'static str],
    emit: &mut dyn FnMut(Row),
) -> Result<(), Invalid> {
    protected_sizes(options, rows, &FRAMES, emit)
}

/// Measures rows of [`PROTECTED`] and [`SUITES`] with frames of these lengths in bytes, with check sequence.
///
/// # Errors
/// [`Invalid`]: the first row that could not be measured.
pub fn protected_sizes(
    options: &Options,
    rows: &[&'static str],
    frames: &[u16],
    emit: &mut dyn FnMut(Row),
) -> Result<(), Invalid> {
    for &name in rows {
        let kind = Kind::of(name);
        for &frame in frames {
            let mut bench = Bench::new(options, |workers| {
                let mut rig =
                    Rig::new(Family::Ipv4, 1, workers, Firewall::default(), options.seed)?;
                rig.protect(kind.ipsec(), kind.out)?;
                Ok(rig)
            })?;
            bench.load(|rig, seed| {
                rig.load_these(|rig, worker| templates(rig, frame, kind, seed + worker));
            });
            emit(Row {
                row: name,
                family: Family::Ipv4.name(),
                frame,
                flows: FLOWS,
                routes: 1,
                ..bench.measure()?
            });
        }
    }
    Ok(())
}

fn templates(rig: &Rig, frame: u16, kind: Kind, seed: u64) -> Templates {
    Templates::new(rig, FLOWS, frame, seed).map(seed, |frame| {
        let frame = away(frame);
        match kind.out {
            true => frame,
            false => sealed(kind, &frame),
        }
    })
}

/// Changes the destination of a frame's packet to an address outside the clients' networks, because
/// packets to clients must arrive by a tunnel.
fn away(frame: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    let (first, rest) = (ETHERNET + 16, ETHERNET + IP);
    let clients = CLIENTS4.to_be_bytes();
    if frame[first] == clients[0] {
        frame[first] ^= 1;
        frame[ETHERNET + 10..ETHERNET + 12].fill(0);
        let sum = !wire::checksum::sum(&frame[ETHERNET..rest]);
        frame[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&sum.to_be_bytes());
    }
    frame
}

/// Returns a frame with the packet of another frame in ESP, from the tunnel of its client.
fn sealed(kind: Kind, frame: &[u8]) -> Vec<u8> {
    let packet = &frame[ETHERNET..];
    let source = packet[12..16]
        .iter()
        .fold(0, |bits, byte| bits << 8 | u32::from(*byte));
    let number = (source ^ CLIENTS4) >> (CLIENT_BITS - kind.tunnels.ilog2());
    let sa = kind.outbound(number);
    far::in_esp(&link_of(frame), &sa, frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a row. Returns the number of packets, and the bytes that the row's associations
    /// counted.
    fn seen(name: &'static str, frame: u16) -> (u64, u64) {
        let options = Options {
            runs: 1,
            ..Options::default()
        };
        let kind = Kind::of(name);
        let ipsec = kind.ipsec();
        let associations = Arc::clone(&ipsec.associations);
        let mut bench = Bench::new(&options, |workers| {
            let mut rig = Rig::new(Family::Ipv4, 1, workers, Firewall::default(), options.seed)?;
            rig.protect(ipsec.clone(), kind.out)?;
            Ok(rig)
        })
        .expect("room");
        bench.load(|rig, seed| {
            rig.load_these(|rig, worker| templates(rig, frame, kind, seed + worker))
        });
        let measured = bench.measure().map(|_| ());
        assert_eq!(measured, Ok(()), "{name} {frame}");
        let all = (0..kind.tunnels).map(|number| match kind.out {
            true => {
                let leaving = associations.leaving(number).expect("an association");
                let sent = leaving.sa.counters();
                (sent.packets, sent.bytes)
            }
            false => {
                let arriving = associations.arriving(spi(number)).expect("an association");
                let received = arriving.sa.counters();
                (received.packets, received.bytes)
            }
        });
        all.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    #[test]
    fn names_state_cipher_hash_and_number_of_tunnels() {
        let suite = |name| {
            let kind = Kind::of(name);
            (
                kind.suite.encryption,
                kind.suite.authentication,
                kind.tunnels,
            )
        };
        assert_eq!(
            suite("esp-cbc-256-sha1-256-tunnels-out"),
            (Encryption::AesCbc(Bits::B256), Authentication::Sha1, 256)
        );
        assert_eq!(
            suite("esp-cbc-128-sha256-out"),
            (Encryption::AesCbc(Bits::B128), Authentication::Sha256, 1)
        );
        assert_eq!(
            suite("esp-gcm-128-256-tunnels-out"),
            (Encryption::AesGcm(Bits::B128), Authentication::None, 256)
        );
        assert_eq!(
            suite("esp-chacha20-256-tunnels-out"),
            (Encryption::ChaCha20Poly1305, Authentication::None, 256)
        );
    }

    #[test]
    fn every_packet_of_a_row_is_sealed_or_opened() {
        for row in [PROTECTED, SUITES].concat() {
            for frame in FRAMES {
                let (packets, bytes) = seen(row, frame);
                assert!(packets >= crate::PACKETS as u64, "{row} {frame}: {packets}");
                assert_eq!(bytes, packets * u64::from(frame - 18), "{row} {frame}");
            }
        }
    }
}
