//! Tests of matchers, actions and the classifier.

mod actions;
mod classifier;
mod link;
mod matchers;

use std::sync::Arc;

use packet::{Fields, Fragment, Tuple, protocol};

use super::*;

/// Records the reported events.
pub(super) struct Quiet<const COMMITS: bool> {
    pub(super) logged: Vec<u32>,
    pub(super) kept: Vec<u128>,
    pub(super) copies: usize,
    /// The evaluated rules, and whether they matched.
    pub(super) tried: Vec<(u32, bool)>,
}

impl<const COMMITS: bool> Quiet<COMMITS> {
    pub(super) const fn new() -> Self {
        Self {
            logged: Vec::new(),
            kept: Vec::new(),
            copies: 0,
            tried: Vec::new(),
        }
    }
}

impl<const COMMITS: bool> Watch for Quiet<COMMITS> {
    const COMMITS: bool = COMMITS;

    fn tried(&mut self, _: &Chain, rule: &Rule, failed: Option<&Matcher>, _: &Subject<'_>) {
        self.tried.push((rule.id, failed.is_none()));
    }

    fn log(&mut self, _: &Chain, rule: &Rule, _: &Subject<'_>) {
        self.logged.push(rule.id);
    }

    fn sniff(&mut self, _: &Rule, _: &Subject<'_>) {
        self.copies += 1;
    }

    fn keep(&mut self, _: &List, address: u128, _ipv6: bool) {
        self.kept.push(address);
    }
}

pub(super) fn worker() -> Worker {
    let counters = Arc::new(RuleCounters::default());
    assert!((0..4096).step_by(256).all(|id| counters.make_room(id)));
    Worker::new(counters, 1)
}

/// A TCP segment from 10.0.0.1:5000 to 192.0.2.9:443.
pub(super) fn segment() -> Fields {
    Fields {
        tuple: Tuple {
            source: 0x0a00_0001,
            destination: 0xc000_0209,
            source_port: 5000,
            destination_port: 443,
            protocol: protocol::TCP,
            ipv6: false,
        },
        len: 60,
        upper: 20,
        tcp_flags: 0x02,
        ttl: 63,
        tos: 0x28,
        fragment: Fragment::Whole,
        truncated: false,
    }
}

/// A rule without a number.
pub(super) type Written = (Vec<Matcher>, Action);

/// Compiles a table of these chains and numbers the rules consecutively.
pub(super) fn table(chains: &[(&str, Vec<Written>)]) -> Table {
    let mut id = 0;
    let chains = chains.iter().map(|(name, rules)| {
        let rules = rules.iter().map(|(matchers, action)| {
            id += 1;
            Arc::new(Rule::new(id, matchers.clone(), action.clone()))
        });
        (Arc::from(*name), rules.collect())
    });
    Table::compile(None, chains.collect())
}

/// Evaluates the first chain.
pub(super) fn run_first(table: &Table, subject: &mut Subject<'_>, worker: &mut Worker) -> Verdict {
    let mut watch = Quiet::<true>::new();
    run(table, ChainId(0), subject, &Nothing, worker, &mut watch)
}

/// Returns true if a matcher matches, by compiled and by plain evaluation, which must agree.
pub(super) fn matches(matcher: impl Into<Matcher>, subject: &Subject<'_>) -> bool {
    matches_with(matcher, subject, &Nothing)
}

pub(super) fn matches_with<F: Facts>(
    matcher: impl Into<Matcher>,
    subject: &Subject<'_>,
    facts: &F,
) -> bool {
    let table = table(&[("forward", vec![(vec![matcher.into()], Action::Drop)])]);
    let (mut worker, id) = (worker(), ChainId(0));
    let told = {
        let mut watch = Quiet::<false>::new();
        run(
            &table,
            id,
            &mut { *subject },
            facts,
            &mut worker,
            &mut watch,
        )
    };
    let mut watch = Quiet::<true>::new();
    let done = run(
        &table,
        id,
        &mut { *subject },
        facts,
        &mut worker,
        &mut watch,
    );
    assert_eq!(told, done);
    done == Verdict::Drop(1)
}

/// A packet received by interface 1 and sent by interface 2.
pub(super) fn subject<'a>(fields: &'a Fields, packet: &'a [u8]) -> Subject<'a> {
    Subject {
        egress: Class(2),
        ..Subject::new(fields, packet, Class(1))
    }
}
