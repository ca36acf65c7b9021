//! Runs a packet through a chain: the first rule whose matchers all hold acts, and so on until one
//! ends the chain.

use super::action::{Action, Dscp, Priority, Timeout, Ttl, Verdict};
use super::classify::{Block, First, Left};
use super::holds::{Asked, holds};
use super::list::List;
use super::matcher::Matcher;
use super::subject::{Facts, Subject};
use super::table::{Chain, ChainId, DEPTH, Rule, Table};
use super::worker::Worker;

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
    /// The packet's marks are others now.
    Changed,
    Jump(ChainId, u32),
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
    Ahead::default().run(table, chain, subject, facts, worker, watch)
}

/// The first candidate of a packet, where it was looked up with others by `Table::ahead`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ahead(Option<First>);

impl Ahead {
    /// What `Table::ahead` gave, for the same packet and chain.
    pub const fn of(first: First) -> Self {
        Self(Some(first))
    }

    /// The same as [`run`].
    #[inline]
    pub fn run<F: Facts, W: Watch>(
        self,
        table: &Table,
        chain: ChainId,
        subject: &mut Subject<'_>,
        facts: &F,
        worker: &mut Worker,
        watch: &mut W,
    ) -> Verdict {
        let first = self.0.filter(|_| W::COMMITS);
        if first == Some(First::NOBODY) {
            return Verdict::Accept;
        }
        let Some(current) = table.chain(chain) else {
            return Verdict::Accept;
        };
        let mut run = Run {
            table,
            id: chain,
            chain: current,
            from: 0,
            cursor: None,
        };
        if let Some(first) = first {
            let mut asked = Asked {
                subject,
                facts,
                worker,
            };
            if run.try_candidate::<F, W>(&first, &mut asked) {
                let rule = current.rule(first.place as usize);
                // Most rules that match end the chain: then nothing else is needed.
                match act(current, rule, subject, worker, watch) {
                    Then::End(verdict) => return verdict,
                    then => return run.all(Some(then), subject, facts, worker, watch),
                }
            }
        }
        run.all(None, subject, facts, worker, watch)
    }
}

/// Where a packet is in its chains.
struct Run<'a> {
    table: &'a Table,
    id: ChainId,
    chain: &'a Chain,
    /// The next rule.
    from: usize,
    /// What the packet leaves of a block of this chain, by the block's place.
    cursor: Option<(usize, Left)>,
}

