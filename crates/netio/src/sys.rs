//! Safe wrappers of system calls that rustix lacks, and of memory mappings shared with the kernel.

use std::io;
use std::mem::{size_of, size_of_val};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;

use libc::{c_int, c_ulong, c_void};

/// Converts a result of -1 into the error in `errno`.
pub(crate) fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Like `check`, for calls that return a size.
pub(crate) fn check_size(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Creates a socket that is close-on-exec and non-blocking.
pub(crate) fn socket(family: c_int, kind: c_int, protocol: c_int) -> io::Result<OwnedFd> {
    let kind = kind | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: the call takes no pointers.
    let fd = check(unsafe { libc::socket(family, kind, protocol) })?;
    // SAFETY: the kernel has just created this descriptor for this process.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sets a socket option to the bytes of `value`.
pub(crate) fn set_option<T: Copy>(
    fd: &impl AsRawFd,
    level: c_int,
    name: c_int,
    value: &T,
) -> io::Result<()> {
    // SAFETY: pointer and length are those of a live value; the kernel only reads.
    check(unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast::<c_void>(),
            size_of_val(value) as libc::socklen_t,
        )
    })?;
    Ok(())
}

/// Reads a socket option of `N` 32-bit words; words that the kernel does not fill are 0.
pub(crate) fn option_u32<const N: usize>(
    fd: &impl AsRawFd,
    level: c_int,
    name: c_int,
) -> io::Result<[u32; N]> {
    let mut words = [0_u32; N];
    let mut len = size_of_val(&words) as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes into an array of that size, any bits of which are valid.
    check(unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            level,
            name,
            words.as_mut_ptr().cast::<c_void>(),
            &mut len,
        )
    })?;
    Ok(words)
}

/// Reads a socket option of `N` 64-bit words; words that the kernel does not fill are 0.
pub(crate) fn option_u64<const N: usize>(
    fd: &impl AsRawFd,
    level: c_int,
    name: c_int,
) -> io::Result<[u64; N]> {
    let mut words = [0_u64; N];
    let mut len = size_of_val(&words) as libc::socklen_t;
    // SAFETY: as in `option_u32`.
    check(unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            level,
            name,
            words.as_mut_ptr().cast::<c_void>(),
            &mut len,
        )
    })?;
    Ok(words)
}

/// Binds a socket to an address in the kernel's layout (`sockaddr_ll`, `sockaddr_xdp`).
pub(crate) fn bind<T: Copy>(fd: &impl AsRawFd, address: &T) -> io::Result<()> {
    // SAFETY: pointer and length are those of a live value; the kernel only reads.
    check(unsafe {
        libc::bind(
            fd.as_raw_fd(),
            std::ptr::from_ref(address).cast::<libc::sockaddr>(),
            size_of::<T>() as libc::socklen_t,
        )
    })?;
    Ok(())
}

/// Sends nothing: makes the kernel read the socket's transmit ring, without blocking.
pub(crate) fn kick(fd: RawFd) -> io::Result<()> {
    // SAFETY: a null buffer of length 0 and no address.
    check_size(unsafe {
        libc::sendto(
            fd,
            std::ptr::null(),
            0,
            libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
            std::ptr::null(),
            0,
        )
    })?;
    Ok(())
}

/// Calls an ioctl that reads, and may write, one value of plain integers.
///
/// # Safety
/// `request` accesses at most a `T` at the pointer it is given, follows no pointer inside it that is not valid, and
/// leaves a valid `T`.
pub(crate) unsafe fn ioctl<T>(
    fd: BorrowedFd<'_>,
    request: c_ulong,
    value: &mut T,
) -> io::Result<()> {
    // SAFETY: the caller vouches for what the request does with the pointer.
    check(unsafe {
        libc::ioctl(
            fd.as_raw_fd(),
            request as _,
            std::ptr::from_mut(value).cast::<c_void>(),
        )
    })?;
    Ok(())
}

/// Converts a device name to the kernel's form; `None` if it is empty, too long, or contains a zero byte.
pub(crate) fn device_name(name: &str) -> Option<[libc::c_char; libc::IFNAMSIZ]> {
    if name.is_empty() || name.len() >= libc::IFNAMSIZ || name.bytes().any(|b| b == 0) {
        return None;
    }
    let mut array = [0; libc::IFNAMSIZ];
    for (place, byte) in array.iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    Some(array)
}

/// Index of a device in the calling thread's network namespace.
pub(crate) fn device_index(name: &str) -> io::Result<u32> {
    let socket = socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    rustix::net::netdevice::name_to_index(&socket, name).map_err(io::Error::from)
}

/// Memory shared with the kernel; unmapped on drop.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping has no thread affinity; its owner controls all accesses.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `len` bytes of a descriptor from `offset` on, readable and writable.
    pub(crate) fn new(fd: &impl AsRawFd, offset: u64, len: usize) -> io::Result<Self> {
        let offset = libc::off_t::try_from(offset).map_err(io::Error::other)?;
        // SAFETY: a new mapping at an address that the kernel chooses aliases nothing else.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                fd.as_raw_fd(),
                offset,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(address.cast::<u8>())
            .ok_or_else(|| io::Error::other("the kernel mapped the null page"))?;
        Ok(Self { base, len })
    }

    /// Address of `count` values of `T` at `offset` bytes.
    ///
    /// # Panics
    /// Panics if the values are outside of the mapping or misaligned.
    pub(crate) fn at<T>(&self, offset: usize, count: usize) -> NonNull<T> {
        let end = count
            .checked_mul(size_of::<T>())
            .and_then(|bytes| bytes.checked_add(offset));
        assert!(
            end.is_some_and(|end| end <= self.len) && offset.is_multiple_of(align_of::<T>()),
            "a ring's parts lie in its mapping"
        );
        // SAFETY: the range was just checked to lie in the mapping.
        unsafe { self.base.add(offset).cast() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `new` mapped exactly this range, and nothing borrows it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_name_must_fit_the_kernels_field() {
        assert!(device_name("eth0").is_some());
        assert!(device_name("").is_none());
        assert!(device_name("exactly15chars_").is_some());
        assert!(device_name("sixteen_chars_xx").is_none());
        assert!(device_name("a\0b").is_none());
    }
}
