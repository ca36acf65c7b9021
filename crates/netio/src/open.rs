//! From what the operator writes to ports: `xdp:eth1`, `packet:eth1`, `tap:name`,
//! `pcap:in.pcap,out.pcap`, or a bare `eth1`, for which the best driver that works is taken.
//!
//! | kind of device | best driver |
//! |---|---|
//! | hardware | XDP in the driver, else AF_PACKET |
//! | virtual (veth, tun, bridge …) | AF_PACKET |
//!
//! A virtual device hands over what a kernel's stack sends, with unfinished checksums and merged
//! segments, which XDP cannot see: it would route damaged packets. Whoever has switched that off at
//! the far end may name `xdp:`.

mod spec;

use std::fmt;
use std::io;
use std::path::Path;

use frame::Port;

pub use spec::{Spec, SpecError};

use crate::af_xdp;
use crate::link::{Link, Links};
use crate::takeover::{self, Held, Takeover};
use crate::{
    Layer, PacketPort, PcapPort, TapPort, Tether, Umem, XdpMode, XdpOffload, XdpPort, XdpRefusal,
};

/// What is to be opened, and for whom.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The memory of each worker's pool; there is at least one worker.
    pub workers: &'a [Umem],
    /// Entries of each AF_XDP ring, a power of two (`XDP_RING`, or less where a worker has many
    /// ports).
    pub ring: u32,
    /// The least MTU that the device is to have, in bytes; none if its own will do. It is for devices that are taken
    /// over, which have their own again when they are given back.
    pub mtu: Option<u32>,
    /// Whether a device may be taken that carries the machine's default route, is a port of its bridge or bond, or
    /// was left by a router that was killed. The first two are no matter of a device that the folder `state` has had.
    pub take: bool,
    /// The folder in which it is remembered what was on a device. None leaves the kernel's
    /// addresses on it, and the kernel receives what it does by AF_PACKET: for tests and
    /// benchmarks with devices that nobody else uses.
    pub state: Option<&'a Path>,
    /// What ports of AF_XDP learn to forward by themselves.
    pub offload: Option<&'a XdpOffload>,
}

/// Open ports of one device.
pub struct Opened {
    /// The port at `n` belongs to worker `n % workers`; there may be more ports than workers (a
    /// port for each receive queue) or, of files, fewer.
    pub ports: Vec<Box<dyn Port>>,
    /// The driver that was taken, such as `xdp-generic` or `packet`.
    pub driver: &'static str,
    /// Remarks for the operator on how it works.
    pub note: Option<&'static str>,
    /// Why it is not a better one, a line for each: `driver: reason`.
    pub reasons: Vec<String>,
    /// Why the device does not have the MTU that was asked for.
    pub mtu_refused: Option<String>,
    /// The longest MTU that the ports take as they are, in bytes: for a longer one they are to be opened anew. None
    /// if any will do.
    pub mtu_max: Option<u32>,
    /// The device, for those that have one.
    pub link: Option<Link>,
    /// Gives the device back when dropped; the ports are to be closed before.
    pub takeover: Option<Takeover>,
    /// Of a TAP device, which may be moved to another network namespace.
    pub tether: Option<Tether>,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened")
            .field("ports", &self.ports.len())
            .field("driver", &self.driver)
            .field("note", &self.note)
            .field("reasons", &self.reasons)
            .field("mtu_refused", &self.mtu_refused)
            .field("mtu_max", &self.mtu_max)
            .field("link", &self.link)
            .field("takeover", &self.takeover)
            .finish()
    }
}

