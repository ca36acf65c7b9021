//! Counters of pass 3: consecutive frames of one egress interface are counted once.

use frame::{Frame, InterfaceId};

use super::{Context, egress};
use crate::counters::{Counters, Traffic};

/// Counters that pass 3 carries from frame to frame.
pub(super) struct Tally {
    /// A redirect may still be requested in this vector.
    pub(super) redirects: bool,
    /// Frames that are not yet in the counters.
    pub(super) batch: CounterBatch,
    /// Number of next hops of each family that pass 3 has consumed.
    pub(super) count4: usize,
    pub(super) count6: usize,
    /// True if the firewall is active: for IPv4, for IPv6.
    guards: [bool; 2],
    /// The interface whose receptions are counted as FastPath for the vector as a whole, if any.
    counted: Option<InterfaceId>,
}

impl Tally {
    pub(super) fn new(cx: &Context<'_>) -> Self {
        Self {
            redirects: cx.snapshot.send_redirects,
            batch: CounterBatch::default(),
            count4: 0,
            count6: 0,
            guards: [false, true].map(|ipv6| cx.snapshot.firewall.guards(ipv6)),
            counted: None,
        }
    }

    /// Leaves the FastPath receptions of this interface to the counts of the whole vector.
    pub(super) fn counts_arrivals_of(&mut self, ingress: InterfaceId) {
        self.counted = Some(ingress);
    }

    /// Writes the remaining counts.
    pub(super) fn flush(&mut self, cx: &Context<'_>, counters: &Counters) {
        self.batch.flush(cx, counters);
    }

    /// Returns true if control must send a redirect for a packet that leaves by its ingress interface; at most once per
    /// vector.
    pub(super) fn owes_redirect(&mut self, egress: InterfaceId, ingress: InterfaceId) -> bool {
        let owes = (egress == ingress) & self.redirects;
        self.redirects &= !owes;
        owes
    }

    /// Counts a frame that leaves; `received` is its length in bytes on arrival. A frame of a family that takes the
    /// fast path counts as FastPath.
    #[inline(always)]
    pub(super) fn count_decided(
        &mut self,
        cx: &Context<'_>,
        frame: &Frame,
        ipv6: bool,
        received: u64,
        counters: &Counters,
    ) {
        let fast = !self.guards[usize::from(ipv6)] && slow_is_fast(cx, frame, ipv6);
        let speed = if fast { Speed::FastPath } else { Speed::Slow };
        self.count(cx, frame, ipv6, speed, counters);
        if fast && self.counted != Some(frame.ingress) {
            let ingress = counters.interface(frame.ingress);
            ingress.fp_rx.add(1, received);
        }
    }

    /// Returns true if the firewall is active for a family.
    #[inline(always)]
    pub(super) fn is_guarded(&self, ipv6: bool) -> bool {
        self.guards[usize::from(ipv6)]
    }

    /// Counts packets that leave by one interface with link headers of `header_len` bytes; `sent`
    /// excludes these headers.
    #[inline(always)]
    pub(super) fn count_all(
        &mut self,
        cx: &Context<'_>,
        key: CounterKey,
        header_len: u8,
        sent: Traffic,
        counters: &Counters,
    ) {
        if sent.packets == 0 {
            return;
        }
        if key != self.batch.key {
            self.batch.flush(cx, counters);
            self.batch.key = key;
        }
        let headers = sent.packets * u64::from(header_len);
        self.batch.add(sent.packets, sent.bytes + headers, headers);
    }

    /// Counts a frame that leaves.
    #[inline(always)]
    pub(super) fn count(
        &mut self,
        cx: &Context<'_>,
        frame: &Frame,
        ipv6: bool,
        speed: Speed,
        counters: &Counters,
    ) {
        let key = CounterKey {
            egress: frame.egress,
            ipv6,
            speed,
        };
        if key != self.batch.key {
            self.batch.flush(cx, counters);
            self.batch.key = key;
        }
        self.batch.add(1, frame.len() as u64, u64::from(frame.l3));
    }
}

/// Counts of consecutive frames of pass 3 with one key, not yet added to the counters.
#[derive(Default)]
pub(super) struct CounterBatch {
    pub(super) key: CounterKey,
    packets: u64,
    bytes: u64,
    /// Bytes of the link headers.
    headers: u64,
}

/// The counters of a frame that leaves: those of its egress interface, and of its family and handler.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct CounterKey {
    pub(super) egress: InterfaceId,
    pub(super) ipv6: bool,
    pub(super) speed: Speed,
}

/// The handler that forwarded a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Speed {
    /// The full walk.
    #[default]
    Slow,
    /// FastPath: routing only, no rules.
    FastPath,
    /// FastTrack: the connection's entry has the complete decision.
    FastTrack,
}

impl CounterBatch {
    #[inline(always)]
    pub(super) fn add(&mut self, packets: u64, bytes: u64, headers: u64) {
        self.packets += packets;
        self.bytes += bytes;
        self.headers += headers;
    }

    #[inline(never)]
    pub(super) fn flush(&mut self, cx: &Context<'_>, counters: &Counters) {
        let Self {
            key,
            packets,
            bytes,
            headers,
        } = core::mem::take(self);
        if packets == 0 {
            return;
        }
        let under = egress::count_sent(cx, counters, key.egress, packets, bytes);
        let family = match (key.speed, key.ipv6) {
            (Speed::Slow, _) => return,
            (Speed::FastPath, true) => &counters.ipv6_fast_path,
            (Speed::FastPath, false) => &counters.ipv4_fast_path,
            (Speed::FastTrack, true) => &counters.ipv6_fasttrack,
            (Speed::FastTrack, false) => &counters.ipv4_fasttrack,
        };
        for id in [key.egress].into_iter().chain(under) {
            counters.interface(id).fp_tx.add(packets, bytes);
        }
        family.add(packets, bytes - headers.min(bytes));
    }
}

/// Returns the length of a frame on arrival in bytes, before its link header is rewritten.
#[inline(always)]
pub(crate) fn received(frame: &Frame) -> u64 {
    frame.len() as u64 + u64::from(frame.untagged)
}

/// Returns true if a frame counts as fast path although its vector took the full walk, because of
/// its VLANs or the other family.
fn slow_is_fast(cx: &Context<'_>, frame: &Frame, ipv6: bool) -> bool {
    cx.snapshot.family(ipv6).is_fast() && cx.interfaces.get(frame.ingress).is_some()
}
