//! `/tool/trace`: traces the path of a packet, stage by stage and rule by rule. The data plane's own code decides; this
//! module names the objects of the configuration.

mod line;
mod link;
mod missing;
mod path;
mod verdict;

use std::collections::BTreeMap;

use dataplane::connection::{ConnectionCopy, NatState, NextSegment, State};
use dataplane::out::OutId;
use dataplane::rule::{Clock, Marks};
use dataplane::trace::{Assumed, Question, WorkerTables, trace};
use menu::{Call, Cause, NoEffectReason, Reason, Reply, Row, Store, Value};

use self::line::{RuleNumbers, awaited_row, known_row};
use crate::drive::Control;
use crate::firewall::nat_states;
use crate::probe::{Probe, argument};

impl Control {
    pub(super) fn trace(&self, store: &Store, call: &Call<'_>) -> Result<Reply, Reason> {
        let mut probe = Probe::of(call)?;
        let name = argument(call, "in-interface").and_then(Value::as_str);
        let (id, laid) = name
            .and_then(|name| self.layout.named(name))
            .ok_or_else(|| Reason::no_match("in-interface"))?;
        // An interface without effect here would drop the packet: a false answer about the real router.
        if let Some(item) = name.and_then(|name| store.named("interface", name))
            && let Some(NoEffectReason {
                cause: Cause::Menu | Cause::Named(..),
                ..
            }) = store.no_effect_reason(item)
        {
            let text = format!("{} has no effect here: no packet comes in by it", laid.name);
            return Err(Reason::failure(text));
        }
        let ipv6 = probe.source.is_ipv6();
        let missing = self.awaited_addresses(store, ipv6);
        let arrival = self.arrival(call, &mut probe, id, &missing);
        let known = self.known(call, &mut probe);
        let awaited = match known.is_none() && !is_told(call) {
            true => self.connections.awaited(&probe.tuple()),
            false => None,
        };
        let frame = probe.frame(arrival.to, &arrival.tags);
        let queues = self.outs_behind_queues();
        let question = Question {
            assumed: self.assumed(call)?,
            clock: self.rule_clock(),
            mappings: self.connections.mappings(),
            known: known.as_ref(),
            awaited: awaited.as_ref(),
            connections: Some(&self.connections),
            behind_queues: Some(&queues),
            ..Question::new(&frame, arrival.port)
        };
        let tables = WorkerTables {
            snapshot: &self.snapshot(),
            interfaces: self.published.table(),
            fib: self.fib(),
        };
        let walked = trace(tables, &question);
        let mut places = RuleNumbers::default();
        let mut rows: Vec<_> = known.iter().map(known_row).collect();
        rows.extend(awaited.iter().map(awaited_row));
        rows.extend(arrival.because.map(frame_row));
        let lines = walked.lines.iter();
        rows.extend(lines.map(|line| self.line_row(store, line, ipv6, &mut places)));
        rows.extend(self.queue_rows(&probe, known.as_ref(), &walked));
        rows.push(self.path_row(&probe, known.as_ref(), &walked));
        rows.push(self.end_row(&walked, id, ipv6, &missing));
        Ok(Reply { rows, made: None })
    }

    /// Returns the egress behind the queues of interfaces, by slot.
    fn outs_behind_queues(&self) -> BTreeMap<u32, OutId> {
        let all = self.layout.interfaces.iter();
        let queued = all.filter_map(|(id, laid)| Some((id.slot() as u32, laid.queued?)));
        queued.collect()
    }

    /// Returns the connection of the packet, unless the command gives its state: then the given state counts. A TCP
    /// segment without further arguments is the connection's next segment.
    fn known(&self, call: &Call<'_>, probe: &mut Probe) -> Option<ConnectionCopy> {
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

    /// Returns the time for rules.
    fn rule_clock(&self) -> Clock {
        let clock = &self.clock.now();
        Clock::at(
            self.now,
            clock.unix_seconds + i64::from(clock.offset_seconds),
        )
    }

    /// Returns the assumptions about the packet beyond its bytes.
    fn assumed(&self, call: &Call<'_>) -> Result<Assumed, Reason> {
        let word = |name: &str| argument(call, name).and_then(Value::as_str);
        let mark = |name: &str, number: &dyn Fn(&str) -> Option<u32>| match word(name)? {
            "no-mark" => Some(0),
            // A mark without a rule differs from the marks of all rules.
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
            // A translated connection is established.
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
            revealed: is_revealed(call),
        })
    }
}

/// Whether the command gives the state of the packet's connection.
fn is_told(call: &Call<'_>) -> bool {
    let told = ["connection-state", "connection-nat-state"];
    told.iter().any(|name| argument(call, name).is_some())
}

/// Whether the command says that the packet came out of IPsec.
fn is_revealed(call: &Call<'_>) -> bool {
    argument(call, "ipsec").and_then(Value::as_bool) == Some(true)
}

/// Builds the row about the frame's destination.
fn frame_row(because: String) -> Row {
    let mut row = Row::default();
    row.set("stage", Value::Word("frame"));
    row.set("decision", Value::text(because));
    row
}
