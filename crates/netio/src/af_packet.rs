//! AF_PACKET ports: frames of any device through mapped rings, with unfinished checksums and merged segments
//! (packet(7); Documentation/networking/packet_mmap.rst).
//!
//! ```text
//!              slots of 2 KB            one message each
//!  ingress     receive ring   ────┐  ┌─ receive queue   longer frames, up to 64 KB
//!  egress      transmit ring  ────┤  ├─ sendmmsg        longer and merged frames
//!                            device
//! ```
//!
//! The rings use TPACKET_V2, which hands over each slot as soon as it is written. V3 hands over blocks; a block that
//! is not full waits for a timer of at least a millisecond, which would delay every packet of an idle line. V2 slots
//! have one size. The kernel puts a longer frame into the socket's receive queue (PACKET_COPY_THRESH) and leaves a
//! marked slot in its place. This keeps the order, small frames stay cheap, and a merged segment of 64 KB is copied
//! once.
//!
//! The transmit ring bypasses the queueing discipline. Merged frames do not, because only the queueing discipline
//! makes the kernel split them for a device that cannot. They are sent one by one through the receiving socket, after
//! the contents of the ring.

mod large;
mod receive;
mod replay;
mod slots;
mod transmit;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use frame::{Frame, Offloads, Pool, Port, PortCounters, Segmentation, Transmitted, Vector};

use crate::sys;
use large::LargeSender;
use receive::ReceiveRing;
pub use replay::PacketReplay;
use transmit::TransmitRing;

/// One member of a fanout group of packet sockets on a device; the kernel distributes flows over the members by hash.
#[derive(Debug)]
pub struct PacketPort {
    receive: ReceiveRing,
    transmit: TransmitRing,
    large: LargeSender,
    offloads: Offloads,
    transmit_errors: u64,
}

impl PacketPort {
    /// Opens `queues` ports on a device of the calling thread's network namespace.
    ///
    /// The device is promiscuous while one of them is open. Frames that the kernel or another program sends on the
    /// device are not received.
    ///
    /// # Errors
    /// Returns the kernel's error: no such device, not permitted, no memory for the rings.
    pub fn open(device: &str, queues: usize) -> io::Result<Vec<Self>> {
        let index = sys::device_index(device)?;
        let mut ports = Vec::with_capacity(queues);
        let mut group = None;
        for _ in 0..queues {
            let port = Self::open_one(index)?;
            if queues > 1 {
                group = Some(join_group(port.receive.socket(), group)?);
            }
            ports.push(port);
        }
        Ok(ports)
    }

    fn open_one(index: u32) -> io::Result<Self> {
        let udp = udp_segments_known();
        Ok(Self {
            receive: ReceiveRing::open(index)?,
            transmit: TransmitRing::open(index)?,
            large: LargeSender::new(),
            offloads: Offloads {
                checksum: true,
                tcp4: true,
                tcp6: true,
                udp,
            },
            transmit_errors: 0,
        })
    }

    /// Sends the queued frames with `sendmmsg`.
    fn send_large(&mut self, pool: &mut Pool, done: &mut Transmitted) {
        let (sent, failed) = self.large.send(self.receive.socket().as_raw_fd(), pool);
        done.sent += sent;
        done.dropped += failed;
        self.transmit_errors += u64::from(failed);
    }
}

impl Port for PacketPort {
    fn receive(&mut self, pool: &mut Pool, into: &mut Vector) -> usize {
        self.receive.receive(pool, into)
    }

