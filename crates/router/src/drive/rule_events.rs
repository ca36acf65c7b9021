//! Handles events of rules: log lines, packet copies, addresses for the configuration, and answers instead of the
//! packet (reject, tarpit).

use core::fmt::Write as _;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use dataplane::connection::NatState;
use dataplane::packet::link::{self, Link};
use dataplane::packet::{Fields, Tuple, protocol};
use dataplane::rule::{Reject, State};
use dataplane::table::NextHopId;
use dataplane::walk::{Event, Logged};
use dataplane::{Command, PuntReason};
use frame::{Frame, InterfaceId};
use machine::Instant;
use menu::{Id, Store, Value};
use wire::{Mac, ipv4, ipv6};

use super::punt::packet_of;
use super::{Control, reset};

/// Maximum log lines of rules per second: the log keeps a thousand in all.
const LINES: u32 = 100;
/// Maximum addresses that wait to be written into the configuration.
const KEPT: usize = 1024;

/// Limits of log lines, and addresses that wait for the configuration.
#[derive(Debug, Default)]
pub(crate) struct RuleEventState {
    second: u64,
    lines: u32,
    lost: u64,
    kept: Vec<ListedAddress>,
}

/// An address that a rule added to a list without a timeout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedAddress {
    /// The list's name.
    pub(crate) list: crate::intent::Name,
    /// The address.
    pub(crate) address: IpAddr,
}

impl RuleEventState {
    /// Admits a log line within the limit; returns the number of lines suppressed before it.
    fn admit(&mut self, now: Instant) -> Option<u64> {
        let second = now.as_nanos() / 1_000_000_000;
        if second != self.second {
            (self.second, self.lines) = (second, 0);
        }
        if self.lines >= LINES {
            self.lost += 1;
            return None;
        }
        self.lines += 1;
        Some(core::mem::take(&mut self.lost))
    }
}

impl Control {
    /// Handles the event of a rule about a packet.
    pub(super) fn hear_rule(&mut self, frame: Frame, event: Event) {
        match event {
            Event::Log(logged) => self.log_packet(&frame, logged),
            Event::Keep {
                list,
                address,
                ipv6,
            } => self.keep_address(list, address, ipv6),
        }
        self.workers.free(frame);
    }

    /// Writes addresses that rules added without a timeout into the configuration.
    pub(crate) fn keep_addresses(&mut self, store: &mut Store) {
        for kept in core::mem::take(&mut self.told.kept) {
            let path = match kept.address {
                IpAddr::V4(_) => "/ip/firewall/address-list",
                IpAddr::V6(_) => "/ipv6/firewall/address-list",
            };
            let Some(menu) = store.menu(path) else {
                continue;
            };
            let address = match kept.address {
                IpAddr::V4(_) => Value::Address(kept.address),
                IpAddr::V6(_) => Value::Prefix(kept.address.into()),
            };
            let values = [
                ("list", Some(Value::text(&*kept.list))),
                ("address", Some(address)),
            ];
            let mark = store.begin();
            if store.add(menu, &values, None).is_err() {
                // The entry exists already.
                store.rollback(mark);
                continue;
            }
            match store.commit(mark) {
                Ok(Some(changes)) => self.apply_changes(store, &changes),
                Ok(None) => {}
                Err(reason) => {
                    let message = format!("{} is not stored: {reason}", kept.address);
                    self.features.log.add("firewall,error", message);
                }
            }
        }
    }

    /// Removes expired entries of address lists.
    pub(crate) fn expire_addresses(&mut self, store: &mut Store) {
        let due = self.firewall.due(self.now);
        if due.is_empty() {
            return;
        }
        // Entries that expire together form one transaction, because each transaction waits for the disk.
        let all = store.begin();
        for (path, item) in due {
            let Some(menu) = store.menu(path) else {
                continue;
            };
            let mark = store.begin();
            match store.remove(menu, Id(item)) {
                Ok(_) => _ = store.commit(mark),
                Err(_) => store.rollback(mark),
            }
        }
        if let Ok(Some(changes)) = store.commit(all) {
            self.apply_changes(store, &changes);
        }
    }