/// Why nothing was opened. Nothing was changed, or it was put back.
#[derive(Debug)]
pub enum OpenError {
    /// There is no such device (it may come).
    NoDevice(String),
    /// The machine would lose its default route, and that was not asked for.
    DefaultRoute(String),
    /// It belongs to a bridge, a bond or the like, in these words, and that was not asked for.
    Port(String, String),
    /// Another router has it: one that runs, or, where that cannot be told, it was not asked for all the same.
    Held(String, Held),
    /// The machine's programs speak to each other by it, and nobody else is there.
    Loopback(String),
    /// The driver that was asked for, or the last one that was tried, does not work:
    /// `driver: reason`.
    Driver(String),
    /// The device could not be taken over from the kernel.
    Takeover(io::Error),
    /// The system's answer to a question about the device.
    System(io::Error),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDevice(device) => write!(f, "no device {device}"),
            Self::DefaultRoute(device) => write!(
                f,
                "{device} carries this machine's default route; --take takes it all the same"
            ),
            Self::Port(device, master) => write!(
                f,
                "{device} is a port of {master}; --take takes it all the same"
            ),
            Self::Held(device, Held::By(process, name)) => {
                write!(f, "another router has {device}: process {process}")?;
                name.as_ref().map_or(Ok(()), |name| write!(f, " ({name})"))
            }
            Self::Held(device, Held::Elsewhere) => write!(
                f,
                "another router has {device}: a process of another process namespace, such as a container's"
            ),
            Self::Held(device, Held::Program) => write!(
                f,
                "another program has the frames of {device}, by XDP; --take takes it all the same"
            ),
            Self::Held(device, Held::Left(file)) => {
                write!(
                    f,
                    "a router that was killed had {device} and has not given it back; "
                )?;
                match file {
                    Some(file) => write!(
                        f,
                        "start once with the state folder that has {}, where it is written what was on {device}",
                        file.display()
                    ),
                    None => write!(
                        f,
                        "start once with the state folder of that router, where it is written what was on {device}"
                    ),
                }?;
                f.write_str("; --take takes it all the same, and that is lost")
            }
            Self::Loopback(device) => write!(
                f,
                "{device} is this machine's way to itself, and leads nowhere"
            ),
            Self::Driver(reason) => f.write_str(reason),
            Self::Takeover(error) => write!(f, "taking the device over: {}", explain(error)),
            Self::System(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OpenError {}

/// Opens what `spec` names, in the network namespace of the calling thread.
///
/// # Errors
/// Why it cannot be opened.
pub fn open(spec: &Spec, request: &Request<'_>) -> Result<Opened, OpenError> {
    match spec {
        Spec::Tap(name) => open_tap(name, request),
        Spec::Pcap { input, output } => open_files(input.as_deref(), output.as_deref()),
        Spec::Packet(device) => open_device(device, request, &[Driver::Packet], Vec::new()),
        Spec::Xdp { device, mode } => {
            let mode = match mode {
                Some(mode) => *mode,
                None => mode_for(&find(device)?),
            };
            open_device(device, request, &[Driver::Xdp(mode)], Vec::new())
        }
        Spec::Best(device) => {
            let link = find(device)?;
            match &link.kind {
                None => {
                    let drivers = [Driver::Xdp(XdpMode::Native), Driver::Packet];
                    open_device(device, request, &drivers, Vec::new())
                }
                Some(kind) => {
                    let reason = format!(
                        "xdp: a {kind} device hands over unfinished checksums and merged segments, which \
                         XDP cannot see"
                    );
                    open_device(device, request, &[Driver::Packet], vec![reason])
                }
            }
        }
    }
}

/// A driver for a device of the kernel's.
#[derive(Clone, Copy, Debug)]
enum Driver {
    Xdp(XdpMode),
    Packet,
}

impl Driver {
    fn name(self) -> &'static str {
        match self {
            Self::Xdp(XdpMode::Native) => "xdp-native",
            Self::Xdp(XdpMode::Generic) => "xdp-generic",
            Self::Packet => "packet",
        }
    }
}

/// What `xdp:` means for a device: veth's native mode copies each frame of a kernel sender.
fn mode_for(link: &Link) -> XdpMode {
    match link.kind.as_deref() {
        Some("veth") => XdpMode::Generic,
        _ => XdpMode::Native,
    }
}

fn find(device: &str) -> Result<Link, OpenError> {
    let found = Links::open().and_then(|mut links| links.find(device));
    found.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => OpenError::NoDevice(device.to_owned()),
        _ => OpenError::System(error),
    })
}

/// Refuses what the machine itself needs.
fn refuse_needed(link: &Link) -> Result<(), OpenError> {
    if let Some(master) = master(link).map_err(OpenError::System)? {
        return Err(OpenError::Port(link.name.clone(), master));
    }
    match takeover::carries_default_route(link).map_err(OpenError::System)? {
        true => Err(OpenError::DefaultRoute(link.name.clone())),
        false => Ok(()),
    }
}

