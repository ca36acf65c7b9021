//! Driver settings of a device by the ethtool ioctl (ethtool(8), `linux/ethtool.h`).

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
    /// Maximum numbers of receive, transmit, other and combined queues.
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

/// VLAN tag insertion on transmit.
pub(crate) const FLAG_TXVLAN: u32 = 1 << 7;
/// VLAN tag stripping on receive.
pub(crate) const FLAG_RXVLAN: u32 = 1 << 8;
/// Large receive offload: merges received segments irreversibly.
pub(crate) const FLAG_LRO: u32 = 1 << 15;

/// Numbers of queues of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channels {
    /// Receive queues.
    pub receive: u32,
    /// Transmit queues.
    pub transmit: u32,
}

/// Disables the offloads of a device, so that it finishes checksums, segments and VLAN tags before it passes on a
/// frame. AF_XDP at the other end needs this, because it cannot see the metadata of a frame.
///
/// Settings that the device does not support are no error.
///
/// # Errors
/// Returns the kernel's error: no such device, not permitted.
pub fn offload_off(device: &str) -> io::Result<()> {
    // Checksum offload is disabled last, because segmentation depends on it.
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

/// Returns the subset of `flags` that is on; none for a device without flags.
///
/// # Errors
/// Returns the kernel's error: no such device.
pub(crate) fn flags_on(device: &str, flags: u32) -> io::Result<u32> {
    match flags_of(device) {
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(0),
        other => Ok(other? & flags),
    }
}

/// Clears these flags, as far as the device supports it.
///
/// # Errors
/// Returns the kernel's error: no such device, not permitted.
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

/// Sets these flags again.
///
/// # Errors
/// Returns the errors of `clear_flags`.
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

/// Returns the numbers of queues of a device; one queue of each kind for drivers without this query.
///
/// # Errors
/// Returns the kernel's error: no such device.
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

/// Returns the name of a device's driver, such as `veth` or `ixgbe`; `None` if it does not tell.
///
/// # Errors
/// Returns the kernel's error: no such device.
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

/// Runs one ethtool command. `T` is the `repr(C)` structure of that command, made of integers, with the command
/// first.
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
    // SAFETY: the request reads the `ifreq` and, through its pointer, the structure that its command names, which is
    // `argument`; it lives until the call returns.
    unsafe { sys::ioctl(socket.as_fd(), libc::SIOCETHTOOL as _, &mut request)? };
    Ok(argument)
}
