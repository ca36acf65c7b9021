//! Counters of pass 3: consecutive frames of one egress interface are counted once.

use frame::{Frame, InterfaceId};

use super::{Context, egress};
use crate::counters::{Counters, Traffic};

/// What pass 3 keeps from frame to frame.
pub(super) struct Tally {
    /// A redirect may still be asked for.
    pub(super) redirects: bool,
    pub(super) run: Run,
    /// How many next hops of each family are used up.
    pub(super) count4: usize,
    pub(super) count6: usize,
    /// Whether the firewall looks at packets: of IPv4, of IPv6.
    guards: [bool; 2],
}

impl Tally {
    pub(super) fn new(cx: &Context<'_>) -> Self {
        Self {
            redirects: cx.snapshot.send_redirects,
            run: Run::default(),
            count4: 0,
            count6: 0,
            guards: [false, true].map(|ipv6| cx.snapshot.firewall.guards(ipv6)),
        }
    }

    /// Counts what was not counted yet.
    pub(super) fn flush(&mut self, cx: &Context<'_>, counters: &Counters) {
        self.run.flush(cx, counters);
    }

    /// Whether control is to be told of a packet that goes back where it came from: once a vector.
    pub(super) fn owes_redirect(&mut self, egress: InterfaceId, ingress: InterfaceId) -> bool {
        let owes = (egress == ingress) & self.redirects;
        self.redirects &= !owes;
        owes
    }

    /// Counts a frame that leaves past the firewall, and of which `received` bytes came in. Where that
    /// looks only at the other family, it has left by FastPath.
    #[inline(always)]
    pub(super) fn count_guarded(
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
        if fast {
            let ingress = counters.interface(frame.ingress);
            ingress.fp_rx.add(1, received);
        }
    }

    /// Whether the firewall looks at a family.
    #[inline(always)]
    pub(super) fn is_guarded(&self, ipv6: bool) -> bool {
        self.guards[usize::from(ipv6)]
    }

    /// Counts packets that leave by one interface behind headers of one length; their bytes are without those.
    #[inline(always)]
    pub(super) fn count_all(
        &mut self,
        cx: &Context<'_>,
        ((egress, header), ipv6, speed): ((InterfaceId, u8), bool, Speed),
        sent: Traffic,
        counters: &Counters,
    ) {
        if sent.packets == 0 {
            return;
        }
        let key = RunKey {
            egress,
            ipv6,
            speed,
        };
        if key != self.run.key {
            self.run.flush(cx, counters);
            self.run.key = key;
        }
        let headers = sent.packets * u64::from(header);
        self.run.add(sent.packets, sent.bytes + headers, headers);
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
        let key = RunKey {
            egress: frame.egress,
            ipv6,
            speed,
        };
        if key != self.run.key {
            self.run.flush(cx, counters);
            self.run.key = key;
        }
        self.run.add(1, frame.len() as u64, u64::from(frame.l3));
    }
}

/// Frames of pass 3 that are counted together.
#[derive(Default)]
pub(super) struct Run {
    pub(super) key: RunKey,
    packets: u64,
    bytes: u64,
    /// Bytes of their link headers.
    headers: u64,
}

#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct RunKey {
    pub(super) egress: InterfaceId,
    pub(super) ipv6: bool,
    pub(super) speed: Speed,
}

/// Which handler a frame went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Speed {
    /// The whole walk.
    #[default]
    Slow,
    /// FastPath: nothing looks at the packet but routing.
    FastPath,
    /// FastTrack: its connection says what becomes of it.
    FastTrack,
}

impl Run {
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
        egress::count_sent(cx, counters, key.egress, packets, bytes);
        let family = match (key.speed, key.ipv6) {
            (Speed::Slow, _) => return,
            (Speed::FastPath, true) => &counters.ipv6_fast_path,
            (Speed::FastPath, false) => &counters.ipv4_fast_path,
            (Speed::FastTrack, true) => &counters.ipv6_fasttrack,
            (Speed::FastTrack, false) => &counters.ipv4_fasttrack,
        };
        counters.interface(key.egress).fp_tx.add(packets, bytes);
        family.add(packets, bytes - headers.min(bytes));
    }
}

/// Bytes of a frame as it came in, before anything is written in front of its packet.
#[inline(always)]
pub(super) fn received(frame: &Frame) -> u64 {
    frame.len() as u64 + u64::from(frame.untagged)
}

/// Whether a frame on an interface that has to walk in full (for its VLANs, or for its other
/// family) is one that counts as fast.
pub(super) fn slow_is_fast(cx: &Context<'_>, frame: &Frame, ipv6: bool) -> bool {
    cx.snapshot.family(ipv6).is_fast() && cx.interfaces.get(frame.ingress).is_some()
}