/// The kind and name of what a device is a port of, such as `bridge br0`.
fn master(link: &Link) -> io::Result<Option<String>> {
    let Some(index) = link.master else {
        return Ok(None);
    };
    let master = Links::open()?.find_index(index)?;
    Ok(master.map(|master| match master.kind {
        Some(kind) => format!("{kind} {}", master.name),
        None => master.name,
    }))
}

/// Opens a device by the first of these drivers that works.
fn open_device(
    device: &str,
    request: &Request<'_>,
    drivers: &[Driver],
    reasons: Vec<String>,
) -> Result<Opened, OpenError> {
    if let Some(folder) = request.state {
        takeover::give_back_renamed(folder);
    }
    let mut link = find(device)?;
    if link.loopback {
        return Err(OpenError::Loopback(device.to_owned()));
    }
    // What is asked for by another name has one file and one message all the same.
    let device = &link.name.clone();
    let was_owned = |folder| takeover::was_owned(folder, &link);
    if !request.take && !request.state.is_some_and(was_owned) {
        refuse_needed(&link)?;
    }
    let file = request.state;
    let file = file.map(|folder| folder.join(format!("{device}.taken")));
    match takeover::held(&link, file.as_deref()).map_err(OpenError::System)? {
        None => {}
        Some(Held::Program) if request.take => {}
        Some(Held::Left(_)) if request.take => tracing::warn!(
            "{device}: taken from a router that was killed; its addresses, routes and IPv6 of before that are not \
             known here and will not come back"
        ),
        Some(held) => return Err(OpenError::Held(device.to_owned(), held)),
    }
    let taken = file.map(|file| Takeover::take(device, &file)).transpose();
    let mut taken = taken.map_err(OpenError::Takeover)?;
    let (driven, reasons, mtu_refused) =
        open_with_mtu(&mut link, taken.as_mut(), request, drivers, reasons)?;
    if let Some(taken) = &mut taken {
        match (driven.driver, taken.keep_kernel_off()) {
            (_, Ok(())) => {}
            // A kernel without filters: it gets nothing all the same, and lets no other program in.
            (Driver::Xdp(_), Err(_)) => {}
            (Driver::Packet, Err(error)) => return Err(OpenError::Takeover(error)),
        }
    }
    if let Some(folder) = request.state {
        takeover::note_owned(folder, &link).map_err(OpenError::Takeover)?;
    }
    Ok(Opened {
        ports: driven.ports,
        driver: driven.driver.name(),
        note: driven.note,
        reasons,
        mtu_refused,
        mtu_max: match driven.driver {
            Driver::Xdp(_) => Some(af_xdp::mtu_max(link.mtu)),
            Driver::Packet => None,
        },
        link: Some(link),
        takeover: taken,
        tether: None,
    })
}

/// Ports, why they are not by a better driver, and why the device does not have the MTU that was asked for.
type WithMtu = (Driven, Vec<String>, Option<String>);

/// Opens a device with the MTU that was asked for; with the one that it had where it, or every driver, refuses that.
/// The link then says which it has.
fn open_with_mtu(
    link: &mut Link,
    taken: Option<&mut Takeover>,
    request: &Request<'_>,
    drivers: &[Driver],
    reasons: Vec<String>,
) -> Result<WithMtu, OpenError> {
    let Some(taken) = taken else {
        let (driven, reasons) = open_first(&link.name, request, drivers, reasons)?;
        return Ok((driven, reasons, None));
    };
    let before = link.mtu;
    let refused = match taken.set_mtu(request.mtu) {
        Ok(mtu) => {
            link.mtu = mtu;
            None
        }
        Err(error) => Some(explain_mtu(link, request.mtu, &error)),
    };
    match open_first(&link.name, request, drivers, reasons.clone()) {
        Ok((driven, reasons)) => Ok((driven, reasons, refused)),
        Err(OpenError::Driver(why)) if request.mtu.is_some() && refused.is_none() => {
            let set_back = taken.set_mtu(Some(before));
            link.mtu = set_back.map_err(OpenError::Takeover)?;
            let (driven, reasons) = open_first(&link.name, request, drivers, reasons)?;
            Ok((driven, reasons, Some(why)))
        }
        Err(error) => Err(error),
    }
}

