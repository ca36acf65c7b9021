//! Connection tracking of a packet: looks up its connection, or drafts a new one that enters the
//! table when the first packet leaves.

use frame::InterfaceId;

use super::{Decider, EarlyLookup, Translation, Watcher, helper, translation};
use crate::connection::{NextHop, State, Tick, Track, Tracker, is_error};
use crate::packet::Fields;
use crate::table::{Fib, NextHopId};
use crate::walk::{Context, Exit, Stage};

impl<W: Watcher> Decider<'_, W> {
    /// Looks up the packet's connection, sets its state, and counts the packet.
    pub(in crate::walk) fn connect(&mut self) {
        let passage = &mut *self.passage;
        let tuple = passage.fields.tuple;
        if passage.changes.untracked || !self.cx.snapshot.firewall.tracks(tuple.ipv6) {
            if self.cx.snapshot.firewall.guards(tuple.ipv6) {
                self.watch.passed(Stage::Prerouting, || {
                    "the connection is not tracked".to_owned()
                });
            }
            return;
        }
        let tracker = &mut self.memory.tracker;
        let found = match self.lookup {
            EarlyLookup::Found(found) => found,
            EarlyLookup::Tracked(track) => track.way,
            EarlyLookup::Admitted(way) => Some(way),
            EarlyLookup::Unknown | EarlyLookup::Untracked | EarlyLookup::Ended => {
                tracker.lookup(&tuple)
            }
        };
        passage.track = match self.lookup {
            EarlyLookup::Tracked(track) => track,
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
                    // A connection that just ended must not be matched again.
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

    /// Applies the connection state or connection mark that a trace assumes for its packet.
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

    /// Called when the packet leaves or is delivered. Adds a new connection to the table; stores
    /// what rules set for an existing one.
    ///
    /// # Errors
    /// The connection table is full.
    pub(in crate::walk) fn confirm(
        &mut self,
        egress: InterfaceId,
        hop: NextHopId,
    ) -> Result<(), Exit> {
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

    /// Stores a new connection mark at once, even if the packet is dropped later. RouterOS: as
    /// netfilter does.
    pub(in crate::walk) fn keep_mark(&mut self) {
        let passage = &*self.passage;
        let way = passage.track.way.filter(|_| !passage.track.quoted);
        let tracker = &mut self.memory.tracker;
        if let Some(way) = way.filter(|_| W::COMMITS)
            && tracker.mark(way) != passage.marks.connection
        {
            tracker.set_mark(way, passage.marks.connection);
        }
    }

    /// Stores the flags that rules set for an existing connection, and its next hop.
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

/// Returns true if a packet from this router reports that the router dropped another packet, by an
/// ICMP error or a RST. RouterOS, like the Linux kernel: such a report is related to the connection
/// that the dropped packet would have begun, although no table has it.
fn refuses(fields: &Fields) -> bool {
    const RST: u8 = 4;
    is_error(fields) || fields.tcp_flags & RST != 0
}

/// Stores the next hop of each direction in a connection that is FastTracked or becomes so. A
/// masqueraded connection stores the next hop of its original direction ([`Tracker::keeps_to`]).
pub(in crate::walk) fn stay(
    cx: &Context<'_>,
    tracker: &mut Tracker,
    track: &Track,
    marked: bool,
    hop: NextHopId,
) {
    let Some(way) = track.way else {
        return;
    };
    // Connections with a helper always take the slow path.
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

/// Returns a next hop as connections store it: valid until routes change or its id is reused.
pub(in crate::walk) fn remembered(fib: &Fib, id: NextHopId) -> NextHop {
    NextHop {
        id,
        generation: fib.generation(id),
    }
}
