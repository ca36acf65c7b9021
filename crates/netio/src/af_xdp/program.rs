//! The program on a device, made of instructions and loaded by bpf(2).

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use super::socket::while_busy;
use super::{XdpMode, XdpRefusal};
use crate::af_packet;
use crate::sys;

const BPF_MAP_CREATE: libc::c_int = 0;
const BPF_MAP_UPDATE_ELEM: libc::c_int = 2;
const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_LINK_CREATE: libc::c_int = 28;
const BPF_MAP_TYPE_XSKMAP: u32 = 17;
const BPF_PROG_TYPE_XDP: u32 = 6;
const BPF_XDP: u32 = 37;
const BPF_F_XDP_HAS_FRAGS: u32 = 1 << 5;
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;

/// The licence that the kernel is told; the program uses no helper that asks for another.
const LICENSE: &CStr = c"Apache-2.0";

/// A program, the map of sockets that it sends to, and, when attached, the link to its device. All
/// of it goes with the last descriptor, thus with the process at the latest.
#[derive(Debug)]
pub(super) struct Attachment {
    index: u32,
    sockets: OwnedFd,
    program: OwnedFd,
    /// Keeps the device in promiscuous mode.
    _promiscuous: OwnedFd,
    link: OnceLock<(OwnedFd, XdpMode)>,
}

impl Attachment {
    /// Loads a program for a device of so many queues; `pieces` if frames may come in several.
    pub(super) fn new(index: u32, queues: u32, pieces: bool) -> Result<Self, XdpRefusal> {
        let sockets = create_map(queues).map_err(XdpRefusal::at("making the map of sockets"))?;
        let program = load(&sockets, pieces).map_err(XdpRefusal::at("loading the XDP program"))?;
        let promiscuous =
            af_packet::promiscuous(index).map_err(XdpRefusal::at("promiscuous mode"))?;
        Ok(Self {
            index,
            sockets,
            program,
            _promiscuous: promiscuous,
            link: OnceLock::new(),
        })
    }

    /// Has the program send the frames of a queue to this bound socket.
    pub(super) fn add(&self, queue: u32, socket: &OwnedFd) -> Result<(), XdpRefusal> {
        let value = socket.as_raw_fd();
        let attributes: [u64; 4] = [
            self.sockets.as_raw_fd() as u64,
            std::ptr::from_ref(&queue) as u64,
            std::ptr::from_ref(&value) as u64,
            0,
        ];
        // SAFETY: key and value are live words of 32 bits, as the map's are; the kernel reads them.
        unsafe { bpf(BPF_MAP_UPDATE_ELEM, &attributes) }
            .map_err(XdpRefusal::at("adding a socket to the map"))?;
        Ok(())
    }

    /// Attaches the program to its device.
    pub(super) fn attach(self, mode: XdpMode) -> Result<Arc<Self>, XdpRefusal> {
        let (flags, step) = match mode {
            XdpMode::Native => (XDP_FLAGS_DRV_MODE, "attaching XDP in the driver"),
            XdpMode::Generic => (XDP_FLAGS_SKB_MODE, "attaching generic XDP"),
        };
        let attributes: [u32; 4] = [self.program.as_raw_fd() as u32, self.index, BPF_XDP, flags];
        // SAFETY: the attributes hold no pointers.
        let attempt = || unsafe { bpf_descriptor(BPF_LINK_CREATE, &attributes) };
        let link = while_busy(attempt).map_err(XdpRefusal::at(step))?;
        let _ = self.link.set((link, mode));
        Ok(Arc::new(self))
    }

    /// How it was attached.
    pub(super) fn mode(&self) -> XdpMode {
        self.link.get().map_or(XdpMode::Generic, |(_, mode)| *mode)
    }
}

fn create_map(queues: u32) -> io::Result<OwnedFd> {
    let attributes: [u32; 4] = [BPF_MAP_TYPE_XSKMAP, 4, 4, queues];
    // SAFETY: the attributes hold no pointers.
    unsafe { bpf_descriptor(BPF_MAP_CREATE, &attributes) }
}

fn load(sockets: &OwnedFd, pieces: bool) -> io::Result<OwnedFd> {
    let instructions = instructions(sockets.as_raw_fd());
    let low_high = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let flags = if pieces { BPF_F_XDP_HAS_FRAGS } else { 0 };
    // `union bpf_attr`, the part for BPF_PROG_LOAD.
    let attributes: [u64; 9] = [
        low_high(BPF_PROG_TYPE_XDP, instructions.len() as u32),
        instructions.as_ptr() as u64,
        LICENSE.as_ptr() as u64,
        0, // no log
        0,
        low_high(0, flags),
        u64::from_ne_bytes(*b"ferroute"),
        0,
        low_high(0, BPF_XDP),
    ];
    // SAFETY: instructions and licence are live for the call, with the length told; the kernel
    // only reads them.
    unsafe { bpf_descriptor(BPF_PROG_LOAD, &attributes) }
}

/// `return bpf_redirect_map(&sockets, context->rx_queue_index, XDP_PASS)`: to the socket of the
/// queue, or on to the kernel if there is none.
fn instructions(sockets: i32) -> [u64; 6] {
    const LOAD_WORD: u8 = 0x61;
    const LOAD_IMMEDIATE_64: u8 = 0x18;
    const MOVE_IMMEDIATE: u8 = 0xb7;
    const CALL: u8 = 0x85;
    const EXIT: u8 = 0x95;
    const MAP_DESCRIPTOR: u8 = 1;
    const RX_QUEUE_INDEX: i16 = 16; // in `struct xdp_md`
    const REDIRECT_MAP: i32 = 51;
    const XDP_PASS: i32 = 2;
    [
        instruction(LOAD_WORD, 2, 1, RX_QUEUE_INDEX, 0),
        instruction(LOAD_IMMEDIATE_64, 1, MAP_DESCRIPTOR, 0, sockets),
        0, // the upper half of the immediate
        instruction(MOVE_IMMEDIATE, 3, 0, 0, XDP_PASS),
        instruction(CALL, 0, 0, 0, REDIRECT_MAP),
        instruction(EXIT, 0, 0, 0, 0),
    ]
}

/// `struct bpf_insn` as it lies in memory.
const fn instruction(code: u8, target: u8, source: u8, offset: i16, immediate: i32) -> u64 {
    let [o0, o1] = offset.to_ne_bytes();
    let [i0, i1, i2, i3] = immediate.to_ne_bytes();
    u64::from_ne_bytes([code, source << 4 | target, o0, o1, i0, i1, i2, i3])
}

/// bpf(2) with a command that makes a descriptor.
///
/// # Safety
/// As `bpf`.
unsafe fn bpf_descriptor<T>(command: libc::c_int, attributes: &T) -> io::Result<OwnedFd> {
    // SAFETY: the caller vouches for the attributes.
    let fd = unsafe { bpf(command, attributes)? };
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// bpf(2); attributes that are not there count as zero.
///
/// # Safety
/// `T` is the beginning of the part of `union bpf_attr` for this command, and its pointers are
/// valid for what the command does with them.
unsafe fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<libc::c_int> {
    // SAFETY: pointer and length are those of a live value; the caller vouches for the rest.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_ref(attributes),
            size_of::<T>(),
        )
    };
    sys::check(result as libc::c_int)
}
