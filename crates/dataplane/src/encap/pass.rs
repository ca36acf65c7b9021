//! The passes over frames of tunnels: encapsulation, classification and decapsulation.

use core::net::IpAddr;
use core::ops::Range;

use frame::{Frame, InterfaceId, IpsecState, Pool, Vector};

use super::next::{Next, Nexts, direct};
use super::unencrypted::OuterPath;
use super::vxlan::Targets;
use super::{DEPTH, Encapsulation, Form, encapsulations};
use crate::agenda::Item;
use crate::counters::Traffic;
use crate::demux::pppoe;
use crate::drop::DropReason;
use crate::interface::{DetailsGuard, Ends, Interface};
use crate::outlet::Outlet;
use crate::table::Adjacency;
use crate::tap::{self, Direction};
use crate::walk::{Context, Exit};

/// An encapsulation, implemented by the settings of its tunnels.
pub(crate) trait Encap {
    /// Drop reason of packets with unknown ends; `None` delivers such packets as packets of no
    /// tunnel.
    const UNKNOWN: Option<DropReason> = None;

    /// Returns the keys of the packets that the tunnel decapsulates, at most two.
    fn ends(&self) -> [Option<Ends>; 2];

    /// Encapsulates the frames of a vector. Sets the destination of each in `batch`.
    fn encapsulate(
        &self,
        cx: &Context<'_>,
        frames: &mut [Frame],
        batch: &mut Batch<'_>,
        outlet: &mut Outlet,
    );

    /// Encapsulates a frame for a trace, without encryption and counters.
    ///
    /// # Errors
    /// The tunnel cannot carry the frame.
    fn encapsulate_unencrypted(
        &self,
        cx: &Context<'_>,
        frame: &mut Frame,
        pool: &mut Pool,
    ) -> Result<OuterPath, Exit>;

    /// Sends a frame that the tunnel's [`Next::Fragments`] asked for.
    fn send_long(&self, _: &Context<'_>, frame: Frame, outlet: &mut Outlet) {
        outlet.lose(frame, DropReason::TooBig);
    }

    /// Returns true if another worker sends all packets of the tunnel.
    fn leaves_elsewhere(&self, _: &Outlet) -> bool {
        false
    }

    /// Classifies a packet for this router; `None` leaves the packet to the other encapsulations.
    fn classify(cx: &Context<'_>, packet: &[u8]) -> Option<Arrival>;

    /// Decapsulates `count` frames of the tunnel with this interface. Consumes all of them and puts the payloads on
    /// the agenda. Returns the number and the bytes of the frames.
    fn decapsulate(
        &self,
        cx: &Context<'_>,
        frames: impl Iterator<Item = Frame>,
        count: usize,
        interface: &Interface,
        outlet: &mut Outlet,
    ) -> Traffic;
}

/// Result of [`Encap::classify`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// A whole packet with these ends.
    Of(Ends),
    /// A malformed packet, dropped under this name.
    Malformed(DropReason),
    /// A fragment, to be reassembled first.
    Fragment,
}

/// Scratch memory of the encapsulation of one vector.
pub(crate) struct Batch<'a> {
    /// Destination of each frame.
    pub(crate) nexts: &'a mut Nexts,
    /// Header templates by peer.
    pub(crate) targets: &'a mut Targets,
    /// The last remote address, and its next hop as [`direct`] returns it.
    direct: Option<(IpAddr, Option<Adjacency>)>,
}

impl Batch<'_> {
    /// Returns the next hop of outer packets to `remote`, as [`direct`] does. Looks it up once for consecutive tunnels
    /// to one address.
    #[inline(always)]
    pub(super) fn direct(&mut self, cx: &Context<'_>, remote: IpAddr) -> Option<Adjacency> {
        match self.direct {
            Some((last, adjacency)) if last == remote => adjacency,
            _ => {
                let adjacency = direct(cx, remote);
                self.direct = Some((remote, adjacency));
                adjacency
            }
        }
    }
}

