//! `/tool/trace`: which way a packet would take, stage by stage and rule by rule. The data plane's
//! own code decides; here its words get the names of the configuration.

use std::collections::BTreeMap;

use core::net::IpAddr;
use std::sync::Arc;

use dataplane::connection::{Awaited, Known, NatState, NextSegment, Row as Entry, State};
use dataplane::packet::protocol;
use dataplane::rule::{Clock, Marks};
use dataplane::trace::{Assumed, End, Line, Question, Sought, Tried, Walked, trace};
use dataplane::walk::Exit;
use dataplane::{DropReason, Why};
use frame::InterfaceId;

use menu::{Call, Cause, Id, Lack, Reason, Reply, Row, Store, Value};
use queue::Seen;
use wire::tcp::Flags;

use super::number;
use crate::drive::Control;
use crate::firewall::{Desk, nat_states};
use crate::intent::ItemId;
use crate::probe::{Probe, argument};

/// The numbers that `print` gives the rules of menus.
type Places = BTreeMap<&'static str, BTreeMap<ItemId, u64>>;

impl Control {
    pub(super) fn trace(&self, store: &Store, call: &Call<'_>) -> Result<Reply, Reason> {
        let mut probe = Probe::of(call)?;
        let name = argument(call, "in-interface").and_then(Value::as_str);
        let (id, laid) = name
            .and_then(|name| self.layout.named(name))
            .ok_or_else(|| Reason::no_match("in-interface"))?;
        // What is discarded there would be a false answer about the router that is asked about.
        if let Some(item) = name.and_then(|name| store.named("interface", name))
            && let Some(Lack {
                cause: Cause::Menu | Cause::Named(..),
                ..
            }) = store.lack(item)
        {
            let text = format!("{} has no effect here: no packet comes in by it", laid.name);
            return Err(Reason::failure(text));
        }
        let port = self.port_of(id);
        let known = self.known(call, &mut probe);
        let awaited = match known.is_none() && !is_told(call) {
            true => self.connections.awaited(&probe.tuple()),
            false => None,
        };
        let frame = probe.frame(laid.link.mac, &laid.link.tags);
        let question = Question {
            frame: &frame,
            ingress: port,
            assumed: self.assumed(call)?,
            clock: self.rule_clock(),
            mappings: self.connections.mappings(),
            known: known.as_ref(),
            awaited: awaited.as_ref(),
        };
        let walked = trace(
            (&self.snapshot(), self.published.table(), self.fib()),
            &question,
        );
        let ipv6 = probe.source.is_ipv6();
        let mut places = Places::default();
        let mut rows: Vec<_> = known.iter().map(known_row).collect();
        rows.extend(awaited.iter().map(awaited_row));
        let lines = walked.lines.iter();
        rows.extend(lines.map(|line| self.line_row(store, line, ipv6, &mut places)));
        rows.extend(self.queue_rows(&probe, known.as_ref(), &walked));
        rows.push(self.path_row(&probe, known.as_ref(), &walked.end));
        rows.push(self.end_row(&walked, ipv6));
        Ok(Reply { rows, made: None })
    }

    /// The connection that the packet belongs to, unless its state is told: then that is asked about. A
    /// segment of which nothing is told is its next.
    fn known(&self, call: &Call<'_>, probe: &mut Probe) -> Option<Known> {
        if is_told(call) {
            return None;
        }
        let known = self.connections.known(&probe.tuple())?;
        let next = known.next_segment();
        probe.segment = match argument(call, "tcp-flags") {
            None => next,
            Some(_) => NextSegment {
                flags: probe.segment.flags,
                ..next
            },
        };
        Some(known)
    }

    /// The interface that frames of another one arrive by.
    fn port_of(&self, mut id: InterfaceId) -> InterfaceId {
        while let Some((parent, _)) = self.layout.interfaces.get(&id).and_then(|laid| laid.parent) {
            id = parent;
        }
        id
    }

    /// The time, as rules see it.
    fn rule_clock(&self) -> Clock {
        let clock = &self.features.log.clock;
        Clock::at(
            self.now,
            clock.unix_seconds + i64::from(clock.offset_seconds),
        )
    }

