//! Benchmark rows of WireGuard, of OpenVPN by UDP and of EoIP over IPsec: the walk of `routing-fast-path` with
//! encapsulation or decapsulation.

use std::sync::Arc;

use dataplane::encap::between::Carries;
use dataplane::firewall::Firewall;
use dataplane::ipsec::{
    Action, Arriving, Ipsec, Leaving, Mode, Policies, Policy, Protocol, Selector,
};
use dataplane::snapshot::Prefix;
use esp::{Authentication, Bits, Encryption, Inbound, Keys, Numbering, Outbound, Suite};

use super::far::{self, ESP, ETHERNET, Far, GRE, IP};
use super::measure::Bench;
use super::ovpn;
use super::packets::{Templates, link_of};
use super::rig::{FAR_END, OWN4, Rig};
use super::tunnels::TunnelKind;
use super::{Family, Invalid, Options, Row};

/// The names of these rows, all over IPv4: WireGuard, and OpenVPN with AES-128-GCM or AES-128-CBC and SHA1, with
/// inner frames of 64, 512 and 1418 bytes;
/// EoIP over IPsec in transport mode with frames of 1418 and 9000 bytes: AES-128-CBC with SHA1, as
/// RouterOS's `ipsec-secret` uses it, and AES-128-GCM.
pub const KEYED: &[&str] = &[
    "wireguard-out",
    "wireguard-in",
    "ovpn-udp-gcm-out",
    "ovpn-udp-gcm-in",
    "ovpn-cbc-sha1-out",
    "ovpn-cbc-sha1-in",
    "eoip-ipsec-out",
    "eoip-ipsec-in",
    "eoip-ipsec-gcm-out",
    "eoip-ipsec-gcm-in",
];

const FLOWS: u32 = 1_000;
const FRAMES: [u16; 3] = [64, 512, 1418];
/// Lengths in bytes of frames whose outer packets fit 1,500 bytes and the MTU of the interfaces.
const LONG: [u16; 2] = [1418, 9000];
/// Lengths in bytes of these frames with the overhead of EoIP.
const FRAMED: [u16; 2] = [LONG[0] + 42, LONG[1] + 42];
const SPI: u32 = 0x1000;
const CBC_SHA1: Suite = Suite {
    encryption: Encryption::AesCbc(Bits::B128),
    authentication: Authentication::Sha1,
};
const GCM: Suite = Suite {
    encryption: Encryption::AesGcm(Bits::B128),
    authentication: Authentication::None,
};
const EOIP: TunnelKind = TunnelKind::Between(Carries::Frames(100));

/// Measures the rows of these names, with IPv4.
///
/// # Errors
/// [`Invalid`]: the first row that could not be measured.
pub fn keyed(
    options: &Options,
    rows: &[&'static str],
    emit: &mut dyn FnMut(Row),
) -> Result<(), Invalid> {
    for &name in rows {
        let out = name.ends_with("-out");
        let tunnel = match name {
            _ if name.starts_with("wireguard") => Some(TunnelKind::Wireguard),
            _ if name.starts_with("ovpn-udp-gcm") => Some(TunnelKind::Ovpn(ovpn::GCM)),
            _ if name.starts_with("ovpn-cbc-sha1") => Some(TunnelKind::Ovpn(ovpn::CBC_SHA1)),
            _ => None,
        };
        let suite = match name.contains("gcm") {
            true => GCM,
            false => CBC_SHA1,
        };
        let frames = match (tunnel, out) {
            (Some(_), _) => &FRAMES[..],
            (None, true) => &LONG[..],
            (None, false) => &FRAMED[..],
        };
        for &frame in frames {
            let mut bench = Bench::new(options, |workers| {
                let firewall = Firewall::default();
                let mut rig = Rig::new(Family::Ipv4, 1, workers, firewall, options.seed)?;
                rig.add_tunnel(tunnel.unwrap_or(EOIP), out)?;
                if tunnel.is_none() {
                    rig.protect(transport(suite, out), out)?;
                }
                Ok(rig)
            })?;
            bench.load(|rig, seed| {
                rig.load_these(|rig, worker| match (tunnel, out) {
                    (_, true) => Templates::new(rig, FLOWS, frame, seed + worker),
                    (Some(kind), false) => messages(rig, kind, FLOWS, frame, seed + worker),
                    (None, false) => protected(rig, suite, FLOWS, frame, seed + worker),
                });
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

/// Returns datagrams of a tunnel's other end, each with the packet of a frame of `frame` bytes.
pub(super) fn messages(
    rig: &Rig,
    kind: TunnelKind,
    flows: u32,
    frame: u16,
    seed: u64,
) -> Templates {
    let far = Far::new(kind);
    Templates::new(rig, flows, frame, seed)
        .map(seed, |frame| far.encapsulate(&link_of(frame), frame))
}

fn keys(suite: Suite) -> Keys {
    let key = |len: usize, byte: u8| vec![byte; len];
    let encryption = key(suite.encryption.key_len(), 7);
    Keys::new(&encryption, &key(suite.authentication.key_len(), 8))
}

fn outbound(suite: Suite) -> Outbound {
    let sa = Outbound::new(SPI, suite, &keys(suite), Numbering::Short, &[9; 16]);
    sa.expect("keys of the right length")
}

/// Returns the policy and associations for GRE between both ends.
fn transport(suite: Suite, out: bool) -> Ipsec {
    let host = |bits: u32| Prefix {
        ipv6: false,
        bits: bits.into(),
        len: 32,
    };
    let selector = Selector {
        source: host(OWN4),
        destination: host(FAR_END),
        protocol: GRE,
        source_port: 0,
        destination_port: 0,
    };
    let action = Action::Protect {
        slot: 0,
        required: true,
    };
    let made = Ipsec {
        policies: Arc::new(Policies::new(vec![Policy { selector, action }])),
        associations: Arc::default(),
    };
    let [here, far] = [OWN4, FAR_END].map(core::net::Ipv4Addr::from_bits);
    if out {
        let leaving = Leaving {
            protocol: Protocol::Esp,
            sa: Arc::new(outbound(suite)),
            mode: Mode::Transport,
            local: (here, 0).into(),
            remote: (far, 0).into(),
            in_udp: false,
            peer_port: None,
        };
        made.associations.set_leaving(0, Some(Arc::new(leaving)));
        return made;
    }
    let sa = Inbound::new(SPI, suite, &keys(suite), Numbering::Short, 0);
    made.associations.put_arriving(Arc::new(Arriving {
        protocol: Protocol::Esp,
        sa: sa.expect("keys of the right length"),
        mode: Mode::Transport,
        slot: 0,
        remote: far.into(),
        in_udp: false,
        peer_port: None,
    }));
    made
}

/// Returns EoIP frames in IPsec packets.
fn protected(rig: &Rig, suite: Suite, flows: u32, frame: u16, seed: u64) -> Templates {
    let sa = outbound(suite);
    let templates = Templates::wrapped(rig, Carries::Frames(100), flows, frame, seed);
    templates.map(seed, |frame| {
        let sealed = far::seal(&sa, &frame[ETHERNET + IP..], GRE);
        far::outer(&link_of(frame), ESP, &sealed)
    })
}
