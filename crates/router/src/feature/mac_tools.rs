//! Tools that use link addresses: RouterOS's MAC ping (`/tool/mac-server/ping`) and Wake-on-LAN
//! (`/tool/wol`).

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};

use dataplane::DropReason;
use dataplane::interface::Above;
use dataplane::service::{Match, Rate, Service};
use frame::InterfaceId;
use machine::Instant;
use menu::{Call, Changes, Reason, Reply, Value};
use wire::{EtherType, Mac, Protocol, ipv4, mac_ping, udp};

use super::hear::{How, Outgoing, ReceiveOutcome, ReceivedPacket};
use super::{Effects, Feature, View};
use crate::intent::Name;
use crate::probe::argument;
use crate::running::Running;

const PING: &str = "/tool/mac-server/ping";
const TOOLS: &str = "/tool";
const SERVICE: &str = "mac-ping";
/// Limit of MAC pings; each answer is as long as its request.
const RATE: Rate = Rate {
    per_second: 500,
    burst: 64,
};
/// UDP port of Wake-on-LAN packets: "discard"; any port works.
const WAKE: u16 = 9;
/// Maximum number of queued Wake-on-LAN packets; further commands fail.
const WAITING: usize = 256;

/// State of MAC ping and Wake-on-LAN.
#[derive(Debug, Default)]
pub(crate) struct MacTools {
    answers: bool,
    /// Running interfaces with Ethernet headers.
    all: BTreeMap<InterfaceId, MacInterface>,
    /// Queued targets of Wake-on-LAN with their interfaces; `None` means all interfaces.
    wake: Vec<(Option<Name>, Mac)>,
    asked: Option<Instant>,
}

#[derive(Clone, Debug)]
struct MacInterface {
    name: Name,
    mac: Mac,
    address: Ipv4Addr,
    /// The interface is a port; its bridge sends.
    is_port: bool,
}

impl Feature for MacTools {
    fn menus(&self) -> &'static [&'static str] {
        &[PING, TOOLS]
    }

    fn follow(&mut self, view: &View<'_>, _: Option<&Changes>, _: &mut Effects) {
        let settings = view.store.settings(PING);
        self.answers = settings.is_some_and(|settings| settings.is("enabled"));
    }

    fn tick(&mut self, _: Instant, out: &mut Effects) {
        self.asked = None;
        for (interface, mac) in core::mem::take(&mut self.wake) {
            let by = |own: &&MacInterface| match &interface {
                Some(name) => own.name == *name,
                None => !own.is_port,
            };
            let all = self.all.iter().filter(|(_, own)| by(own));
            for (id, own) in all {
                out.send(Outgoing {
                    interface: *id,
                    bytes: packet(own.address, [WAKE; 2], &magic(mac)),
                    how: How::Frame(Mac::BROADCAST, EtherType::IPV4),
                });
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.asked
    }

    fn act(&mut self, view: &View<'_>, call: &Call<'_>) -> Option<Result<Reply, Reason>> {
        if (call.menu.path, call.command) != (TOOLS, "wol") {
            return None;
        }
        let mac = argument(call, "mac").and_then(Value::as_mac)?;
        let interface = argument(call, "interface").and_then(Value::as_str);
        if let Some(name) = interface
            && !self.all.values().any(|own| *own.name == *name)
        {
            return Some(Err(Reason::failure("interface is not running")));
        }
        if self.wake.len() >= WAITING {
            return Some(Err(Reason::failure("too many commands at once")));
        }
        self.wake.push((interface.map(Into::into), Mac(mac)));
        self.asked = Some(view.now);
        Some(Ok(Reply::default()))
    }

    fn services(&self) -> Vec<Service> {
        if !self.answers {
            return Vec::new();
        }
        let its = Match::Udp {
            ipv6: false,
            port: mac_ping::PORT,
        };
        // RouterOS: IP rules do not apply to MAC ping.
        vec![Service {
            meets_rules: false,
            ..Service::new(SERVICE, [its], RATE)
        }]
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        _: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let Some(own) = self.all.get(&heard.interface) else {
            return ReceiveOutcome::NotMine;
        };
        let Some((port, payload)) = datagram(heard.packet()) else {
            return ReceiveOutcome::NotMine;
        };
        let message = match mac_ping::Repr::parse(payload) {
            Ok(Some(message)) if !message.is_reply && message.to == own.mac => message,
            Ok(_) => return ReceiveOutcome::NotMine,
            Err(_) => return ReceiveOutcome::Bad(DropReason::MacPingMalformed),
        };
        let reply = mac_ping::Repr {
            is_reply: true,
            from: own.mac,
            to: message.from,
            data: message.data,
        };
        let payload = [&reply.header()[..], reply.data].concat();
        out.send(Outgoing {
            interface: heard.interface,
            bytes: packet(own.address, [mac_ping::PORT, port], &payload),
            how: How::Frame(heard.source_mac(), EtherType::IPV4),
        });
        ReceiveOutcome::Taken
    }

    fn lay_out(&mut self, others: &BTreeSet<InterfaceId>, running: &Running<'_>, _: &mut Effects) {
        for id in others {
            let laid = running.layout.interfaces.get(id);
            let laid = laid.filter(|laid| laid.link.running && laid.link.ethernet);
            let own = laid.filter(|laid| !laid.loopback).map(|laid| MacInterface {
                name: laid.name.clone(),
                mac: laid.link.mac,
                address: running.first4(*id).unwrap_or(Ipv4Addr::UNSPECIFIED),
                is_port: matches!(laid.above, Some((Above::Bridge, _))),
            });
            match own {
                Some(own) => drop(self.all.insert(*id, own)),
                None => drop(self.all.remove(id)),
            }
        }
    }
}

/// Returns the Wake-on-LAN payload: six bytes 0xff, and the address sixteen times.
fn magic(mac: Mac) -> Vec<u8> {
    [&[0xff; 6][..], &mac.0.repeat(16)].concat()
}

/// Returns a broadcast datagram with its IPv4 header.
fn packet(from: Ipv4Addr, [src_port, dst_port]: [u16; 2], payload: &[u8]) -> Vec<u8> {
    let to = Ipv4Addr::BROADCAST;
    let ports = udp::Repr { src_port, dst_port };
    let datagram = ports.to_bytes_v4(payload, from, to);
    let header = ipv4::Repr::new(Protocol::UDP, from, to);
    let header = header.to_bytes(datagram.len() + payload.len());
    [&header[..], &datagram, payload].concat()
}

/// Returns source port and payload of an IPv4 datagram.
fn datagram(packet: &[u8]) -> Option<(u16, &[u8])> {
    let packet = ipv4::Packet::new_checked(packet).ok()?;
    let datagram = udp::Datagram::new_checked(packet.payload()).ok()?;
    let sound = datagram.verify_v4(packet.src(), packet.dst()).is_ok();
    sound.then_some((datagram.src_port(), datagram.payload()))
}