    /// What the packet is taken to be besides its bytes.
    fn assumed(&self, call: &Call<'_>) -> Result<Assumed, Reason> {
        let word = |name: &str| argument(call, name).and_then(Value::as_str);
        let mark = |name: &str, number: &dyn Fn(&str) -> Option<u32>| match word(name)? {
            "no-mark" => Some(0),
            // A mark that no rule names is another one than all of theirs.
            word => Some(number(word).unwrap_or(u32::MAX)),
        };
        let state = word("connection-state").map(|word| match word {
            "established" => State::Established,
            "related" => State::Related,
            "invalid" => State::Invalid,
            "untracked" => State::Untracked,
            _ => State::New,
        });
        let nat = argument(call, "connection-nat-state").and_then(nat_states);
        let routing = match word("routing-mark") {
            None => 0,
            Some(name) => match self.tables.get(name) {
                Some(number) => u32::from(*number),
                None => return Err(Reason::no_match("routing-mark")),
            },
        };
        Ok(Assumed {
            // A translated connection was seen before.
            state: state.or_else(|| nat.map(|_| State::Established)),
            nat: NatState(nat.map_or(0, |nat| nat.0)),
            marks: Marks {
                packet: mark("packet-mark", &|name| self.firewall.known_packet_mark(name))
                    .unwrap_or(0),
                routing,
                ..Marks::default()
            },
            connection_mark: mark("connection-mark", &|name| {
                self.firewall.known_connection_mark(name)
            }),
        })
    }

    fn line_row(&self, store: &Store, line: &Line, ipv6: bool, places: &mut Places) -> Row {
        let mut row = Row::default();
        row.set("stage", Value::Word(line.stage.name()));
        match (&line.rule, &line.sought) {
            (Some(tried), _) => self.tell_rule(store, tried, places, &mut row),
            (None, Some(sought)) => {
                let found = self.route_word(sought, ipv6);
                row.set(
                    "decision",
                    Value::text(format!("{found}: {}", line.decision)),
                );
            }
            (None, None) => row.set("decision", Value::text(&*line.decision)),
        }
        row
    }

    /// The route that routing found, and in which table.
    fn route_word(&self, sought: &Sought, ipv6: bool) -> String {
        let Sought { table, destination } = *sought;
        let net = match ipv6 {
            true => {
                let found = self.v6.rib.lookup(table, destination.into());
                found.map(|found| found.net.to_string())
            }
            false => {
                let found = self.v4.rib.lookup(table, (destination as u32).into());
                found.map(|found| found.net.to_string())
            }
        };
        let mut tables = self.tables.iter();
        let name = tables.find(|(_, number)| **number == table);
        let name = name.map_or("", |(name, _)| name);
        match net {
            Some(net) => format!("{net} of table {name}"),
            None => format!("table {name}"),
        }
    }

    /// A rule that the packet met: which it is, and the property that it failed.
    fn tell_rule(&self, store: &Store, tried: &Tried, places: &mut Places, row: &mut Row) {
        let Some((path, item)) = self.firewall.item_of(tried.number) else {
            return;
        };
        row.set("table", Value::text(path));
        row.set("chain", Value::text(&*tried.chain));
        let made = self.firewall.desk(path).map(Desk::made);
        let places = places.entry(path).or_insert_with(|| {
            // `print` numbers dynamic rows, too, and they come first: rules that were made, rows that count FastTrack.
            let made = made.into_iter().flatten().map(|(id, _)| *id);
            let behind = made.clone().count() + self.fasttrack_chains(path).len();
            let items = store.items(path).map(|item| item.id.0);
            made.zip(0..).chain(items.zip(behind as u64..)).collect()
        });
        if let Some(place) = places.get(&item) {
            row.set("rule", number(*place));
        }
        let made = made.and_then(|made| made.get(&item));
        let Some(item) = made.or_else(|| store.item(path, Id(item)).map(Arc::as_ref)) else {
            return;
        };
        let comment = item.text("comment");
        if !comment.is_empty() {
            row.set("comment", Value::text(comment));
        }
        let action = match item.text("action") {
            "" => "accept",
            action => action,
        };
        row.set("action", Value::text(action));
        let decision = match tried.failed {
            None => "matched".to_owned(),
            Some("invalid") => {
                let desk = self.firewall.desk(path);
                let why = desk.and_then(|desk| desk.invalid(item.id.0));
                match why {
                    Some(why) => format!("never matches: {}", why.why(&self.intent, store)),
                    None => "never matches".to_owned(),
                }
            }
            // Rules of bridges that ask about IP imply it.
            Some(failed @ "mac-protocol") if item.get(failed).is_none() => {
                "not matched: the frame carries no such packet".to_owned()
            }
            Some(failed) => {
                // IPv6 has the same matcher by another name.
                let failed = match (failed, item.get(failed)) {
                    ("ttl", None) => "hop-limit",
                    _ => failed,
                };
                let value = item.get(failed).map(ToString::to_string);
                format!("not matched: {failed}={}", value.unwrap_or_default())
            }
        };
        row.set("decision", Value::text(decision));
    }

