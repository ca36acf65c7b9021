//! Snooping of IGMP and MLD: sends control copies of such frames, and restricts multicast to its
//! receivers.

use frame::Frame;

use super::decide::Source;
use super::groups::{self, Multicast, Receivers};
use super::link;
use crate::drop::DropReason;
use crate::gate::Admission;
use crate::outlet::Outlet;
use crate::punt::PuntReason;
use crate::service::Received;
use crate::walk::Context;

/// The service that receives snooped frames for control. Such a frame keeps its VLAN tags.
pub const SNOOPED: &str = "bridge-snooping";

fn multicast(bytes: &[u8]) -> Multicast {
    let (l3, ethertype) = link::packet_of(bytes);
    groups::multicast(ethertype, bytes.get(l3..).unwrap_or_default())
}

/// Returns the receivers of a multicast frame in this VLAN, if the bridge snoops; `None`: all
/// ports.
pub(super) fn receivers(source: &Source<'_>, bytes: &[u8], vid: u16) -> Option<Receivers> {
    let groups = source.bridge.groups.as_ref()?;
    match multicast(bytes) {
        Multicast::Some(sent) | Multicast::Heard(Some(sent)) => Some(groups.receivers(vid, sent)),
        Multicast::All | Multicast::Heard(None) => None,
    }
}

/// Sends control a copy of a multicast frame from a port, if it carries IGMP or MLD and the bridge
/// snoops.
pub(super) fn tell(cx: &Context<'_>, source: &Source<'_>, frame: &Frame, outlet: &mut Outlet) {
    let snoops = source.bridge.groups.is_some() && !source.is_router();
    if !snoops || !matches!(multicast(frame.bytes()), Multicast::Heard(_)) {
        return;
    }
    let Some(id) = cx.snapshot.services.named(SNOOPED) else {
        return;
    };
    let received = Received {
        interface: frame.ingress,
        frame: frame.bytes(),
        l3: frame.l3.into(),
        now: cx.now,
    };
    let services = &cx.snapshot.services;
    let admission = services.admit(&mut outlet.limits, id, &received);
    if let Admission::Dropped(reason) | Admission::Challenged(reason) = admission {
        if reason == DropReason::ServiceLimit {
            outlet.counters.service(id).lost.add(1);
        }
        return outlet.counters.dropped(reason);
    }
    let Some(mut copy) = outlet.pool.copy(frame) else {
        return outlet.counters.dropped(DropReason::NoBuffer);
    };
    let offload = copy.offload;
    if frame::finish_checksum(copy.bytes_mut(), &offload).is_ok() {
        copy.offload.needs_checksum = false;
    }
    copy.l3 = link::packet_at(copy.bytes()) as u16;
    let why = PuntReason::Service {
        id,
        meets_rules: false,
    };
    outlet.punt(copy, why);
}
