//! The path between clients and servers: frames as either end sends them, and the expected frames
//! at the other end.

use std::collections::HashSet;

use super::Layer;
use crate::bridged::{BRIDGE, BRIDGE_MAC};
use crate::ends::Record;
use crate::far::{ESP, ETHERNET, Far, GRE, IPIP};
use crate::hops::{self, GATEWAYS};
use crate::ovpn;
use crate::packets::link_of;
use crate::rig::{CLIENT_MAC, FAR_MAC, FAR_VLAN, MAC, OWN4};
use crate::tunnels::{TunnelKind, WIREGUARD};
use crate::{Family, Invalid, protected, traffic};
use dataplane::encap::between::Carries;
use dataplane::interface::Session;
use dataplane::out::OutId;
use dataplane::packet::{Tuple, protocol};
use dataplane::rule::{Match, Matcher};
use dataplane::table::Adjacency;
use wire::Mac;

/// The PPPoE session: the first gateway is the peer.
pub(super) const SESSION: Session = Session {
    peer: Mac({
        let [a, b, c, d, e] = GATEWAYS;
        [a, b, c, d, e, 0]
    }),
    number: 0x1234,
};
/// The VLAN of the clients.
const NEAR_VLAN: u16 = 1;
/// Payload of every packet.
const PAYLOAD: &[u8] = b"hello";
const IP: usize = ETHERNET;
const UDP: usize = IP + 20;

/// Returns the matchers of the input rule that accepts the outer packets of a layer; empty without
/// outer packets.
pub(super) fn outer_packets(layer: Layer) -> Vec<Matcher> {
    let protocol = |number| vec![Match::Protocol(number).into()];
    let port = |port| {
        let mut matchers: Vec<Matcher> = protocol(protocol::UDP);
        matchers.push(Match::DestinationPort([(port, port)].into()).into());
        matchers
    };
    match layer {
        Layer::Tunnel(TunnelKind::Between(Carries::Packets)) => protocol(IPIP),
        Layer::Tunnel(TunnelKind::Between(_)) => protocol(GRE),
        Layer::Tunnel(TunnelKind::Vxlan) => port(wire::vxlan::PORT),
        Layer::Tunnel(TunnelKind::Wireguard) => port(WIREGUARD),
        Layer::Tunnel(TunnelKind::Ovpn(_)) => port(ovpn::PORT),
        Layer::Esp | Layer::Branch => protocol(ESP),
        Layer::Vlan | Layer::Pppoe | Layer::Queues | Layer::Bridge => Vec::new(),
    }
}

/// Returns the next hop of the clients.
pub(super) fn to_clients(layer: Layer) -> Adjacency {
    let mut hop = hops::client(Family::Ipv4);
    match layer {
        Layer::Vlan => hops::tagged(hop, super::NEAR_VLAN, NEAR_VLAN),
        Layer::Bridge => {
            hop.header[6..12].copy_from_slice(&BRIDGE_MAC);
            (hop.egress, hop.out) = (BRIDGE, OutId::bridge(BRIDGE));
            hop
        }
        Layer::Pppoe | Layer::Tunnel(_) | Layer::Esp | Layer::Queues | Layer::Branch => hop,
    }
}

/// The path of one layer.
pub(super) struct Path {
    layer: Layer,
    /// The remote end of the tunnel.
    far: Option<Far>,
}

impl Path {
    pub(super) fn new(layer: Layer) -> Self {
        let far = match layer {
            Layer::Tunnel(kind) => Some(Far::new(kind)),
            Layer::Esp | Layer::Branch => Some(protected::far()),
            Layer::Vlan | Layer::Pppoe | Layer::Queues | Layer::Bridge => None,
        };
        Self { layer, far }
    }

    /// Returns a packet of a flow as its client sends it.
    pub(super) fn client_frame(&self, flow: &Tuple) -> Vec<u8> {
        let mut frame = traffic::packet(flow, PAYLOAD);
        match self.layer {
            Layer::Vlan => tag(&mut frame, NEAR_VLAN),
            Layer::Bridge => frame[..6].copy_from_slice(&BRIDGE_MAC),
            Layer::Pppoe | Layer::Tunnel(_) | Layer::Esp | Layer::Queues | Layer::Branch => {}
        }
        frame
    }

    /// Returns the flow of a packet that left, as its server receives it.
    pub(super) fn flow(&self, left: &[u8]) -> Option<Tuple> {
        tuple(&self.at_server(left)?)
    }

    /// Returns the answer of a server to a packet that left, as it arrives at the router.
    ///
    /// # Errors
    /// [`Invalid::Astray`]: no server receives a packet from this frame.
    pub(super) fn answer(&self, left: &[u8]) -> Result<Vec<u8>, Invalid> {
        let received = self
            .at_server(left)
            .ok_or_else(|| astray("a server", left))?;
        let mut answer = traffic::answer(received);
        if let Some(far) = self.far_end(left) {
            let mut link = link_of(left);
            link.rotate_left(6);
            return Ok(far.encapsulate(&link, &answer));
        }
        match self.layer {
            Layer::Vlan => tag(&mut answer, FAR_VLAN),
            Layer::Pppoe => into_session(&mut answer),
            _ => {}
        }
        Ok(answer)
    }

