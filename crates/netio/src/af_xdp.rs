//! AF_XDP ports: frames of a device's queue, taken before the kernel's stack sees them, in slots of the worker's own
//! pool (Documentation/networking/af_xdp.rst).
//!
//! ```text
//!   pool ──▶ fill ring ──▶ kernel ──▶ receive ring ──▶ vector
//!   pool ◀── completion ring ◀── kernel ◀── transmit ring ◀── frames
//! ```
//!
//! A port is one socket on one queue. Each socket registers the small slots of the pool as its UMEM, so that a frame
//! moves from one device to another of the same worker without a copy (as with the kernel's XDP_SHARED_UMEM, but
//! without making every port depend on the first one). Slots in a ring are marked as lent. Only marked slots are
//! reclaimed, whatever the kernel writes, and closing a port reclaims all marked slots.
//!
//! A device has one program, which sends a frame to the socket of its queue unless flow or bridge offload (`offload`)
//! handles it. The program is attached by a link that ends with the process. XDP sees bytes only: the sender must
//! disable unfinished checksums, merged segments and VLAN tags in metadata (`link::offload_off`).
//!
//! Jumbo frames arrive in pieces of 1,792 bytes and are joined in a larger slot; this requires Linux 6.6. Zero copy
//! is used if the driver supports it; untested for lack of hardware.

mod bpf;
mod lent_slots;
mod offload;
mod program;
mod receive;
mod ring;
mod socket;
mod transmit;

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::Arc;

use ::offload::Installer;
use frame::shortcut::FlowOffload;
use frame::switch::SwitchPort;
use frame::{Class, Frame, HEADROOM, Pool, Port, PortCounters, Transmitted, Vector};

use crate::link::{self, Channels, Links};
use lent_slots::LentSlots;
use offload::SharedMap;
pub use offload::XdpOffload;
use program::Attachment;
use receive::Assembly;
use socket::Rings;
pub(crate) use socket::while_busy;

/// Length of frame data in one UMEM chunk: the kernel reserves the first 256 of the 2,048 bytes.
const CHUNK: usize = Class::Small.slot_bytes() - HEADROOM;
/// Length of an Ethernet header.
const ETHERNET: u32 = 14;
/// Length of an Ethernet header with two VLAN tags.
const LINK_HEADER: u32 = ETHERNET + 8;
/// Maximum MTU without pieces.
const PLAIN_MTU: u32 = CHUNK as u32 - LINK_HEADER;
/// Maximum MTU with pieces.
const JUMBO_MTU: u32 = (Class::Medium.slot_bytes() - HEADROOM) as u32 - LINK_HEADER;
/// Default ring size, on which `Sizes::for_ports` is based.
pub const XDP_RING: u32 = 2048;

/// Where the kernel runs the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XdpMode {
    /// In the driver.
    Native,
    /// In the stack, for drivers without XDP, or where it is faster (veth: native mode copies each frame of a kernel
    /// sender first).
    Generic,
}

/// Memory of a pool, as a port registers it. It stays valid as long as the pool, or any slot that a port borrowed
/// from it, lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Umem {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: an address and a length, which nothing here dereferences; the kernel checks them.
unsafe impl Send for Umem {}

impl Umem {
    /// Returns the small slots of this pool.
    pub fn of(pool: &Pool) -> Self {
        let (base, len) = pool.umem();
        Self { base, len }
    }
}

/// Reason why a device cannot be used with AF_XDP.
#[derive(Debug)]
pub enum XdpRefusal {
    /// The MTU requires frames in pieces, which this kernel, driver or mode does not support.
    Jumbo {
        /// MTU of the device in bytes.
        mtu: u32,
        /// Maximum MTU without pieces.
        most: u32,
    },
    /// There are receive queues without a transmit queue of the same number.
    Queues(Channels),
    /// The kernel refused a step.
    System {
        /// The step.
        step: &'static str,
        /// The kernel's error.
        error: io::Error,
    },
}

