//! What rules ask to be told to control about a packet: lines for the log, copies to be sent away,
//! addresses for ever. Kept until the packet is decided about, because its bytes are needed.

use frame::{Frame, InterfaceId};

use crate::connection::State;
use crate::rule::{Action, Chain, List, Matcher, Rule, Sniff, Subject, Watch};
use crate::trace::Tracer;
use crate::walk::{Exit, Stage};

/// What one packet may ask for at most; what is beyond is counted as lost.
const EVENTS: usize = 32;

/// Something to be told about the packet at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A line for the log.
    Log(Logged),
    /// A copy to be sent away.
    Sniff(Sniff),
    /// An address for a list, for ever, entered by this rule.
    Keep {
        /// The rule.
        rule: u32,
        /// The source rather than the destination.
        source: bool,
    },
}

/// What a line of the log says besides the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logged {
    /// The rule that logs: its chain and its prefix.
    pub rule: u32,
    /// Where the packet would leave, if that is known.
    pub egress: InterfaceId,
    /// The state of its connection.
    pub state: State,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Told {
    events: Vec<Event>,
    /// Events beyond what one packet may ask for.
    pub(crate) lost: u64,
}

impl Told {
    pub(crate) fn new() -> Self {
        Self {
            events: Vec::with_capacity(EVENTS),
            lost: 0,
        }
    }

    fn add(&mut self, event: Event) {
        if self.events.len() < EVENTS {
            self.events.push(event);
        } else {
            self.lost += 1;
        }
    }

    /// The next event of the packet at hand, last first.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Event> {
        self.events.pop()
    }
}
