//! TAP and TUN ports: the kernel's network stack is the other end, with unfinished checksums and merged segments of
//! up to 64 KB in both directions (Documentation/networking/tuntap.rst).
//!
//! A TAP port carries Ethernet frames. A TUN port carries **bare IP packets**: `frame.bytes()` begins with the IP
//! header, and `frame.l3` is 0, for received and sent frames.
//!
//! One read returns one frame of unknown length. The port reads it into a small slot, followed by the space of a
//! large slot: an ordinary frame stays where it is; for a longer frame the first 1,792 bytes are copied in front of
//! the rest.

mod device;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use frame::{
    Class, Crowd, Frame, HEADROOM, Offloads, Pool, Port, PortCounters, Transmitted, Vector,
};
use libc::{c_uint, c_void, iovec};
use rustix::fs::{Mode, OFlags};

use crate::ready::{Member, Readiness};
use crate::sys;
use crate::vnet::{self, VNET_BYTES};

/// Capacity of a small slot for a frame, in bytes.
const SMALL: usize = Class::Small.slot_bytes() - HEADROOM;
/// Capacity of a large slot for a frame, in bytes.
const LARGE: usize = Class::Large.slot_bytes() - HEADROOM;

/// `_IOW('T', 226, int)`.
const TUNSETCARRIER: libc::c_ulong = 0x4004_54e2;

/// Kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Ethernet frames.
    Tap,
    /// IP packets without a link-layer header.
    Tun,
}

/// One queue of a TAP or TUN device. The device disappears with its last queue unless it is persistent.
#[derive(Debug)]
pub struct TapPort {
    queue: OwnedFd,
    offloads: Offloads,
    /// Slot for the next read, allocated at the first read.
    small: Option<Frame>,
    large: Option<Frame>,
    receive_errors: u64,
    receive_dropped: u64,
    transmit_errors: u64,
    /// Number of reads, including those without a frame.
    reads: u64,
    /// Tells whether a read is worthwhile; `None`: every receive call reads.
    member: Option<Member>,
}

impl TapPort {
    /// Creates the device in the calling thread's network namespace, or attaches to an existing one, and opens
    /// `queues` queues; an existing single-queue device opens one. New devices are down, without addresses.
    ///
    /// The kernel distributes flows over the queues by hash, and sends replies of a flow to the queue on which it was
    /// last written.
    ///
    /// # Errors
    /// Returns the kernel's error: no `/dev/net/tun`, not permitted. Fails if the device has another kind or another
    /// program has it open.
    pub fn open(name: &str, layer: Layer, queues: usize) -> io::Result<Vec<Self>> {
        let several = device::has_several(name, layer, queues)?;
        let queues = if several { queues } else { queues.min(1) };
        (0..queues)
            .map(|_| Self::open_queue(name, layer, several))
            .collect()
    }