impl Run<'_> {
    /// Goes on until the chain ends; `then` is what the last rule that matched meant for it.
    fn all<F: Facts, W: Watch>(
        &mut self,
        mut then: Option<Then>,
        subject: &mut Subject<'_>,
        facts: &F,
        worker: &mut Worker,
        watch: &mut W,
    ) -> Verdict {
        let mut calls: [(ChainId, u32); DEPTH] = [(ChainId(0), 0); DEPTH];
        let mut depth = 0;
        loop {
            match then
                .take()
                .unwrap_or_else(|| self.step(subject, facts, worker, watch))
            {
                Then::Next => {}
                Then::Changed => self.forget_marks(),
                Then::End(verdict) => return verdict,
                Then::Jump(to, rule) => {
                    if self.table.refused().binary_search(&rule).is_err()
                        && let Some(call) = calls.get_mut(depth)
                    {
                        *call = (self.id, self.from as u32);
                        depth += 1;
                        self.enter(to, 0);
                    }
                }
                Then::Return => {
                    let Some(last) = depth.checked_sub(1) else {
                        return Verdict::Accept;
                    };
                    depth = last;
                    let (caller, from) = calls[last];
                    self.enter(caller, from as usize);
                }
            }
        }
    }

    /// Looks for the next rule that matches, and does what it says.
    fn step<F: Facts, W: Watch>(
        &mut self,
        subject: &mut Subject<'_>,
        facts: &F,
        worker: &mut Worker,
        watch: &mut W,
    ) -> Then {
        let mut asked = Asked {
            subject,
            facts,
            worker,
        };
        let place = match W::COMMITS {
            true => self.next::<F, W>(&mut asked),
            false => self.next_told(&mut asked, watch),
        };
        let Some(place) = place else {
            return Then::Return;
        };
        self.from = place + 1;
        act(self.chain, self.chain.rule(place), subject, worker, watch)
    }

    /// Whether the first candidate matches; the chain goes on behind it in any case.
    #[inline(always)]
    fn try_candidate<F: Facts, W: Watch>(
        &mut self,
        first: &First,
        asked: &mut Asked<'_, '_, F>,
    ) -> bool {
        let place = first.place as usize;
        self.from = place + 1;
        let number = self.chain.block_of(place);
        let start = self.chain.starts[number] as usize;
        let block = &self.chain.blocks[number];
        self.cursor = block.left_of(first).map(|left| (number, left));
        fits::<F, W>(block, place - start, asked)
    }

    /// Marks changed: what was found out about the packet may be wrong.
    fn forget_marks(&mut self) {
        let known = self
            .cursor
            .and_then(|(number, _)| self.chain.blocks.get(number));
        if known.is_some_and(|block| block.reads_marks) {
            self.cursor = None;
        }
    }

    /// Goes on in a chain. One that does not exist has been refused.
    fn enter(&mut self, id: ChainId, from: usize) {
        if let Some(chain) = self.table.chain(id) {
            (self.id, self.chain, self.from, self.cursor) = (id, chain, from, None);
        }
    }

    /// The place of the next rule that matches.
    #[inline]
    fn next<F: Facts, W: Watch>(&mut self, asked: &mut Asked<'_, '_, F>) -> Option<usize> {
        let first = self.chain.block_of(self.from);
        let blocks = self.chain.blocks.iter().enumerate().skip(first);
        for (number, block) in blocks {
            let start = self.chain.starts[number] as usize;
            let mut from = self.from.saturating_sub(start);
            if from >= block.rules.len() {
                continue;
            }
            let left = match self.cursor {
                Some((known, left)) if known == number => left,
                _ => block.left(&*asked.subject),
            };
            while let Some(place) = block.next(&left, from) {
                if fits::<F, W>(block, place, asked) {
                    self.cursor = Some((number, left));
                    return Some(start + place);
                }
                from = block.behind(place, &asked.subject.changes.looked);
            }
        }
        None
    }

    /// The same by trying each rule and telling how it went.
    fn next_told<F: Facts, W: Watch>(
        &mut self,
        asked: &mut Asked<'_, '_, F>,
        watch: &mut W,
    ) -> Option<usize> {
        let rules = self.chain.rules().enumerate().skip(self.from);
        for (place, rule) in rules {
            let mut matchers = rule.matchers.iter();
            let failed = matchers.find(|matcher| !holds::<F, W>(matcher, asked));
            watch.tried(self.chain, rule, failed, asked.subject);
            if failed.is_none() {
                return Some(place);
            }
        }
        None
    }
}

/// Whether what the bits do not say of a rule holds, too.
#[inline(always)]
fn fits<F: Facts, W: Watch>(block: &Block, place: usize, asked: &mut Asked<'_, '_, F>) -> bool {
    let rest = block.rest(place);
    rest.is_empty() || {
        let matchers = &block.rules[place].matchers;
        let mut rest = rest.iter();
        rest.all(|number| holds::<F, W>(&matchers[usize::from(*number)], asked))
    }
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
        Action::Readdress(how) => return Then::End(Verdict::Readdress(*how)),
        Action::Notrack => {
            subject.changes.untracked = true;
            return Then::End(Verdict::Accept);
        }
        Action::Jump(to) => return Then::Jump(*to, rule.id),
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
        true => Then::Changed,
        false => Then::End(Verdict::Accept),
    }
}

/// Enters an address into a list.
fn enter<W: Watch>(
    list: &List,
    source: bool,
    timeout: Timeout,
    subject: &Subject<'_>,
    worker: &mut Worker,
    watch: &mut W,
) {
    let tuple = &subject.fields.tuple;
    let address = match source {
        true => tuple.source,
        false => tuple.destination,
    };
    if !W::COMMITS {
        // A later rule may ask.
        return worker.suppose(list, address);
    }
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
    let came_with = subject.sender.map_or(0, |sender| sender.priority);
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
                Priority::FromIngress => came_with,
            };
            changes.priority = Some(marks.priority);
        }
        Action::StripOptions => changes.strip_options = true,
        Action::ClearDf => changes.clear_df = true,
        Action::SourcePrefix(prefix) => changes.source_prefix = Some(prefix),
        Action::DestinationPrefix(prefix) => changes.destination_prefix = Some(prefix),
        _ => {}
    }
}
