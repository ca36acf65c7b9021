//! Benchmark rows of PPPoE sessions without PPP: the walk of `routing-fast-path` from sessions or
//! to sessions.

use std::sync::Arc;

use dataplane::firewall::Firewall;
use dataplane::interface::{Interface, Session};
use dataplane::out::OutId;
use dataplane::table::{Adjacency, Network};
use frame::InterfaceId;
use machine::Rng;
use wire::Mac;

use super::hops::gateway;
use super::measure::Bench;
use super::packets::{Templates, packet};
use super::rig::{EGRESS, FAR_MAC, INGRESS, MAC, Rig, class_of};
use super::{Family, Invalid, Options, Row};

/// The names of these rows: session data arrives, with one flow per session in random order, and
/// leaves without session headers; and the opposite direction.
pub const SESSIONS: &[&str] = &["session-null-in", "session-null-out"];

/// Numbers of sessions.
const COUNTS: [u32; 3] = [1, 4_000, 30_000];
/// Bytes of a frame with check sequence and without session header, and bytes of that header.
const FRAME: u16 = 64;
const HEADER: u16 = 8;
const ETHERNET: usize = 14;
/// Layer-3 MTU of a session in bytes.
const MTU: u32 = 1492;

/// Measures the rows of these names, for each family of the options and each number of sessions.
///
/// # Errors
/// [`Invalid`]: the first row that could not be measured.
pub fn sessions(
    options: &Options,
    rows: &[&'static str],
    emit: &mut dyn FnMut(Row),
) -> Result<(), Invalid> {
    for &name in rows {
        let out = name.ends_with("-out");
        for &family in &options.families {
            for count in COUNTS {
                let seed = options.seed;
                let mut bench = Bench::new(options, |workers| {
                    let mut rig = Rig::new(family, 1, workers, Firewall::default(), seed)?;
                    begin(&mut rig, out, count, seed)?;
                    Ok(rig)
                })?;
                bench.load(|rig, order| {
                    rig.load_these(|rig, worker| templates(rig, out, count, seed, order + worker));
                });
                emit(Row {
                    row: name,
                    family: family.name(),
                    frame: if out { FRAME } else { FRAME + HEADER },
                    flows: count,
                    routes: if out { count + 1 } else { 1 },
                    ..bench.measure()?
                });
            }
        }
    }
    Ok(())
}

/// Returns the session with this number.
fn session(number: u32) -> Session {
    let [a, b, c, d] = number.to_be_bytes();
    Session {
        peer: Mac([2, 0x10, a, b, c, d]),
        number: (number as u16).wrapping_mul(40_503) | 1,
    }
}

/// Returns the session header in front of a packet of `packet` bytes.
fn header(family: Family, session: Session, packet: usize) -> Vec<u8> {
    let protocol: u16 = match family {
        Family::Ipv4 => 0x0021,
        Family::Ipv6 => 0x0057,
    };
    let mut header = vec![0x88, 0x64, 0x11, 0];
    for field in [session.number, packet as u16 + 2, protocol] {
        header.extend(field.to_be_bytes());
    }
    header
}

/// Creates the sessions: on the egress side with a route to each peer, or on the ingress side.
fn begin(rig: &mut Rig, out: bool, count: u32, seed: u64) -> Result<(), Invalid> {
    let (on, mac, port) = match out {
        true => (EGRESS, FAR_MAC, 1),
        false => (INGRESS, MAC, 0),
    };
    let family = rig.family();
    let addresses = rig.destinations(count, seed);
    let mut routes = Vec::new();
    for (number, address) in (0..count).zip(addresses) {
        let id = InterfaceId(EGRESS.0 + 1 + number);
        let line = Interface {
            running: true,
            ipv4: true,
            ipv6: true,
            mac: Mac(mac),
            mtu: MTU,
            out: OutId::port(port),
            under: on,
            ..Interface::default()
        };
        rig.interfaces().set(id, &line);
        rig.interfaces().set_class(id, class_of(id), 0);
        rig.interfaces().set_details(id, Arc::default());
        rig.make_room(id);
        let session = session(number);
        if !rig.interfaces().set_session(id, on, session) {
            return Err(Invalid::TableFull);
        }
        if out {
            let hop = Adjacency {
                egress: id,
                mtu: MTU,
                ..leads_to(family, session)
            };
            let hop = rig.writer().add_next_hop(&hop);
            routes.push((address, hop.map_err(|_| Invalid::TableFull)?));
        }
    }
    let table = rig.writer().table(0).map_err(|_| Invalid::TableFull)?;
    let routes = routes.into_iter();
    let written = match family {
        Family::Ipv4 => {
            let routes = routes.map(|(address, hop)| (Network::new(address as u32, 32), hop));
            table.ipv4.change(routes)
        }
        Family::Ipv6 => {
            let routes = routes.map(|(address, hop)| (Network::new(address, 128), hop));
            table.ipv6.change(routes)
        }
    };
    written.map_err(|_| Invalid::TableFull)
}

/// Returns the next hop of a session, with its header.
fn leads_to(family: Family, session: Session) -> Adjacency {
    let mut hop = gateway(family, 0);
    hop.header[..6].copy_from_slice(&session.peer.0);
    let header = header(family, session, 0);
    hop.header[ETHERNET - 2..][..header.len()].copy_from_slice(&header);
    hop.header_len = (ETHERNET - 2 + header.len()) as u8;
    hop
}

/// Returns a frame for each session, to its address or from its peer. The second seed determines
/// the order.
fn templates(rig: &Rig, out: bool, count: u32, seed: u64, order: u64) -> Templates {
    let mut rng = Rng::seeded(order ^ 0x7e3a);
    let family = rig.family();
    let destinations = (0..count).zip(rig.destinations(count, seed));
    let frames = destinations.map(|(number, destination)| {
        let mut frame = packet(family, FRAME, destination, &mut rng);
        if !out {
            let session = session(number);
            let header = header(family, session, frame.len() - ETHERNET);
            frame[6..12].copy_from_slice(&session.peer.0);
            frame.splice(12..ETHERNET, header);
        }
        frame
    });
    let frames: Vec<_> = frames.collect();
    let len = frames.first().map_or(0, Vec::len);
    Templates::of(frames, len, order)
}
