//! TAP and TUN: the kernel's own network stack as the other end of a port, with unfinished checksums
//! and merged segments of up to 64 KB both ways (Documentation/networking/tuntap.rst).
//!
//! A TAP port carries Ethernet frames. A TUN port carries **bare IP packets**: `frame.bytes()`
//! begins with the IP header, `frame.l3` is 0, and what is sent must begin with one too.
//!
//! One read is one frame, of unknown length. It is read into a small slot with the spare room of a
//! large one behind it: an ordinary frame stays where it is, a longer one has its first 1,792 bytes
//! copied in front of the rest.

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

/// Bytes of a frame that a small slot holds.
const SMALL: usize = Class::Small.slot_bytes() - HEADROOM;
/// Bytes of a frame that a large slot holds.
const LARGE: usize = Class::Large.slot_bytes() - HEADROOM;

/// `_IOW('T', 226, int)`.
const TUNSETCARRIER: libc::c_ulong = 0x4004_54e2;

/// What the device carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Ethernet frames.
    Tap,
    /// IP packets without a link-layer header.
    Tun,
}

/// One queue of a TAP or TUN device. The device goes when the last of its queues is dropped, unless
/// somebody made it persistent.
#[derive(Debug)]
pub struct TapPort {
    queue: OwnedFd,
    offloads: Offloads,
    /// What the next read goes to, taken from the pool at the first read.
    small: Option<Frame>,
    large: Option<Frame>,
    receive_errors: u64,
    receive_dropped: u64,
    transmit_errors: u64,
    /// Reads of the device, also those that brought nothing.
    reads: u64,
    /// What tells whether a read is worth it; without, each look is one.
    member: Option<Member>,
}

impl TapPort {
    /// Makes the device in the calling thread's network namespace, or takes an existing one, and
    /// opens `queues` queues of it; one that somebody made with a single queue gives that one. It is
    /// left down, without addresses.
    ///
    /// The kernel spreads flows over the queues by hash, and sends what answers a flow to the queue
    /// that the flow was last written to.
    ///
    /// # Errors
    /// What the kernel says: no `/dev/net/tun`, not permitted. The device is of another kind, or
    /// another program has it.
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

    /// From now on it is read only when something is there, which it and the other ports of the worker that share
    /// this find out by one system call in a step.
    ///
    /// # Errors
    /// What the kernel says; too many ports share it.
    pub fn share(&mut self, readiness: &Arc<Readiness>) -> io::Result<()> {
        self.member = Some(readiness.join(self.queue.as_fd())?);
        Ok(())
    }

    /// How often the device was read, also where nothing was there.
    pub const fn reads(&self) -> u64 {
        self.reads
    }

    /// What tells whether the device is still there, wherever it is.
    ///
    /// # Errors
    /// The process has no descriptors left.
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
        // The kernel cuts what does not fit and does not say so.
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
        // It fits: the slot was chosen for this length.
        let _ = frame.set_len(len);
        frame.offload = offload;
        Read::Frame(frame)
    }

    /// Joins the first part in the small slot with the rest in the large one.
    fn put_together(&mut self, pool: &mut Pool, len: usize) -> Option<Frame> {
        let first = self.small.as_ref()?.bytes();
        // A jumbo frame would waste a large slot on its way.
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

    /// Writes one frame; false when the device refused it: it is down, or full.
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

/// Holds on to a device: one that was moved to another network namespace is not seen by netlink any
/// more, and works all the same. As long as it is held the device stays.
#[derive(Debug)]
pub struct Tether(OwnedFd);

impl Tether {
    /// Whether the device is there, in this network namespace or in another.
    pub fn holds(&self) -> bool {
        device::is_attached(&self.0)
    }

    /// Plugs the cable in or pulls it, as the device's own end sees it; whoever opens it anew finds it plugged in.
    ///
    /// # Errors
    /// What the kernel says; it has this since Linux 5.0.
    pub fn set_carrier(&self, on: bool) -> io::Result<()> {
        let mut on = libc::c_int::from(on);
        // SAFETY: the request reads one integer.
        unsafe { sys::ioctl(self.0.as_fd(), TUNSETCARRIER, &mut on)? };
        Ok(())
    }
}

/// What one read brought.
enum Read {
    /// A frame.
    Frame(Frame),
    /// One that cannot be used, counted.
    Lost,
    /// There is none, or no slot for one.
    Nothing,
}

impl Port for TapPort {
    fn receive(&mut self, pool: &mut Pool, into: &mut Vector) -> usize {
        let before = into.len();
        // With no room left in the vector it would be forgotten that there is something.
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
                // The vector has room, as was just asked.
                Read::Frame(frame) => {
                    if let Err(frame) = into.push(frame) {
                        pool.free(frame);
                    }
                }
                Read::Lost => {}
                Read::Nothing => break,
            }
        }
        // Those that share a system call are many, and quiet: none keeps slots while it has nothing.
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

/// Tells the kernel that we take unfinished frames; kernels before 6.2 know no merged UDP.
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

/// Reads one frame into three places, one behind the other: its virtio-net header and its bytes.
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
