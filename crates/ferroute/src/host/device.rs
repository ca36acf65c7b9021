//! Work on mirror devices in the namespace: TUN devices and netlink requests.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use dataplane::zone;
use frame::{InterfaceId, Offloads, Port};
use netio::link::Links;
use netio::{Layer, Readiness, TapPort, Waker};
use router::mirror::{HostSettings, Mirror};

use super::HostPlane;
use super::netlink::{DefaultRoute, Netlink};
use super::shared::Share;

/// Maximum MTU of a TUN device in bytes; `lo` has one more.
const MAX_MTU: u32 = 65_535;

/// MTU of the shared mirror in bytes. The networks of its members have the MTU of their interfaces.
const SHARED_MTU: u32 = 1500;
/// Prefix length of link-local addresses with zones (RFC 4291, 2.4).
const LINK_LOCAL_LEN: u8 = 10;

/// One unit of work.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Create the mirror of an interface.
    Make(InterfaceId, Mirror),
    /// Turn a device into another mirror.
    Change {
        index: u32,
        before: DeviceState,
        wanted: Mirror,
    },
    /// Remove a device.
    Remove(u32),
    /// Create the mirror of point-to-point interfaces.
    MakeShared,
    /// Add or remove an entry of the shared mirror.
    Share {
        index: u32,
        share: Share,
        wanted: bool,
    },
    /// Add a default route to a device.
    Default { index: u32, route: DefaultRoute },
    /// Remove a default route.
    NoDefault { index: u32, route: DefaultRoute },
    /// Set the rate of ICMP errors per host.
    Settings(HostSettings),
}

/// Known state of a device.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeviceState {
    /// Configuration of the device; it has no addresses beyond these.
    pub(crate) mirror: Mirror,
    /// True after a failure: the device may have less.
    pub(crate) unsure: bool,
}

/// A new device.
pub(crate) struct Made {
    /// Device index in the namespace.
    pub(crate) index: u32,
    /// Offloads of the port.
    pub(crate) offloads: Offloads,
    /// The only queue. Closing it removes the device.
    pub(crate) port: Box<dyn Port>,
}

/// Results of steps, in order.
pub(crate) type Outcomes = Vec<io::Result<Option<Made>>>;

/// Executor of steps.
pub(crate) trait Plane {
    /// Starts the steps in this order, whether others fail or not, and returns at once. Wakes `wake` when the
    /// results are available.
    fn take(&self, steps: Vec<Step>, wake: &Waker) -> Receiver<Outcomes>;
}

impl Plane for HostPlane {
    fn take(&self, steps: Vec<Step>, wake: &Waker) -> Receiver<Outcomes> {
        let (readiness, wake) = (Arc::clone(&self.readiness), wake.clone());
        let (tell, told) = channel();
        self.begin(move || {
            let outcomes = match Netlink::open() {
                Ok(mut netlink) => {
                    let take = |step: &Step| step.take(&mut netlink, &readiness);
                    steps.iter().map(take).collect()
                }
                Err(error) => {
                    let again = || Err(io::Error::new(error.kind(), error.to_string()));
                    std::iter::repeat_with(again).take(steps.len()).collect()
                }
            };
            let _ = tell.send(outcomes);
            wake.wake();
        });
        told
    }
}

impl Step {
    /// Carries out the step in the calling thread's namespace.
    fn take(&self, netlink: &mut Netlink, readiness: &Arc<Readiness>) -> io::Result<Option<Made>> {
        match self {
            Self::Make(id, mirror) => return make(*id, mirror, netlink, readiness).map(Some),
            Self::Change {
                index,
                before,
                wanted,
            } => change(*index, before, wanted, netlink)?,
            Self::Remove(index) => netlink.remove_link(*index)?,
            Self::MakeShared => return make_shared(netlink, readiness).map(Some),
            Self::Share {
                index,
                share,
                wanted,
            } => share.set(*index, *wanted, netlink)?,
            Self::Default { index, route } => netlink.set_default(*index, route, true)?,
            Self::NoDefault { index, route } => netlink.set_default(*index, route, false)?,
            Self::Settings(settings) => super::apply(settings)?,
        }
        Ok(None)
    }
}

fn make(
    id: InterfaceId,
    mirror: &Mirror,
    netlink: &mut Netlink,
    readiness: &Arc<Readiness>,
) -> io::Result<Made> {
    let made = open(&name(id), netlink, readiness)?;
    change(made.index, &DeviceState::default(), mirror, netlink)?;
    Ok(made)
}

/// Creates the shared device. It uses slot 0, which no interface has.
fn make_shared(netlink: &mut Netlink, readiness: &Arc<Readiness>) -> io::Result<Made> {
    let made = open(&name(InterfaceId::NONE), netlink, readiness)?;
    netlink.set_alias(made.index, "point-to-point")?;
    netlink.link_up(made.index, Some(SHARED_MTU))?;
    netlink.add_address(made.index, zone::HOST.into(), LINK_LOCAL_LEN)?;
    Ok(made)
}

fn open(name: &str, netlink: &mut Netlink, readiness: &Arc<Readiness>) -> io::Result<Made> {
    let mut queues = TapPort::open(name, Layer::Tun, 1)?;
    let mut port = queues
        .pop()
        .ok_or_else(|| io::Error::other("the device has no queue"))?;
    port.share(readiness)?;
    let index = Links::open()?.find(name)?.index;
    netlink.set_mirror(index)?;
    Ok(Made {
        index,
        offloads: port.offloads(),
        port: Box::new(port),
    })
}

/// Returns the device name: built from the interface number, since interface names may be too long or ambiguous
/// after truncation. The alias holds the interface's name.
///
/// The number is that of the slot: with its generation it would be too long.
pub(crate) fn name(id: InterfaceId) -> String {
    format!("mirror{}", id.slot())
}

fn change(
    index: u32,
    before: &DeviceState,
    wanted: &Mirror,
    netlink: &mut Netlink,
) -> io::Result<()> {
    if before.unsure || before.mirror.name != wanted.name {
        netlink.set_alias(index, &wanted.name)?;
    }
    if before.unsure || before.mirror.mtu != wanted.mtu {
        netlink.link_up(index, Some(wanted.mtu.min(MAX_MTU)))?;
    }
    let (had, has) = (&before.mirror.addresses, &wanted.addresses);
    let is_new = |address: &&(IpAddr, u8)| before.unsure || !had.contains(address);
    for (address, len) in had.iter().filter(|address| !has.contains(address)) {
        netlink.remove_address(index, *address, *len)?;
    }
    for (address, len) in has.iter().filter(is_new) {
        netlink.add_address(index, *address, *len)?;
    }
    Ok(())
}
