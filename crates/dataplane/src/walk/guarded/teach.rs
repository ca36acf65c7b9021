//! Flow offload of connections: installs the rewrite of one direction in its ingress port.
//! Candidates are FastTracked connections, and UDP flows that rules accept by their connection
//! alone. TCP without FastTrack is excluded: the connection tracker checks its sequence numbers.

use core::ops::Range;

use frame::Frame;
use frame::shortcut::{Connection, Handler, Rewrite, Rules, Shortcut};

use super::CHUNK;
use super::ahead::Ahead;
use super::chunk::{Chunk, Passes};
use super::plain::{Plain, Verdict};
use crate::connection::{FlowId, NatState, Tracker};
use crate::nat;
use crate::out::OutId;
use crate::outlet::Outlet;
use crate::walk::teach::Teacher;

/// A packet that this chunk has forwarded.
struct Forwarded {
    /// Position in the chunk.
    place: usize,
    way: FlowId,
    nat: NatState,
    handler: Handler,
    rules: Rules,
}

impl Passes<'_, '_> {
    /// Installs shortcuts for the forwarded packets of the run.
    #[cold]
    #[inline(never)]
    pub(super) fn teach_run(
        &mut self,
        teacher: &Teacher,
        plain: &Plain<'_>,
        chunk: &Chunk<'_>,
        ahead: &Ahead,
    ) {
        let ipv6 = ahead.run.is_ipv6();
        if plain.asks_raw() || !self.tally.is_guarded(ipv6) {
            return;
        }
        for at in 0..ahead.run.len() {
            let waiting = ahead.run.get(at);
            let is_tcp = ahead.which.tcp >> waiting.place & 1 != 0;
            let was_asked = ahead.run.early(at).is_some();
            let (Some(way), false, false) = (waiting.way, is_tcp, was_asked) else {
                continue;
            };
            if plain.verdict(&ahead.firsts, at) != Verdict::Passes {
                continue;
            }
            let Some(rules) = plain.counting(&ahead.firsts, at) else {
                continue;
            };
            let forwarded = Forwarded {
                place: waiting.place,
                way,
                nat: waiting.passed.nat,
                handler: Handler::Firewall,
                rules,
            };
            self.teach(teacher, &forwarded, chunk);
        }
    }

    /// Installs shortcuts for the packets in this range, which FastTrack has forwarded.
    #[cold]
    #[inline(never)]
    pub(super) fn teach_fasttrack<const IPV6: bool>(
        &mut self,
        teacher: &Teacher,
        places: Range<usize>,
        chunk: &Chunk<'_>,
        ahead: &Ahead,
    ) {
        for place in places {
            let tracker = &self.outlet.memory.tracker;
            let fast = tracker.fast_of::<IPV6>(&ahead.ways, place);
            let (Some(way), Some(fast)) = (ahead.ways.get(place), fast) else {
                continue;
            };
            let forwarded = Forwarded {
                place: place % CHUNK,
                way,
                nat: fast.nat,
                handler: Handler::FastTrack,
                rules: Rules::default(),
            };
            self.teach(teacher, &forwarded, chunk);
        }
    }

    fn teach(&mut self, teacher: &Teacher, forwarded: &Forwarded, chunk: &Chunk<'_>) {
        let (frame, out) = (&chunk.frames[forwarded.place], chunk.outs[forwarded.place]);
        if out == OutId::NONE || frame.ingress != teacher.ingress {
            return;
        }
        let shortcut = self.shortcut(teacher, forwarded, frame, out);
        if let Some(shortcut) = shortcut {
            teacher.teach(&shortcut, self.outlet);
        }
    }

    fn shortcut(
        &mut self,
        teacher: &Teacher,
        forwarded: &Forwarded,
        frame: &Frame,
        out: OutId,
    ) -> Option<Shortcut> {
        let Outlet { memory, .. } = &mut *self.outlet;
        let tuple = memory.tracker.tuple(forwarded.way);
        let translates = forwarded.nat != NatState::default();
        let rewrite = translates.then(|| rewrite(&memory.tracker, forwarded.way, tuple.ipv6));
        let token = memory.tracker.shorten(forwarded.way)?;
        let (handler, rules) = (forwarded.handler, forwarded.rules);
        Some(Shortcut {
            between: tuple.between(),
            connection: Some(Connection {
                service: tuple.service(),
                token,
                rewrite,
            }),
            lane: teacher.shortcut_path(self.cx, frame, out, handler, rules, self.outlet)?,
        })
    }
}

/// Returns the translation of a direction as a shortcut applies it.
fn rewrite(tracker: &Tracker, way: FlowId, ipv6: bool) -> Rewrite {
    if ipv6 {
        let [words @ .., _] = tracker.rewrite6(way).0;
        nat::Rewrite::<16>::from_words(words).to_shortcut()
    } else {
        nat::Rewrite::<4>::from_words(tracker.rewrite4(way).0).to_shortcut()
    }
}
