//! What is done to mirror devices, in the namespace: TUN devices, and what netlink tells the kernel of them.

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

/// The largest MTU of a TUN device in bytes; `lo` has one more.
const MTU_MAX: u32 = 65_535;

/// The MTU of the shared mirror in bytes. The networks of its members have the MTU of their interfaces.
const SHARED_MTU: u32 = 1500;
/// All link-local addresses, with zones (RFC 4291, 2.4).
const LINK_LOCAL_LEN: u8 = 10;

/// One thing to do.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Make the mirror of an interface.
    Make(InterfaceId, Mirror),
    /// Turn the device of this number into another mirror.
    Change {
        index: u32,
        before: Known,
        wanted: Mirror,
    },
    /// Remove the device of this number.
    Remove(u32),
    /// Make the mirror that point-to-point interfaces share.
    MakeShared,
    /// Give the shared mirror of this number a share of its members' addresses, or take it away.
    Share {
        index: u32,
        share: Share,
        wanted: bool,
    },
    /// Route what has no better way by the device of this number.
    Default { index: u32, route: DefaultRoute },
    /// Route such packets by the device of this number no more.
    NoDefault { index: u32, route: DefaultRoute },
    /// Tell hosts errors this often.
    Settings(HostSettings),
}

/// What is known of a device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// What it is; it has no more addresses than these.
    pub(crate) mirror: Mirror,
    /// Something failed: it may have less.
    pub(crate) unsure: bool,
}

/// A device that was made.
pub(crate) struct Made {
    /// Its number in the namespace.
    pub(crate) index: u32,
    /// What it finishes by itself.
    pub(crate) offloads: Offloads,
    /// Its only queue. The device goes when this does.
    pub(crate) port: Box<dyn Port>,
}

/// What came of steps, in their order.
pub(crate) type Outcomes = Vec<io::Result<Option<Made>>>;

/// Where devices are made.
pub(crate) trait Plane {
    /// Takes the steps in this order, each whether another failed or not. Nobody waits for that: `wake` is woken when
    /// the outcomes are there.
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
    /// Takes it, in the namespace of the calling thread.
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
    change(made.index, &Known::default(), mirror, netlink)?;
    Ok(made)
}

/// Makes the device that point-to-point interfaces share. It is slot 0's, which no interface has.
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

/// A device's name: the interface's number, as names of interfaces are too long for devices and not
/// always different in what fits. `ip link` shows the interface's name as the device's alias.
///
/// It is the number of the interface's slot: with its generation it would be too long.
pub(crate) fn name(id: InterfaceId) -> String {
    format!("mirror{}", id.slot())
}

fn change(index: u32, before: &Known, wanted: &Mirror, netlink: &mut Netlink) -> io::Result<()> {
    if before.unsure || before.mirror.name != wanted.name {
        netlink.set_alias(index, &wanted.name)?;
    }
    if before.unsure || before.mirror.mtu != wanted.mtu {
        netlink.link_up(index, Some(wanted.mtu.min(MTU_MAX)))?;
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