    fn keep_address(&mut self, list: u32, address: u128, ipv6: bool) {
        let Some(list) = self.firewall.list_name(list, ipv6).cloned() else {
            return;
        };
        let address = match ipv6 {
            true => IpAddr::V6(Ipv6Addr::from(address)),
            false => IpAddr::V4(Ipv4Addr::from(address as u32)),
        };
        let kept = ListedAddress { list, address };
        if self.told.kept.len() < KEPT && !self.told.kept.contains(&kept) {
            self.told.kept.push(kept);
        }
    }

    fn log_packet(&mut self, frame: &Frame, logged: Logged) {
        let Some(lost) = self.told.admit(self.now) else {
            return;
        };
        if lost > 0 {
            let message = format!("{lost} log lines of firewall rules were suppressed");
            self.features.log.add("firewall,warning", message);
        }
        let Some((chain, prefix)) = self.firewall.logs(logged.rule) else {
            return;
        };
        let gap = if prefix.is_empty() { "" } else { " " };
        let of_bridges = self.firewall.rule(logged.rule);
        let of_bridges = of_bridges.is_some_and(|(which, _)| which.is_of_bridges());
        let line = format!(
            "{prefix}{gap}{chain}: in:{} out:{}, {}",
            self.interface_word(frame.ingress),
            self.interface_word(logged.egress),
            match of_bridges {
                true => describe_frame(frame.bytes()),
                false => describe(frame, &logged),
            }
        );
        self.features.log.add("firewall,info", line);
    }

    /// Returns the name of an interface in log lines.
    fn interface_word(&self, id: InterfaceId) -> &str {
        match self.layout.name(id) {
            "" => "(unknown 0)",
            name => name,
        }
    }

    /// Tells the sender of a packet that a rule rejected it. The worker has already counted the drop.
    pub(super) fn reject(&mut self, frame: Frame, how: Reject, worker: u16) {
        if how != Reject::TcpReset {
            return self.report(frame, PuntReason::Rejected(how), worker);
        }
        if let Some(to) = self.owes_segment(&frame) {
            let id = self.next_id();
            let asked = reset::TcpPacket::of(&frame);
            let answer = match to {
                IpAddr::V4(_) => reset::answer4(asked, id),
                IpAddr::V6(_) => reset::answer6(asked),
            };
            if let Some(answer) = answer {
                self.tell(&frame, &answer, worker);
            }
        }
        self.workers.free(frame);
    }

    /// Answers for a server that accepts a connection and stays idle.
    ///
    /// The answer bypasses rules and connection tracking: it would create a connection, and the next segment of the
    /// client would pass as established.
    pub(super) fn tarpit(&mut self, frame: Frame, worker: u16) {
        if self.owes_segment(&frame).is_some() {
            let id = self.next_id();
            let answer = reset::hold4(reset::TcpPacket::of(&frame), id, self.tarpit_key);
            if let Some(mut answer) = answer.and_then(|answer| self.workers.frame(&answer)) {
                answer.l3 = 0;
                answer.ingress = InterfaceId::NONE;
                answer.egress = frame.ingress;
                answer.walked = true;
                self.workers
                    .send(worker, Command::Resume(answer, NextHopId::NO_ROUTE));
            }
        }
        self.workers.free(frame);
    }

    /// Applies the rate limit of TCP answers; returns the sender if a segment may be answered.
    fn owes_segment(&mut self, frame: &Frame) -> Option<IpAddr> {
        let packet = packet_of(frame);
        let from: IpAddr = match packet.first()? >> 4 {
            4 => ipv4::Packet::new_checked(packet).ok()?.src().into(),
            _ => ipv6::Packet::new_checked(packet).ok()?.src().into(),
        };
        self.limits
            .segments
            .admit(from, 0, self.now)
            .then_some(from)
    }
}

/// Describes a packet for a log line: connection state, source link address, protocol, endpoints and translation.
fn describe(frame: &Frame, logged: &Logged) -> String {
    let fields = Fields::of(packet_of(frame));
    let mut line = format!("connection-state:{}", logged.state.name());
    for (bit, word) in [(NatState::SRCNAT, ",snat"), (NatState::DSTNAT, ",dnat")] {
        if logged.nat.intersects(bit) {
            line.push_str(word);
        }
    }
    if frame.l3 >= 14
        && let Some(mac) = frame.bytes().get(6..).and_then(|rest| rest.first_chunk())
    {
        let _ = write!(line, " src-mac {}", Mac(*mac).to_string().to_lowercase());
    }
    let _ = write!(line, ", proto {}", protocol_words(&fields));
    let [from, to] = ends(&logged.seen);
    let _ = write!(line, ", {from}->{to}");
    if let Some(translated) = translated(&fields.tuple, logged) {
        let _ = write!(line, ", NAT {translated}");
    }
    let _ = write!(line, ", len {}", fields.len);
    line
}

