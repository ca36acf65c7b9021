//! Security associations: a table that control writes and workers read without a lock.
//!
//! Each policy has at most one association for transmission, in the policy's slot. A received
//! packet names its association by a number that this router chose (SPI).

use core::net::{IpAddr, SocketAddr};
use std::sync::{Arc, LazyLock};

use arc_swap::{ArcSwapOption, Guard};

use crate::numbered::Numbered;

/// Number of slots, hence the most policies with associations.
pub const SLOTS: usize = 16_384;

/// The protocol of an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// ESP: encrypts, authenticates, or both (RFC 4303).
    Esp,
    /// AH: authenticates whole packets (RFC 4302). The encryption of its associations is null.
    Ah,
}

/// The part of a packet that is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The payload behind the IP header.
    Transport,
    /// The whole packet, inside a packet between both tunnel ends.
    Tunnel,
}

/// An association for transmission.
pub struct Leaving {
    /// Protocol of the protected packets.
    pub protocol: Protocol,
    /// Keys and sequence number. Outlives a change of the ends.
    pub sa: Arc<esp::Outbound>,
    /// Transport or tunnel mode.
    pub mode: Mode,
    /// Local end.
    pub local: SocketAddr,
    /// Remote end. The ports are used only behind NAT.
    pub remote: SocketAddr,
    /// ESP packets are sent in UDP datagrams between these ports (RFC 3948). Never set for AH.
    pub in_udp: bool,
}

impl Leaving {
    /// Returns the bytes that protection adds in front of and behind `payload` bytes.
    pub fn room(&self, payload: usize) -> (usize, usize) {
        match self.protocol {
            Protocol::Esp => self.sa.room(payload),
            Protocol::Ah => (esp::ah::room(self.sa.suite(), self.remote.is_ipv6()), 0),
        }
    }

    /// Returns the longest payload in bytes that is at most `len` bytes long once protected; `None`
    /// if even an empty one is longer.
    pub fn payload_max(&self, len: usize) -> Option<usize> {
        match self.protocol {
            Protocol::Esp => self.sa.payload_max(len),
            Protocol::Ah => len.checked_sub(self.room(0).0),
        }
    }
}

impl core::fmt::Debug for Leaving {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        core::fmt::Display::fmt(self, f)
    }
}

impl core::fmt::Debug for Arriving {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "{:?} from {}, SPI {:#010x}",
            self.mode,
            self.remote,
            self.sa.spi()
        )
    }
}

impl core::fmt::Display for Leaving {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mode = match self.mode {
            Mode::Transport => "transport",
            Mode::Tunnel => "tunnel",
        };
        let (to, spi, suite) = (self.remote.ip(), self.sa.spi(), self.sa.suite());
        let authentication = suite.authentication.name();
        write!(f, "{mode} to {to}, SPI {spi:#010x}, ")?;
        match self.protocol {
            Protocol::Esp => write!(f, "{}/{authentication}", suite.encryption.name()),
            Protocol::Ah => write!(f, "AH with {authentication}"),
        }
    }
}

/// An association for reception.
pub struct Arriving {
    /// Protocol of the protected packets.
    pub protocol: Protocol,
    /// Keys and replay window.
    pub sa: esp::Inbound,
    /// Transport or tunnel mode.
    pub mode: Mode,
    /// Slot of the policy that decapsulated packets must match.
    pub slot: u32,
    /// Remote end, for display.
    pub remote: IpAddr,
    /// Packets arrive in UDP datagrams: NAT may have changed addresses.
    pub in_udp: bool,
}

/// The table of all associations.
pub struct Associations {
    /// Associations for transmission, by slot. Memory is allocated on first use.
    leaving: LazyLock<Box<[ArcSwapOption<Leaving>]>>,
    /// Associations for reception, by SPI.
    arriving: Numbered<Arriving>,
}

impl Default for Associations {
    fn default() -> Self {
        Self {
            leaving: LazyLock::new(|| (0..SLOTS).map(|_| ArcSwapOption::empty()).collect()),
            arriving: Numbered::default(),
        }
    }
}

impl core::fmt::Debug for Associations {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Associations")
            .field("arriving", &self.arriving)
            .finish_non_exhaustive()
    }
}

impl Associations {
    /// Returns true if a policy has an association for transmission.
    #[inline]
    pub fn can_protect(&self, slot: u32) -> bool {
        let place = self.leaving.get(slot as usize);
        place.is_some_and(|place| place.load().is_some())
    }

    /// Returns the association for transmission of a policy.
    #[inline]
    pub fn leaving(&self, slot: u32) -> Option<Guard<Option<Arc<Leaving>>>> {
        self.leaving.get(slot as usize).map(ArcSwapOption::load)
    }

    /// Sets the association for transmission of a policy. Returns the previous one.
    pub fn set_leaving(&self, slot: u32, now: Option<Arc<Leaving>>) -> Option<Arc<Leaving>> {
        self.leaving.get(slot as usize)?.swap(now)
    }

    /// Returns true if there is no association.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.arriving.is_empty()
    }

    /// Returns the association for reception with this SPI.
    #[inline]
    pub fn arriving(&self, spi: u32) -> Option<Arc<Arriving>> {
        self.arriving.get(spi)
    }

    /// Adds an association for reception, and replaces one with the same SPI.
    pub fn put_arriving(&self, one: Arc<Arriving>) {
        self.arriving.put(one.sa.spi(), one);
    }

    /// Removes the association for reception with this SPI, and returns it.
    pub fn remove_arriving(&self, spi: u32) -> Option<Arc<Arriving>> {
        self.arriving.remove(spi)
    }
}
