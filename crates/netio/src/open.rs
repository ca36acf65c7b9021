//! Opens ports from a specification: `xdp:eth1`, `packet:eth1`, `tap:name`, `pcap:in.pcap,out.pcap`, or a bare
//! `eth1`, which selects the best driver that works.
//!
//! | kind of device | best driver |
//! |---|---|
//! | hardware | XDP in the driver, else AF_PACKET |
//! | virtual (veth, tun, bridge …) | AF_PACKET |
//!
//! A virtual device passes on frames of a kernel stack, with unfinished checksums and merged segments. XDP cannot see
//! these, so the router would forward damaged packets. Operators who disabled the offloads at the far end may use
//! `xdp:`.

mod spec;

use std::fmt;
use std::io;
use std::path::Path;

use frame::Port;

pub use spec::{Spec, SpecError};

use crate::af_xdp;
use crate::link::{Link, Links};
use crate::takeover::{self, DeviceOwner, Takeover};
use crate::{
    Layer, PacketPort, PcapPort, TapPort, Tether, Umem, XdpMode, XdpOffload, XdpPort, XdpRefusal,
};

/// Parameters of `open`: workers, ring size, MTU, takeover, settings folder and offload.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Memory of each worker's pool; there is at least one worker.
    pub workers: &'a [Umem],
    /// Entries of each AF_XDP ring, a power of two (`XDP_RING`, or less if a worker has many ports).
    pub ring: u32,
    /// Minimum MTU in bytes for a device that is taken over; `None` keeps the device's MTU. The device gets its own
    /// MTU back when it is released.
    pub mtu: Option<u32>,
    /// Take a device even if it carries the host's default route, belongs to a bridge or bond of the host, or was
    /// left behind by a killed router. The first two do not matter for a device that the folder `state` owned before.
    pub take: bool,
    /// Folder that records the addresses and settings of taken devices. `None` leaves the kernel's addresses on the
    /// device, and with AF_PACKET the kernel receives the frames, too: for tests and benchmarks with devices that
    /// nothing else uses.
    pub state: Option<&'a Path>,
    /// Flow offload of AF_XDP ports.
    pub offload: Option<&'a XdpOffload>,
}

