//! Receive ring, and the receive queue for frames longer than a slot.

use std::cell::Cell;
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, OwnedFd};

use frame::{Class, Frame, Pool, Vector};
use libc::{c_void, tpacket_auxdata};

use super::slots::{HEADER_BYTES, SLOT_BYTES, Slots};
use super::{bind, make_promiscuous, raw_socket, set};
use crate::vnet::{self, VNET_BYTES};
use crate::{sys, vlan};

/// Number of slots, 4 MB: some milliseconds of small frames at a million per second.
const SLOTS: u32 = 2048;
/// Size of the receive queue in bytes: some hundred merged segments.
const QUEUE_BYTES: libc::c_int = 32 << 20;
/// Buffer for the control message with `tpacket_auxdata`, aligned as `cmsghdr` requires.
type Control = [u64; 8];

/// A bound packet socket with its receive ring.
#[derive(Debug)]
pub(super) struct ReceiveRing {
    socket: OwnedFd,
    slots: Slots,
    next: u32,
    damaged: u64,
    /// Sum of the kernel's drop counter, which resets on each query.
    dropped: Cell<u64>,
}

/// Result of reading a slot.
enum Taken {
    Frame(Frame),
    /// The slot holds no usable frame.
    Damaged,
    /// The pool is empty; the slot stays.
    NoRoom,
}

