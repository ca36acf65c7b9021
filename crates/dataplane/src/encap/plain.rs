//! Packets of a PPP session in clear text, whole, over a carrier without an encapsulation of its own.

mod settings;

use frame::{Frame, Pool};

pub use self::settings::Plain;

use super::session_data::{complete, leave_to_service, receive_all};
use super::{Arrival, Batch, Encap, Next, OuterPath, pptp, put};
use crate::agenda::Item;
use crate::counters::Traffic;
use crate::demux::SessionClass;
use crate::drop::DropReason;
use crate::interface::{Ends, Interface};
use crate::outlet::Outlet;
use crate::walk::{Context, Exit};

impl Plain {
    /// Receives a frame of the session. Returns a frame with its packet; `None` for a frame without one.
    ///
    /// # Errors
    /// The frame, and why it is dropped.
    fn receive(
        &self,
        cx: &Context<'_>,
        frame: Frame,
        interface: &Interface,
        outlet: &mut Outlet,
    ) -> Result<Option<Frame>, (Frame, DropReason)> {
        let Some(whole) = complete(cx, frame, &self.carrier, None, outlet)? else {
            return Ok(None);
        };
        let inner = Ok(whole.packet);
        let frame = whole.deliver(cx, self.id, inner, &self.carrier, interface, outlet)?;
        Ok(Some(frame))
    }
}

impl Encap for Plain {
    fn ends(&self) -> [Option<Ends>; 2] {
        self.carrier.ends()
    }

    fn encapsulate(
        &self,
        cx: &Context<'_>,
        frames: &mut [Frame],
        batch: &mut Batch<'_>,
        outlet: &mut Outlet,
    ) {
        let sender = match self.carrier.sender(cx, self.id) {
            Ok(sender) => sender,
            Err(reason) => return batch.nexts.fill(Next::Lost(reason)),
        };
        for (at, frame) in frames.iter_mut().enumerate() {
            let next = if frame.offload.is_finished() {
                match self.carrier.form(frame, &mut outlet.pool) {
                    Ok(()) => sender.send(cx, frame, batch.nexts, outlet),
                    Err(reason) => Next::Lost(reason),
                }
            } else {
                Next::of_unfinished(self.id, frame)
            };
            batch.nexts.set(at, next);
        }
    }

    fn encapsulate_unencrypted(
        &self,
        cx: &Context<'_>,
        frame: &mut Frame,
        pool: &mut Pool,
    ) -> Result<OuterPath, Exit> {
        self.carrier.form(frame, pool).map_err(Exit::Drop)?;
        self.carrier.trace(cx, frame, pool)
    }

    #[inline(always)]
    fn classify(cx: &Context<'_>, packet: &[u8]) -> Option<Arrival> {
        pptp::classify(cx, packet)
    }

    fn decapsulate(
        &self,
        cx: &Context<'_>,
        frames: impl Iterator<Item = Frame>,
        count: usize,
        interface: &Interface,
        outlet: &mut Outlet,
    ) -> Traffic {
        let item = Item::Session(self.id, SessionClass::of(interface));
        let mut batch = outlet.agenda.batch(item, count);
        let mut inner = Traffic::default();
        let all = receive_all(
            self.id,
            interface,
            None,
            frames,
            outlet,
            |frame, bytes, outlet| match self.receive(cx, frame, interface, outlet) {
                Ok(Some(packet)) => {
                    inner.packets += 1;
                    inner.bytes += self.carrier.counted(bytes, &packet);
                    put(&mut batch, item, packet, outlet);
                }
                Ok(None) => {}
                Err((frame, DropReason::PppProtocol)) => {
                    let exit = self.carrier.service(cx, self.id, &frame);
                    leave_to_service(exit, frame, DropReason::PppProtocol, outlet);
                }
                Err((frame, reason)) => outlet.discard(frame, reason),
            },
        );
        if let Some(batch) = batch {
            outlet.agenda.put_batch(item, batch);
        }
        let counters = outlet.counters.interface(self.id);
        counters.rx.add(inner.packets, inner.bytes);
        all
    }
}
