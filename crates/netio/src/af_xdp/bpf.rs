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
/// Flag: the program accepts frames in several pieces.
const HAS_FRAGS: u32 = 1 << 5;
/// Flag: the map's memory can be mapped.
const MMAPABLE: u32 = 1 << 10;

/// Map types.
pub(super) const ARRAY: u32 = 2;
pub(super) const XSKMAP: u32 = 17;

/// Licence of the programs; they use no helper that requires another one.
const LICENSE: &CStr = c"Apache-2.0";
/// Size of the verifier log; its end has the reason for a refusal.
const LOG_BYTES: usize = 1 << 16;

/// Creates a map of `entries` values of this length with 32-bit keys. Arrays can be mapped.
pub(super) fn create_map(kind: u32, value_bytes: u32, entries: u32) -> io::Result<OwnedFd> {
    let flags = if kind == ARRAY { MMAPABLE } else { 0 };
    let attributes: [u32; 5] = [kind, 4, value_bytes, entries, flags];
    // SAFETY: the attributes hold no pointers.
    unsafe { descriptor(MAP_CREATE, &attributes) }
}

/// Stores a descriptor in a map of descriptors.
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

/// Loads an XDP program; `pieces` is true if frames may arrive in several pieces.
///
/// # Errors
/// Returns the kernel's error, with the verifier's reason if the program was rejected.
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
        // SAFETY: the pointers are those of live values with the lengths beside them, which outlive the call; the
        // kernel writes to the log alone.
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

/// Retries after a signal: the verifier fails with EAGAIN if a signal is pending. libbpf retries as often.
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

/// Attaches a program to a device with these flags. Closing the returned descriptor detaches it.
pub(super) fn attach(program: &OwnedFd, device: u32, flags: u32) -> io::Result<OwnedFd> {
    let attributes: [u32; 4] = [program.as_raw_fd() as u32, device, ATTACH_XDP, flags];
    // SAFETY: the attributes hold no pointers.
    unsafe { descriptor(LINK_CREATE, &attributes) }
}

/// Calls bpf(2) with a command that returns a descriptor.
///
/// # Safety
/// The requirements of `call` apply.
unsafe fn descriptor<T>(command: libc::c_int, attributes: &T) -> io::Result<OwnedFd> {
    // SAFETY: the caller vouches for the attributes.
    let fd = unsafe { call(command, attributes)? };
    // SAFETY: the kernel has just created this descriptor for this process.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Calls bpf(2); missing attributes count as zero.
///
/// # Safety
/// `T` is the beginning of the part of `union bpf_attr` for this command, and its pointers are valid for what the
/// command does with them.
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