    fn transmit(&mut self, pool: &mut Pool, frames: &mut Vec<Frame>) -> Transmitted {
        let mut done = Transmitted::default();
        for frame in frames.drain(..) {
            let merged = frame.offload.segmentation != Segmentation::None;
            if merged || !TransmitRing::fits(&frame) {
                self.transmit.kick();
                if let Err(frame) = self.large.push(frame) {
                    self.send_large(pool, &mut done);
                    // The queue was just emptied, so this frame fits.
                    if let Err(frame) = self.large.push(frame) {
                        pool.free(frame);
                    }
                }
                continue;
            }
            if !self.large.is_empty() {
                self.send_large(pool, &mut done);
            }
            if self.transmit.push(&frame) {
                done.sent += 1;
            } else {
                done.dropped += 1;
            }
            pool.free(frame);
        }
        self.send_large(pool, &mut done);
        self.transmit.kick();
        done
    }

    fn flush(&mut self, _pool: &mut Pool) {
        self.transmit.kick();
    }

    fn is_sending(&self) -> bool {
        !self.transmit.is_empty()
    }

    fn offloads(&self) -> Offloads {
        self.offloads
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.receive.socket().as_fd())
    }

    fn counters(&self) -> PortCounters {
        let (receive_dropped, receive_errors) = self.receive.counters();
        PortCounters {
            receive_dropped,
            receive_errors,
            transmit_errors: self.transmit_errors + self.transmit.errors(),
        }
    }
}

/// Creates a raw packet socket with virtio-net headers, not yet bound, so that nothing arrives before its ring is
/// ready.
fn raw_socket() -> io::Result<OwnedFd> {
    let socket = sys::socket(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
    let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
    set(&socket, libc::PACKET_VERSION, &version)?;
    set(&socket, libc::PACKET_VNET_HDR, &1)?;
    Ok(socket)
}

/// Binds a packet socket to a device; `protocol` 0 receives nothing.
fn bind(socket: &OwnedFd, index: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: all fields are integers, for which zero is a value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = index as i32;
    sys::bind(socket, &address)
}

/// Creates a packet socket that receives nothing and is bound to a device.
pub(crate) fn mute(index: u32) -> io::Result<OwnedFd> {
    let socket = sys::socket(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
    bind(&socket, index, 0)?;
    Ok(socket)
}

/// Creates a socket that receives nothing and keeps a device promiscuous while it is open.
pub(crate) fn promiscuous(index: u32) -> io::Result<OwnedFd> {
    let socket = sys::socket(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
    make_promiscuous(&socket, index)?;
    Ok(socket)
}

fn make_promiscuous(socket: &OwnedFd, index: u32) -> io::Result<()> {
    let membership = libc::packet_mreq {
        mr_ifindex: index as i32,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set(socket, libc::PACKET_ADD_MEMBERSHIP, &membership)
}

/// Sets a packet socket option.
fn set<T: Copy>(socket: &OwnedFd, name: libc::c_int, value: &T) -> io::Result<()> {
    sys::set_option(socket, libc::SOL_PACKET, name, value)
}

/// Adds a bound socket to this fanout group, or to a new one; returns the group's number.
fn join_group(socket: &OwnedFd, group: Option<u16>) -> io::Result<u16> {
    let mut flags = libc::PACKET_FANOUT_HASH | libc::PACKET_FANOUT_FLAG_IGNORE_OUTGOING;
    if group.is_none() {
        flags |= libc::PACKET_FANOUT_FLAG_UNIQUEID;
    }
    let arguments = flags << 16 | u32::from(group.unwrap_or(0));
    set(socket, libc::PACKET_FANOUT, &arguments)?;
    let [state] = sys::option_u32::<1>(socket, libc::SOL_PACKET, libc::PACKET_FANOUT)?;
    Ok(state as u16)
}

/// True if this kernel's virtio-net headers support merged UDP datagrams (since 6.2).
fn udp_segments_known() -> bool {
    let name = rustix::system::uname();
    let release = name.release().to_string_lossy();
    let mut numbers = release.split('.').map(|part| {
        let digits = part
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(part.len());
        part[..digits].parse::<u32>().unwrap_or(0)
    });
    let major = numbers.next().unwrap_or(0);
    let minor = numbers.next().unwrap_or(0);
    (major, minor) >= (6, 2)
}
