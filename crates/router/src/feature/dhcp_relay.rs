//! DHCP relay agents, `/ip/dhcp-relay`: forward requests of clients to servers in other networks,
//! and the answers back. `service::dhcp::relay` rewrites the messages.

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use dataplane::DropReason;
use dataplane::service::{Match, Rate, Service};
use frame::InterfaceId;
use menu::{Call, Changes, Id, Item, Menu, Reason, Reply, Row, Value};
use service::dhcp::relay::{Config, Fault, To};
use service::dhcp::{CLIENT_PORT, Message, SERVER_PORT, packet};
use wire::{EtherType, Mac, ipv4, udp};

use super::hear::{How, Outgoing, ReceiveOutcome, ReceivedPacket};
use super::{Effect, Effects, Feature, View, each_item};
use crate::intent::{ItemId, Name};
use crate::live::number;
use crate::read;
use crate::running::Running;

const MENU: &str = "/ip/dhcp-relay";
/// Service of UDP port 67, shared by servers and relay agents.
const SERVICE: &str = "dhcp-server";
/// Allows twenty thousand clients a second, each with a discover and a request.
const RATE: Rate = Rate {
    per_second: 40_000,
    burst: 1_024,
};
/// Maximum bytes of a forwarded message.
const LONGEST: usize = 1_472;
/// Maximum number of servers of a relay.
const SERVERS: usize = 16;

/// All DHCP relay agents.
#[derive(Debug, Default)]
pub(crate) struct DhcpRelays {
    all: BTreeMap<ItemId, RelayAgent>,
    /// Relays by the name of their interface.
    near: BTreeSet<(Name, ItemId)>,
    /// Relays by interface, while it exists.
    at: BTreeSet<(InterfaceId, ItemId)>,
    /// Relays by the address that servers answer to.
    addressed: BTreeMap<Ipv4Addr, ItemId>,
}

/// A relay agent.
#[derive(Debug)]
struct RelayAgent {
    interface: Name,
    servers: Vec<Ipv4Addr>,
    /// Its own address; `None` takes the first one of the interface.
    local: Option<Ipv4Addr>,
    threshold_s: Option<u16>,
    /// Remote id text of option 82; `None` does not add the option.
    agent: Option<String>,
    from_own: bool,
    disabled: bool,
    at: Option<InterfaceId>,
    config: Config,
    requests: u64,
    responses: u64,
}

impl Feature for DhcpRelays {
    fn menus(&self) -> &'static [&'static str] {
        &[MENU]
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        each_item(view, MENU, changes, |id, item| {
            let counted = self.take_away(id);
            if let Some(mut one) = item.and_then(one) {
                (one.requests, one.responses) = counted;
                // Requests a layout event for the relay's interface.
                out.push(Effect::Look(one.interface.clone()));
                self.near.insert((one.interface.clone(), id));
                self.all.insert(id, one);
            }
        });
    }

    fn annotate(&self, _: &'static Menu, id: Id, row: &mut Row) {
        if let Some(one) = self.all.get(&id.0) {
            row.flag("invalid", one.at.is_none() && !one.disabled);
            row.set("requests", number(one.requests));
            row.set("responses", number(one.responses));
        }
    }

    fn act(&mut self, _: &View<'_>, call: &Call<'_>) -> Option<Result<Reply, Reason>> {
        let mut reply = Reply::default();
        for id in call.items {
            let Some(one) = self.all.get_mut(&id.0) else {
                continue;
            };
            match call.command {
                "reset-counters" => (one.requests, one.responses) = (0, 0),
                "monitor" => {
                    let mut row = Row::default();
                    row.set("requests", number(one.requests));
                    row.set("responses", number(one.responses));
                    reply.rows.push(row);
                }
                _ => return None,
            }
        }
        Some(Ok(reply))
    }

    fn services(&self) -> Vec<Service> {
        if self.all.is_empty() {
            return Vec::new();
        }
        let port = Match::Udp {
            ipv6: false,
            port: SERVER_PORT,
        };
        vec![Service {
            meets_rules: false,
            ..Service::new(SERVICE, [port], RATE).by_link()
        }]
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        if heard.service != SERVICE {
            return ReceiveOutcome::NotMine;
        }
        // The next receiver counts malformed messages.
        let Some(message) = message(heard.packet()) else {
            return ReceiveOutcome::NotMine;
        };
        match message.is_reply {
            true => self.answer(message, out),
            false => self.request(heard.interface, &message, running, out),
        }
    }

    fn lay_out(&mut self, others: &BTreeSet<InterfaceId>, running: &Running<'_>, _: &mut Effects) {
        if self.all.is_empty() {
            return;
        }
        let mut items = BTreeSet::new();
        for id in others {
            let range = (*id, 0)..=(*id, ItemId::MAX);
            items.extend(self.at.range(range).map(|(_, item)| *item));
            if let Some(laid) = running.layout.interfaces.get(id) {
                let range = (laid.name.clone(), 0)..=(laid.name.clone(), ItemId::MAX);
                items.extend(self.near.range(range).map(|(_, item)| *item));
            }
        }
        for item in items {
            self.bring_up_to_date(item, running);
        }
    }
}

impl DhcpRelays {
    /// Removes a relay. Returns its counters.
    fn take_away(&mut self, id: ItemId) -> (u64, u64) {
        self.leave(id);
        let Some(one) = self.all.remove(&id) else {
            return (0, 0);
        };
        self.near.remove(&(one.interface, id));
        (one.requests, one.responses)
    }