/// Describes a frame for a log line of a bridge rule: link addresses, type, and for IP the packet.
fn describe_frame(bytes: &[u8]) -> String {
    let Some(link) = Link::of(bytes) else {
        return "cut short".to_owned();
    };
    let mac = |mac: Mac| mac.to_string().to_lowercase();
    let mut line = format!(
        "src-mac {}, dst-mac {}, eth-proto {:04x}",
        mac(link.source),
        mac(link.destination),
        link.kind
    );
    if let Some(tag) = link.tag {
        let _ = write!(line, ", vlan-id {}", tag.tci.vid());
    }
    if link.has_ip {
        let fields = Fields::of(&bytes[link::HEADER..]);
        let [from, to] = ends(&fields.tuple);
        let words = protocol_words(&fields);
        let _ = write!(line, ", {words}, {from}->{to}, len {}", fields.len);
    }
    line
}

/// Formats source and destination, with their ports.
fn ends(tuple: &Tuple) -> [String; 2] {
    let address = |bits: u128| match tuple.ipv6 {
        true => IpAddr::V6(Ipv6Addr::from(bits)),
        false => IpAddr::V4(Ipv4Addr::from(bits as u32)),
    };
    let end = |bits: u128, port: u16| match (address(bits), tuple.has_ports()) {
        (IpAddr::V6(address), true) => format!("[{address}]:{port}"),
        (address, true) => format!("{address}:{port}"),
        (address, false) => address.to_string(),
    };
    [
        end(tuple.source, tuple.source_port),
        end(tuple.destination, tuple.destination_port),
    ]
}

/// Formats the translation of a packet's connection, in the direction of the packet. RouterOS: brackets contain an
/// endpoint before and after translation, `(10.0.0.2:5000->1.2.3.4:5000)->8.8.8.8:53`. For a new connection, the line
/// shows the translation by the rules so far.
fn translated(received: &Tuple, logged: &Logged) -> Option<String> {
    let before = ends(received);
    let after = ends(&logged.translated.unwrap_or(logged.seen));
    let known = logged.state == State::Established;
    let sides = [NatState::SRCNAT, NatState::DSTNAT];
    let differs =
        |side: usize| (known || logged.nat.intersects(sides[side])) && before[side] != after[side];
    let [source, destination] = [0, 1].map(|side| match differs(side) {
        true => format!("({}->{})", before[side], after[side]),
        false => before[side].clone(),
    });
    (differs(0) || differs(1)).then(|| format!("{source}->{destination}"))
}

