//! Security associations: a table that control writes and workers read without a lock.
//!
//! Each policy has at most one association for transmission, in the policy's slot. A received
//! packet names its association by a number that this router chose (SPI).

use core::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use super::peer_port::PeerPort;
use crate::numbered::{Numbered, Reader};

/// Number of slots that control gives to policies, hence the most policies with associations.
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
    /// Port of a peer behind NAT, written into packets to the peer.
    pub peer_port: Option<Arc<PeerPort>>,
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
    /// Port of a peer behind NAT, which decapsulated packets get.
    pub peer_port: Option<Arc<PeerPort>>,
}

/// The table of all associations.
#[derive(Debug, Default)]
pub struct Associations {
    /// Associations for transmission, by slot.
    leaving: Numbered<Leaving>,
    /// Associations for reception, by SPI.
    arriving: Numbered<Arriving>,
}

impl Associations {
    /// Returns true if a policy has an association for transmission.
    #[inline]
    pub fn can_protect(&self, slot: u32) -> bool {
        self.leaving.reader().get(slot).is_some()
    }

    /// Returns the association for transmission of a policy.
    #[inline]
    pub fn leaving(&self, slot: u32) -> Option<Arc<Leaving>> {
        self.leaving.get(slot)
    }

    /// Returns a reader of the associations for transmission, by slot.
    #[inline]
    pub(crate) fn leaving_reader(&self) -> Reader<Leaving> {
        self.leaving.reader()
    }

    /// Sets the association for transmission of a policy. Returns the previous one.
    pub fn set_leaving(&self, slot: u32, now: Option<Arc<Leaving>>) -> Option<Arc<Leaving>> {
        match now {
            Some(now) => self.leaving.put(slot, now),
            None => self.leaving.remove(slot),
        }
    }

    /// Returns true if there is no association for reception.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.arriving.is_empty()
    }

    /// Returns the association for reception with this SPI.
    #[inline]
    pub fn arriving(&self, spi: u32) -> Option<Arc<Arriving>> {
        self.arriving.get(spi)
    }

    /// Returns a reader of the associations for reception, by SPI.
    #[inline]
    pub(crate) fn arriving_reader(&self) -> Reader<Arriving> {
        self.arriving.reader()
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
