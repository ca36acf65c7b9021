//! Packets of DHCP servers: requests, answers and address probes.

use core::net::Ipv4Addr;

use dataplane::DropReason;
use machine::Instant;
use service::dhcp::server::{Event, Lease, Reply, Request, State, To, Why};
use service::dhcp::{CLIENT_PORT, Message, SERVER_PORT, packet};
use wire::{EtherType, Mac, arp, ipv4, udp};

use super::super::hear::{How, Outgoing, ReceiveOutcome, ReceivedPacket};
use super::{DhcpServers, Effects};
use crate::intent::ItemId;

impl DhcpServers {
    /// Handles a packet to port 67, after relay agents had their turn. Packets for no server are
    /// dropped: they passed no rule of `input`, so they must not reach the host stack.
    pub(super) fn hear_request(
        &mut self,
        heard: &ReceivedPacket<'_>,
        now: Instant,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let Some(link) = self.links.get(&heard.interface) else {
            return ReceiveOutcome::Bad(DropReason::DhcpOtherServer);
        };
        let first = (link.name.clone(), 0);
        if { self.on.range(first..).next() }.is_none_or(|(name, _)| *name != link.name) {
            return ReceiveOutcome::Bad(DropReason::DhcpOtherServer);
        }
        let Some(message) = read(heard.packet()) else {
            return ReceiveOutcome::Bad(DropReason::DhcpMalformed);
        };
        if message.is_reply {
            return ReceiveOutcome::Bad(DropReason::DhcpType);
        }
        let Some(server) = self.server_for(heard, &message) else {
            return ReceiveOutcome::Bad(DropReason::DhcpOtherServer);
        };
        let own = self.links.get(&heard.interface);
        let asked = Request {
            server,
            message,
            src_mac: heard.source_mac(),
            own: own.map(|link| link.own.clone()).unwrap_or_default(),
            grant: None,
        };
        if self.machine.needs_grant(&asked) {
            return self.query_grant(asked, out);
        }
        match self.event(Event::Request(Box::new(asked)), now, out) {
            // The answer follows later.
            None | Some(Why::Testing) => ReceiveOutcome::Taken,
            Some(why) => ReceiveOutcome::Bad(reason(why)),
        }
    }

    /// Returns the server of a request, by interface and relay agent. A renewal from behind a relay
    /// agent goes to the server that leased the address.
    fn server_for(&self, heard: &ReceivedPacket<'_>, message: &Message) -> Option<ItemId> {
        let link = self.links.get(&heard.interface)?;
        if link.is_slave || link.own.is_empty() {
            return None;
        }
        let from = (link.name.clone(), 0)..=(link.name.clone(), ItemId::MAX);
        let servers = self.on.range(from).map(|(_, id)| *id);
        let servers = servers.filter_map(|id| Some((id, self.all.get(&id)?)));
        let servers: Vec<_> = servers.filter(|(_, one)| !one.disabled).collect();
        let agent = Some(message.giaddr).filter(|agent| !agent.is_unspecified());
        let of_agent = servers.iter().find(|(_, one)| one.relay == agent);
        let any = |(_, one): &&(ItemId, &super::DhcpServer)| agent.is_some() && is_any(one);
        let found = of_agent.or_else(|| servers.iter().find(any));
        if let Some((id, _)) = found {
            let ciaddr = message.ciaddr;
            let is_near = ciaddr.is_unspecified() || { self.machine.lease_at(ciaddr) }
                .is_none_or(|lease| lease.server == Some(*id));
            if is_near {
                return Some(*id);
            }
        }
        let lease = self.machine.lease_at(message.ciaddr)?;
        let gave = { servers.iter() }.find(|(id, _)| lease.server == Some(*id));
        gave.or(found).map(|(id, _)| *id)
    }

    /// Sends an answer, or queues it until the lease it promises is on disk.
    pub(super) fn answer(&mut self, reply: Reply, out: &mut Effects) {
        let one = self.all.get(&reply.server);
        let Some((interface, _)) = one.and_then(|one| self.link(&one.interface)) else {
            return;
        };
        let (to, port, how) = match reply.to {
            To::All => (
                Ipv4Addr::BROADCAST,
                CLIENT_PORT,
                How::Frame(Mac::BROADCAST, EtherType::IPV4),
            ),
            To::Client(mac, to) => (to, CLIENT_PORT, How::Frame(mac, EtherType::IPV4)),
            To::Routed(to) => (to, CLIENT_PORT, How::Routed),
            To::Relay(agent) => (agent, SERVER_PORT, How::Routed),
        };
        let outgoing = Outgoing {
            interface,
            bytes: packet(reply.from, SERVER_PORT, to, port, &reply.message),
            how,
        };
        match reply.waits {
            true => self.waiting.push(outgoing),
            false => out.send(outgoing),
        }
    }

    /// Sends an ARP probe for an address (RFC 5227, 2.1.1).
    pub(super) fn probe(&self, server: ItemId, address: Ipv4Addr, out: &mut Effects) {
        let one = self.all.get(&server);
        let Some((one, (interface, link))) =
            one.and_then(|one| Some((one, self.link(&one.interface)?)))
        else {
            return;
        };
        // A probe does not reach clients behind a relay agent.
        if one.relay.is_some() {
            return;
        }
        let mac = link.mac;
        let asks = arp::Repr {
            operation: arp::Operation::REQUEST,
            sender_mac: mac,
            sender: Ipv4Addr::UNSPECIFIED,
            target_mac: Mac::ZERO,
            target: address,
        };
        out.send(Outgoing {
            interface,
            bytes: asks.to_bytes().to_vec(),
            how: How::Frame(Mac::BROADCAST, EtherType::ARP),
        });
    }

    /// Handles ARP: the sender of a packet uses its sender address.
    pub(super) fn hear_arp(&mut self, heard: &ReceivedPacket<'_>, now: Instant, out: &mut Effects) {
        let Ok(said) = arp::Repr::parse(heard.packet()) else {
            return;
        };
        if !self.machine.is_asked_for(said.sender) {
            return;
        }
        let lease = self.machine.lease_at(said.sender);
        // A client that requests again may still use its previous address.
        let is_own = |lease: &Lease| lease.client.mac == said.sender_mac;
        if lease.is_some_and(|lease| lease.state == State::Bound || !is_own(lease)) {
            self.event(Event::AddressInUse(said.sender), now, out);
        }
    }
}

fn is_any(one: &super::DhcpServer) -> bool {
    // RouterOS: 255.255.255.255 accepts all relay agents.
    one.relay == Some(Ipv4Addr::BROADCAST)
}

/// Returns the DHCP message of an IPv4 packet.
fn read(bytes: &[u8]) -> Option<Message> {
    let packet = ipv4::Packet::new_checked(bytes).ok()?;
    let datagram = udp::Datagram::new_checked(packet.payload()).ok()?;
    datagram.verify_v4(packet.src(), packet.dst()).ok()?;
    Message::decode(datagram.payload()).ok()
}

pub(super) const fn reason(why: Why) -> DropReason {
    match why {
        Why::Type => DropReason::DhcpType,
        Why::OtherServer => DropReason::DhcpOtherServer,
        Why::Early => DropReason::DhcpEarly,
        Why::Blocked => DropReason::DhcpBlocked,
        Why::Unknown => DropReason::DhcpUnknown,
        Why::NoAddress | Why::Testing => DropReason::DhcpNoAddress,
        Why::NoGrant => DropReason::DhcpNoGrant,
        Why::MacLimit => DropReason::DhcpMacLimit,
    }
}