/// Opens a device by the first of these drivers that works, and says why not by those before.
fn open_first(
    device: &str,
    request: &Request<'_>,
    drivers: &[Driver],
    mut reasons: Vec<String>,
) -> Result<(Driven, Vec<String>), OpenError> {
    for driver in drivers {
        match open_by(*driver, device, request) {
            Ok(driven) => return Ok((driven, reasons)),
            Err(reason) => reasons.push(format!("{}: {reason}", driver.name())),
        }
    }
    Err(OpenError::Driver(reasons.pop().unwrap_or_default()))
}

/// Ports, how they are driven, and what is to be remarked on that.
struct Driven {
    ports: Vec<Box<dyn Port>>,
    driver: Driver,
    note: Option<&'static str>,
}

fn open_by(driver: Driver, device: &str, request: &Request<'_>) -> Result<Driven, String> {
    let (ports, note) = match driver {
        Driver::Packet => {
            let ports =
                PacketPort::open(device, request.workers.len()).map_err(|error| explain(&error))?;
            (boxed(ports), None)
        }
        Driver::Xdp(mode) => {
            let ports = XdpPort::open(device, mode, request.workers, request.ring, request.offload)
                .map_err(|refusal| explain_refusal(&refusal))?;
            let zero_copy = ports.iter().any(XdpPort::is_zero_copy);
            let note = zero_copy.then_some("zero copy, which is untested");
            (boxed(ports), note)
        }
    };
    Ok(Driven {
        ports,
        driver,
        note,
    })
}

fn boxed<P: Port + 'static>(ports: Vec<P>) -> Vec<Box<dyn Port>> {
    ports
        .into_iter()
        .map(|port| Box::new(port) as Box<dyn Port>)
        .collect()
}

/// Why a device does not take an MTU, and which it would take where that is known.
pub fn explain_mtu(link: &Link, mtu: Option<u32>, error: &io::Error) -> String {
    match link.mtu_max {
        Some(most) if mtu > Some(most) => {
            format!("{} takes no MTU of more than {most} bytes", link.name)
        }
        _ => format!("{}: {}", link.name, explain(error)),
    }
}

/// The system's words, and what would help where that is known.
fn explain(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            format!("{error}: this needs root, or a user and network namespace of one's own")
        }
        Some(libc::EBUSY) => format!("{error}: another program uses it"),
        _ => error.to_string(),
    }
}

fn explain_refusal(refusal: &XdpRefusal) -> String {
    match refusal {
        XdpRefusal::System { step, error } => match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => format!("{step}: {error}: this needs root"),
            Some(libc::EOPNOTSUPP) => format!("{step}: the device's driver does not support it"),
            _ => format!("{step}: {}", explain(error)),
        },
        other => other.to_string(),
    }
}

fn open_tap(name: &str, request: &Request<'_>) -> Result<Opened, OpenError> {
    let refused = |error: io::Error| OpenError::Driver(format!("tap: {}", explain(&error)));
    let workers = request.workers.len();
    let ports = TapPort::open(name, Layer::Tap, workers).map_err(refused)?;
    let single = "it was made with a single queue, which one worker has";
    let mut links = Links::open().map_err(OpenError::System)?;
    let link = links.find(name).map_err(OpenError::System)?;
    links.set_up(link.index, true).map_err(refused)?;
    let tether = ports.first().map(TapPort::tether).transpose();
    let tether = tether.map_err(OpenError::System)?;
    Ok(Opened {
        note: (ports.len() < workers).then_some(single),
        ports: boxed(ports),
        driver: "tap",
        reasons: Vec::new(),
        mtu_refused: None,
        mtu_max: None,
        link: links.find(name).ok(),
        takeover: None,
        tether,
    })
}

fn open_files(input: Option<&Path>, output: Option<&Path>) -> Result<Opened, OpenError> {
    let port = PcapPort::open(input, output)
        .map_err(|error| OpenError::Driver(format!("pcap: {error}")))?;
    Ok(Opened {
        ports: vec![Box::new(port)],
        driver: "pcap",
        note: None,
        reasons: Vec::new(),
        mtu_refused: None,
        mtu_max: None,
        link: None,
        takeover: None,
        tether: None,
    })
}
