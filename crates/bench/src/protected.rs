//! The rows of IPsec: the walk of `routing-fast-path`, with a policy that protects everything that leaves, or with
//! packets of one association or of many that come in. Associations that arrive take numbers any number of times, as
//! the same packets come over and over.

use std::sync::Arc;

use dataplane::firewall::Firewall;
use dataplane::ipsec::{
    Action, Arriving, Ipsec, Leaving, Mode, Policies, Policy, Protocol, Selector,
};
use dataplane::snapshot::Prefix;
use esp::{
    Authentication, Bits, Encryption, Inbound, Keys, Numbering, Outbound, Sealing, Suite, seal,
};

use super::measure::Bench;
use super::packets::Templates;
use super::rig::{CLIENTS4, FAR_END, MAC, OWN4, Rig};
use super::{Family, Invalid, Options, Row};

/// The rows of this kind, by name: the algorithms, and whether packets leave or arrive. Each is measured with frames of
/// 64, 512 and 1418 bytes (packets of 1400), by one association, and of the first also by 256.
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

/// How many flows they have.
const FLOWS: u32 = 1_024;
/// Bytes of frames with check sequence; of those that arrive, of the packets in them.
const FRAMES: [u16; 3] = [64, 512, 1418];
/// Clients differ in so many bits.
const CLIENT_BITS: u32 = 22;
const ETHERNET: usize = 14;
const OUTER: usize = 20;
const ESP: u8 = 50;
const IPIP: u8 = 4;

/// What a row is about.
#[derive(Clone, Copy)]
struct Kind {
    suite: Suite,
    out: bool,
    tunnels: u32,
}

impl Kind {
    fn of(name: &str) -> Self {
        let gcm = name.starts_with("esp-gcm");
        let sha1 = name.contains("sha1");
        Self {
            suite: Suite {
                encryption: match gcm {
                    true => Encryption::AesGcm(Bits::B128),
                    false => Encryption::AesCbc(Bits::B128),
                },
                authentication: match (gcm, sha1) {
                    (true, _) => Authentication::None,
                    (_, true) => Authentication::Sha1,
                    _ => Authentication::Sha256,
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

    /// The policies, a slot each: of all that a share of the clients sends.
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
                // What arrives goes the other way.
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
        let (here, far) = (
            core::net::Ipv4Addr::from(OWN4),
            core::net::Ipv4Addr::from(FAR_END),
        );
        for number in 0..count {
            let (spi, keys) = (spi(number), self.keys());
            if self.out {
                let sa = Outbound::new(spi, self.suite, &keys, Numbering::Short, &[9; 16]);
                let leaving = Leaving {
                    protocol: Protocol::Esp,
                    sa: Arc::new(sa.expect("keys of the right length")),
                    mode: Mode::Tunnel,
                    local: (here, 0).into(),
                    remote: (far, 0).into(),
                    in_udp: false,
                };
                made.associations
                    .set_leaving(number, Some(Arc::new(leaving)));
                continue;
            }
            let sa = Inbound::new(spi, self.suite, &keys, Numbering::Short, 0);
            made.associations.put_arriving(Arc::new(Arriving {
                protocol: Protocol::Esp,
                sa: sa.expect("keys of the right length"),
                mode: Mode::Tunnel,
                slot: number,
                remote: far.into(),
                in_udp: false,
            }));
        }
        made
    }
}

const fn spi(number: u32) -> u32 {
    0x1000 + number
}

/// Measures the rows of these names, with IPv4.
///
/// # Errors
/// As [`super::run`].
pub fn protected(
    options: &Options,
    rows: &[&'static str],
    emit: &mut dyn FnMut(Row),
) -> Result<(), Invalid> {
    for &name in rows {
        let kind = Kind::of(name);
        for frame in FRAMES {
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

/// A frame whose packet is not for a client: such would have to come by a tunnel.
fn away(frame: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    let (first, rest) = (ETHERNET + 16, ETHERNET + OUTER);
    let clients = CLIENTS4.to_be_bytes();
    if frame[first] == clients[0] {
        frame[first] ^= 1;
        frame[ETHERNET + 10..ETHERNET + 12].fill(0);
        let sum = !wire::checksum::sum(&frame[ETHERNET..rest]);
        frame[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&sum.to_be_bytes());
    }
    frame
}

/// A frame with the packet of ESP around that of another one, from the tunnel of its client.
fn sealed(kind: Kind, frame: &[u8]) -> Vec<u8> {
    let packet = &frame[ETHERNET..];
    let source = packet[12..16]
        .iter()
        .fold(0, |bits, byte| bits << 8 | u32::from(*byte));
    let number = (source ^ CLIENTS4) >> (CLIENT_BITS - kind.tunnels.ilog2());
    let sa = Outbound::new(
        spi(number),
        kind.suite,
        &kind.keys(),
        Numbering::Short,
        &[9; 16],
    );
    let sa = sa.expect("keys of the right length");
    let (front, back) = sa.room(packet.len());
    let mut bytes = vec![0; front];
    bytes.extend(packet);
    bytes.resize(front + packet.len() + back, 0);
    let mut batch = [Sealing::new(&sa, &mut bytes, packet.len(), IPIP)];
    seal(&mut batch);
    assert!(batch[0].outcome.is_ok());
    let mut outer = frame[..ETHERNET].to_vec();
    outer[..6].copy_from_slice(&MAC);
    outer.extend([0x45, 0]);
    outer.extend(((OUTER + bytes.len()) as u16).to_be_bytes());
    outer.extend([0, 0, 0, 0, 64, ESP, 0, 0]);
    outer.extend(FAR_END.to_be_bytes());
    outer.extend(OWN4.to_be_bytes());
    let sum = !wire::checksum::sum(&outer[ETHERNET..]);
    outer[24..26].copy_from_slice(&sum.to_be_bytes());
    outer.extend(bytes);
    outer
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Payloads that the row's associations have seen, a run of packets at a time.
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
                let leaving = associations.leaving(number).expect("a slot");
                let sent = leaving.as_ref().expect("an association").sa.counters();
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
    fn every_packet_of_a_row_is_sealed_or_opened() {
        for row in PROTECTED {
            for frame in FRAMES {
                let (packets, bytes) = seen(row, frame);
                assert!(packets >= crate::PACKETS as u64, "{row} {frame}: {packets}");
                assert_eq!(bytes, packets * u64::from(frame - 18), "{row} {frame}");
            }
        }
    }
}