impl ReceiveRing {
    pub(super) fn open(index: u32) -> io::Result<Self> {
        let socket = raw_socket()?;
        set(&socket, libc::PACKET_AUXDATA, &1)?;
        set(&socket, libc::PACKET_COPY_THRESH, &1)?;
        set(&socket, libc::PACKET_IGNORE_OUTGOING, &1)?;
        // Exceeds the system's limit if permitted; only long frames need this.
        if sys::set_option(
            &socket,
            libc::SOL_SOCKET,
            libc::SO_RCVBUFFORCE,
            &QUEUE_BYTES,
        )
        .is_err()
        {
            sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &QUEUE_BYTES)?;
        }
        let slots = Slots::map(&socket, libc::PACKET_RX_RING, SLOTS, SLOT_BYTES)?;
        bind(&socket, index, libc::ETH_P_ALL as u16)?;
        make_promiscuous(&socket, index)?;
        Ok(Self {
            socket,
            slots,
            next: 0,
            damaged: 0,
            dropped: Cell::new(0),
        })
    }

    pub(super) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Numbers of frames that the kernel dropped for lack of slots, and of damaged frames.
    pub(super) fn counters(&self) -> (u64, u64) {
        if let Ok([_seen, dropped]) =
            sys::option_u32::<2>(&self.socket, libc::SOL_PACKET, libc::PACKET_STATISTICS)
        {
            self.dropped.set(self.dropped.get() + u64::from(dropped));
        }
        (self.dropped.get(), self.damaged)
    }

    pub(super) fn receive(&mut self, pool: &mut Pool, into: &mut Vector) -> usize {
        let before = into.len();
        while !into.is_full() {
            let Some(header) = self.slots.header(self.next, libc::TP_STATUS_USER) else {
                break;
            };
            match self.take(&header, pool) {
                // The vector has room, as checked above.
                Taken::Frame(frame) => {
                    if let Err(frame) = into.push(frame) {
                        pool.free(frame);
                    }
                }
                Taken::Damaged => self.damaged += 1,
                Taken::NoRoom => break,
            }
            self.slots.hand_over(self.next, libc::TP_STATUS_KERNEL);
            self.next = self.slots.after(self.next);
        }
        into.len() - before
    }

    #[inline]
    fn take(&mut self, header: &libc::tpacket2_hdr, pool: &mut Pool) -> Taken {
        if header.tp_status & libc::TP_STATUS_COPY != 0 {
            return self.take_queued(header, pool);
        }
        let len = header.tp_len as usize;
        let slot = self.slots.bytes(self.next);
        let start = usize::from(header.tp_mac).wrapping_sub(HEADER_BYTES);
        let (Some(bytes), Some(vnet)) = (
            slot.get(start..start.wrapping_add(len)),
            slot.get(start.wrapping_sub(VNET_BYTES)..start)
                .and_then(<[u8]>::first_chunk::<VNET_BYTES>),
        ) else {
            // The frame is longer than a slot, and the receive queue was full.
            return Taken::Damaged;
        };
        let Some(mut offload) = vnet::decode(vnet, len) else {
            return Taken::Damaged;
        };
        let tag = vlan::tag(header.tp_status, header.tp_vlan_tpid, header.tp_vlan_tci);
        let Some(mut frame) = pool.alloc(len + if tag.is_some() { 4 } else { 0 }) else {
            return Taken::NoRoom;
        };
        match tag {
            None => frame.bytes_mut().copy_from_slice(bytes),
            Some(tag) => {
                if !vlan::copy_tagged(bytes, tag, frame.bytes_mut()) {
                    pool.free(frame);
                    return Taken::Damaged;
                }
                offload.shift(4);
            }
        }
        frame.offload = offload;
        Taken::Frame(frame)
    }

    /// Reads the frame that a slot announces from the receive queue, which has the order of the slots.
    fn take_queued(&mut self, header: &libc::tpacket2_hdr, pool: &mut Pool) -> Taken {
        let len = header.tp_len as usize;
        let Some(class) = Class::for_len(len) else {
            self.receive_queued(&mut [0]);
            return Taken::Damaged;
        };
        let Some(mut frame) = pool.alloc_class(class, len) else {
            return Taken::NoRoom;
        };
        let Some((vnet, aux)) = self.receive_queued(frame.bytes_mut()) else {
            pool.free(frame);
            return Taken::Damaged;
        };
        let tag = aux.and_then(|a| vlan::tag(a.tp_status, a.tp_vlan_tpid, a.tp_vlan_tci));
        let (Some(mut offload), true) = (
            vnet::decode(&vnet, len),
            tag.is_none_or(|tag| vlan::insert(&mut frame, tag)),
        ) else {
            pool.free(frame);
            return Taken::Damaged;
        };
        if tag.is_some() {
            offload.shift(4);
        }
        frame.offload = offload;
        Taken::Frame(frame)
    }

    /// Receives one message of exactly the length of `bytes`, with its virtio-net header and control message. Returns
    /// `None` if there is none, or if its length differs (the message is then lost).
    fn receive_queued(
        &self,
        bytes: &mut [u8],
    ) -> Option<([u8; VNET_BYTES], Option<tpacket_auxdata>)> {
        let mut vnet = vnet::FINISHED;
        let mut control: Control = [0; 8];
        let mut parts = [
            libc::iovec {
                iov_base: vnet.as_mut_ptr().cast::<c_void>(),
                iov_len: VNET_BYTES,
            },
            libc::iovec {
                iov_base: bytes.as_mut_ptr().cast::<c_void>(),
                iov_len: bytes.len(),
            },
        ];
        // SAFETY: all fields are integers and pointers, for which zero is a value.
        let mut message: libc::msghdr = unsafe { zeroed() };
        message.msg_iov = parts.as_mut_ptr();
        message.msg_iovlen = parts.len() as _;
        message.msg_control = control.as_mut_ptr().cast::<c_void>();
        message.msg_controllen = size_of::<Control>() as _;
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        // SAFETY: the message points to live buffers with their lengths, which the kernel may write until it returns.
        let received =
            sys::check_size(unsafe { libc::recvmsg(self.socket.as_raw_fd(), &mut message, flags) })
                .ok()?;
        (received == VNET_BYTES + bytes.len()).then(|| (vnet, auxdata(&message)))
    }
}

/// Finds `tpacket_auxdata` among the control messages.
fn auxdata(message: &libc::msghdr) -> Option<tpacket_auxdata> {
    // SAFETY: the kernel filled the control buffer and its length; the buffer still lives, and the macros stay inside
    // that length.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(message);
        while let Some(header) = control.as_ref() {
            let long_enough =
                header.cmsg_len >= libc::CMSG_LEN(size_of::<tpacket_auxdata>() as u32) as usize;
            if header.cmsg_level == libc::SOL_PACKET
                && header.cmsg_type == libc::PACKET_AUXDATA
                && long_enough
            {
                let data = libc::CMSG_DATA(control).cast::<tpacket_auxdata>();
                return Some(data.read_unaligned());
            }
            control = libc::CMSG_NXTHDR(message, control);
        }
    }
    None
}
