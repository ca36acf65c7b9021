//! Reports to control: punts, copies of packets, and copies for taps.

use frame::{Frame, Offload};

use super::Outlet;
use crate::demux::pppoe;
use crate::drop::DropReason;
use crate::punt::{Punt, PuntReason};
use crate::table::NextHopId;
use crate::tap::{TapOrigin, Tapped};
use crate::walk::RuleRequest;

/// Number of bytes of a packet that a report about a redirect contains.
const REDIRECT_BYTES: usize = 128;
/// Number of bytes of a packet that a log line is derived from: link header, tags, an IPv6 header with some extensions,
/// ports.
const LOG_BYTES: usize = 192;
/// Bytes of both MAC addresses of an Ethernet header.
const ADDRESSES: usize = 12;

impl Outlet {
    /// Hands a packet to control.
    pub(crate) fn punt(&mut self, frame: Frame, why: PuntReason) {
        self.counters.punted(why);
        if let PuntReason::Service { id, .. } = why {
            self.counters.service(id).heard.add(1);
        }
        if let Some(reason) = why.discards() {
            self.counters.dropped(reason);
            self.counters.interface(frame.ingress).rx_drop.add(1);
        }
        if !self.rings.has_room_for(why) {
            // A packet that would be dropped anyway is not counted as lost.
            if why.discards().is_none() {
                self.counters.dropped(DropReason::PuntFull);
            }
            self.pool.free(frame);
            return;
        }
        match self.rings.punts.push(Punt { frame, why }) {
            Ok(()) => self.punted += 1,
            Err(rtrb::PushError::Full(punt)) => self.pool.free(punt.frame),
        }
    }

    /// Reports to control that a packet leaves by its ingress interface.
    pub(crate) fn redirect(&mut self, frame: &Frame, hop: NextHopId) {
        self.punt_copy(frame, REDIRECT_BYTES, PuntReason::Redirect(hop));
    }

    /// Sends control the events of rules for the current packet, in their order.
    #[inline(always)]
    pub(crate) fn send_rule_events(&mut self, frame: &Frame) {
        while let Some(note) = self.rule_events.take() {
            match note {
                RuleRequest::Event(event) => {
                    self.punt_copy(frame, LOG_BYTES, PuntReason::RuleEvent(event))
                }
                RuleRequest::Sniff(how) => {
                    self.copy_out(frame, 0, usize::MAX, TapOrigin::Rule(how))
                }
            }
        }
    }

    /// Wakes control, which has packets to process.
    pub(crate) fn wake_control(&mut self) {
        self.punted += 1;
    }

    /// Sends control a copy of the first `bytes_max` bytes of a packet.
    #[cold]
    pub(crate) fn punt_copy(&mut self, frame: &Frame, bytes_max: usize, why: PuntReason) {
        let bytes = frame.bytes();
        let beginning = &bytes[..bytes.len().min(bytes_max)];
        let Some(mut copy) = self.pool.alloc_from(beginning) else {
            return;
        };
        copy.copy_meta(frame);
        copy.offload = Offload::FINISHED;
        self.punt(copy, why);
    }

    /// Copies the first `bytes_max` bytes of a frame, without `tags` bytes of VLAN tags and PPPoE session header, into
    /// the ring of taps.
    #[cold]
    pub(crate) fn copy_out(&mut self, frame: &Frame, tags: usize, bytes_max: usize, by: TapOrigin) {
        let bytes = frame.bytes();
        let (head, rest) = bytes.split_at(bytes.len().min(ADDRESSES));
        let rest = rest.get(tags..).unwrap_or_default();
        let (head, rest) = (
            &head[..head.len().min(bytes_max)],
            &rest[..rest.len().min(bytes_max.saturating_sub(ADDRESSES))],
        );
        let room = !self.rings.taps.is_full();
        let copy = room
            .then(|| self.pool.alloc(head.len() + rest.len()))
            .flatten();
        let Some(mut copy) = copy else {
            return self.counters.taps_lost.add(1);
        };
        if !self.pool.hold(&mut copy) {
            self.pool.free(copy);
            return self.counters.taps_lost.add(1);
        }
        let (first, second) = copy.bytes_mut().split_at_mut(head.len());
        first.copy_from_slice(head);
        second.copy_from_slice(rest);
        if tags > 0
            && let Some(ethertype) = pppoe::ethertype_of_packet(bytes, ADDRESSES + tags + 2)
            && let Some(kind) = second.first_chunk_mut()
        {
            *kind = ethertype.to_be_bytes();
        }
        copy.copy_meta(frame);
        copy.l3 = frame.l3.saturating_sub(tags as u16);
        copy.offload = Offload::FINISHED;
        let tapped = Tapped {
            frame: copy,
            len: bytes.len() - tags.min(bytes.len()),
            at: self.memory.rules.clock.now,
            by,
        };
        match self.rings.taps.push(tapped) {
            Ok(()) => {
                self.counters.taps.add(1);
                self.wake_control();
            }
            Err(rtrb::PushError::Full(tapped)) => self.pool.free(tapped.frame),
        }
    }
}
