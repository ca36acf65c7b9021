//! Alerts on unknown DHCP servers, `/ip/dhcp-server/alert`: sends a discover every minute and
//! reports servers that answer.

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use dataplane::service::{Match, Rate, Scope, Service};
use frame::InterfaceId;
use machine::{Duration, Instant, Rng};
use menu::{Call, Changes, Id, Item, Menu, Reason, Reply, Row, Value};
use service::dhcp::{CLIENT_PORT, Message, MessageType, SERVER_PORT, code, packet};
use wire::{EtherType, Mac, ipv4, udp};

use super::dhcp_client::SERVICE;
use super::hear::{How, Outgoing, ReceiveOutcome, ReceivedPacket};
use super::{Effect, Effects, Feature, View, each_item};
use crate::intent::{ItemId, Name};
use crate::read;
use crate::running::Running;

const MENU: &str = "/ip/dhcp-server/alert";
/// Interval of DHCP discover messages (RouterOS).
const EVERY: Duration = Duration::from_secs(60);
/// Maximum number of servers remembered per interface.
const MOST: usize = 64;
const RATE: Rate = Rate {
    per_second: 1_000,
    burst: 200,
};

/// All DHCP alerts.
#[derive(Debug)]
pub(crate) struct DhcpAlerts {
    all: BTreeMap<ItemId, Alert>,
    on: BTreeSet<(Name, ItemId)>,
    links: BTreeMap<InterfaceId, (Name, Mac, bool)>,
    named: BTreeMap<Name, InterfaceId>,
    times: BTreeSet<(Instant, ItemId)>,
    rng: Rng,
}

/// An alert.
#[derive(Debug)]
struct Alert {
    interface: Name,
    disabled: bool,
    valid: BTreeSet<Mac>,
    timeout: Option<Duration>,
    script: String,
    /// Unknown servers, and when each was found.
    found: BTreeMap<Mac, Instant>,
    xid: u32,
    next: Option<Instant>,
}

impl DhcpAlerts {
    /// Returns an instance without alerts. Unpredictable transaction ids come from `rng`.
    pub(crate) fn new(rng: Rng) -> Self {
        Self {
            all: BTreeMap::new(),
            on: BTreeSet::new(),
            links: BTreeMap::new(),
            named: BTreeMap::new(),
            times: BTreeSet::new(),
            rng,
        }
    }

    fn put(&mut self, id: ItemId, item: Option<&Item>, now: Instant) {
        let before = self.all.remove(&id);
        if let Some(before) = &before {
            self.on.remove(&(before.interface.clone(), id));
            before.next.map(|at| self.times.remove(&(at, id)));
        }
        let Some(item) = item else { return };
        let macs = item
            .get("valid-server")
            .map(Value::as_list)
            .unwrap_or_default();
        let one = Alert {
            interface: read::name(item, "interface").unwrap_or_default(),
            disabled: item.is("disabled"),
            valid: macs.iter().filter_map(Value::as_mac).map(Mac).collect(),
            timeout: read::span(item, "alert-timeout"),
            script: item.text("on-alert").to_owned(),
            found: before.map(|before| before.found).unwrap_or_default(),
            xid: self.rng.next_u32(),
            next: (!item.is("disabled")).then_some(now),
        };
        self.on.insert((one.interface.clone(), id));
        self.times.extend(one.next.map(|at| (at, id)));
        self.all.insert(id, one);
    }

    /// Broadcasts a discover, as a client would.
    fn ask(&self, one: &Alert, out: &mut Effects) {
        let Some(interface) = self.named.get(&one.interface).copied() else {
            return;
        };
        let Some((_, mac, is_slave)) = self.links.get(&interface) else {
            return;
        };
        if *is_slave {
            return;
        }
        // A client that left the interface may have ended the reception.
        out.push(Effect::Hear {
            service: SERVICE,
            interface,
            on: true,
        });
        let mut message = Message {
            xid: one.xid,
            broadcast: true,
            ..Message::default()
        };
        message.chaddr[..6].copy_from_slice(&mac.0);
        message
            .options
            .set(code::MESSAGE_TYPE, [MessageType::Discover.into()]);
        let (from, to) = (Ipv4Addr::UNSPECIFIED, Ipv4Addr::BROADCAST);
        out.send(Outgoing {
            interface,
            bytes: packet(from, CLIENT_PORT, to, SERVER_PORT, &message.encode(0)),
            how: How::Frame(Mac::BROADCAST, EtherType::IPV4),
        });
    }

