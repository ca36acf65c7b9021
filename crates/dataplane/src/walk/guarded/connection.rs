//! The packet's connection: finds it, or drafts a new one, which enters the table when its first packet leaves.

use frame::InterfaceId;

use super::{Guard, Met, Translation, Watcher, helper, translation};
use crate::connection::{NextHop, State, Tick, Track, Tracker, is_error};
use crate::packet::Fields;
use crate::table::{Fib, NextHopId};
use crate::walk::{Context, Exit, Stage};

impl<W: Watcher> Guard<'_, W> {
    /// Finds the packet's connection, tells its state and counts it there.
    pub(super) fn connect(&mut self) {
        let passage = &mut *self.passage;
        let tuple = passage.fields.tuple;
        if passage.changes.untracked || !self.cx.snapshot.firewall.tracks(tuple.ipv6) {
            self.watch.passed(Stage::Prerouting, || {
                "the connection is not tracked".to_owned()
            });
            return;
        }
        let tracker = &mut self.memory.tracker;
        let found = match self.met {
            Met::Found(found) => found,
            Met::Tracked(track) => track.way,
            Met::Admitted(way) => Some(way),
            Met::Unknown | Met::Untracked | Met::Ended => tracker.lookup(&tuple),
        };
        passage.track = match self.met {
            Met::Tracked(track) => track,
            _ if W::COMMITS => {
                let now = Tick::of(self.cx.now);
                tracker.track(found, &passage.fields, self.view.packet, now)
            }
            _ => tracker.classify(found, &passage.fields, self.view.packet),
        };
        match passage.track.way {
            Some(way) => {
                passage.marks.connection = tracker.mark(way);
                passage.translation = translation::known(tracker, &passage.track);
            }
            None if matches!(passage.track.state, State::New | State::Related) => {
                if W::COMMITS {
                    // One that ended just now is not to be taken for this one.
                    let firewall = &self.cx.snapshot.firewall;
                    while let Some(ended) = tracker.take_counted() {
                        firewall.tables(ended.ipv6).leave(&ended);
                    }
                }
                let mut draft = tracker.draft(&passage.fields, self.view.packet);
                passage.marks.connection = draft.mark;
                passage.translation = translation::expected(tracker, &mut draft);
                passage.track.nat = draft.nat;
                passage.draft = Some(draft);
            }
            None if self.view.ingress == InterfaceId::NONE && refuses(&passage.fields) => {
                passage.track.state = State::Related;
                passage.track.quoted = true;
            }
            None => {}
        }
        self.assume();
        let state = self.passage.track.state;
        self.watch.passed(Stage::Prerouting, || {
            format!("connection-state is {}", state.name())
        });
        if let Some(Translation { before, after }) = self.passage.translation {
            self.watch.passed(Stage::Prerouting, || {
                format!("the connection is translated: {before} becomes {after}")
            });
        }
    }

    /// A traced packet may be taken to belong to a connection that is not there, or to one with a mark.
    #[inline(always)]
    fn assume(&mut self) {
        let assumed = self.watch.assumed();
        let passage = &mut *self.passage;
        let mark = assumed.state.map(|_| 0);
        if let Some(mark) = assumed.connection_mark.or(mark) {
            passage.marks.connection = mark;
        }
        let Some(state) = assumed.state else {
            return;
        };
        passage.track.state = state;
        passage.track.nat = assumed.nat;
        if !matches!(state, State::New | State::Related) {
            passage.draft = None;
        }
    }

    /// The packet leaves, or is delivered: a new connection enters the table, and what rules said
    /// about one that is there is kept.
    ///
    /// # Errors
    /// There is no room for it.
    pub(super) fn confirm(&mut self, egress: InterfaceId, hop: NextHopId) -> Result<(), Exit> {
        if let Some(mut draft) = self.passage.draft {
            draft.mark = self.passage.marks.connection;
            draft.fasttrack = self.passage.changes.fasttrack;
            draft.counted = self.passage.changes.counted;
            draft.attachment = self.passage.changes.looked.kept.0;
            draft.egress = egress;
            if draft.fasttrack || draft.masquerade {
                draft.next_hop = remembered(self.cx.fib, hop);
            }
            let tracker = &self.memory.tracker;
            let settled = translation::settle(self.cx, tracker, self.passage, &mut draft);
            let entered = settled.and_then(|()| {
                helper::assign(self.cx, &mut draft);
                match W::COMMITS {
                    true => {
                        let now = Tick::of(self.cx.now);
                        let entered = self.memory.tracker.confirm(&draft, now);
                        entered
                            .map(|way| {
                                self.memory.rules.begun();
                                Some(way)
                            })
                            .map_err(|refused| Exit::Drop(refused.drop()))
                    }
                    false => Ok(None),
                }
            });
            match entered {
                Ok(way) => self.passage.helped = way.filter(|_| draft.is_helped()),
                Err(exit) => {
                    self.watch.left(Stage::Postrouting, &exit);
                    return Err(exit);
                }
            }
        } else if W::COMMITS {
            self.keep(hop);
        }
        self.passage.accepted = true;
        Ok(())
    }

    /// A connection's mark is its own at once, whatever becomes of the packet. RouterOS: as netfilter's.
    pub(super) fn keep_mark(&mut self) {
        let passage = &*self.passage;
        let way = passage.track.way.filter(|_| !passage.track.quoted);
        let tracker = &mut self.memory.tracker;
        if let Some(way) = way.filter(|_| W::COMMITS)
            && tracker.mark(way) != passage.marks.connection
        {
            tracker.set_mark(way, passage.marks.connection);
        }
    }

    /// What rules said about a connection that is in the table, and its way on.
    fn keep(&mut self, hop: NextHopId) {
        let passage = &mut *self.passage;
        let Some(way) = passage.track.way.filter(|_| !passage.track.quoted) else {
            return;
        };
        passage.helped = Some(way).filter(|_| passage.track.helped);
        let tracker = &mut self.memory.tracker;
        if tracker.mark(way) != passage.marks.connection {
            tracker.set_mark(way, passage.marks.connection);
        }
        stay(
            self.cx,
            tracker,
            &passage.track,
            passage.changes.fasttrack,
            hop,
        );
    }
}

/// Whether a packet of this router's own says that it discarded another, by an ICMP error or a RST.
/// RouterOS, as the kernel that it stands on: it is related to the connection that the other would
/// have begun, though that is in no table.
fn refuses(fields: &Fields) -> bool {
    const RST: u8 = 4;
    is_error(fields) || fields.tcp_flags & RST != 0
}

/// A connection that is FastTracked, or is to be from now on, remembers the next hop of each direction. One that is
/// masqueraded remembers that of its original direction ([`Tracker::keeps_to`]).
pub(super) fn stay(
    cx: &Context<'_>,
    tracker: &mut Tracker,
    track: &Track,
    marked: bool,
    hop: NextHopId,
) {
    let Some(way) = track.way else {
        return;
    };
    // What a helper reads walks slowly.
    if marked && !track.fasttrack && !track.helped {
        tracker.fasttrack(way);
    }
    let remembers = track.fasttrack || marked || !way.reply() && tracker.is_masqueraded(way);
    if remembers && hop != NextHopId::NO_ROUTE {
        let next_hop = remembered(cx.fib, hop);
        if tracker.next_hop(way) != next_hop {
            tracker.set_next_hop(way, next_hop);
        }
    }
}

/// A next hop as a connection remembers it: good until routes change, or its id is given back.
pub(super) fn remembered(fib: &Fib, id: NextHopId) -> NextHop {
    NextHop {
        id,
        generation: fib.generation(id),
    }
}