/// Generates the functions over all encapsulations of the list. Dispatch is static, once for a vector.
macro_rules! functions {
    ($($(#[cfg($when:meta)])? $(#[doc = $doc:expr])+ $name:ident($settings:ty),)+) => {
        impl Form {
            const fn unknown(self) -> Option<DropReason> {
                match self {
                    $($(#[cfg($when)])? Self::$name => <$settings>::UNKNOWN,)+
                }
            }
        }

        /// Classifies a packet for this router: the first encapsulation on the list that knows it decides. Each has a
        /// copy of `decide`, so that the ends stay in registers.
        #[inline(always)]
        fn classify<R>(
            cx: &Context<'_>,
            packet: &[u8],
            mut decide: impl FnMut(Arrival) -> Option<R>,
        ) -> Option<R> {
            $($(#[cfg($when)])? {
                if let Some(arrival) = <$settings>::classify(cx, packet) {
                    return decide(arrival);
                }
            })+
            None
        }

        impl Encapsulation {
            /// Returns the keys of the packets that the tunnel decapsulates.
            pub fn ends(&self) -> impl Iterator<Item = Ends> {
                let ends = match self {
                    $($(#[cfg($when)])? Self::$name(settings) => settings.ends(),)+
                };
                ends.into_iter().flatten()
            }

            fn encapsulate(
                &self,
                cx: &Context<'_>,
                frames: &mut [Frame],
                batch: &mut Batch<'_>,
                outlet: &mut Outlet,
            ) {
                match self {
                    $($(#[cfg($when)])? Self::$name(settings) => {
                        settings.encapsulate(cx, frames, batch, outlet);
                    })+
                }
            }

            /// Returns true if the tunnel is a PPP session that takes a PPP packet, from its protocol field on, because
            /// the packet is encrypted, a frame of a bridge, or a multilink fragment.
            pub(crate) fn takes_session_data(&self, packet: &[u8]) -> bool {
                let Ok((protocol, rest)) = ppp::split(packet) else {
                    return false;
                };
                let (has_framing, data) = match self {
                    Self::Multilink(_) => (true, ppp::MULTILINK),
                    Self::Mppe(session) => (session.framing.is_some(), ppp::ENCRYPTED),
                    Self::Bridged(session) => (session.framing.is_some(), session.protocol()),
                    _ => return false,
                };
                match protocol {
                    ppp::MULTILINK => has_framing && pppoe::is_fragment_of_data(rest),
                    protocol => protocol == data,
                }
            }

            pub(super) fn send_long(&self, cx: &Context<'_>, frame: Frame, outlet: &mut Outlet) {
                match self {
                    $($(#[cfg($when)])? Self::$name(settings) => settings.send_long(cx, frame, outlet),)+
                }
            }

            fn leaves_elsewhere(&self, outlet: &Outlet) -> bool {
                match self {
                    $($(#[cfg($when)])? Self::$name(settings) => settings.leaves_elsewhere(outlet),)+
                }
            }

            pub(super) fn encapsulate_unencrypted(
                &self,
                cx: &Context<'_>,
                frame: &mut Frame,
                pool: &mut Pool,
            ) -> Result<OuterPath, Exit> {
                match self {
                    $($(#[cfg($when)])? Self::$name(settings) => {
                        settings.encapsulate_unencrypted(cx, frame, pool)
                    })+
                }
            }

            fn decapsulate(
                &self,
                cx: &Context<'_>,
                frames: impl Iterator<Item = Frame>,
                count: usize,
                interface: &Interface,
                outlet: &mut Outlet,
            ) -> Traffic {
                match self {
                    $($(#[cfg($when)])? Self::$name(settings) => {
                        settings.decapsulate(cx, frames, count, interface, outlet)
                    })+
                }
            }
        }
    };
}

encapsulations!(functions);

/// Encapsulates the frames that leave by the tunnel in this slot, and sends them on.
pub(crate) fn leave(
    cx: &Context<'_>,
    slot: u32,
    frames: &mut Vector,
    nexts: &mut Nexts,
    targets: &mut Targets,
    outlet: &mut Outlet,
) {
    let mut batch = Batch {
        nexts,
        targets,
        direct: None,
    };
    show(cx, slot, frames.frames(), outlet);
    let done = cx.interfaces.tunnel(slot, |tunnel| {
        tunnel.encapsulate(cx, frames.frames_mut(), &mut batch, outlet);
    });
    if done.is_none() {
        batch.nexts.fill(Next::Lost(DropReason::EgressDown));
    }
    batch.nexts.send(cx, frames, outlet);
}

/// Copies the frames of the tunnel in this slot for the taps on their interface, unless another worker sends them.
#[inline(always)]
fn show(cx: &Context<'_>, slot: u32, frames: &[Frame], outlet: &mut Outlet) {
    if !cx.interfaces.taps().any() {
        return;
    }
    let elsewhere = |tunnel: &Encapsulation| tunnel.leaves_elsewhere(outlet);
    if cx.interfaces.tunnel(slot, elsewhere) == Some(true) {
        return;
    }
    for frame in frames {
        let l3 = usize::from(frame.l3);
        let front = if pppoe::is_behind(frame.bytes(), l3) {
            l3
        } else {
            0
        };
        tap::show(
            cx,
            frame.egress,
            Direction::Transmitted,
            frame,
            front,
            outlet,
        );
    }
}

/// Tunnels whose settings are loaded ahead of their frames. A thread with more guards would count references.
const AHEAD: usize = 6;

/// Consecutive frames of one tunnel, and the settings of its interface.
struct TunnelFrames {
    details: Option<DetailsGuard>,
    frames: Range<usize>,
}

/// Encapsulates frames of several tunnels, whose slots [`Frame::waits_for`] has, and sends them on. Prefetches the
/// settings of the next tunnels meanwhile.
pub(crate) fn leave_by_many(
    cx: &Context<'_>,
    frames: &mut Vector,
    nexts: &mut Nexts,
    targets: &mut Targets,
    outlet: &mut Outlet,
) {
    let mut batch = Batch {
        nexts,
        targets,
        direct: None,
    };
    let all = frames.frames_mut();
    for frame in &*all {
        cx.interfaces.prefetch_details(frame.waits_for());
    }
    let mut runs = [const { None }; AHEAD];
    let (mut end, mut number) = (0, 0);
    let slot_of = |frame: &Frame| frame.waits_for();
    for place in &mut runs {
        *place = next_run(cx, all, slot_of, &mut end);
    }
    while let Some(run) = runs[number % AHEAD].take() {
        runs[number % AHEAD] = next_run(cx, all, slot_of, &mut end);
        number += 1;
        let slot = all[run.frames.start].waits_for();
        batch.nexts.begin(run.frames.start);
        let frames = &mut all[run.frames];
        show(cx, slot, frames, outlet);
        let details = run.details.as_ref().and_then(|details| details.as_deref());
        match details.and_then(|details| details.tunnel.as_ref()) {
            Some(tunnel) => tunnel.encapsulate(cx, frames, &mut batch, outlet),
            None => batch.nexts.fill(Next::Lost(DropReason::EgressDown)),
        }
    }
    batch.nexts.send(cx, frames, outlet);
}

/// Returns the frames from `end` on that belong to the tunnel in one slot, and moves `end` behind them. Prefetches the
/// tunnel's settings.
#[inline(always)]
fn next_run<T>(
    cx: &Context<'_>,
    all: &[T],
    slot_of: impl Fn(&T) -> u32,
    end: &mut usize,
) -> Option<TunnelFrames> {
    let first = *end;
    let slot = slot_of(all.get(first)?);
    let alike = all[first..].iter().take_while(|one| slot_of(one) == slot);
    *end += alike.count();
    let details = cx.interfaces.load_details(slot);
    if let Some(details) = details.as_ref().and_then(|details| details.as_deref()) {
        kernels::prefetch_value(&details.tunnel);
    }
    Some(TunnelFrames {
        details,
        frames: first..*end,
    })
}

/// Marks a frame as encapsulated once more, as a packet that this router sends.
///
/// # Errors
/// The frame passed too many tunnels.
#[inline(always)]
pub(crate) fn mark_encapsulated(frame: &mut Frame) -> Result<(), DropReason> {
    if frame.depth >= DEPTH {
        return Err(DropReason::TunnelDepth);
    }
    frame.depth += 1;
    frame.rise(InterfaceId::NONE, InterfaceId::NONE);
    frame.guarded = IpsecState::Clear;
    (frame.walked, frame.priority) = (false, 0);
    Ok(())
}

/// Returns the exit of a tunnel packet for this router, valid or not; `None` for any other packet.
#[cold]
pub(crate) fn arrival(cx: &Context<'_>, packet: &[u8]) -> Option<Exit> {
    classify(cx, packet, |arrival| match arrival {
        Arrival::Of(ends) => match network(cx, &ends) {
            Some(id) => Some(Exit::Decapsulate(id)),
            None => ends.form.unknown().map(Exit::Drop),
        },
        Arrival::Malformed(reason) => Some(Exit::Drop(reason)),
        Arrival::Fragment => Some(Exit::Collect),
    })
}

/// Looks up the interface of a tunnel by its ends: first with the local address, then with any
/// local address.
fn network(cx: &Context<'_>, ends: &Ends) -> Option<InterfaceId> {
    let found = cx.interfaces.tunnel_of(ends);
    found.or_else(|| cx.interfaces.tunnel_of(&ends.without_address()))
}

/// Lookup of tunnels for consecutive packets, with a cache of the last one.
#[derive(Default)]
pub(crate) struct Arrivals {
    last: Option<(Ends, InterfaceId)>,
}

impl Arrivals {
    /// Returns the interface that decapsulates a packet; `None` leaves the decision to [`arrival`].
    #[inline(always)]
    pub(crate) fn of(&mut self, cx: &Context<'_>, packet: &[u8]) -> Option<InterfaceId> {
        classify(cx, packet, |arrival| match (arrival, &self.last) {
            (Arrival::Of(ends), Some((last, id))) if *last == ends => Some(*id),
            (Arrival::Of(ends), _) => self.lookup(cx, ends),
            (Arrival::Malformed(_) | Arrival::Fragment, _) => None,
        })
    }

    /// Looks up the interface of a tunnel, and remembers both.
    #[cold]
    #[inline(never)]
    fn lookup(&mut self, cx: &Context<'_>, ends: Ends) -> Option<InterfaceId> {
        let id = network(cx, &ends)?;
        self.last = Some((ends, id));
        Some(id)
    }
}

/// Decapsulates packets of one tunnel and puts the payloads on the agenda. Returns the packets' number and bytes.
pub(crate) fn arrive(
    cx: &Context<'_>,
    frames: impl Iterator<Item = Frame>,
    count: usize,
    id: InterfaceId,
    outlet: &mut Outlet,
) -> Traffic {
    let interface = cx.interfaces.get(id);
    let mut frames = frames.take(count);
    let arrived = interface.and_then(|interface| {
        cx.interfaces.tunnel(id.slot() as u32, |tunnel| {
            tunnel.decapsulate(cx, &mut frames, count, &interface, outlet)
        })
    });
    arrived.unwrap_or_else(|| discard_all(frames, outlet))
}

/// Decapsulates packets of several tunnels as [`arrive`] does. `tunnels` has the interface of each packet. Returns the
/// packets' number and bytes.
pub(crate) fn arrive_by_many(
    cx: &Context<'_>,
    frames: &mut impl Iterator<Item = Frame>,
    tunnels: &[InterfaceId],
    outlet: &mut Outlet,
) -> Traffic {
    for id in tunnels {
        cx.interfaces.prefetch_details(id.slot() as u32);
        cx.interfaces.prefetch(*id);
        kernels::prefetch(outlet.counters.interface(*id));
    }
    let mut runs = [const { None }; AHEAD];
    let (mut end, mut number, mut all) = (0, 0, Traffic::default());
    let slot_of = |id: &InterfaceId| id.slot() as u32;
    for place in &mut runs {
        *place = next_run(cx, tunnels, slot_of, &mut end);
    }
    while let Some(run) = runs[number % AHEAD].take() {
        runs[number % AHEAD] = next_run(cx, tunnels, slot_of, &mut end);
        number += 1;
        let (id, count) = (tunnels[run.frames.start], run.frames.len());
        let mut frames = frames.take(count);
        let details = run.details.as_ref().and_then(|details| details.as_deref());
        let tunnel = details.and_then(|details| details.tunnel.as_ref());
        let came = match (cx.interfaces.get(id), tunnel) {
            (Some(interface), Some(tunnel)) => {
                tunnel.decapsulate(cx, &mut frames, count, &interface, outlet)
            }
            _ => discard_all(frames, outlet),
        };
        all.packets += came.packets;
        all.bytes += came.bytes;
    }
    all
}

/// Discards packets of a tunnel whose interface is down. Returns their number and bytes.
#[cold]
pub(crate) fn discard_all(frames: impl Iterator<Item = Frame>, outlet: &mut Outlet) -> Traffic {
    let mut all = Traffic::default();
    for frame in frames {
        all.packets += 1;
        all.bytes += frame.len() as u64 + u64::from(frame.untagged);
        outlet.discard(frame, DropReason::InterfaceDown);
    }
    all
}

/// Marks a frame as received by the tunnel's interface, after decapsulation.
#[inline(always)]
pub(crate) fn mark_decapsulated(frame: &mut Frame, id: InterfaceId) {
    frame.depth += 1;
    frame.rise(frame.ingress, id);
    frame.egress = InterfaceId::NONE;
    frame.guarded = IpsecState::Clear;
    (frame.walked, frame.priority) = (false, 0);
    (frame.untagged, frame.came_priority) = (0, 0);
}

/// Puts a frame into its batch and edits it there; without a batch, edits it and puts it on the agenda. Returns the
/// frame with the error if `edit` fails.
///
/// A frame that is moved right after the edit would be read as a whole before the writes of single fields have reached
/// the cache, and wait for them.
#[inline(always)]
pub(crate) fn put_edited<E>(
    batch: &mut Option<Vec<Frame>>,
    item: Item,
    frame: Frame,
    outlet: &mut Outlet,
    edit: impl FnOnce(&mut Frame, &mut Outlet) -> Result<(), E>,
) -> Option<(Frame, E)> {
    let mut single = None;
    let place = match batch {
        Some(batch) => {
            batch.push(frame);
            batch.last_mut()?
        }
        None => single.insert(frame),
    };
    let edited = edit(place, outlet);
    match (edited, single) {
        (Ok(()), None) => None,
        (Ok(()), Some(frame)) => {
            put(&mut None, item, frame, outlet);
            None
        }
        (Err(error), Some(frame)) => Some((frame, error)),
        (Err(error), None) => Some((batch.as_mut()?.pop()?, error)),
    }
}

/// Puts a decapsulated frame into its batch, or on the agenda if the batch found no room there.
#[inline(always)]
pub(crate) fn put(batch: &mut Option<Vec<Frame>>, item: Item, frame: Frame, outlet: &mut Outlet) {
    match batch {
        Some(batch) => batch.push(frame),
        None => {
            if let Err(frame) = outlet.agenda.put(item, frame) {
                outlet.discard(frame, DropReason::AgendaFull);
            }
        }
    }
}

/// Splits datagrams that the device merged, and passes each to `receive`.
#[cold]
pub(crate) fn divide(
    frame: Frame,
    outlet: &mut Outlet,
    mut receive: impl FnMut(Frame, &mut Outlet),
) {
    let mut pieces = core::mem::take(&mut outlet.pieces);
    match frame::segment(&mut outlet.pool, &frame, &mut pieces) {
        Ok(_) => outlet.pool.free(frame),
        Err(_) => outlet.discard(frame, DropReason::OffloadMalformed),
    }
    for piece in pieces.drain(..) {
        receive(piece, outlet);
    }
    outlet.pieces = pieces;
}
