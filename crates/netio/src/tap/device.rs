//! Existing TAP and TUN devices, and attaching a descriptor to a device.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use netlink_packet_core::Nla as _;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoTun, LinkAttribute, LinkInfo, LinkMessage,
};

use super::Layer;
use crate::netlink::Netlink;
use crate::sys;

// Attributes of `if_link.h`, since Linux 4.20.
const IFLA_TUN_TYPE: u16 = 3;
const IFLA_TUN_MULTI_QUEUE: u16 = 7;
const IFLA_TUN_NUM_QUEUES: u16 = 8;

/// An existing device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Existing {
    layer: Layer,
    /// Multi-queue device; opening it requires the same flag.
    several: bool,
    /// Number of open queues.
    open: u32,
}

/// True if the device, to be opened with this number of queues, is multi-queue; a missing device is created as
/// needed.
///
/// # Errors
/// Fails if the device has another kind, or if another program has it open: the kernel would let both have queues of
/// one device and spread frames over both.
pub(super) fn has_several(name: &str, layer: Layer, queues: usize) -> io::Result<bool> {
    match existing(name, layer)? {
        None => Ok(queues > 1),
        Some(device) if device.layer != layer => Err(not_one(layer)),
        Some(device) if device.open > 0 => Err(io::Error::from_raw_os_error(libc::EBUSY)),
        Some(device) => Ok(device.several),
    }
}

fn not_one(layer: Layer) -> io::Error {
    let kind = match layer {
        Layer::Tap => "TAP",
        Layer::Tun => "TUN",
    };
    let message = format!("a device of this name exists and is not a {kind} device");
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

/// Finds the device of this name; fails if it has another kind.
fn existing(name: &str, layer: Layer) -> io::Result<Option<Existing>> {
    let mut message = LinkMessage::default();
    message
        .attributes
        .push(LinkAttribute::IfName(name.to_owned()));
    let answer = match Netlink::open()?.query(RouteNetlinkMessage::GetLink(message)) {
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Ok(None),
        other => other?,
    };
    let Some(RouteNetlinkMessage::NewLink(link)) = answer else {
        return Ok(None);
    };
    let device = link
        .attributes
        .iter()
        .find_map(|attribute| match attribute {
            LinkAttribute::LinkInfo(infos) => device_of(infos),
            _ => None,
        });
    device.map(Some).ok_or_else(|| not_one(layer))
}

fn device_of(infos: &[LinkInfo]) -> Option<Existing> {
    let is_tun = |info: &LinkInfo| *info == LinkInfo::Kind(InfoKind::Tun);
    infos.iter().find(|info| is_tun(info))?;
    let attributes = infos.iter().find_map(|info| match info {
        LinkInfo::Data(InfoData::Tun(attributes)) => Some(attributes.as_slice()),
        _ => None,
    })?;
    let layer = match i32::from(*value(attributes, IFLA_TUN_TYPE)?.first()?) {
        libc::IFF_TAP => Layer::Tap,
        _ => Layer::Tun,
    };
    let open = value(attributes, IFLA_TUN_NUM_QUEUES);
    Some(Existing {
        layer,
        several: value(attributes, IFLA_TUN_MULTI_QUEUE)?.first() == Some(&1),
        // The kernel reports open queues for multi-queue devices only.
        open: open
            .and_then(|bytes| Some(u32::from_ne_bytes(*bytes.first_chunk()?)))
            .unwrap_or(0),
    })
}

/// Value of an attribute.
fn value(attributes: &[InfoTun], kind: u16) -> Option<Vec<u8>> {
    let found = attributes.iter().find(|other| other.kind() == kind)?;
    let mut bytes = vec![0; found.value_len()];
    found.emit_value(&mut bytes);
    Some(bytes)
}

/// True if a descriptor is still attached to a device.
pub(super) fn is_attached(queue: &OwnedFd) -> bool {
    let mut request = libc::ifreq {
        ifr_name: [0; libc::IFNAMSIZ],
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: 0 },
    };
    // SAFETY: the request writes one `ifreq` and follows no pointer in it.
    unsafe { sys::ioctl(queue.as_fd(), libc::TUNGETIFF as _, &mut request) }.is_ok()
}

/// Attaches an open `/dev/net/tun` to a device, as one of several queues or the only one.
pub(super) fn attach(queue: &OwnedFd, name: &str, layer: Layer, several: bool) -> io::Result<()> {
    let name = sys::device_name(name)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a device name"))?;
    let kind = match layer {
        Layer::Tap => libc::IFF_TAP,
        Layer::Tun => libc::IFF_TUN,
    };
    let several = if several { libc::IFF_MULTI_QUEUE } else { 0 };
    let flags = kind | several | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
    let mut request = libc::ifreq {
        ifr_name: name,
        ifr_ifru: libc::__c_anonymous_ifr_ifru {
            ifru_flags: flags as libc::c_short,
        },
    };
    // SAFETY: the request reads and writes one `ifreq` and follows no pointer in it.
    unsafe { sys::ioctl(queue.as_fd(), libc::TUNSETIFF as _, &mut request) }
}