    /// The queues that it meets on its way out, or into this router.
    fn queue_rows(&self, probe: &Probe, known: Option<&Known>, walked: &Walked) -> Vec<Row> {
        let egress = match walked.end {
            End::Sent(egress) => Some(egress),
            // It waits for its neighbour first.
            End::Exit(Exit::Punt(Why::Unresolved(hop))) => {
                Some(self.fib().adjacencies.read(hop).egress)
            }
            End::Exit(exit) if exit.is_local() => None,
            End::Exit(_) => return Vec::new(),
        };
        let Some((ingress, mark)) = walked.marked else {
            return Vec::new();
        };
        let bits = |address: IpAddr| match address {
            IpAddr::V4(address) => u128::from(u32::from(address)),
            IpAddr::V6(address) => address.into(),
        };
        // Behind dstnat it is what routing looked for.
        let sought = walked.lines.iter().rev().find_map(|line| line.sought);
        let seen = Seen {
            ipv6: probe.source.is_ipv6(),
            source: bits(probe.source),
            destination: sought.map_or(bits(probe.destination), |sought| sought.destination),
            ingress: ingress.0,
            egress: egress.map_or(0, |egress| egress.0),
            mark,
        };
        let fasttracked = known.is_some_and(|known| {
            self.fasttrack_refuses(probe, &known.row, &walked.end)
                .is_none()
        });
        let number = |name: &str| self.firewall.known_packet_mark(name);
        let met = self
            .features
            .queues
            .met(&seen, (egress, fasttracked), &number);
        let row = |decision: String| {
            let mut row = Row::default();
            row.set("stage", Value::Word("queues"));
            row.set("decision", Value::text(decision));
            row
        };
        met.into_iter().map(row).collect()
    }

    /// Whether it takes the fast path, and why not.
    fn path_row(&self, probe: &Probe, known: Option<&Known>, end: &End) -> Row {
        let reasons = self.snapshot().family(probe.source.is_ipv6()).slow;
        let mut reasons: Vec<_> = reasons.iter().map(|reason| reason.explain()).collect();
        let fasttrack = known.map(|known| self.fasttrack_refuses(probe, &known.row, end));
        let decision = match (reasons.is_empty(), fasttrack) {
            (true, _) => "fast".to_owned(),
            (false, Some(None)) => {
                "fast: FastTrack carries it, and but for one packet a second no rule sees it: what \
                 the rules above say is said of that one"
                    .to_owned()
            }
            (false, refused) => {
                reasons.extend(refused.flatten());
                format!("slow: {}", reasons.join("; "))
            }
        };
        let mut row = Row::default();
        row.set("stage", Value::Word("path"));
        row.set("decision", Value::text(decision));
        row
    }

