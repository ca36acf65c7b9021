//! Runs a packet through a chain: the first rule whose matchers all hold acts, and so on until one
//! ends the chain.

use super::action::{Action, Dscp, Priority, Timeout, Ttl, Verdict};
use super::holds::{Asked, holds};
use super::list::List;
use super::matcher::Matcher;
use super::subject::{Facts, Subject};
use super::table::{Chain, ChainId, Rule, Table};
use super::worker::Worker;

/// How deep jumps nest. `Table::compile` refuses what goes deeper, so that no packet meets the end.
pub const DEPTH: usize = 16;

/// Who is told what rules do: the walk, or the tracer.
pub trait Watch {
    /// Whether rules count, take tokens and enter addresses. Without it every rule is tried in
    /// turn and told, and nothing changes.
    const COMMITS: bool;

    /// A rule was tried: it matched, or this is the first matcher that failed. Only told where
    /// nothing is committed.
    fn tried(
        &mut self,
        chain: &Chain,
        rule: &Rule,
        failed: Option<&Matcher>,
        subject: &Subject<'_>,
    );

    /// A rule that logs matched (`rule.log` is its prefix).
    fn log(&mut self, chain: &Chain, rule: &Rule, subject: &Subject<'_>);

    /// A rule wants a copy of the packet sent away (`rule.action` says where).
    fn sniff(&mut self, rule: &Rule, subject: &Subject<'_>);

    /// A rule entered an address for ever: control writes it into the configuration.
    fn keep(&mut self, list: &List, address: u128, ipv6: bool);
}

/// What acting on a rule means for the chain.
enum Then {
    Next,
    Jump(ChainId),
    Return,
    End(Verdict),
}

/// Takes a packet through a built-in chain. What rules change about the packet is in `subject`
/// afterwards; the bytes are not touched. A chain that does not exist accepts.
pub fn run<F: Facts, W: Watch>(
    table: &Table,
    chain: ChainId,
    subject: &mut Subject<'_>,
    facts: &F,
    worker: &mut Worker,
    watch: &mut W,
) -> Verdict {
    let Some(mut current) = table.chain(chain) else {
        return Verdict::Accept;
    };
    let mut calls: [(ChainId, usize); DEPTH] = [(ChainId(0), 0); DEPTH];
    let (mut depth, mut id, mut from) = (0, chain, 0);
    loop {
        let then = match next(current, from, subject, facts, worker, watch) {
            Some(place) => {
                from = place + 1;
                act(current, &current.rules[place], subject, worker, watch)
            }
            None => Then::Return,
        };
        match then {
            Then::Next => {}
            Then::End(verdict) => return verdict,
            Then::Jump(to) => {
                let (Some(target), Some(call)) = (table.chain(to), calls.get_mut(depth)) else {
                    continue;
                };
                *call = (id, from);
                (depth, id, from, current) = (depth + 1, to, 0, target);
            }
            Then::Return => {
                let Some(last) = depth.checked_sub(1) else {
                    return Verdict::Accept;
                };
                (depth, (id, from)) = (last, calls[last]);
                let Some(caller) = table.chain(id) else {
                    return Verdict::Accept;
                };
                current = caller;
            }
        }
    }
}

/// The place of the first rule from `from` on that matches.
fn next<F: Facts, W: Watch>(
    chain: &Chain,
    from: usize,
    subject: &mut Subject<'_>,
    facts: &F,
    worker: &mut Worker,
    watch: &mut W,
) -> Option<usize> {
    let rules = chain.rules.get(from..).unwrap_or_default();
    for (offset, rule) in rules.iter().enumerate() {
        let mut asked = Asked {
            subject,
            facts,
            worker,
        };
        let failed = rule
            .matchers
            .iter()
            .find(|matcher| !holds::<F, W>(matcher, &mut asked));
        if !W::COMMITS {
            watch.tried(chain, rule, failed, subject);
        }
        if failed.is_none() {
            return Some(from + offset);
        }
    }
    None
}

/// Does what a rule that matched says.
fn act<W: Watch>(
    chain: &Chain,
    rule: &Rule,
    subject: &mut Subject<'_>,
    worker: &mut Worker,
    watch: &mut W,
) -> Then {
    if W::COMMITS {
        worker.count(rule.id, subject.fields.len);
    }
    if rule.log.is_some() || matches!(rule.action, Action::Log) {
        watch.log(chain, rule, subject);
    }
    match &rule.action {
        Action::Accept => return Then::End(Verdict::Accept),
        Action::Drop => return Then::End(Verdict::Drop(rule.id)),
        Action::Reject(how) => return Then::End(Verdict::Reject(rule.id, *how)),
        Action::Tarpit => return Then::End(Verdict::Tarpit(rule.id)),
        Action::Translate(target) => return Then::End(Verdict::Translate(*target)),
        Action::Notrack => {
            subject.changes.untracked = true;
            return Then::End(Verdict::Accept);
        }
        Action::Jump(to) => return Then::Jump(*to),
        Action::Return => return Then::Return,
        Action::Passthrough | Action::Log => return Then::Next,
        Action::Fasttrack => {
            subject.changes.fasttrack = true;
            return Then::Next;
        }
        Action::Sniff(_) => {
            watch.sniff(rule, subject);
            return Then::Next;
        }
        Action::AddToList {
            list,
            source,
            timeout,
        } => {
            enter::<W>(list, *source, *timeout, subject, worker, watch);
            return Then::Next;
        }
        change => apply(change, subject),
    }
    match rule.passthrough {
        true => Then::Next,
        false => Then::End(Verdict::Accept),
    }
}

/// Enters an address into a list.
fn enter<W: Watch>(
    list: &List,
    source: bool,
    timeout: Timeout,
    subject: &Subject<'_>,
    worker: &Worker,
    watch: &mut W,
) {
    if !W::COMMITS {
        return;
    }
    let tuple = &subject.fields.tuple;
    let address = match source {
        true => tuple.source,
        false => tuple.destination,
    };
    let now = worker.clock.now;
    let expiry = match timeout {
        Timeout::After(span) => Some(now + span),
        Timeout::Dynamic | Timeout::Static => None,
    };
    list.add(address, expiry, now);
    if timeout == Timeout::Static {
        watch.keep(list, address, tuple.ipv6);
    }
}

/// Notes a change of the packet or of its marks.
fn apply(action: &Action, subject: &mut Subject<'_>) {
    let (ttl, tos) = (subject.ttl(), subject.tos());
    let (marks, changes) = (&mut subject.marks, &mut subject.changes);
    match *action {
        Action::MarkPacket(mark) => marks.packet = mark,
        Action::MarkConnection(mark) => marks.connection = mark,
        Action::MarkRouting(mark) => marks.routing = mark,
        Action::Route(gateway) => changes.gateway = Some(gateway),
        Action::ChangeMss(mss) => changes.mss = Some(mss),
        Action::ChangeDscp(dscp) => {
            let code = match dscp {
                Dscp::Set(code) => code,
                Dscp::FromPriority => marks.priority,
                Dscp::FromPriorityToHigh3 => (marks.priority & 7) << 3,
            };
            // The low two bits say congestion (RFC 3168) and stay.
            changes.tos = Some(code << 2 | tos & 3);
        }
        Action::ChangeTtl(change) => {
            changes.ttl = Some(match change {
                Ttl::Set(value) => value,
                Ttl::Increment(by) => ttl.saturating_add(by),
                Ttl::Decrement(by) => ttl.saturating_sub(by),
            });
        }
        Action::SetPriority(priority) => {
            marks.priority = match priority {
                Priority::Set(value) => value,
                Priority::FromDscp => tos >> 2,
                Priority::FromDscpHigh3 => tos >> 5,
                Priority::FromIngress => marks.ingress_priority,
            };
        }
        Action::StripOptions => changes.strip_options = true,
        Action::ClearDf => changes.clear_df = true,
        Action::SourcePrefix(prefix) => changes.source_prefix = Some(prefix),
        Action::DestinationPrefix(prefix) => changes.destination_prefix = Some(prefix),
        _ => {}
    }
}
