//! Flow offload of connections: installs the rewrite of one direction in its ingress port.
//! Candidates are FastTracked connections, and UDP flows that rules accept by their connection
//! alone. TCP without FastTrack is excluded: the connection tracker checks its sequence numbers.

use core::ops::Range;

use frame::Frame;
use frame::shortcut::{Connection, Handler, Rewrite, Rules, Shortcut};

use super::chunk::{Chunk, Passes};
use super::chunk_lookups::ChunkLookups;
use super::plain_packets::{PlainChains, Verdict};
use super::shortcut_installer::ShortcutInstaller;
use crate::connection::{FlowId, NatState, Tracker};
use crate::nat;
use crate::out::OutId;
use crate::outlet::Outlet;
use crate::walk::decide::CHUNK;

/// A packet that this chunk has forwarded.
struct ForwardedPacket {
    /// Position in the chunk.
    place: usize,
    way: FlowId,
    nat: NatState,
    handler: Handler,
    rules: Rules,
}

impl Passes<'_, '_> {
    /// Installs shortcuts for the forwarded packets of the batch.
    #[cold]
    #[inline(never)]
    pub(in crate::walk) fn install_batch(
        &mut self,
        installer: &ShortcutInstaller,
        plain: &PlainChains<'_>,
        chunk: &Chunk<'_>,
        lookups: &ChunkLookups,
    ) {
        let ipv6 = lookups.batch.is_ipv6();
        if plain.asks_raw() || !self.tally.is_guarded(ipv6) {
            return;
        }
        for at in 0..lookups.batch.len() {
            let batched = lookups.batch.get(at);
            let is_tcp = lookups.sets.tcp >> batched.place & 1 != 0;
            let was_asked = lookups.batch.early(at).is_some();
            let (Some(way), false, false) = (batched.way, is_tcp, was_asked) else {
                continue;
            };
            if plain.verdict(&lookups.firsts, at) != Verdict::Passes {
                continue;
            }
            let Some(rules) = plain.counting(&lookups.firsts, at) else {
                continue;
            };
            let forwarded = ForwardedPacket {
                place: batched.place,
                way,
                nat: batched.passed.nat,
                handler: Handler::Firewall,
                rules,
            };
            self.install(installer, &forwarded, chunk);
        }
    }

    /// Installs shortcuts for the packets in this range, which FastTrack has forwarded.
    #[cold]
    #[inline(never)]
    pub(in crate::walk) fn install_fasttrack<const IPV6: bool>(
        &mut self,
        installer: &ShortcutInstaller,
        places: Range<usize>,
        chunk: &Chunk<'_>,
        lookups: &ChunkLookups,
    ) {
        for place in places {
            let tracker = &self.outlet.memory.tracker;
            let fast = tracker.fast_of::<IPV6>(&lookups.ways, place);
            let (Some(way), Some(fast)) = (lookups.ways.get(place), fast) else {
                continue;
            };
            let forwarded = ForwardedPacket {
                place: place % CHUNK,
                way,
                nat: fast.nat,
                handler: Handler::FastTrack,
                rules: Rules::default(),
            };
            self.install(installer, &forwarded, chunk);
        }
    }

    fn install(
        &mut self,
        installer: &ShortcutInstaller,
        forwarded: &ForwardedPacket,
        chunk: &Chunk<'_>,
    ) {
        let (frame, out) = (&chunk.frames[forwarded.place], chunk.outs[forwarded.place]);
        if out == OutId::NONE || frame.ingress != installer.ingress {
            return;
        }
        let shortcut = self.shortcut(installer, forwarded, frame, out);
        if let Some(shortcut) = shortcut {
            installer.install(&shortcut, self.outlet);
        }
    }

    fn shortcut(
        &mut self,
        installer: &ShortcutInstaller,
        forwarded: &ForwardedPacket,
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
            lane: installer.shortcut_path(self.cx, frame, out, handler, rules, self.outlet)?,
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