    /// Why FastTrack does not carry a packet of this connection.
    fn fasttrack_refuses(&self, probe: &Probe, entry: &Entry, end: &End) -> Option<&'static str> {
        let ends = Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0;
        let tcp = entry.original.protocol == protocol::TCP;
        let of_this_packet = if tcp && !entry.assured {
            Some("its handshake is not done")
        } else if tcp && probe.segment.flags & ends != 0 {
            Some("SYN, FIN and RST are followed")
        } else {
            self.cannot_be_carried(probe, end)
        };
        self.slow_reason(entry).or(of_this_packet)
    }

    /// What the slow path has to do with a packet, whatever connection it is of.
    fn cannot_be_carried(&self, probe: &Probe, end: &End) -> Option<&'static str> {
        let egress = match *end {
            End::Sent(egress) => egress,
            // Rules are not asked about what FastTrack carries.
            End::Exit(Exit::Drop(
                DropReason::FirewallRaw | DropReason::FirewallMangle | DropReason::FirewallFilter,
            ))
            | End::Exit(Exit::Punt(Why::Rejected(_) | Why::Tarpit)) => return None,
            End::Exit(_) => return Some("it does not leave as it came"),
        };
        let egress = self.published.table().get(egress);
        let fits = egress.is_some_and(|egress| probe.len() <= egress.mtu as usize);
        (!fits).then_some("it is longer than its link's MTU")
    }

    /// What becomes of the packet.
    fn end_row(&self, walked: &Walked, ipv6: bool) -> Row {
        let mut row = Row::default();
        row.set("stage", Value::Word("verdict"));
        let (verdict, decision) = match walked.end {
            End::Sent(egress) => ("sent", format!("sent by {}", self.layout.name(egress))),
            End::Exit(
                Exit::Deliver(_) | Exit::Decapsulate(_) | Exit::Reveal | Exit::Punt(Why::Local),
            ) => ("delivered", "delivered to this router".to_owned()),
            End::Exit(Exit::Flood) => ("sent", "sent by ports of its bridge".to_owned()),
            End::Exit(Exit::Collect) => {
                ("delivered", "held until its datagram is whole".to_owned())
            }
            End::Exit(Exit::Finish { .. }) => ("sent", "sent in pieces".to_owned()),
            End::Exit(Exit::Punt(Why::Unresolved(hop))) => {
                let target = match ipv6 {
                    true => self
                        .v6
                        .rib
                        .target(hop)
                        .and_then(|target| self.immediate(&target)),
                    false => self
                        .v4
                        .rib
                        .target(hop)
                        .and_then(|target| self.immediate(&target)),
                };
                let to = target.unwrap_or_default();
                (
                    "sent",
                    format!("sent to {to} when its link address is known"),
                )
            }
            End::Exit(Exit::Punt(Why::Service { id, .. })) => {
                let service = self.services.table().name(id);
                ("delivered", format!("delivered to this router: {service}"))
            }
            End::Exit(Exit::HandOver(_) | Exit::Punt(Why::Redirect(_) | Why::Told(_))) => {
                ("delivered", "seen to by this router".to_owned())
            }
            End::Exit(Exit::Punt(Why::Tarpit)) => ("refused", "held without a window".to_owned()),
            End::Exit(Exit::Punt(why)) => (
                "refused",
                format!("discarded, and the sender is told: {}", why.explain()),
            ),
            End::Exit(Exit::Drop(reason)) => ("discarded", explain(reason)),
        };
        row.set("verdict", Value::Word(verdict));
        row.set("decision", Value::text(decision));
        row
    }
}

/// Whether the state of the packet's connection is told.
fn is_told(call: &Call<'_>) -> bool {
    let told = ["connection-state", "connection-nat-state"];
    told.iter().any(|name| argument(call, name).is_some())
}

/// What expects the connection that the packet begins.
fn awaited_row(awaited: &Awaited) -> Row {
    let parent = &awaited.parent.row;
    let helper = awaited.expectation.helper.name();
    let mut row = Row::default();
    row.set("stage", Value::Word("connection"));
    row.set("connection", Value::text(parent.id.to_string()));
    let decision = format!(
        "expected by {helper} over the connection {}",
        parent.original
    );
    row.set("decision", Value::text(decision));
    row
}

/// The connection that the packet belongs to.
fn known_row(known: &Known) -> Row {
    let entry = &known.row;
    let side = match known.reply {
        true => "an answer in",
        false => "of",
    };
    let marked = match entry.fasttrack {
        true => ", marked for FastTrack",
        false => "",
    };
    let mut row = Row::default();
    row.set("stage", Value::Word("connection"));
    row.set("connection", Value::text(entry.id.to_string()));
    let decision = format!("{side} the connection {}{marked}", entry.original);
    row.set("decision", Value::text(decision));
    row
}

fn explain(reason: DropReason) -> String {
    let text = reason.explain();
    let text = text.trim().trim_end_matches('.');
    format!("discarded ({}): {text}", reason.name())
}
