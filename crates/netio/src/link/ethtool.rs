//! Settings of a device's driver by the ethtool ioctl (ethtool(8), `linux/ethtool.h`).

use std::io;
use std::os::fd::AsFd;

use crate::sys;

const ETHTOOL_GDRVINFO: u32 = 0x03;
const ETHTOOL_STXCSUM: u32 = 0x17;
const ETHTOOL_STSO: u32 = 0x1f;
const ETHTOOL_SGSO: u32 = 0x24;
const ETHTOOL_GFLAGS: u32 = 0x25;
const ETHTOOL_SFLAGS: u32 = 0x26;
const ETHTOOL_SGRO: u32 = 0x2c;
const ETHTOOL_GCHANNELS: u32 = 0x3c;

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// `struct ethtool_channels`.
#[repr(C)]
#[derive(Default)]
struct ChannelsRequest {
    command: u32,
    /// The most of receive, transmit, other and combined queues.
    most: [u32; 4],
    receive: u32,
    transmit: u32,
    other: u32,
    combined: u32,
}

/// `struct ethtool_drvinfo`.
#[repr(C)]
struct DriverRequest {
    command: u32,
    driver: [u8; 32],
    rest: [u8; 160],
}

/// The device puts VLAN tags in on sending that stand beside the frame.
pub(crate) const FLAG_TXVLAN: u32 = 1 << 7;
/// The device takes VLAN tags off on receiving, and lays them beside the frame.
pub(crate) const FLAG_RXVLAN: u32 = 1 << 8;
/// The device merges received segments beyond recognition.
pub(crate) const FLAG_LRO: u32 = 1 << 15;

/// How many queues a device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channels {
    /// Receive queues.
    pub receive: u32,
    /// Transmit queues.
    pub transmit: u32,
}

/// Has a device finish everything before it hands a frame over: checksums, merged segments, VLAN
/// tags. A neighbour that cannot see what stands beside a frame (AF_XDP) needs this.
///
/// What the device does not know is no error: then it does not do it either.
///
/// # Errors
/// What the kernel says: no such device, not permitted.
pub fn offload_off(device: &str) -> io::Result<()> {
    // Without checksums there is no segmentation; it is switched off first, so that none is left
    // half-way.
    for command in [ETHTOOL_SGRO, ETHTOOL_SGSO, ETHTOOL_STSO, ETHTOOL_STXCSUM] {
        match ethtool(device, Value { command, data: 0 }) {
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
            Err(error) => return Err(error),
            Ok(_) => {}
        }
    }
    clear_flags(device, FLAG_TXVLAN)?;
    Ok(())
}

/// Those of these flags that are on. A device without such flags has none on.
///
/// # Errors
/// What the kernel says: no such device.
pub(crate) fn flags_on(device: &str, flags: u32) -> io::Result<u32> {
    match flags_of(device) {
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(0),
        other => Ok(other? & flags),
    }
}

/// Switches these flags off, as far as the device can; one that it cannot switch stays.
///
/// # Errors
/// What the kernel says: no such device, not permitted.
pub(crate) fn clear_flags(device: &str, flags: u32) -> io::Result<()> {
    if flags_on(device, flags)? == 0 {
        return Ok(());
    }
    match flags_of(device).and_then(|on| set_flags(device, on & !flags)) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EINVAL)) => {
            Ok(())
        }
        other => other,
    }
}

/// Switches these flags on again.
///
/// # Errors
/// As `clear_flags`.
pub(crate) fn restore_flags(device: &str, flags: u32) -> io::Result<()> {
    if flags != 0 && flags_on(device, flags)? != flags {
        set_flags(device, flags_of(device)? | flags)?;
    }
    Ok(())
}

fn flags_of(device: &str) -> io::Result<u32> {
    let command = ETHTOOL_GFLAGS;
    Ok(ethtool(device, Value { command, data: 0 })?.data)
}

fn set_flags(device: &str, data: u32) -> io::Result<()> {
    let command = ETHTOOL_SFLAGS;
    ethtool(device, Value { command, data })?;
    Ok(())
}

/// How many queues a device has; one of each kind when its driver does not tell.
///
/// # Errors
/// What the kernel says: no such device.
pub fn channels(device: &str) -> io::Result<Channels> {
    let request = ChannelsRequest {
        command: ETHTOOL_GCHANNELS,
        ..ChannelsRequest::default()
    };
    match ethtool(device, request) {
        Ok(answer) => Ok(Channels {
            receive: (answer.receive + answer.combined).max(1),
            transmit: (answer.transmit + answer.combined).max(1),
        }),
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(Channels {
            receive: 1,
            transmit: 1,
        }),
        Err(error) => Err(error),
    }
}

/// The name of a device's driver, such as `veth` or `ixgbe`; none when it does not tell.
///
/// # Errors
/// What the kernel says: no such device.
pub fn driver(device: &str) -> io::Result<Option<String>> {
    let request = DriverRequest {
        command: ETHTOOL_GDRVINFO,
        driver: [0; 32],
        rest: [0; 160],
    };
    let answer = match ethtool(device, request) {
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => return Ok(None),
        other => other?,
    };
    let len = answer.driver.iter().position(|b| *b == 0).unwrap_or(0);
    Ok(Some(
        String::from_utf8_lossy(&answer.driver[..len]).into_owned(),
    ))
}

/// Does one ethtool command. `T` is the `repr(C)` structure of that command, made of integers, with
/// the command in front.
fn ethtool<T>(device: &str, mut argument: T) -> io::Result<T> {
    let name = sys::device_name(device)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a device name"))?;
    let socket = sys::socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    let mut request = libc::ifreq {
        ifr_name: name,
        ifr_ifru: libc::__c_anonymous_ifr_ifru {
            ifru_data: std::ptr::from_mut(&mut argument).cast(),
        },
    };
    // SAFETY: the request reads the `ifreq` and, through its pointer, the structure that its
    // command names, which `argument` is; it lives until the call is over.
    unsafe { sys::ioctl(socket.as_fd(), libc::SIOCETHTOOL as _, &mut request)? };
    Ok(argument)
}