    /// Checks that packets of all these flows, and no others, arrived at their servers and clients.
    ///
    /// # Errors
    /// [`Invalid::Astray`]: an unexpected packet, or the number of flows that arrived.
    pub(super) fn check(&self, flows: &HashSet<Tuple>, recorded: &[Record]) -> Result<(), Invalid> {
        let end = |flow: &Tuple| (flow.destination, flow.destination_port);
        let servers: HashSet<_> = flows.iter().map(end).collect();
        let (mut at_server, mut at_client) = (HashSet::new(), HashSet::new());
        for (port, frame) in recorded {
            let place = if *port == 0 { "a client" } else { "a server" };
            let arrived = match port {
                0 => self.at_client(frame).and_then(|frame| tuple(&frame)),
                _ => self.at_server(frame).and_then(|frame| tuple(&frame)),
            };
            let arrived = arrived.ok_or_else(|| astray(place, frame))?;
            let expected = match (port, self.layer.masquerades(arrived.destination)) {
                (0, _) => flows.contains(&reversed(&arrived)),
                (_, true) => arrived.source == OWN4.into() && servers.contains(&end(&arrived)),
                (_, false) => flows.contains(&arrived),
            };
            if !expected {
                return Err(astray(place, frame));
            }
            let seen = if *port == 0 {
                &mut at_client
            } else {
                &mut at_server
            };
            seen.insert(arrived);
        }
        let (to, from) = (at_server.len(), at_client.len());
        if (to, from) == (flows.len(), flows.len()) {
            return Ok(());
        }
        let count = flows.len();
        Err(Invalid::Astray(format!(
            "of {count} flows {to} reached their server, and the answers of {from} their client"
        )))
    }

    /// Returns the remote end of the tunnel that a packet left by; `None` for one that left by none.
    fn far_end(&self, left: &[u8]) -> Option<&Far> {
        let protocol = left.get(IP + 9).copied();
        let by_tunnel = self.layer != Layer::Branch || protocol == Some(ESP);
        self.far.as_ref().filter(|_| by_tunnel)
    }

    /// Returns the frame that a server receives: an IPv4 packet behind an untagged Ethernet header.
    fn at_server(&self, frame: &[u8]) -> Option<Vec<u8>> {
        let (link, _) = frame.split_at_checked(ETHERNET)?;
        (link.starts_with(&GATEWAYS) && link[6..12] == FAR_MAC).then_some(())?;
        match (self.far_end(frame), self.layer) {
            (Some(far), _) => far.decapsulate(frame),
            (None, Layer::Vlan) => without_tag(frame, FAR_VLAN),
            (None, Layer::Pppoe) => out_of_session(frame),
            (None, _) => Some(frame.to_vec()),
        }
    }

    /// Returns the frame that a client receives, without tags.
    fn at_client(&self, frame: &[u8]) -> Option<Vec<u8>> {
        let (link, _) = frame.split_at_checked(ETHERNET)?;
        let from = if self.layer == Layer::Bridge {
            BRIDGE_MAC
        } else {
            MAC
        };
        (link.starts_with(&CLIENT_MAC) && link[6..12] == from).then_some(())?;
        match self.layer {
            Layer::Vlan => without_tag(frame, NEAR_VLAN),
            _ => Some(frame.to_vec()),
        }
    }
}

fn astray(place: &str, frame: &[u8]) -> Invalid {
    Invalid::Astray(format!("not as {place} should receive it: {frame:02x?}"))
}

fn tag(frame: &mut Vec<u8>, vlan_id: u16) {
    let [high, low] = vlan_id.to_be_bytes();
    frame.splice(12..12, [0x81, 0, high, low]);
}

fn without_tag(frame: &[u8], vlan_id: u16) -> Option<Vec<u8>> {
    let [high, low] = vlan_id.to_be_bytes();
    let behind = frame.get(12..)?.strip_prefix(&[0x81, 0, high, low])?;
    Some([&frame[..12], behind].concat())
}

/// Puts an IPv4 packet behind an Ethernet header into the session.
fn into_session(frame: &mut Vec<u8>) {
    let packet = frame.len() - ETHERNET;
    let header = hops::session_header(Family::Ipv4, SESSION, packet);
    frame.splice(12..ETHERNET, header);
}

/// Returns the IPv4 packet of session data behind an Ethernet header; `None` for other frames, and for frames whose
/// header states another length.
fn out_of_session(frame: &[u8]) -> Option<Vec<u8>> {
    let packet = frame.len().checked_sub(ETHERNET + Session::HEADER)?;
    let header = hops::session_header(Family::Ipv4, SESSION, packet);
    let behind = frame.get(12..)?.strip_prefix(&header[..])?;
    Some([&frame[..12], &[0x08, 0x00], behind].concat())
}

fn reversed(tuple: &Tuple) -> Tuple {
    Tuple {
        source: tuple.destination,
        destination: tuple.source,
        source_port: tuple.destination_port,
        destination_port: tuple.source_port,
        ..*tuple
    }
}

/// Returns the flow of an IPv4 UDP packet that was forwarded once and has correct checksums and the
/// payload of the row.
fn tuple(frame: &[u8]) -> Option<Tuple> {
    let (headers, payload) = frame.split_at_checked(UDP + 8)?;
    let forwarded = headers[12..=IP] == [0x08, 0x00, 0x45] && headers[IP + 8] == 63;
    (forwarded && headers[IP + 9] == protocol::UDP).then_some(())?;
    let mut finished = frame.to_vec();
    traffic::finish(&mut finished);
    (finished == frame && payload.starts_with(PAYLOAD)).then_some(())?;
    let field = |at: usize, len: usize| {
        let bytes = headers[at..at + len].iter();
        bytes.fold(0, |field, byte| field << 8 | u128::from(*byte))
    };
    Some(Tuple {
        source: field(IP + 12, 4),
        destination: field(IP + 16, 4),
        source_port: field(UDP, 2) as u16,
        destination_port: field(UDP + 2, 2) as u16,
        protocol: protocol::UDP,
        ipv6: false,
    })
}
