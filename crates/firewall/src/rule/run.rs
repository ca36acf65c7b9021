//! Evaluates chains: executes the first rule whose matchers all match, and continues until a rule ends the
//! chain.

use super::action::{Action, Dscp, Priority, Timeout, Ttl, Verdict};
use super::classify::{Block, Candidates, First};
use super::evaluate::{MatchContext, matches};
use super::list::List;
use super::matcher::Matcher;
use super::subject::{Facts, Subject};
use super::table::{Chain, ChainId, DEPTH, Rule, Table};
use super::worker::Worker;

/// Observer of rule evaluation: the data plane, or the packet tracer.
pub trait Watch {
    /// True if rules count packets, take tokens and add addresses. If false, every rule is evaluated and
    /// reported in order, without changes.
    const COMMITS: bool;

    /// Reports an evaluated rule: `failed` is the first matcher that failed, or `None` if the rule matched.
    /// Called only without commits.
    fn tried(
        &mut self,
        chain: &Chain,
        rule: &Rule,
        failed: Option<&Matcher>,
        subject: &Subject<'_>,
    );

    /// Reports a match of a rule that logs with the prefix `rule.log`.
    fn log(&mut self, chain: &Chain, rule: &Rule, subject: &Subject<'_>);

    /// Reports a match of a rule that sends a copy of the packet (`rule.action`).
    fn sniff(&mut self, rule: &Rule, subject: &Subject<'_>);

    /// Reports a permanent list entry, which the control plane adds to the configuration.
    fn keep(&mut self, list: &List, address: u128, ipv6: bool);
}

/// Effect of an action on the evaluation.
enum Then {
    Next,
    /// The packet's marks changed.
    Changed,
    Jump(ChainId, u32),
    Return,
    End(Verdict),
}

/// Evaluates a built-in chain for a packet. Changes to the packet are recorded in `subject`; its bytes stay
/// unchanged. A chain that does not exist accepts.
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

/// The first candidate rule of a packet, if `Table::ahead` looked it up for the vector.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ahead(Option<First>);

impl Ahead {
    /// Takes the result of `Table::ahead` for the same packet and chain.
    pub const fn of(first: First) -> Self {
        Self(Some(first))
    }

    /// Evaluates a chain as [`run`] does.
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
        let mut run = Evaluation {
            table,
            id: chain,
            chain: current,
            from: 0,
            cursor: None,
        };
        if let Some(first) = first {
            let mut asked = MatchContext {
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

/// Position of a packet in its chains.
struct Evaluation<'a> {
    table: &'a Table,
    id: ChainId,
    chain: &'a Chain,
    /// Index of the next rule.
    from: usize,
    /// The packet's candidates in a block of this chain, with the block's index.
    cursor: Option<(usize, Candidates)>,
}

impl Evaluation<'_> {
    /// Evaluates rules until the chain ends; `then` is the effect of the last matching rule.
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

    /// Executes the next matching rule.
    fn step<F: Facts, W: Watch>(
        &mut self,
        subject: &mut Subject<'_>,
        facts: &F,
        worker: &mut Worker,
        watch: &mut W,
    ) -> Then {
        let mut asked = MatchContext {
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

    /// Returns true if the first candidate matches; evaluation continues after it in any case.
    #[inline(always)]
    fn try_candidate<F: Facts, W: Watch>(
        &mut self,
        first: &First,
        asked: &mut MatchContext<'_, '_, F>,
    ) -> bool {
        let place = first.place as usize;
        self.from = place + 1;
        let number = self.chain.block_of(place);
        let start = self.chain.starts[number] as usize;
        let block = &self.chain.blocks[number];
        self.cursor = block.left_of(first).map(|left| (number, left));
        fits::<F, W>(block, place - start, asked)
    }

    /// Discards the candidates if they depend on marks, which have changed.
    fn forget_marks(&mut self) {
        let known = self
            .cursor
            .and_then(|(number, _)| self.chain.blocks.get(number));
        if known.is_some_and(|block| block.reads_marks) {
            self.cursor = None;
        }
    }

    /// Continues in a chain; jumps to missing chains were refused at compile time.
    fn enter(&mut self, id: ChainId, from: usize) {
        if let Some(chain) = self.table.chain(id) {
            (self.id, self.chain, self.from, self.cursor) = (id, chain, from, None);
        }
    }

    /// Returns the index of the next matching rule.
    #[inline]
    fn next<F: Facts, W: Watch>(&mut self, asked: &mut MatchContext<'_, '_, F>) -> Option<usize> {
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

    /// Returns the index of the next matching rule, evaluating and reporting every rule.
    fn next_told<F: Facts, W: Watch>(
        &mut self,
        asked: &mut MatchContext<'_, '_, F>,
        watch: &mut W,
    ) -> Option<usize> {
        let rules = self.chain.rules().enumerate().skip(self.from);
        for (place, rule) in rules {
            let mut matchers = rule.matchers.iter();
            let failed = matchers.find(|matcher| !matches::<F, W>(matcher, asked));
            watch.tried(self.chain, rule, failed, asked.subject);
            if failed.is_none() {
                return Some(place);
            }
        }
        None
    }
}

/// Returns true if the matchers that the bit vectors do not cover match.
#[inline(always)]
fn fits<F: Facts, W: Watch>(
    block: &Block,
    place: usize,
    asked: &mut MatchContext<'_, '_, F>,
) -> bool {
    let rest = block.rest(place);
    rest.is_empty() || {
        let matchers = &block.rules[place].matchers;
        let mut rest = rest.iter();
        rest.all(|number| matches::<F, W>(&matchers[usize::from(*number)], asked))
    }
}

/// Executes the action of a matching rule.
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

/// Adds an address to a list.
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
        // A later rule may match the list.
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

/// Records a change of the packet or of its marks.
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
            // The two ECN bits (RFC 3168) stay unchanged.
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
