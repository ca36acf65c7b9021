//! Loads and attaches the XDP program of a device; `offload` generates its instructions.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use ::offload as instructions;
use frame::switch::SwitchPort;
use instructions::Installer;

use super::offload::{SharedMap, XdpOffload};
use super::socket::while_busy;
use super::{XdpMode, XdpRefusal, bpf};
use crate::af_packet;

const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;

/// A program, its socket map and, once attached, its link to the device. The kernel removes them with the last
/// descriptor, at the latest with the process.
#[derive(Debug)]
pub(super) struct Attachment {
    index: u32,
    sockets: OwnedFd,
    program: OwnedFd,
    /// Keeps the device promiscuous.
    _promiscuous: OwnedFd,
    link: OnceLock<(OwnedFd, XdpMode)>,
    offloaded: Option<Offloaded>,
}

impl Attachment {
    /// Loads a program with flow and bridge offload for a device with this number of queues; `pieces` is true if
    /// frames may arrive in several pieces.
    pub(super) fn new(
        index: u32,
        queues: u32,
        pieces: bool,
        offload: Option<&XdpOffload>,
    ) -> Result<Self, XdpRefusal> {
        let sockets = bpf::create_map(bpf::XSKMAP, 4, queues)
            .map_err(XdpRefusal::at("creating the socket map"))?;
        let (program, offloaded) = load(&sockets, index, pieces, offload)
            .map_err(XdpRefusal::at("loading the XDP program"))?;
        let promiscuous =
            af_packet::promiscuous(index).map_err(XdpRefusal::at("promiscuous mode"))?;
        Ok(Self {
            index,
            sockets,
            program,
            _promiscuous: promiscuous,
            link: OnceLock::new(),
            offloaded,
        })
    }

    /// Directs the frames of a queue to this bound socket.
    pub(super) fn add(&self, queue: u32, socket: &OwnedFd) -> Result<(), XdpRefusal> {
        bpf::put(&self.sockets, queue, socket).map_err(XdpRefusal::at("adding a socket to the map"))
    }

    /// Attaches the program to its device.
    pub(super) fn attach(self, mode: XdpMode) -> Result<Arc<Self>, XdpRefusal> {
        let (flags, step) = match mode {
            XdpMode::Native => (XDP_FLAGS_DRV_MODE, "attaching XDP in the driver"),
            XdpMode::Generic => (XDP_FLAGS_SKB_MODE, "attaching generic XDP"),
        };
        let attempt = || bpf::attach(&self.program, self.index, flags);
        let link = while_busy(attempt).map_err(XdpRefusal::at(step))?;
        let _ = self.link.set((link, mode));
        Ok(Arc::new(self))
    }

    /// XDP mode in use.
    pub(super) fn mode(&self) -> XdpMode {
        self.link.get().map_or(XdpMode::Generic, |(_, mode)| *mode)
    }

    /// Installs flows for a port of the device.
    pub(super) fn installer(&self) -> Option<Installer<SharedMap>> {
        let offloaded = self.offloaded.as_ref()?;
        let table = offloaded.offload.table();
        Some(table.installer(offloaded.entrance, self.index))
    }

    /// Index of the device in the bridge offload.
    pub(super) fn seat(&self) -> Option<SwitchPort> {
        self.offloaded.as_ref()?.seat
    }
}

/// Offload functions of a program.
#[derive(Debug)]
struct Offloaded {
    offload: XdpOffload,
    /// Index of the device in the flow table.
    entrance: u32,
    /// Index of the device in the bridge offload; `None` if all are in use or the kernel rejects a program with
    /// bridging.
    seat: Option<SwitchPort>,
}

impl Drop for Offloaded {
    fn drop(&mut self) {
        if let Some(seat) = self.seat {
            self.offload.maps().leave(seat);
        }
    }
}

/// Loads the program for a device. If the kernel rejects flow or bridge offload, loads it without, and logs that.
fn load(
    sockets: &OwnedFd,
    index: u32,
    pieces: bool,
    offload: Option<&XdpOffload>,
) -> io::Result<(OwnedFd, Option<Offloaded>)> {
    let sockets = sockets.as_raw_fd();
    if let Some(offload) = offload {
        let mut offloaded = Offloaded {
            entrance: offload.table().entrance(),
            seat: offload.maps().enter(index),
            offload: offload.clone(),
        };
        for _ in 0..2 {
            let switching = offloaded.seat.map(|seat| (&**offload.maps(), seat));
            let shortcuts = (&**offload.table(), offloaded.entrance);
            let program = instructions::program(sockets, switching, Some(shortcuts));
            match bpf::load(&program, pieces) {
                Ok(program) => return Ok((program, Some(offloaded))),
                Err(error) => {
                    tracing::warn!("this kernel does not support XDP offload: {error}")
                }
            }
            let Some(seat) = offloaded.seat.take() else {
                break;
            };
            offload.maps().leave(seat);
        }
    }
    let program = instructions::program::<SharedMap>(sockets, None, None);
    Ok((bpf::load(&program, pieces)?, None))
}