/// `TCP (SYN,ACK)`, `ICMP (type 8, code 0)`, `UDP`, `47`.
fn protocol_words(fields: &Fields) -> String {
    const FLAGS: [(u8, &str); 8] = [
        (0x02, "SYN"),
        (0x10, "ACK"),
        (0x01, "FIN"),
        (0x04, "RST"),
        (0x08, "PSH"),
        (0x20, "URG"),
        (0x40, "ECE"),
        (0x80, "CWR"),
    ];
    let [kind, code] = fields.tuple.destination_port.to_be_bytes();
    match fields.tuple.protocol {
        protocol::TCP => {
            let set = FLAGS.iter().filter(|(bit, _)| fields.tcp_flags & bit != 0);
            let words: Vec<_> = set.map(|(_, word)| *word).collect();
            match words.is_empty() {
                true => "TCP".to_owned(),
                false => format!("TCP ({})", words.join(",")),
            }
        }
        protocol::UDP => "UDP".to_owned(),
        protocol::ICMP => format!("ICMP (type {kind}, code {code})"),
        protocol::ICMPV6 => format!("ICMPv6 (type {kind}, code {code})"),
        number => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_in_a_second_and_the_rest_is_counted() {
        let mut told = RuleEventState::default();
        let at = Instant::from_secs;

        let admitted = (0..LINES + 7).filter(|_| told.admit(at(1)).is_some());
        assert_eq!(admitted.count(), LINES as usize);
        assert_eq!(told.admit(at(2)), Some(7));
        assert_eq!(told.admit(at(2)), Some(0));
    }

    #[test]
    fn translations_are_shown_in_the_direction_of_the_packet() {
        const ANY: [u8; 4] = [0; 4];
        let tuple = |source: [u8; 4], source_port, destination: [u8; 4], destination_port| Tuple {
            source: u32::from_be_bytes(source).into(),
            destination: u32::from_be_bytes(destination).into(),
            source_port,
            destination_port,
            protocol: protocol::UDP,
            ipv6: false,
        };
        let (inside, outside, server) = ([10, 0, 0, 2], [1, 2, 3, 4], [8, 8, 8, 8]);
        let sent = tuple(inside, 5000, server, 53);
        let left = tuple(outside, 5000, server, 53);
        let came = tuple(server, 53, outside, 5000);
        let reached = tuple(server, 53, inside, 5000);
        let line = |received: &Tuple, seen, translated, nat, state| {
            let logged = Logged {
                rule: 1,
                egress: InterfaceId::NONE,
                state,
                nat,
                seen,
                translated,
            };
            super::translated(received, &logged).unwrap_or_default()
        };
        let (snat, dnat) = (NatState::SRCNAT, NatState::DSTNAT);
        let (new, old) = (State::New, State::Established);
        let none = NatState::default();

        let masked = "(10.0.0.2:5000->1.2.3.4:5000)->8.8.8.8:53";
        assert_eq!(line(&sent, sent, Some(left), snat, old), masked);
        // Packets of the reply direction, before and behind dstnat.
        let back = "8.8.8.8:53->(1.2.3.4:5000->10.0.0.2:5000)";
        assert_eq!(line(&came, came, Some(reached), snat, old), back);
        assert_eq!(line(&came, reached, Some(reached), snat, old), back);
        // The first packet: chain forward runs after dstnat and before srcnat.
        assert_eq!(line(&sent, sent, Some(left), none, new), "");
        assert_eq!(line(&came, reached, None, dnat, new), back);
        let both = tuple(outside, 9, inside, 5000);
        assert_eq!(line(&came, reached, Some(both), dnat, new), back);
        let twice = "(8.8.8.8:53->1.2.3.4:9)->(1.2.3.4:5000->10.0.0.2:5000)";
        assert_eq!(line(&came, reached, Some(both), dnat, old), twice);
        assert_eq!(line(&sent, sent, None, none, old), "");
        assert_eq!(ends(&tuple(ANY, 0, ANY, 0))[0], "0.0.0.0:0");
    }

    #[test]
    fn a_frame_is_described_by_its_addresses_and_its_content() {
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 0xa1, 8, 6];
        frame.resize(60, 0);
        let macs = "src-mac 02:00:00:00:00:a1, dst-mac 02:00:00:00:00:02";
        assert_eq!(describe_frame(&frame), format!("{macs}, eth-proto 0806"));
        frame[12..18].copy_from_slice(&[0x81, 0, 0xa0, 10, 8, 0]);
        let tagged = format!("{macs}, eth-proto 8100, vlan-id 10");
        assert_eq!(describe_frame(&frame), tagged);
        frame[12..14].copy_from_slice(&[8, 0]);
        frame[14..34].copy_from_slice(&[
            0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ]);
        frame[34..38].copy_from_slice(&[0x13, 0x88, 0, 53]);
        let ip = "UDP, 10.0.0.1:5000->10.0.0.2:53, len 46";
        assert_eq!(
            describe_frame(&frame),
            format!("{macs}, eth-proto 0800, {ip}")
        );
        assert_eq!(describe_frame(&frame[..13]), "cut short");
    }

    #[test]
    fn protocols_are_named_as_routeros_names_them() {
        let of = |protocol: u8, ports: u16, flags: u8| {
            let mut fields = Fields::default();
            fields.tuple.protocol = protocol;
            fields.tuple.destination_port = ports;
            fields.tcp_flags = flags;
            protocol_words(&fields)
        };

        assert_eq!(of(6, 80, 0x12), "TCP (SYN,ACK)");
        assert_eq!(of(6, 80, 0x19), "TCP (ACK,FIN,PSH)");
        assert_eq!(of(17, 53, 0), "UDP");
        assert_eq!(of(1, 0x0800, 0), "ICMP (type 8, code 0)");
        assert_eq!(of(47, 0, 0), "47");
    }
}