/// Open ports of one device.
pub struct Opened {
    /// Port `n` belongs to worker `n % workers`. There may be more ports than workers (one per receive queue) or, for
    /// files, fewer.
    pub ports: Vec<Box<dyn Port>>,
    /// Driver in use, such as `xdp-generic` or `packet`.
    pub driver: &'static str,
    /// Remark for the operator about the driver.
    pub note: Option<&'static str>,
    /// Why better drivers are not used, one line each: `driver: reason`.
    pub reasons: Vec<String>,
    /// Why the device does not have the requested MTU.
    pub mtu_refused: Option<String>,
    /// Maximum MTU in bytes of the open ports; for a larger one they must be reopened. `None` is unlimited.
    pub mtu_max: Option<u32>,
    /// The device, unless the port is a file.
    pub link: Option<Link>,
    /// Releases the device when dropped; close the ports first.
    pub takeover: Option<Takeover>,
    /// Handle of a TAP device, which may move to another network namespace.
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

/// Reason why nothing was opened. All changes were undone.
#[derive(Debug)]
pub enum OpenError {
    /// The device does not exist; it may appear later.
    NoDevice(String),
    /// The device carries the host's default route, and `take` is not set.
    DefaultRoute(String),
    /// The device belongs to this bridge, bond or similar device, and `take` is not set.
    Port(String, String),
    /// Another router has the device.
    Held(String, DeviceOwner),
    /// Loopback device of the host.
    Loopback(String),
    /// The requested driver, or the last one tried, does not work: `driver: reason`.
    Driver(String),
    /// The device could not be taken over from the kernel.
    Takeover(io::Error),
    /// A query about the device failed.
    System(io::Error),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDevice(device) => write!(f, "no device {device}"),
            Self::DefaultRoute(device) => write!(
                f,
                "{device} carries this machine's default route; --take takes it over anyway"
            ),
            Self::Port(device, master) => write!(
                f,
                "{device} is a port of {master}; --take takes it over anyway"
            ),
            Self::Held(device, DeviceOwner::By(process, name)) => {
                write!(f, "another router uses {device}: process {process}")?;
                name.as_ref().map_or(Ok(()), |name| write!(f, " ({name})"))
            }
            Self::Held(device, DeviceOwner::Elsewhere) => write!(
                f,
                "another router uses {device}: a process in another PID namespace, such as a container"
            ),
            Self::Held(device, DeviceOwner::Program) => write!(
                f,
                "another program receives the frames of {device} by XDP; --take takes the device over anyway"
            ),
            Self::Held(device, DeviceOwner::Left(file)) => {
                write!(f, "a killed router did not restore {device}; ")?;
                match file {
                    Some(file) => write!(
                        f,
                        "start once with the state folder that contains {}, the saved settings of {device}",
                        file.display()
                    ),
                    None => write!(
                        f,
                        "start once with the state folder of that router, which contains the saved settings of {device}"
                    ),
                }?;
                f.write_str(
                    "; --take takes the device over anyway, and the saved settings are lost",
                )
            }
            Self::Loopback(device) => write!(
                f,
                "{device} is this machine's loopback device, which has no peers"
            ),
            Self::Driver(reason) => f.write_str(reason),
            Self::Takeover(error) => write!(f, "takeover of the device: {}", explain(error)),
            Self::System(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OpenError {}

/// Opens the ports of `spec` in the network namespace of the calling thread.
///
/// # Errors
/// Returns the reason why nothing was opened.
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

/// Driver of a kernel device.
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

/// XDP mode for `xdp:`; veth's native mode copies each frame of a kernel sender, so generic mode is faster.
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

/// Refuses a device that the host itself needs.
fn refuse_needed(link: &Link) -> Result<(), OpenError> {
    if let Some(master) = master(link).map_err(OpenError::System)? {
        return Err(OpenError::Port(link.name.clone(), master));
    }
    match takeover::carries_default_route(link).map_err(OpenError::System)? {
        true => Err(OpenError::DefaultRoute(link.name.clone())),
        false => Ok(()),
    }
}

/// Kind and name of the device's master, such as `bridge br0`.
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

/// Opens a device with the first driver that works.
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
    // A device opened by an alternative name uses the same state file.
    let device = &link.name.clone();
    let was_owned = |folder| takeover::was_owned(folder, &link);
    if !request.take && !request.state.is_some_and(was_owned) {
        refuse_needed(&link)?;
    }
    let file = request.state;
    let file = file.map(|folder| folder.join(format!("{device}.taken")));
    match takeover::held(&link, file.as_deref()).map_err(OpenError::System)? {
        None => {}
        Some(DeviceOwner::Program) if request.take => {}
        Some(DeviceOwner::Left(_)) if request.take => tracing::warn!(
            "{device}: taken over from a killed router; its former addresses, routes and IPv6 settings are not \
             known here and will not be restored"
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
            // A kernel without filters: XDP alone already keeps frames from the kernel and other programs.
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

/// Open ports, the reasons against better drivers, and why the device does not have the requested MTU.
type WithMtu = (Driven, Vec<String>, Option<String>);

/// Opens a device with the requested MTU, or with its former MTU if the device or every driver refuses. Updates the
/// MTU of `link`.
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

/// Opens a device with the first driver that works, and records why the earlier ones did not.
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

/// Ports with their driver and the operator's remark.
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

/// Explains why a device refuses an MTU, with its maximum if known.
pub fn explain_mtu(link: &Link, mtu: Option<u32>, error: &io::Error) -> String {
    match link.mtu_max {
        Some(most) if mtu > Some(most) => {
            format!("{}: the maximum MTU is {most} bytes", link.name)
        }
        _ => format!("{}: {}", link.name, explain(error)),
    }
}

/// The system's error message, with advice for known causes.
fn explain(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            format!("{error}: this needs root, or a user namespace with its own network namespace")
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
    let single = "the device has a single queue, which one worker uses";
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
