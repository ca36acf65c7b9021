//! bpf(2): maps, programs and their links to devices.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::sys;

const MAP_CREATE: libc::c_int = 0;
const MAP_UPDATE_ELEM: libc::c_int = 2;
const PROG_LOAD: libc::c_int = 5;
const LINK_CREATE: libc::c_int = 28;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
/// A program takes frames that come in pieces.
const HAS_FRAGS: u32 = 1 << 5;
/// A map's memory can be mapped.
const MMAPABLE: u32 = 1 << 10;

/// Kinds of maps.
pub(super) const ARRAY: u32 = 2;
pub(super) const XSKMAP: u32 = 17;

/// The licence that the kernel is told; programs use no helper that asks for another.
const LICENSE: &CStr = c"Apache-2.0";
/// What the kernel says of a program that it refuses: its end has the reason.
const LOG_BYTES: usize = 1 << 16;

/// Makes a map of `entries` values of so many bytes, by numbers of 32 bits. Those of an array can be mapped.
pub(super) fn create_map(kind: u32, value_bytes: u32, entries: u32) -> io::Result<OwnedFd> {
    let flags = if kind == ARRAY { MMAPABLE } else { 0 };
    let attributes: [u32; 5] = [kind, 4, value_bytes, entries, flags];
    // SAFETY: the attributes hold no pointers.
    unsafe { descriptor(MAP_CREATE, &attributes) }
}

/// Puts a descriptor into a map of such.
pub(super) fn put(map: &OwnedFd, key: u32, value: &OwnedFd) -> io::Result<()> {
    let value = value.as_raw_fd();
    let attributes: [u64; 4] = [
        map.as_raw_fd() as u64,
        std::ptr::from_ref(&key) as u64,
        std::ptr::from_ref(&value) as u64,
        0,
    ];
    // SAFETY: key and value are live words of 32 bits, as the map's are; the kernel reads them.
    unsafe { call(MAP_UPDATE_ELEM, &attributes) }.map(|_| ())
}

/// Loads a program for XDP; `pieces` if frames may come in several.
///
/// # Errors
/// The kernel's answer; where it found the program wrong, with its reason.
pub(super) fn load(instructions: &[u64], pieces: bool) -> io::Result<OwnedFd> {
    let attempt = |log: &mut [u8]| {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let flags = if pieces { HAS_FRAGS } else { 0 };
        // `union bpf_attr`, the part for BPF_PROG_LOAD.
        let attributes: [u64; 9] = [
            pair(PROG_TYPE_XDP, instructions.len() as u32),
            instructions.as_ptr() as u64,
            LICENSE.as_ptr() as u64,
            pair(u32::from(!log.is_empty()), log.len() as u32),
            if log.is_empty() {
                0
            } else {
                log.as_mut_ptr() as u64
            },
            pair(0, flags),
            u64::from_ne_bytes(*b"ferroute"),
            0,
            pair(0, ATTACH_XDP),
        ];
        // SAFETY: the pointers are those of live values with the lengths beside them, which outlive the
        // call; the kernel writes to the log alone.
        unsafe { descriptor(PROG_LOAD, &attributes) }
    };
    let error = match undisturbed(|| attempt(&mut [])) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EACCES)) => error,
        loaded => return loaded,
    };
    let mut log = vec![0; LOG_BYTES];
    if let Ok(loaded) = attempt(&mut log) {
        return Ok(loaded);
    }
    let text = log.split(|byte| *byte == 0).next().unwrap_or_default();
    let text = String::from_utf8_lossy(text);
    match text
        .trim_end()
        .rsplit('\n')
        .find(|line| !line.starts_with("processed "))
    {
        Some(reason) if !reason.is_empty() => {
            Err(io::Error::new(error.kind(), format!("{error}: {reason}")))
        }
        _ => Err(error),
    }
}

/// Attempts again what a signal disturbed: the verifier gives up with EAGAIN when one is pending, however good the
/// program. libbpf attempts as often.
fn undisturbed<T>(attempt: impl Fn() -> io::Result<T>) -> io::Result<T> {
    const ATTEMPTS: usize = 5;
    let disturbed =
        |error: &io::Error| matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR));
    for _ in 1..ATTEMPTS {
        match attempt() {
            Err(error) if disturbed(&error) => {}
            done => return done,
        }
    }
    attempt()
}

/// Attaches a program to a device, as these flags say. It goes with the descriptor.
pub(super) fn attach(program: &OwnedFd, device: u32, flags: u32) -> io::Result<OwnedFd> {
    let attributes: [u32; 4] = [program.as_raw_fd() as u32, device, ATTACH_XDP, flags];
    // SAFETY: the attributes hold no pointers.
    unsafe { descriptor(LINK_CREATE, &attributes) }
}

/// bpf(2) with a command that makes a descriptor.
///
/// # Safety
/// As `call`.
unsafe fn descriptor<T>(command: libc::c_int, attributes: &T) -> io::Result<OwnedFd> {
    // SAFETY: the caller vouches for the attributes.
    let fd = unsafe { call(command, attributes)? };
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// bpf(2); attributes that are not there count as zero.
///
/// # Safety
/// `T` is the beginning of the part of `union bpf_attr` for this command, and its pointers are
/// valid for what the command does with them.
unsafe fn call<T>(command: libc::c_int, attributes: &T) -> io::Result<libc::c_int> {
    // SAFETY: pointer and length are those of a live value; the caller vouches for the rest.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_ref(attributes),
            size_of::<T>(),
        )
    };
    sys::check(result as libc::c_int)
}
