//! The tracer's walk: one frame, from the receiving interface to the sending port.
//!
//! ```text
//! arrive: slave → bond → bridge → VLAN or station → ingress            (`arrive.rs`)
//! route:  prerouting … postrouting; output … postrouting for its own   (`route.rs`)
//! leave:  queues → bond, bridge, tunnel or IPsec → port                (`leave.rs`)
//! ```
//!
//! A tunnel or IPsec turns the frame into the outer packet, which is routed as the router's own. The walk calls the
//! decision functions of the passes, and writes into its frame with their functions; the frame belongs to a pool of the
//! trace. Counters, connections, learned hosts, loads, sessions and sequence numbers do not change.

mod arrive;
mod leave;
mod route;

use frame::{Frame, InterfaceId, IpsecState, Pool};

use super::decide::{Memory, Watcher};
use super::{Context, Exit, Stage};
use crate::drop::DropReason;
use crate::out::OutId;
use crate::trace::{Egress, Question};

/// Maximum number of outer packets around a traced packet.
pub(crate) const OUTER_PACKETS: usize = 8;
/// Maximum number of steps of a trace: more than nested tunnels, bridges and bonds can take.
const STEPS: usize = 64;

/// A traced frame and the state of its trace.
pub(crate) struct Follower<'a, W> {
    pub(crate) cx: &'a Context<'a>,
    pub(crate) question: &'a Question<'a>,
    pub(crate) memory: &'a mut Memory,
    pub(crate) pool: &'a mut Pool,
    pub(crate) frame: &'a mut Frame,
    pub(crate) egress: &'a mut Egress,
    pub(crate) watch: &'a mut W,
}

/// The next step of the trace.
enum Step {
    /// This interface receives the frame.
    Arrives(InterfaceId),
    /// The frame is an outer packet and follows the router's output path.
    RoutesOwn,
    /// The frame goes to this out.
    Leaves(OutId),
    /// A port has sent the frame.
    Done,
}

impl<W: Watcher> Follower<'_, W> {
    /// Follows the frame until a port takes it.
    ///
    /// # Errors
    /// The frame's exit, if it does not leave by one port.
    pub(crate) fn follow(&mut self) -> Result<(), Exit> {
        let assumed = self.watch.assumed();
        self.frame.mark = assumed.marks.packet;
        if assumed.revealed {
            self.frame.guarded = IpsecState::Revealed;
        }
        let mut step = Step::Arrives(self.question.ingress);
        for _ in 0..STEPS {
            step = match step {
                Step::Arrives(id) => self.arrive(id)?,
                Step::RoutesOwn => self.route_own()?,
                Step::Leaves(out) => self.leave(out)?,
                Step::Done => return Ok(()),
            };
        }
        Err(self.left(Stage::Egress, Exit::Drop(DropReason::TunnelDepth)))
    }

    /// Records that a stage ended the frame's walk.
    fn left(&mut self, stage: Stage, exit: Exit) -> Exit {
        self.watch.left(stage, &exit);
        exit
    }
}