impl XdpRefusal {
    /// Error mapping for a step.
    fn at(step: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self::System { step, error }
    }
}

impl fmt::Display for XdpRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Jumbo { mtu, most } => write!(
                f,
                "MTU {mtu} exceeds the {most} bytes of one chunk; frames in several chunks are not supported \
                 here"
            ),
            Self::Queues(channels) => write!(
                f,
                "{} receive queues, but only {} transmit queues",
                channels.receive, channels.transmit
            ),
            Self::System { step, error } => write!(f, "{step}: {error}"),
        }
    }
}

impl std::error::Error for XdpRefusal {}

/// One queue of a device through AF_XDP.
///
/// It works only with the pool whose memory it registered; with another pool it receives nothing and drops sent
/// frames.
#[derive(Debug)]
pub struct XdpPort {
    /// `None` after `close`.
    rings: Option<Rings>,
    umem: Umem,
    lent: LentSlots,
    assembly: Assembly,
    receive_errors: u64,
    transmit_errors: u64,
    /// The last attempt to send found the device down.
    down: bool,
    /// The kernel's counters when the port was closed.
    last: PortCounters,
    /// Entries of each ring.
    ring: u32,
    attachment: Arc<Attachment>,
    installer: Option<Installer<SharedMap>>,
}

impl XdpPort {
    /// Opens all queues of a device of the calling thread's network namespace: the port of queue `n` uses `umems[n %
    /// umems.len()]`, so that each worker gets its share.
    ///
    /// In generic mode the program supports flow offload, which the ports install, and bridge offload. In native mode
    /// a driver may be unable to transmit frames of other devices, and would lose them silently.
    ///
    /// `ring` is the number of entries of each of a port's four rings, a power of two; a port borrows up to twice as
    /// many slots. If another port has just released a queue, the kernel frees it late, so the call retries for up to
    /// two seconds.
    ///
    /// # Errors
    /// Returns why this device cannot be used; the device is unchanged.
    pub fn open(
        device: &str,
        mode: XdpMode,
        umems: &[Umem],
        ring: u32,
        offload: Option<&XdpOffload>,
    ) -> Result<Vec<Self>, XdpRefusal> {
        let mut links = Links::open().map_err(XdpRefusal::at("netlink"))?;
        let link = links
            .find(device)
            .map_err(XdpRefusal::at("finding the device"))?;
        let pieces = mtu_max(link.mtu) > PLAIN_MTU;
        let jumbo = XdpRefusal::Jumbo {
            mtu: link.mtu,
            most: PLAIN_MTU,
        };
        if link.mtu > JUMBO_MTU {
            return Err(jumbo);
        }
        let channels = link::channels(device).map_err(XdpRefusal::at("counting the queues"))?;
        if channels.receive > channels.transmit {
            return Err(XdpRefusal::Queues(channels));
        }
        let offload = offload.filter(|_| mode == XdpMode::Generic);
        let attachment = Attachment::new(link.index, channels.receive, pieces, offload)?;
        let sockets = (0..channels.receive)
            .zip(umems.iter().cycle())
            .map(|(queue, umem)| {
                let rings = Rings::open(link.index, queue, *umem, ring, mode, pieces)?;
                attachment.add(queue, rings.socket())?;
                Ok((rings, *umem))
            })
            .collect::<Result<Vec<_>, XdpRefusal>>()
            .map_err(|refusal| refusal_of_pieces(refusal, pieces, link.mtu))?;
        // Attached last, so that no frame reaches the program before its socket.
        let attachment = attachment.attach(mode)?;
        let port = |(rings, umem)| Self::new(rings, umem, ring, &attachment);
        Ok(sockets.into_iter().map(port).collect())
    }

    fn new(rings: Rings, umem: Umem, ring: u32, attachment: &Arc<Attachment>) -> Self {
        Self {
            rings: Some(rings),
            umem,
            lent: LentSlots::new(umem.len / Class::Small.slot_bytes()),
            assembly: Assembly::None,
            receive_errors: 0,
            transmit_errors: 0,
            down: false,
            ring,
            last: PortCounters::default(),
            attachment: Arc::clone(attachment),
            installer: attachment.installer(),
        }
    }