    fn open_queue(name: &str, layer: Layer, several: bool) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let queue = rustix::fs::open("/dev/net/tun", flags, Mode::empty())?;
        device::attach(&queue, name, layer, several)?;
        let mut bytes = VNET_BYTES as libc::c_int;
        // SAFETY: the request reads one integer.
        unsafe { sys::ioctl(queue.as_fd(), libc::TUNSETVNETHDRSZ as _, &mut bytes)? };
        let offloads = switch_offloads(&queue)?;
        Ok(Self {
            queue,
            offloads,
            small: None,
            large: None,
            receive_errors: 0,
            receive_dropped: 0,
            transmit_errors: 0,
            reads: 0,
            member: None,
        })
    }

    /// Reads the device only when it is ready; all ports that share `readiness` learn this with one system call per
    /// step.
    ///
    /// # Errors
    /// Returns the kernel's error, or an error if too many ports share the instance.
    pub fn share(&mut self, readiness: &Arc<Readiness>) -> io::Result<()> {
        self.member = Some(readiness.join(self.queue.as_fd())?);
        Ok(())
    }

    /// Number of reads, including those without a frame.
    pub const fn reads(&self) -> u64 {
        self.reads
    }

    /// Returns a handle that tracks the device, in any network namespace.
    ///
    /// # Errors
    /// Fails if the process has no file descriptors left.
    pub fn tether(&self) -> io::Result<Tether> {
        Ok(Tether(self.queue.try_clone()?))
    }

    /// Reads one frame.
    fn read(&mut self, pool: &mut Pool) -> Read {
        if self.small.is_none() {
            self.small = pool.alloc_class(Class::Small, SMALL);
        }
        if self.large.is_none() {
            self.large = pool.alloc_class(Class::Large, LARGE);
        }
        let Some(small) = &mut self.small else {
            return Read::Nothing;
        };
        let rest = match &mut self.large {
            Some(frame) => &mut frame.bytes_mut()[SMALL..],
            None => &mut [],
        };
        // The kernel truncates longer frames silently.
        let longest = SMALL + rest.len();
        let mut header = vnet::FINISHED;
        self.reads += 1;
        let read = match read_parts(&self.queue, &mut header, small.bytes_mut(), rest) {
            Ok(read) => read,
            Err(error) => {
                if error.kind() != io::ErrorKind::WouldBlock
                    && let Some(member) = &self.member
                    && !device::is_attached(&self.queue)
                {
                    member.leave(self.queue.as_fd());
                }
                return Read::Nothing;
            }
        };
        let len = read.saturating_sub(VNET_BYTES);
        if len == longest {
            self.receive_dropped += 1;
            return Read::Lost;
        }
        let Some(offload) = vnet::decode(&header, len) else {
            self.receive_errors += 1;
            return Read::Lost;
        };
        let frame = if len <= SMALL {
            self.small.take()
        } else {
            self.put_together(pool, len)
        };
        let Some(mut frame) = frame else {
            return Read::Lost;
        };
        // Cannot fail: the slot was chosen for this length.
        let _ = frame.set_len(len);
        frame.offload = offload;
        Read::Frame(frame)
    }

    /// Joins the first part in the small slot with the rest in the large slot.
    fn put_together(&mut self, pool: &mut Pool, len: usize) -> Option<Frame> {
        let first = self.small.as_ref()?.bytes();
        // A medium slot suffices for a jumbo frame and saves a large one.
        if let Some(mut frame) = pool.alloc_class(Class::Medium, len) {
            let rest = &self.large.as_ref()?.bytes()[SMALL..len];
            frame.bytes_mut()[..SMALL].copy_from_slice(first);
            frame.bytes_mut()[SMALL..].copy_from_slice(rest);
            return Some(frame);
        }
        let mut frame = self.large.take()?;
        frame.bytes_mut()[..SMALL].copy_from_slice(first);
        Some(frame)
    }

    /// Writes one frame; returns false if the device refused it, because it is down or full.
    fn write(&mut self, frame: &Frame) -> bool {
        let header = vnet::encode(&frame.offload, frame.bytes(), 0);
        let parts = [io::IoSlice::new(&header), io::IoSlice::new(frame.bytes())];
        rustix::io::writev(&self.queue, &parts).is_ok()
    }
}

impl Drop for TapPort {
    fn drop(&mut self) {
        // A tether may keep the descriptor open.
        if let Some(member) = self.member.take() {
            member.leave(self.queue.as_fd());
        }
    }
}

/// Handle of a device that keeps it alive. Netlink no longer reports a device that moved to another network
/// namespace, although it still works.
#[derive(Debug)]
pub struct Tether(OwnedFd);

impl Tether {
    /// True if the device exists, in any network namespace.
    pub fn holds(&self) -> bool {
        device::is_attached(&self.0)
    }

    /// Sets the carrier state at the device's own end; opening the device resets it to on.
    ///
    /// # Errors
    /// Returns the kernel's error; requires Linux 5.0.
    pub fn set_carrier(&self, on: bool) -> io::Result<()> {
        let mut on = libc::c_int::from(on);
        // SAFETY: the request reads one integer.
        unsafe { sys::ioctl(self.0.as_fd(), TUNSETCARRIER, &mut on)? };
        Ok(())
    }
}

