//! Benchmark rows of PPPoE and L2TP sessions: the walk of `routing-fast-path` from sessions or to sessions.
//!
//! Sessions of subscribers share a class and an MTU, as those of a PPPoE server, and each has a host route to its peer.
//! The rows `session-null` have neither users nor routes for received packets, and a class for each session.

use std::sync::Arc;

use dataplane::firewall::Firewall;
use dataplane::interface::{Interface, Session};
use dataplane::out::OutId;
use dataplane::table::Network;
use frame::InterfaceId;
use machine::Rng;
use wire::Mac;

use super::hops::{SESSION_MTU, gateway, in_session, session_header};
use super::l2tp;
use super::measure::Bench;
use super::packets::{Templates, packet};
use super::rig::{EGRESS, FAR_MAC, INGRESS, MAC, Rig, class_of};
use super::{Family, Invalid, Options, Row};

/// The names of these rows: session data arrives, with one flow per session in random order, and
/// leaves without session headers; and the opposite direction.
pub const SESSIONS: &[&str] = &[
    "session-null-in",
    "session-null-out",
    "pppoe-in",
    "pppoe-out",
    "l2tp-in",
    "l2tp-out",
];

/// Numbers of sessions.
const COUNTS: [u32; 3] = [1, 4_000, 30_000];
/// Bytes of a frame with check sequence and without session header, and bytes of that header.
const FRAME: u16 = 64;
const HEADER: u16 = 8;
/// Bytes of the headers of an L2TP datagram.
const DATAGRAM: u16 = 38;
const ETHERNET: usize = 14;

/// The properties of a row.
#[derive(Clone, Copy)]
struct Kind {
    /// Packets leave by sessions; otherwise they arrive from sessions.
    out: bool,
    /// Each session belongs to a subscriber.
    subscribers: bool,
    /// Sessions are of L2TP, otherwise of PPPoE.
    l2tp: bool,
}

impl Kind {
    fn of(row: &str) -> Self {
        Self {
            out: row.ends_with("-out"),
            subscribers: !row.starts_with("session"),
            l2tp: row.starts_with("l2tp"),
        }
    }

    /// Bytes of the headers in front of each received packet, behind the link header.
    const fn header(self) -> u16 {
        match (self.out, self.l2tp) {
            (true, _) => 0,
            (false, true) => DATAGRAM,
            (false, false) => HEADER,
        }
    }

    /// Returns true if there is a route to the peer of each session.
    const fn routes(self) -> bool {
        self.out || self.subscribers
    }
}

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
        let kind = Kind::of(name);
        for &family in &options.families {
            for count in COUNTS {
                let seed = options.seed;
                let mut bench = Bench::new(options, |workers| {
                    let mut rig = Rig::new(family, 1, workers, Firewall::default(), seed)?;
                    begin(&mut rig, kind, count, seed)?;
                    Ok(rig)
                })?;
                bench.load(|rig, order| {
                    rig.load_these(|rig, worker| templates(rig, kind, count, seed, order + worker));
                });
                emit(Row {
                    row: name,
                    family: family.name(),
                    frame: FRAME + kind.header(),
                    flows: count,
                    routes: 1 + if kind.routes() { count } else { 0 },
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

/// Creates the sessions on the egress side, or on the ingress side, and the routes to their peers.
fn begin(rig: &mut Rig, kind: Kind, count: u32, seed: u64) -> Result<(), Invalid> {
    if kind.l2tp {
        rig.route_outer(kind.out)?;
    }
    let (on, mac, port) = match kind.out {
        true => (EGRESS, FAR_MAC, 1),
        false => (INGRESS, MAC, 0),
    };
    let family = rig.family();
    // Packets from sessions go to the far side: the addresses of their peers are other ones.
    let addresses = rig.destinations(count, if kind.out { seed } else { seed ^ 0x51de });
    let mut routes = Vec::new();
    for (number, address) in (0..count).zip(addresses) {
        let id = InterfaceId(EGRESS.0 + 1 + number);
        let line = Interface {
            running: true,
            ipv4: true,
            ipv6: true,
            mac: Mac(mac),
            mtu: SESSION_MTU,
            out: out_of(kind, id, port),
            under: if kind.l2tp { id } else { on },
            ..Interface::default()
        };
        rig.interfaces().set(id, &line);
        let class = if kind.subscribers { EGRESS } else { id };
        rig.interfaces().set_class(id, class_of(class), 0);
        rig.make_room(id);
        let session = session(number);
        if kind.l2tp {
            l2tp::open(rig, id, number);
        } else {
            rig.interfaces().set_details(id, Arc::default());
            if !rig.interfaces().set_session(id, on, session) {
                return Err(Invalid::TableFull);
            }
        }
        if kind.routes() {
            let mut hop = match kind.l2tp {
                true => l2tp::hop(family, id),
                false => in_session(gateway(family, 0), family, session, id),
            };
            hop.out = out_of(kind, id, port);
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

/// Returns the out of a session: its tunnel, or the port below.
const fn out_of(kind: Kind, id: InterfaceId, port: u16) -> OutId {
    match kind.l2tp {
        true => OutId::tunnel(id),
        false => OutId::port(port),
    }
}

/// Returns a frame for each session, to its address or from its peer. The second seed determines
/// the order.
fn templates(rig: &Rig, kind: Kind, count: u32, seed: u64, order: u64) -> Templates {
    let mut rng = Rng::seeded(order ^ 0x7e3a);
    let family = rig.family();
    let destinations = (0..count).zip(rig.destinations(count, seed));
    let frames = destinations.map(|(number, destination)| {
        let mut frame = packet(family, FRAME, destination, &mut rng);
        if !kind.out && kind.l2tp {
            l2tp::encapsulate(&mut frame, family, number);
        } else if !kind.out {
            let session = session(number);
            let header = session_header(family, session, frame.len() - ETHERNET);
            frame[6..12].copy_from_slice(&session.peer.0);
            frame.splice(12..ETHERNET, header);
        }
        frame
    });
    let frames: Vec<_> = frames.collect();
    let len = frames.first().map_or(0, Vec::len);
    Templates::of(frames, len, order)
}
