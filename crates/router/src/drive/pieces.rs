//! Reassembles fragments for this router.

use dataplane::DropReason;
use frame::reassembly::Lost;
use frame::{Frame, Offload};
use service::icmp::{v4, v6};

use super::Control;
use super::half::TimerKey;

impl Control {
    /// Adds a fragment of an IPv4 packet that came from a worker.
    pub(super) fn collect4(&mut self, fragment: Frame, worker: u16) {
        let whole = self
            .workers
            .collect(&mut self.pieces4, fragment, worker, self.now);
        self.settle_pieces();
        if let Some((mut frame, worker)) = whole {
            frame.offload = Offload::FINISHED;
            self.hear_local(frame, worker);
        }
    }

    /// Adds a fragment of an IPv6 packet that came from a worker.
    pub(super) fn collect6(&mut self, fragment: Frame, worker: u16) {
        let whole = self
            .workers
            .collect(&mut self.pieces6, fragment, worker, self.now);
        self.settle_pieces();
        if let Some((mut frame, worker)) = whole {
            frame.offload = Offload::FINISHED;
            self.hear_local(frame, worker);
        }
    }

    /// Drops incomplete packets whose time is over.
    pub(super) fn expire_pieces(&mut self) {
        self.pieces4.expire(self.now);
        self.pieces6.expire(self.now);
        self.settle_pieces();
    }

    /// Counts dropped fragments, sends ICMP errors where due, and sets the timer to the end of the next incomplete
    /// packet.
    pub(super) fn settle_pieces(&mut self) {
        while let Some((fragment, worker, lost)) = self.pieces4.take_lost() {
            if lost == (Lost::TimedOut { first: true }) {
                self.error4(&fragment, v4::Error::ReassemblyTimeExceeded, worker);
            }
            self.workers
                .discard(fragment, DropReason::of_fragment(lost));
        }
        while let Some((fragment, worker, lost)) = self.pieces6.take_lost() {
            let code = v6::Parameter::Field;
            let error = match lost {
                Lost::TimedOut { first: true } => Some(v6::Error::ReassemblyTimeExceeded),
                Lost::Problem { pointer } => Some(v6::Error::ParameterProblem { code, pointer }),
                _ => None,
            };
            if let Some(error) = error {
                self.error6(&fragment, error, worker);
            }
            self.workers
                .discard(fragment, DropReason::of_fragment(lost));
        }
        let deadlines = [self.pieces4.deadline(), self.pieces6.deadline()];
        let next = deadlines.into_iter().flatten().min();
        self.timers.set(TimerKey::Pieces, next);
    }
}