/// Result of a read.
enum Read {
    /// A frame.
    Frame(Frame),
    /// An unusable frame, which was counted.
    Lost,
    /// No frame, or no slot for one.
    Nothing,
}

impl Port for TapPort {
    fn receive(&mut self, pool: &mut Pool, into: &mut Vector) -> usize {
        let before = into.len();
        // With a full vector the readiness bit would be lost.
        if into.is_full()
            || self
                .member
                .as_mut()
                .is_some_and(|member| !member.is_ready())
        {
            return 0;
        }
        while !into.is_full() {
            match self.read(pool) {
                // The vector has room, as checked above.
                Read::Frame(frame) => {
                    if let Err(frame) = into.push(frame) {
                        pool.free(frame);
                    }
                }
                Read::Lost => {}
                Read::Nothing => break,
            }
        }
        // Ports that share a system call are many and quiet, so they keep no slots while idle.
        if self.member.is_some() {
            self.close(pool);
        }
        into.len() - before
    }

    fn transmit(&mut self, pool: &mut Pool, frames: &mut Vec<Frame>) -> Transmitted {
        let mut done = Transmitted::default();
        for frame in frames.drain(..) {
            if self.write(&frame) {
                done.sent += 1;
            } else {
                done.dropped += 1;
            }
            pool.free(frame);
        }
        self.transmit_errors += u64::from(done.dropped);
        done
    }

    fn offloads(&self) -> Offloads {
        self.offloads
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.member {
            Some(member) => Some(member.wait_fd()),
            None => Some(self.queue.as_fd()),
        }
    }

    fn crowd(&self) -> Option<(Arc<dyn Crowd>, u32)> {
        Some(self.member.as_ref()?.crowd())
    }

    fn counters(&self) -> PortCounters {
        PortCounters {
            receive_dropped: self.receive_dropped,
            receive_errors: self.receive_errors,
            transmit_errors: self.transmit_errors,
        }
    }

    fn close(&mut self, pool: &mut Pool) {
        for frame in [self.small.take(), self.large.take()].into_iter().flatten() {
            pool.free(frame);
        }
    }
}

/// Enables unfinished frames; kernels before 6.2 do not support merged UDP datagrams.
fn switch_offloads(queue: &OwnedFd) -> io::Result<Offloads> {
    let tcp = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
    let udp = libc::TUN_F_USO4 | libc::TUN_F_USO6;
    let taken = set_offloads(queue, tcp | udp);
    if taken.is_err() {
        set_offloads(queue, tcp)?;
    }
    Ok(Offloads {
        checksum: true,
        tcp4: true,
        tcp6: true,
        udp: taken.is_ok(),
    })
}

fn set_offloads(queue: &OwnedFd, flags: c_uint) -> io::Result<()> {
    // SAFETY: this request takes its argument by value.
    sys::check(unsafe {
        libc::ioctl(
            queue.as_raw_fd(),
            libc::TUNSETOFFLOAD as _,
            libc::c_ulong::from(flags),
        )
    })?;
    Ok(())
}

/// Reads one frame into three consecutive buffers: virtio-net header, and two parts of the frame.
fn read_parts(
    queue: &OwnedFd,
    header: &mut [u8; VNET_BYTES],
    first: &mut [u8],
    rest: &mut [u8],
) -> io::Result<usize> {
    let part = |bytes: &mut [u8]| iovec {
        iov_base: bytes.as_mut_ptr().cast::<c_void>(),
        iov_len: bytes.len(),
    };
    let parts = [part(header), part(first), part(rest)];
    // SAFETY: the parts are live buffers with their lengths, borrowed until the call returns.
    sys::check_size(unsafe {
        libc::readv(
            queue.as_raw_fd(),
            parts.as_ptr(),
            parts.len() as libc::c_int,
        )
    })
}
