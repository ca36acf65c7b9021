//! Many datagrams per system call: the kernel cuts a buffer into datagrams of equal length, and joins received ones
//! (`UDP_SEGMENT` and `UDP_GRO`, Linux 4.18 and 5.0; udp(7)).

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::os::fd::AsRawFd as _;

use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg, setsockopt,
    sockopt,
};

/// Maximum number of datagrams per system call (`UDP_MAX_SEGMENTS` before Linux 6.9).
const MAX_SEGMENTS: usize = 64;
/// Maximum number of bytes per system call: the payload of the longest IPv4 datagram.
const MAX_BYTES: usize = 65_507;

/// Datagrams of one sender, received together.
pub(super) struct Received {
    pub(super) from: SocketAddr,
    /// Number of bytes of all datagrams.
    pub(super) len: usize,
    /// Length of each datagram; the last may be shorter.
    pub(super) segment: usize,
}

/// Returns the maximum number of datagrams of this length in bytes that are sent together.
pub(super) fn capacity(segment: usize) -> usize {
    (MAX_BYTES / segment.max(1)).clamp(1, MAX_SEGMENTS)
}

/// Lets the kernel join received datagrams. Old kernels refuse, and deliver them one by one.
pub(super) fn join(socket: &UdpSocket) {
    let _ = setsockopt(socket, sockopt::UdpGroSegment, &true);
}

/// Receives datagrams of one sender without waiting. A buffer of 64 KiB has room for all.
///
/// # Errors
/// `WouldBlock`: none has arrived; or an ICMP error of an earlier datagram.
pub(super) fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<Received> {
    let mut control = nix::cmsg_space!(i32);
    let mut parts = [IoSliceMut::new(buffer)];
    let flags = MsgFlags::MSG_DONTWAIT;
    let message =
        recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut parts, Some(&mut control), flags)?;
    let from = message.address.as_ref().and_then(address);
    let from = from.ok_or_else(|| io::Error::other("a datagram without sender"))?;
    let joined = message.cmsgs()?.find_map(|control| match control {
        ControlMessageOwned::UdpGroSegments(len) => usize::try_from(len).ok(),
        _ => None,
    });
    Ok(Received {
        from,
        len: message.bytes,
        segment: joined.unwrap_or(message.bytes).max(1),
    })
}

/// Sends a buffer as datagrams of this length without waiting: all or none.
///
/// # Errors
/// `WouldBlock`: no room; `InvalidInput` or `EIO`: the device cannot send them together, such as datagrams that need
/// fragments.
pub(super) fn send(
    socket: &UdpSocket,
    to: Option<SocketAddr>,
    buffer: &[u8],
    segment: u16,
) -> nix::Result<()> {
    let to = to.map(SockaddrStorage::from);
    let parts = [IoSlice::new(buffer)];
    let control = [ControlMessage::UdpGsoSegments(&segment)];
    let flags = MsgFlags::MSG_DONTWAIT;
    sendmsg(socket.as_raw_fd(), &parts, &control, flags, to.as_ref()).map(|_| ())
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = storage.as_sockaddr_in();
    let v6 = storage.as_sockaddr_in6();
    match (v4, v6) {
        (Some(v4), _) => Some(SocketAddrV4::from(*v4).into()),
        (_, Some(v6)) => Some(SocketAddrV6::from(*v6).into()),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use rustix::event::{PollFd, PollFlags, poll};

    use super::*;

    fn pair() -> (UdpSocket, UdpSocket) {
        let bound = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let (from, to) = (bound(), bound());
        from.connect(to.local_addr().expect("bound"))
            .expect("an address");
        (from, to)
    }

    /// Receives `count` bytes; returns the datagrams.
    fn datagrams(socket: &UdpSocket, count: usize) -> Vec<Vec<u8>> {
        let (mut all, mut buffer, mut len) = (Vec::new(), vec![0; 1 << 16], 0);
        while len < count {
            let mut ready = [PollFd::new(socket, PollFlags::IN)];
            poll(&mut ready, None).expect("poll");
            let received = receive(socket, &mut buffer).expect("datagrams");
            len += received.len;
            let each = buffer[..received.len].chunks(received.segment);
            all.extend(each.map(<[u8]>::to_vec));
        }
        all
    }

    #[test]
    fn a_buffer_arrives_as_datagrams_of_the_segment_length_joined_or_not() {
        let data: Vec<u8> = (0..2_500_u32).map(|byte| byte as u8).collect();
        for joins in [false, true] {
            let (from, to) = pair();
            if joins {
                join(&to);
            }
            send(&from, None, &data, 1_000).expect("sent");
            let expected: Vec<_> = data.chunks(1_000).map(<[u8]>::to_vec).collect();
            assert_eq!(datagrams(&to, data.len()), expected, "{joins}");
        }
    }

    #[test]
    fn a_call_sends_no_more_than_the_kernel_permits() {
        assert_eq!(capacity(1_472), 44);
        assert_eq!(capacity(18), 64);
        assert_eq!((capacity(0), capacity(65_000)), (64, 1));
        let (from, to) = pair();
        let most = vec![7; capacity(1_472) * 1_472];
        send(&from, None, &most, 1_472).expect("sent");
        assert_eq!(datagrams(&to, most.len()).len(), 44);
    }
}
