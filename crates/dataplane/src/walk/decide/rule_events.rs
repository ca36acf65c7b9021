//! Side effects that rules request from control: log lines, copies of packets, permanent list
//! entries. The requests are queued until the packet is decided, because control needs its bytes.

use std::collections::VecDeque;

use super::Translation;
use crate::rule::{Action, Chain, List, Matcher, Rule, Sniff, Subject, Watch};
pub use crate::rule::{Event, Logged};
use crate::trace::Tracer;
use crate::walk::{Exit, Stage};

/// Maximum number of events per packet; further events are counted as lost.
const EVENTS: usize = 32;

/// An event of the current packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RuleRequest {
    /// An event for control.
    Event(Event),
    /// A copy of the packet for a sniffer, sent by the ring of taps.
    Sniff(Sniff),
}

/// Queue of the events that rules request for the current packet.
#[derive(Debug, Default)]
pub(crate) struct RuleEvents {
    events: VecDeque<RuleRequest>,
    /// Events beyond the limit of a packet.
    pub(crate) lost: u64,
}

impl RuleEvents {
    pub(crate) fn new() -> Self {
        Self {
            events: VecDeque::with_capacity(EVENTS),
            lost: 0,
        }
    }

    /// Returns true if events are queued.
    #[inline]
    pub(crate) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    fn add(&mut self, event: RuleRequest) {
        if self.events.len() < EVENTS {
            self.events.push_back(event);
        } else {
            self.lost += 1;
        }
    }

    /// Adds the translation of the packet's connection to all queued log lines.
    #[cold]
    pub(crate) fn explain(&mut self, translation: Option<Translation>) {
        for event in &mut self.events {
            if let RuleRequest::Event(Event::Log(logged)) = event {
                logged.translated = translation.map(|translation| translation.after);
            }
        }
    }

    /// Removes and returns the next event, in the order of the rules.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<RuleRequest> {
        self.events.pop_front()
    }
}

impl Tracer for RuleEvents {
    #[inline(always)]
    fn passed(&mut self, _stage: Stage, _decision: impl FnOnce() -> String) {}

    #[inline(always)]
    fn left(&mut self, _stage: Stage, _exit: &Exit) {}
}

impl Watch for RuleEvents {
    const COMMITS: bool = true;

    #[inline(always)]
    fn tried(
        &mut self,
        _chain: &Chain,
        _rule: &Rule,
        _failed: Option<&Matcher>,
        _subject: &Subject<'_>,
    ) {
    }

    #[cold]
    fn log(&mut self, _chain: &Chain, rule: &Rule, subject: &Subject<'_>) {
        self.add(RuleRequest::Event(Event::Log(Logged {
            rule: rule.id,
            egress: subject.leaves_by,
            state: subject.state,
            nat: subject.nat,
            seen: subject.fields.tuple,
            translated: None,
        })));
    }

    #[cold]
    fn sniff(&mut self, rule: &Rule, _subject: &Subject<'_>) {
        if let Action::Sniff(how) = rule.action {
            self.add(RuleRequest::Sniff(how));
        }
    }

    #[cold]
    fn keep(&mut self, list: &List, address: u128, ipv6: bool) {
        self.add(RuleRequest::Event(Event::Keep {
            list: list.number,
            address,
            ipv6,
        }));
    }
}
