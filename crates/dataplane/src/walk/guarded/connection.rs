//! Where a packet meets its connection, and where a new one enters the table.

use frame::InterfaceId;

use super::{Guard, Watcher};
use crate::connection::{NextHop, State};
use crate::table::NextHopId;
use crate::walk::{Exit, Stage};

impl<W: Watcher> Guard<'_, W> {
    /// Finds the packet's connection, tells its state and counts it there.
    ///
    /// # Errors
    /// It cannot be told what it is.
    pub(super) fn connect(&mut self) -> Result<(), Exit> {
        let passage = &mut *self.passage;
        let tuple = passage.fields.tuple;
        if passage.changes.untracked || !self.cx.snapshot.firewall.tracks(tuple.ipv6) {
            self.watch.passed(Stage::Prerouting, || "not tracked".to_owned());
            return Ok(());
        }
        let tracker = &mut self.memory.tracker;
        let found = tracker.find(tracker.hash(&tuple), &tuple);
        passage.track = tracker.classify(found, &passage.fields, self.view.packet);
        if W::COMMITS {
            tracker.advance(&passage.track, &passage.fields);
        }
        match passage.track.way {
            Some(way) => {
                passage.marks.connection = tracker.mark(way);
                passage.translated = tracker.translated(&passage.track);
            }
            None if matches!(passage.track.state, State::New | State::Related) => {
                passage.draft = tracker.draft(&passage.track, &passage.fields);
            }
            None => {}
        }
        let state = passage.track.state;
        self.watch.passed(Stage::Prerouting, || {
            format!("connection-state {}", state.name())
        });
        Ok(())
    }

    /// The packet leaves, or is delivered: a new connection enters the table, and what rules said
    /// about one that is there is kept.
    ///
    /// # Errors
    /// There is no room for it.
    pub(super) fn confirm(&mut self, egress: InterfaceId, hop: NextHopId) -> Result<(), Exit> {
        let passage = &mut *self.passage;
        let tracker = &mut self.memory.tracker;
        if let (Some(way), true) = (passage.track.way, W::COMMITS) {
            if tracker.mark(way) != passage.marks.connection {
                tracker.set_mark(way, passage.marks.connection);
            }
            if passage.changes.fasttrack && !passage.track.quoted {
                tracker.fasttrack(way);
            }
        }
        if let Some(mut draft) = passage.draft.take() {
            draft.mark = passage.marks.connection;
            draft.fasttrack = passage.changes.fasttrack;
            draft.egress = egress;
            draft.next_hop = NextHop { id: hop, generation: 0 };
            let after = super::translation::settle(tracker, &passage.fields.tuple);
            let _ = after;
            if W::COMMITS {
                let confirmed = tracker.confirm(draft);
                confirmed.map_err(|refused| Exit::Drop(refused.drop()))?;
            }
        }
        passage.accepted = true;
        Ok(())
    }
}
