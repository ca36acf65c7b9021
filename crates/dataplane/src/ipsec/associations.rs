//! Security associations: a table that control writes and workers read without a lock.
//!
//! Of what leaves there is at most one association for each policy, in the slot of that. What arrives names its own
//! by a number that this router chose (SPI).

use core::net::{IpAddr, SocketAddr};
use std::sync::{Arc, LazyLock};

use arc_swap::{ArcSwapOption, Guard};

use crate::numbered::Numbered;

/// How many policies can have associations.
pub const SLOTS: usize = 16_384;

/// What protects packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// It encrypts, signs, or both (RFC 4303).
    Esp,
    /// It signs whole packets (RFC 4302): the encryption of its associations is null.
    Ah,
}

/// What of a packet is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// What is behind its IP header.
    Transport,
    /// All of it, in a packet between the two ends.
    Tunnel,
}

/// An association of packets that leave.
pub struct Leaving {
    /// What it makes of packets.
    pub protocol: Protocol,
    /// What encrypts and signs. It outlives a change of the ends.
    pub sa: Arc<esp::Outbound>,
    /// What of a packet that is.
    pub mode: Mode,
    /// This end.
    pub local: SocketAddr,
    /// The other end. The ports count behind translators alone.
    pub remote: SocketAddr,
    /// Packets are in datagrams of UDP between those ports (RFC 3948). Those of AH never are.
    pub in_udp: bool,
}

impl Leaving {
    /// Bytes that are put before and behind so many.
    pub fn room(&self, payload: usize) -> (usize, usize) {
        match self.protocol {
            Protocol::Esp => self.sa.room(payload),
            Protocol::Ah => (esp::ah::room(self.sa.suite(), self.remote.is_ipv6()), 0),
        }
    }

    /// How many bytes become at most this many with what is put before and behind them; none where none do.
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

/// An association of packets that arrive.
pub struct Arriving {
    /// What packets are of.
    pub protocol: Protocol,
    /// What verifies and decrypts.
    pub sa: esp::Inbound,
    /// What of a packet that is.
    pub mode: Mode,
    /// The slot of the policy that packets must match.
    pub slot: u32,
    /// The other end, as it is shown.
    pub remote: IpAddr,
    /// Packets come in datagrams of UDP: translators may have changed addresses.
    pub in_udp: bool,
}

/// See the module.
pub struct Associations {
    /// By slot. Memory is there from the first use on.
    leaving: LazyLock<Box<[ArcSwapOption<Leaving>]>>,
    /// By number.
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
    /// Whether packets of a policy can be protected.
    #[inline]
    pub fn can_protect(&self, slot: u32) -> bool {
        let place = self.leaving.get(slot as usize);
        place.is_some_and(|place| place.load().is_some())
    }

    /// What protects the packets of a policy.
    #[inline]
    pub fn leaving(&self, slot: u32) -> Option<Guard<Option<Arc<Leaving>>>> {
        self.leaving.get(slot as usize).map(ArcSwapOption::load)
    }

    /// Sets what protects the packets of a policy from now on. Returns what did before.
    pub fn set_leaving(&self, slot: u32, now: Option<Arc<Leaving>>) -> Option<Arc<Leaving>> {
        self.leaving.get(slot as usize)?.swap(now)
    }

    /// Whether any association is there.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.arriving.is_empty()
    }

    /// The association that this number names.
    #[inline]
    pub fn arriving(&self, spi: u32) -> Option<Arc<Arriving>> {
        self.arriving.get(spi)
    }

    /// Takes in an association; one of the same number goes.
    pub fn put_arriving(&self, one: Arc<Arriving>) {
        self.arriving.put(one.sa.spi(), one);
    }

    /// Forgets the association of this number.
    pub fn remove_arriving(&self, spi: u32) -> Option<Arc<Arriving>> {
        self.arriving.remove(spi)
    }
}
