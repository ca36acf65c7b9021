//! The program on a device, loaded and attached; its instructions come from `offload`.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use offload::Installer;

use super::shortcuts::{SharedMap, XdpShortcuts};
use super::socket::while_busy;
use super::{XdpMode, XdpRefusal, bpf};
use crate::af_packet;

const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;

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
    /// The shortcuts that the program takes, and which entrance it is.
    shortcuts: Option<(XdpShortcuts, u32)>,
}

impl Attachment {
    /// Loads a program for a device of so many queues, which takes these shortcuts; `pieces` if frames may
    /// come in several.
    pub(super) fn new(
        index: u32,
        queues: u32,
        pieces: bool,
        shortcuts: Option<&XdpShortcuts>,
    ) -> Result<Self, XdpRefusal> {
        let sockets = bpf::create_map(bpf::XSKMAP, 4, queues)
            .map_err(XdpRefusal::at("making the map of sockets"))?;
        let (program, shortcuts) =
            load(&sockets, pieces, shortcuts).map_err(XdpRefusal::at("loading the XDP program"))?;
        let promiscuous =
            af_packet::promiscuous(index).map_err(XdpRefusal::at("promiscuous mode"))?;
        Ok(Self {
            index,
            sockets,
            program,
            _promiscuous: promiscuous,
            link: OnceLock::new(),
            shortcuts,
        })
    }

    /// Has the program send the frames of a queue to this bound socket.
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

    /// How it was attached.
    pub(super) fn mode(&self) -> XdpMode {
        self.link.get().map_or(XdpMode::Generic, |(_, mode)| *mode)
    }

    /// What installs shortcuts for a port of the device.
    pub(super) fn installer(&self) -> Option<Installer<SharedMap>> {
        let (shortcuts, entrance) = self.shortcuts.as_ref()?;
        Some(shortcuts.table().installer(*entrance, self.index))
    }
}

type Taken = Option<(XdpShortcuts, u32)>;

/// Loads the program. On a kernel that does not take it with shortcuts it has none, and says so.
fn load(
    sockets: &OwnedFd,
    pieces: bool,
    shortcuts: Option<&XdpShortcuts>,
) -> io::Result<(OwnedFd, Taken)> {
    if let Some(shortcuts) = shortcuts {
        let entrance = shortcuts.table().entrance();
        let program = shortcuts.table().program(sockets.as_raw_fd(), entrance);
        match bpf::load(&program, pieces) {
            Ok(program) => return Ok((program, Some((shortcuts.clone(), entrance)))),
            Err(error) => tracing::warn!("this kernel takes no shortcuts by XDP: {error}"),
        }
    }
    let program = offload::to_sockets(sockets.as_raw_fd());
    Ok((bpf::load(&program, pieces)?, None))
}