    fn leave(&mut self, id: ItemId) {
        let Some(one) = self.all.get_mut(&id) else {
            return;
        };
        if let Some(interface) = one.at.take() {
            self.at.remove(&(interface, id));
        }
        if let Some(address) = one.config.address.take()
            && self.addressed.get(&address) == Some(&id)
        {
            self.addressed.remove(&address);
        }
    }

    /// Updates a relay from the state of its interface.
    fn bring_up_to_date(&mut self, id: ItemId, running: &Running<'_>) {
        self.leave(id);
        let Some(one) = self.all.get_mut(&id).filter(|one| !one.disabled) else {
            return;
        };
        let named = running.layout.named(&one.interface);
        let named =
            named.filter(|(_, laid)| !laid.disabled && !laid.invalid && laid.above.is_none());
        let Some((interface, laid)) = named else {
            return;
        };
        one.at = Some(interface);
        let remote = one.agent.as_ref().map(|text| match text.is_empty() {
            true => laid.link.mac.0.to_vec(),
            false => text.as_bytes().to_vec(),
        });
        one.config = Config {
            address: one.local.or_else(|| running.first4(interface)),
            threshold_s: one.threshold_s,
            agent: remote.map(|remote| (one.interface.as_bytes().to_vec(), remote)),
        };
        self.at.insert((interface, id));
        if let Some(address) = one.config.address {
            self.addressed.insert(address, id);
        }
    }

    /// Forwards a request by the relays of its interface. Without relays, leaves the request to the
    /// DHCP servers of this router.
    fn request(
        &mut self,
        interface: InterfaceId,
        message: &Message,
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let range = (interface, 0)..=(interface, ItemId::MAX);
        let items: Vec<_> = self.at.range(range).map(|(_, item)| *item).collect();
        let mut hearing = ReceiveOutcome::NotMine;
        for id in items {
            let Some(one) = self.all.get_mut(&id) else {
                continue;
            };
            let passed = match one.config.request(message.clone()) {
                Ok(passed) => passed,
                Err(fault) => {
                    hearing = ReceiveOutcome::Bad(reason(fault));
                    continue;
                }
            };
            let own = passed.giaddr;
            let bytes = passed.encode(LONGEST);
            for server in &one.servers {
                let from = running.source4(*server).filter(|_| !one.from_own);
                let from = from.unwrap_or(own);
                let packet = packet(from, SERVER_PORT, *server, SERVER_PORT, &bytes);
                out.send(Outgoing::packet(interface, packet));
            }
            one.requests += 1;
            hearing = ReceiveOutcome::Taken;
        }
        hearing
    }

    /// Forwards an answer to its client.
    fn answer(&mut self, message: Message, out: &mut Effects) -> ReceiveOutcome {
        let id = self.addressed.get(&message.giaddr);
        let Some(one) = id.and_then(|id| self.all.get_mut(id)) else {
            return ReceiveOutcome::NotMine;
        };
        let (message, to) = match one.config.answer(message) {
            Ok(passed) => passed,
            Err(fault) => return ReceiveOutcome::Bad(reason(fault)),
        };
        let (Some(interface), Some(own)) = (one.at, one.config.address) else {
            return ReceiveOutcome::NotMine;
        };
        let (address, mac) = match to {
            To::Everybody => (Ipv4Addr::BROADCAST, Mac::BROADCAST),
            To::Client(address, mac) => (address, mac),
        };
        let bytes = message.encode(LONGEST);
        out.send(Outgoing {
            interface,
            bytes: packet(own, SERVER_PORT, address, CLIENT_PORT, &bytes),
            how: How::Frame(mac, EtherType::IPV4),
        });
        one.responses += 1;
        ReceiveOutcome::Taken
    }
}

const fn reason(fault: Fault) -> DropReason {
    match fault {
        Fault::Kind | Fault::Other => DropReason::DhcpRelayOther,
        Fault::Looped => DropReason::DhcpRelayLooped,
        Fault::Early => DropReason::DhcpRelayEarly,
        Fault::Forged => DropReason::DhcpRelayForged,
        Fault::NoAddress => DropReason::DhcpRelayNoAddress,
    }
}

fn message(packet: &[u8]) -> Option<Message> {
    let packet = ipv4::Packet::new_checked(packet).ok()?;
    let datagram = udp::Datagram::new_checked(packet.payload()).ok()?;
    datagram.verify_v4(packet.src(), packet.dst()).ok()?;
    Message::decode(datagram.payload()).ok()
}

fn one(item: &Item) -> Option<RelayAgent> {
    let four = |value: &Value| match value.as_address() {
        Some(IpAddr::V4(address)) => Some(address).filter(|address| !address.is_unspecified()),
        _ => None,
    };
    let servers = item.get("dhcp-server").map(Value::as_list);
    let servers = servers.unwrap_or_default().iter().filter_map(four);
    let threshold = read::span(item, "delay-threshold").map(|span| span.as_secs());
    let remote = item.text("relay-info-remote-id").to_owned();
    Some(RelayAgent {
        interface: read::name(item, "interface")?,
        servers: servers.take(SERVERS).collect(),
        local: item.get("local-address").and_then(four),
        threshold_s: threshold.map(|seconds| u16::try_from(seconds).unwrap_or(u16::MAX)),
        agent: item.is("add-relay-info").then_some(remote),
        from_own: item.is("local-address-as-src-ip"),
        disabled: item.is("disabled"),
        at: None,
        config: Config::default(),
        requests: 0,
        responses: 0,
    })
}
