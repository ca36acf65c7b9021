//! AF_XDP socket of one queue: registers the UMEM, maps the rings, and binds.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use frame::{Class, PortCounters};
use libc::{SOL_XDP, c_int};

use super::ring::{Consumer, Descriptor, Offsets, Producer, mapping_bytes};
use super::{Umem, XdpMode, XdpRefusal};
use crate::sys::{self, Mapping};

/// Maximum time for which a device may be busy.
const BUSY_FOR: Duration = Duration::from_secs(2);
const BUSY_PAUSE: Duration = Duration::from_millis(20);
/// Maximum number of frames per send call in copy mode (since Linux 6.17; 32 before).
const XDP_MAX_TX_SKB_BUDGET: c_int = 9;
const BUDGET: u32 = frame::VECTOR_FRAMES as u32;

/// A bound socket and its rings.
#[derive(Debug)]
pub(super) struct Rings {
    // Fields are dropped in this order: the socket before its mappings.
    socket: OwnedFd,
    pub(super) fill: Producer<u64>,
    pub(super) completion: Consumer<u64>,
    pub(super) receive: Consumer<Descriptor>,
    pub(super) transmit: Producer<Descriptor>,
    zero_copy: bool,
}

impl Rings {
    pub(super) fn open(
        index: u32,
        queue: u32,
        umem: Umem,
        len: u32,
        mode: XdpMode,
        pieces: bool,
    ) -> Result<Self, XdpRefusal> {
        let socket = sys::socket(libc::AF_XDP, libc::SOCK_RAW, 0)
            .map_err(XdpRefusal::at("opening an AF_XDP socket"))?;
        register(&socket, umem).map_err(XdpRefusal::at("registering the pool's memory"))?;
        let mut rings = Self::map(socket, len).map_err(XdpRefusal::at("mapping the rings"))?;
        bind(&rings.socket, index, queue, mode, pieces)
            .map_err(XdpRefusal::at("binding to the queue"))?;
        let budget = BUDGET.min(len);
        // Older kernels need several send calls instead.
        let _ = sys::set_option(&rings.socket, SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &budget);
        let [options] = sys::option_u32::<1>(&rings.socket, SOL_XDP, libc::XDP_OPTIONS)
            .map_err(XdpRefusal::at("querying the mode"))?;
        rings.zero_copy = options & libc::XDP_OPTIONS_ZEROCOPY != 0;
        Ok(rings)
    }

    fn map(socket: OwnedFd, len: u32) -> io::Result<Self> {
        for ring in [
            libc::XDP_UMEM_FILL_RING,
            libc::XDP_UMEM_COMPLETION_RING,
            libc::XDP_RX_RING,
            libc::XDP_TX_RING,
        ] {
            sys::set_option(&socket, SOL_XDP, ring, &len)?;
        }
        // `struct xdp_mmap_offsets`: receive, transmit, fill, completion.
        let words = sys::option_u64::<16>(&socket, SOL_XDP, libc::XDP_MMAP_OFFSETS)?;
        let offsets = |ring: usize| Offsets {
            producer: words[4 * ring],
            consumer: words[4 * ring + 1],
            entries: words[4 * ring + 2],
            flags: words[4 * ring + 3],
        };
        let [receive, transmit, fill, completion] = [0, 1, 2, 3].map(offsets);
        let map = |page: u64, bytes: usize| Mapping::new(&socket, page, bytes);
        let fill_map = map(
            libc::XDP_UMEM_PGOFF_FILL_RING,
            mapping_bytes::<u64>(fill, len),
        )?;
        let completion_map = map(
            libc::XDP_UMEM_PGOFF_COMPLETION_RING,
            mapping_bytes::<u64>(completion, len),
        )?;
        let receive_map = map(
            libc::XDP_PGOFF_RX_RING as u64,
            mapping_bytes::<Descriptor>(receive, len),
        )?;
        let transmit_map = map(
            libc::XDP_PGOFF_TX_RING as u64,
            mapping_bytes::<Descriptor>(transmit, len),
        )?;
        Ok(Self {
            socket,
            fill: Producer::new(fill_map, fill, len),
            completion: Consumer::new(completion_map, completion, len),
            receive: Consumer::new(receive_map, receive, len),
            transmit: Producer::new(transmit_map, transmit, len),
            zero_copy: false,
        })
    }

    pub(super) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    pub(super) fn is_zero_copy(&self) -> bool {
        self.zero_copy
    }

    /// The kernel's counters (`struct xdp_statistics`).
    pub(super) fn counters(&self) -> PortCounters {
        let Ok([dropped, invalid, transmit_invalid, ring_full, ..]) =
            sys::option_u64::<6>(&self.socket, SOL_XDP, libc::XDP_STATISTICS)
        else {
            return PortCounters::default();
        };
        PortCounters {
            receive_dropped: dropped + ring_full,
            receive_errors: invalid,
            transmit_errors: transmit_invalid,
        }
    }

    /// Wakes a sleeping driver so that it reads the fill ring.
    pub(super) fn wake_receiver(&self) {
        // SAFETY: a null buffer of length 0 and no address.
        unsafe {
            libc::recvfrom(
                self.socket.as_raw_fd(),
                std::ptr::null_mut(),
                0,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
    }
}

/// Registers the pool's small slots as the socket's UMEM, in chunks of a slot.
fn register(socket: &OwnedFd, umem: Umem) -> io::Result<()> {
    let registration = libc::xdp_umem_reg {
        addr: umem.base.as_ptr() as u64,
        len: umem.len as u64,
        chunk_size: Class::Small.slot_bytes() as u32,
        headroom: 0,
        flags: 0,
        tx_metadata_len: 0,
    };
    sys::set_option(socket, SOL_XDP, libc::XDP_UMEM_REG, &registration)
}

/// Binds to a queue; retries while the queue is busy.
fn bind(socket: &OwnedFd, index: u32, queue: u32, mode: XdpMode, pieces: bool) -> io::Result<()> {
    let mut flags = libc::XDP_USE_NEED_WAKEUP;
    if mode == XdpMode::Generic {
        flags |= libc::XDP_COPY;
    }
    if pieces {
        flags |= libc::XDP_USE_SG;
    }
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: flags,
        sxdp_ifindex: index,
        sxdp_queue_id: queue,
        sxdp_shared_umem_fd: 0,
    };
    while_busy(|| sys::bind(socket, &address))
}

/// Retries while the device is busy with a closed socket or program, which the kernel releases with a delay.
pub(crate) fn while_busy<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let deadline = Instant::now() + BUSY_FOR;
    loop {
        match attempt() {
            Err(error)
                if error.raw_os_error() == Some(libc::EBUSY) && Instant::now() < deadline =>
            {
                thread::sleep(BUSY_PAUSE);
            }
            other => return other,
        }
    }
}