    /// Reports a server that answered on an interface, unless it is known.
    fn found(
        &mut self,
        interface: &Name,
        mac: Mac,
        address: Ipv4Addr,
        now: Instant,
        out: &mut Effects,
    ) {
        let alerts = (interface.clone(), 0)..=(interface.clone(), ItemId::MAX);
        for (_, id) in self.on.range(alerts) {
            let Some(one) = self.all.get_mut(id).filter(|one| !one.disabled) else {
                continue;
            };
            one.forget(now);
            let is_known = one.valid.contains(&mac) || one.found.contains_key(&mac);
            if is_known || one.found.len() >= MOST {
                continue;
            }
            one.found.insert(mac, now);
            // RouterOS uses this text.
            let message = format!(
                "dhcp alert on {interface}: discovered unknown dhcp server, mac {mac}, ip {address}"
            );
            out.log("dhcp,critical,error,warning,info,debug", message);
            if one.script.is_empty() {
                continue;
            }
            let mut before = String::new();
            let values = [
                ("interface", interface.to_string()),
                ("mac-address", mac.to_string()),
                ("address", address.to_string()),
            ];
            for (name, value) in values {
                let _ = write!(before, ":local \"{name}\" {};", menu::quote(&value));
            }
            out.push(Effect::Script {
                kind: "dhcp-alert",
                source: one.script.clone(),
                before,
            });
        }
    }
}

impl Alert {
    /// Removes servers whose `alert-timeout` is over.
    fn forget(&mut self, now: Instant) {
        if let Some(timeout) = self.timeout {
            self.found
                .retain(|_, at| now.saturating_since(*at) < timeout);
        }
    }
}

impl Feature for DhcpAlerts {
    fn menus(&self) -> &'static [&'static str] {
        &[MENU]
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, _: &mut Effects) {
        each_item(view, MENU, changes, |id, item| self.put(id, item, view.now));
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        while let Some((at, id)) = self.times.first().copied().filter(|(at, _)| *at <= now) {
            self.times.remove(&(at, id));
            if let Some(one) = self.all.get_mut(&id) {
                one.forget(now);
                one.next = Some(now + EVERY);
                self.times.insert((now + EVERY, id));
            }
            if let Some(one) = self.all.get(&id) {
                self.ask(one, out);
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.times.first().map(|(at, _)| *at)
    }

    fn annotate(&self, _: &'static Menu, id: Id, row: &mut Row) {
        let Some(one) = self.all.get(&id.0) else {
            return;
        };
        let link = self
            .named
            .get(&one.interface)
            .and_then(|id| self.links.get(id));
        let is_good = link.is_some_and(|(_, _, is_slave)| !is_slave);
        row.flag("invalid", !is_good && !one.disabled);
        let found = one.found.keys().map(|mac| Value::Mac(mac.0));
        row.set("unknown-server", Value::List(found.collect()));
    }

    fn act(&mut self, _: &View<'_>, call: &Call<'_>) -> Option<Result<Reply, Reason>> {
        if call.command != "reset-alert" {
            return None;
        }
        for id in call.items {
            if let Some(one) = self.all.get_mut(&id.0) {
                one.found.clear();
            }
        }
        Some(Ok(Reply::default()))
    }

    fn services(&self) -> Vec<Service> {
        if self.all.is_empty() {
            return Vec::new();
        }
        let port = Match::Udp {
            ipv6: false,
            port: CLIENT_PORT,
        };
        vec![Service {
            meets_rules: false,
            scope: Scope::Asked,
            ..Service::new(SERVICE, [port], RATE).by_link()
        }]
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let Some((name, own, _)) = self.links.get(&heard.interface) else {
            return ReceiveOutcome::NotMine;
        };
        let first = self.on.range((name.clone(), 0)..).next();
        if first.is_none_or(|(on, _)| on != name) || heard.source_mac() == *own {
            return ReceiveOutcome::NotMine;
        }
        if let Some(address) = server_of(heard.packet()) {
            let name = name.clone();
            self.found(&name, heard.source_mac(), address, running.now, out);
        }
        // A client of this router may need the answer.
        ReceiveOutcome::NotMine
    }

    fn lay_out(&mut self, others: &BTreeSet<InterfaceId>, running: &Running<'_>, _: &mut Effects) {
        for id in others {
            if let Some((name, ..)) = self.links.remove(id)
                && self.named.get(&name) == Some(id)
            {
                self.named.remove(&name);
            }
            let Some(laid) = running.layout.interfaces.get(id) else {
                continue;
            };
            let link = (laid.name.clone(), laid.link.mac, laid.above.is_some());
            self.named.insert(laid.name.clone(), *id);
            self.links.insert(*id, link);
        }
    }
}

/// Returns the server's address if a packet is an answer of a DHCP server.
fn server_of(bytes: &[u8]) -> Option<Ipv4Addr> {
    let packet = ipv4::Packet::new_checked(bytes).ok()?;
    let datagram = udp::Datagram::new_checked(packet.payload()).ok()?;
    datagram.verify_v4(packet.src(), packet.dst()).ok()?;
    let message = Message::decode(datagram.payload()).ok()?;
    let named = message.options.address(code::SERVER_ID);
    message.is_reply.then(|| named.unwrap_or(packet.src()))
}