    /// True if the device accesses the pool's memory directly (untested).
    pub fn is_zero_copy(&self) -> bool {
        self.rings.as_ref().is_some_and(Rings::is_zero_copy)
    }

    /// XDP mode in use.
    pub fn mode(&self) -> XdpMode {
        self.attachment.mode()
    }
}

/// Maximum MTU of ports opened while the device had MTU `mtu`: a socket declares support of pieces when it is bound.
pub(crate) const fn mtu_max(mtu: u32) -> u32 {
    if mtu > PLAIN_MTU {
        JUMBO_MTU
    } else {
        PLAIN_MTU
    }
}

impl Port for XdpPort {
    fn receive(&mut self, pool: &mut Pool, into: &mut Vector) -> usize {
        if Umem::of(pool) != self.umem {
            return 0;
        }
        self.receive_from_ring(pool, into)
    }

    fn slots(&self) -> usize {
        self.ring as usize * 2
    }

    fn transmit(&mut self, pool: &mut Pool, frames: &mut Vec<Frame>) -> Transmitted {
        if Umem::of(pool) != self.umem || self.rings.is_none() {
            let dropped = frames.len() as u32;
            frames.drain(..).for_each(|frame| pool.free(frame));
            return Transmitted { sent: 0, dropped };
        }
        self.transmit_to_ring(pool, frames)
    }

    fn flush(&mut self, pool: &mut Pool) {
        if Umem::of(pool) == self.umem {
            self.take_completed(pool);
            self.kick();
        }
    }

    fn is_sending(&self) -> bool {
        // A device that is down may never send.
        let mut rings = self.rings.iter().map(|rings| &rings.transmit);
        !self.down && rings.any(|ring| !ring.is_empty() && ring.needs_wakeup())
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        self.rings.as_ref().map(|rings| rings.socket().as_fd())
    }

    fn offload(&mut self) -> Option<&mut dyn FlowOffload> {
        let installer = self.installer.as_mut();
        installer.map(|installer| installer as &mut dyn FlowOffload)
    }

    fn seat(&self) -> Option<SwitchPort> {
        self.attachment.seat()
    }

    fn counters(&self) -> PortCounters {
        let Some(rings) = &self.rings else {
            return self.last;
        };
        let kernel = rings.counters();
        PortCounters {
            receive_dropped: kernel.receive_dropped,
            receive_errors: kernel.receive_errors + self.receive_errors,
            transmit_errors: kernel.transmit_errors + self.transmit_errors,
        }
    }

    /// Slots that a zero-copy driver may still write to after the socket is closed are lost for good; all others are
    /// reclaimed.
    fn close(&mut self, pool: &mut Pool) {
        if Umem::of(pool) != self.umem {
            return;
        }
        self.last = self.counters();
        let zero_copy = self.is_zero_copy();
        // Closing waits until the kernel's receive path has left the socket, and only this thread's system calls
        // send, so the rings' slots belong to this process again.
        drop(self.rings.take());
        if let Assembly::Partial(frame) = std::mem::replace(&mut self.assembly, Assembly::None) {
            pool.free(frame);
        }
        if zero_copy {
            return;
        }
        while let Some(address) = self.lent.take_any() {
            // SAFETY: the slot was marked as lent, and the socket that it was lent to is closed.
            if let Some(frame) = unsafe { pool.reclaim(address, 0) } {
                pool.free(frame);
            }
        }
    }
}

/// Converts the refusal of a socket that needs pieces into [`XdpRefusal::Jumbo`].
fn refusal_of_pieces(refusal: XdpRefusal, pieces: bool, mtu: u32) -> XdpRefusal {
    match refusal {
        XdpRefusal::System { error, .. }
            if pieces && matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP)) =>
        {
            XdpRefusal::Jumbo {
                mtu,
                most: PLAIN_MTU,
            }
        }
        other => other,
    }
}
