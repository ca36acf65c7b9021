//! State of a TCP connection as the kernel measures it (tcp(7), `TCP_INFO`; `struct tcp_info` of `linux/tcp.h`).

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use crate::sys;

/// State of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Smoothed round-trip time; of a pure receiver, the receiver's estimate.
    pub rtt: Duration,
    /// Bytes that this end may have unacknowledged: the smaller of congestion window and peer's window.
    pub send_window_bytes: u64,
    /// Buffer that this end tunes for received bytes.
    pub receive_window_bytes: u64,
    /// Segments sent again.
    pub retransmitted: u64,
}

/// Number of 32-bit words up to the peer's window, and their positions.
const WORDS: usize = 58;
const SEND_SEGMENT: usize = 4;
const RTT_MICROS: usize = 17;
const CONGESTION_WINDOW: usize = 20;
const RECEIVER_RTT_MICROS: usize = 23;
const RECEIVE_SPACE: usize = 24;
const RETRANSMITTED: usize = 25;
const PEER_WINDOW: usize = 57;

impl TcpInfo {
    /// Reads the state of a connection.
    ///
    /// # Errors
    /// Returns the kernel's error if the socket is no TCP connection.
    pub fn of(socket: &impl AsRawFd) -> io::Result<Self> {
        let words = sys::option_u32::<WORDS>(socket, libc::IPPROTO_TCP, libc::TCP_INFO)?;
        let congestion = u64::from(words[CONGESTION_WINDOW]) * u64::from(words[SEND_SEGMENT]);
        // Linux before 5.4 does not report the peer's window.
        let send_window_bytes = match words[PEER_WINDOW] {
            0 => congestion,
            peer => congestion.min(peer.into()),
        };
        let micros = match words[RTT_MICROS] {
            0 => words[RECEIVER_RTT_MICROS],
            micros => micros,
        };
        Ok(Self {
            rtt: Duration::from_micros(micros.into()),
            send_window_bytes,
            receive_window_bytes: words[RECEIVE_SPACE].into(),
            retransmitted: words[RETRANSMITTED].into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::*;

    #[test]
    fn a_connection_has_windows_and_a_round_trip_time() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let mut sender = TcpStream::connect(address).expect("a connection");
        let (mut receiver, _) = listener.accept().expect("the connection");
        sender.write_all(&[0; 1000]).expect("room");
        receiver.read_exact(&mut [0; 1000]).expect("the bytes");
        receiver.write_all(&[1]).expect("room");
        sender.read_exact(&mut [0]).expect("a byte");

        let info = TcpInfo::of(&sender).expect("a connection");

        assert!(
            info.rtt > Duration::ZERO && info.rtt < Duration::from_secs(10),
            "{info:?}"
        );
        assert!(
            info.send_window_bytes > 1000 && info.send_window_bytes < 1 << 30,
            "{info:?}"
        );
        assert!(info.receive_window_bytes > 1000, "{info:?}");
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        assert!(TcpInfo::of(&socket).is_err());
    }
}
