//! The tables that decisions read, as they are for one vector.

use frame::InterfaceId;
use machine::Instant;

use crate::interface::{Above, InterfaceTable};
use crate::rule::Class;
use crate::snapshot::Snapshot;
use crate::table::Fib;

/// The inputs of every decision about a packet, apart from the packet.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Configuration, compiled.
    pub snapshot: &'a Snapshot,
    /// Interfaces.
    pub interfaces: &'a InterfaceTable,
    /// Routes and next hops.
    pub fib: &'a Fib,
    /// The time of reception of the vector.
    pub now: Instant,
    /// The time for timestamp options: milliseconds since midnight UTC, or [`UNKNOWN_TIME`].
    pub midnight_ms: u32,
}

impl Context<'_> {
    /// Returns the class of an interface, by which rules compare it.
    #[inline(always)]
    pub(crate) fn class(&self, interface: InterfaceId) -> Class {
        self.interfaces.class(interface, self.snapshot.epoch)
    }

    /// Returns the class of a bridge's port for rules of IP. RouterOS: rules of IP see bridge ports only with
    /// `use-ip-firewall`.
    #[inline(always)]
    pub(crate) fn port_class(&self, port: InterfaceId) -> Class {
        match self.snapshot.firewall.bridge.detour.plain {
            true => self.class_of_port(port),
            false => Class::NONE,
        }
    }

    #[inline(never)]
    fn class_of_port(&self, port: InterfaceId) -> Class {
        let line = self.interfaces.get(port);
        match line.is_some_and(|line| line.above == Above::Bridge) {
            true => self.class(port),
            false => Class::NONE,
        }
    }
}

/// The timestamp of a worker without a clock: "any time may be inserted as a timestamp
/// provided the high order bit of the timestamp field is set to one" (RFC 791, 3.1).
pub(crate) const UNKNOWN_TIME: u32 = 1 << 31;

/// Returns the name of an interface for traces.
pub(crate) fn name(cx: &Context<'_>, id: InterfaceId) -> String {
    let name = cx
        .interfaces
        .details(id, |details| details.name.to_string());
    name.unwrap_or_else(|| "an interface that is gone".to_owned())
}
