//! Outputs: receivers of frames that leave the data plane's processing. The last pass groups frames by
//! output, and `Outlet::dispatch` sends them.

use frame::InterfaceId;

/// An output as a number: the kind in the upper 4 of 24 bits, the index within the kind in the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OutId(u32);

/// Kind and index of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Out {
    /// The port with this number.
    Port(u16),
    /// The tunnel of the interface in this slot: encapsulates packets, which are then routed.
    Tunnel(u32),
    /// The bridge of the interface in this slot: forwards frames to its ports.
    Bridge(u32),
    /// The bond of the interface in this slot: sends each frame by one of its slaves, or by all.
    Bond(u32),
    /// The link that the station in this slot shares with other stations.
    Station(u32),
    /// The queues of the interface in this slot, followed by its output.
    Queue(u32),
    /// IPsec with the policy in this slot: encapsulates packets, which are then routed.
    Protect(u32),
    /// No output.
    None,
}

const INDEX_BITS: u32 = 20;
const INDEX: u32 = (1 << INDEX_BITS) - 1;
const PORT: u32 = 0;
const TUNNEL: u32 = 1;
const BRIDGE: u32 = 2;
const BOND: u32 = 3;
const STATION: u32 = 4;
const QUEUE: u32 = 5;
const PROTECT: u32 = 6;

impl Default for OutId {
    fn default() -> Self {
        Self::NONE
    }
}

impl OutId {
    /// No output.
    pub const NONE: Self = Self(0xff_ffff);

    /// Returns the output for a port; the highest number is no port.
    #[inline(always)]
    pub const fn port(number: u16) -> Self {
        match number {
            u16::MAX => Self::NONE,
            number => Self(PORT << INDEX_BITS | number as u32),
        }
    }

    /// Returns the output for a tunnel interface.
    pub const fn tunnel(interface: InterfaceId) -> Self {
        Self(TUNNEL << INDEX_BITS | interface.slot() as u32 & INDEX)
    }

    /// Returns the output for a bridge interface.
    pub const fn bridge(interface: InterfaceId) -> Self {
        Self(BRIDGE << INDEX_BITS | interface.slot() as u32 & INDEX)
    }

    /// Returns the output for a bond interface.
    pub const fn bond(interface: InterfaceId) -> Self {
        Self(BOND << INDEX_BITS | interface.slot() as u32 & INDEX)
    }

    /// Returns the output for the shared link of a station.
    pub const fn station(interface: InterfaceId) -> Self {
        Self(STATION << INDEX_BITS | interface.slot() as u32 & INDEX)
    }

    /// Returns the output for the queues of an interface.
    pub const fn queue(interface: InterfaceId) -> Self {
        Self(QUEUE << INDEX_BITS | interface.slot() as u32 & INDEX)
    }

    /// Returns the output for the IPsec policy in this slot, which must be below 2^20.
    pub const fn protect(slot: u32) -> Self {
        Self(PROTECT << INDEX_BITS | slot & INDEX)
    }

    /// Returns true if the output is IPsec.
    #[inline(always)]
    pub const fn is_protect(self) -> bool {
        self.0 >> INDEX_BITS == PROTECT
    }

    /// Returns kind and index.
    #[inline(always)]
    pub const fn out(self) -> Out {
        match self.0 >> INDEX_BITS {
            PORT => Out::Port(self.0 as u16),
            TUNNEL => Out::Tunnel(self.0 & INDEX),
            BRIDGE => Out::Bridge(self.0 & INDEX),
            BOND => Out::Bond(self.0 & INDEX),
            STATION => Out::Station(self.0 & INDEX),
            QUEUE => Out::Queue(self.0 & INDEX),
            PROTECT => Out::Protect(self.0 & INDEX),
            _ => Out::None,
        }
    }

    /// Returns the port number if the output is a port.
    #[inline(always)]
    pub const fn as_port(self) -> Option<u16> {
        match self.out() {
            Out::Port(number) => Some(number),
            _ => None,
        }
    }

    /// Returns the number, 24 bits.
    #[inline(always)]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Returns the output for the low 24 bits.
    #[inline(always)]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits & 0xff_ffff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_egress_value_round_trips() {
        let tunnel = OutId::tunnel(InterfaceId::new(70_000, 3));
        let bridge = OutId::bridge(InterfaceId::new(70_001, 3));
        let bond = OutId::bond(InterfaceId::new(70_002, 3));
        for (out, is) in [
            (OutId::port(0), Out::Port(0)),
            (OutId::port(65_534), Out::Port(65_534)),
            (OutId::port(u16::MAX), Out::None),
            (tunnel, Out::Tunnel(70_000)),
            (bridge, Out::Bridge(70_001)),
            (bond, Out::Bond(70_002)),
            (OutId::queue(InterfaceId::new(9, 3)), Out::Queue(9)),
            (OutId::protect(16_383), Out::Protect(16_383)),
            (OutId::NONE, Out::None),
        ] {
            assert_eq!(out.out(), is);
            assert_eq!(OutId::from_bits(out.bits()), out);
        }
    }
}
