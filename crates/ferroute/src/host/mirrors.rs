//! The mirror devices: for each layer-3 interface with addresses, a TUN device in the host plane
//! that has the same addresses.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

use frame::Port as _;
use netio::link::Links;
use netio::{Layer, TapPort};
use router::drive::Control;
use router::mirror::{Mirror, MirrorPlan};

use super::HostPlane;
use super::netlink::Netlink;

/// The largest MTU of a TUN device in bytes; `lo` has one more.
const MTU_MAX: u32 = 65_535;

/// A mirror that is there.
struct There {
    /// The port's number; the device goes when its port does.
    port: u16,
    /// The device's number in the namespace.
    index: u32,
    mirror: Mirror,
}

/// All mirrors, by the name of their interface.
#[derive(Default)]
pub(crate) struct Mirrors {
    plan: MirrorPlan,
    there: BTreeMap<String, There>,
}

impl Mirrors {
    /// Makes, changes and removes mirrors until they are what control wants.
    pub(crate) fn follow(&mut self, host: Option<&HostPlane>, control: &mut Control) {
        let Some(host) = host else { return };
        let wanted = control.mirror_plan();
        if wanted == self.plan {
            return;
        }
        let same = |name: &String, there: &There| {
            wanted
                .mirrors
                .get(name)
                .is_some_and(|mirror| mirror.number == there.mirror.number)
        };
        for (_, gone) in self.there.extract_if(.., |name, there| !same(name, there)) {
            control.detach_mirror(gone.port);
        }
        for (name, mirror) in &wanted.mirrors {
            if let Err(error) = self.adjust(host, control, name, mirror) {
                tracing::warn!("host plane: the mirror of {name}: {error}");
            }
        }
        for (name, ipv6) in [(&wanted.default4, false), (&wanted.default6, true)] {
            if let Some(index) = name
                .as_ref()
                .and_then(|name| Some(self.there.get(name)?.index))
                && let Err(error) = host.inside(move || Netlink::open()?.set_default(index, ipv6))
            {
                tracing::warn!("host plane: default route: {error}");
            }
        }
        if wanted.errors != self.plan.errors {
            let (interval_ms, mask) = wanted.errors;
            let limited = host.inside(move || super::limit_errors(interval_ms, mask));
            if let Err(error) = limited {
                tracing::warn!("host plane: the rate of errors: {error}");
            }
        }
        self.plan = wanted;
    }

    fn adjust(
        &mut self,
        host: &HostPlane,
        control: &mut Control,
        name: &str,
        mirror: &Mirror,
    ) -> io::Result<()> {
        let wanted = mirror.clone();
        if let Some(there) = self.there.get_mut(name) {
            if there.mirror == *mirror {
                return Ok(());
            }
            let before = std::mem::replace(&mut there.mirror, wanted.clone());
            let index = there.index;
            return host.inside(move || configure(index, &before, &wanted));
        }
        let device = device(mirror.number);
        let alias = name.to_owned();
        let (port, index) = host.inside(move || {
            let mut queues = TapPort::open(&device, Layer::Tun, 1)?;
            let port = queues
                .pop()
                .ok_or_else(|| io::Error::other("the device has no queue"))?;
            let index = Links::open()?.find(&device)?.index;
            Netlink::open()?.set_alias(index, &alias)?;
            configure(index, &Mirror::default(), &wanted)?;
            Ok((port, index))
        })?;
        let offloads = port.offloads();
        if let Some(port) = control.attach_mirror(name, offloads, vec![(0, Box::new(port))]) {
            self.there.insert(
                name.to_owned(),
                There {
                    port,
                    index,
                    mirror: mirror.clone(),
                },
            );
        }
        Ok(())
    }
}

/// A device's name: the interface's number, as names of interfaces are too long for devices and not
/// always different in what fits. `ip link` shows the interface's name as the device's alias.
fn device(number: u32) -> String {
    format!("mirror{number}")
}

fn addresses(mirror: &Mirror) -> Vec<(IpAddr, u8)> {
    let ipv4 = mirror
        .ipv4
        .iter()
        .map(|(address, len)| (IpAddr::V4(*address), *len));
    let ipv6 = mirror
        .ipv6
        .iter()
        .map(|(address, len)| (IpAddr::V6(*address), *len));
    ipv4.chain(ipv6).collect()
}

fn configure(index: u32, before: &Mirror, wanted: &Mirror) -> io::Result<()> {
    let mut netlink = Netlink::open()?;
    let (had, has) = (addresses(before), addresses(wanted));
    netlink.link_up(index, Some(wanted.mtu.min(MTU_MAX)))?;
    for (address, len) in had.iter().filter(|address| !has.contains(address)) {
        netlink.remove_address(index, *address, *len)?;
    }
    for (address, len) in has.iter().filter(|address| !had.contains(address)) {
        netlink.add_address(index, *address, *len)?;
    }
    Ok(())
}
