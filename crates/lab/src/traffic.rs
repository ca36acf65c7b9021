//! UDP test traffic: sends datagrams between two hosts at a fixed rate, and counts arrivals.
//!
//! ```text
//!   sender ── hello ──▶ receiver        until it answers: resolves neighbours on the path
//!   sender ◀── ready ── receiver
//!   sender ══ data ═══▶ receiver        at the rate, without retransmission
//!   sender ── end ────▶ receiver        until it answers with the count
//! ```
//!
//! The receiver runs until it is killed, and serves one sender at a time.

use std::io;
use std::net::UdpSocket;
use std::thread;
use std::time::{Duration, Instant};

/// Length of a datagram, and of its UDP, IPv4 and Ethernet headers, in bytes.
const DATAGRAM_BYTES: usize = 1_200;
const HEADER_BYTES: u64 = 42;
/// Time to wait for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(100);
/// Maximum lag of the sender; it skips what it could not send in time.
const MAX_LAG: Duration = Duration::from_millis(5);

const HELLO: u8 = b'h';
const READY: u8 = b'r';
const DATA: u8 = b'd';
const END: u8 = b'e';

/// Result of a transmission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams that arrived.
    pub received: u64,
    /// Duration in microseconds.
    pub micros: u64,
}

impl Sent {
    /// Returns the rate of arrived frames in Mbit/s.
    pub fn mbps(&self) -> u64 {
        let bits = self.received * (DATAGRAM_BYTES as u64 + HEADER_BYTES) * 8;
        bits.checked_div(self.micros).unwrap_or(0)
    }
}

/// Serves senders at `address:port` forever; calls `ready` once the socket is bound.
///
/// # Errors
/// The address is not local, or its device is gone.
pub fn receive(at: &str, ready: impl FnOnce()) -> io::Result<()> {
    let socket = UdpSocket::bind(at)?;
    ready();
    let mut count = 0_u64;
    let mut datagram = [0; DATAGRAM_BYTES];
    loop {
        let (length, from) = socket.recv_from(&mut datagram)?;
        match datagram[..length].first() {
            Some(&HELLO) => {
                count = 0;
                socket.send_to(&[READY], from)?;
            }
            Some(&DATA) => count += 1,
            Some(&END) => {
                let mut answer = [END; 9];
                answer[1..].copy_from_slice(&count.to_be_bytes());
                socket.send_to(&answer, from)?;
            }
            _ => {}
        }
    }
}

/// Sends datagrams to `address:port` at a frame rate in Mbit/s; `None` if nobody answers after `tries` attempts
/// of 100 ms.
///
/// # Errors
/// The address is unreachable, or the count cannot be requested.
pub fn send(to: &str, datagrams: u32, mbps: u32, tries: u32) -> io::Result<Sent> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.connect(to)?;
    socket.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    if ask(&socket, HELLO, READY, tries).is_none() {
        return Ok(Sent::default());
    }
    let begin = Instant::now();
    let sent = paced(&socket, datagrams, mbps)?;
    let micros = u64::try_from(begin.elapsed().as_micros()).unwrap_or(u64::MAX);
    let Some(received) = ask(&socket, END, END, tries.max(50)) else {
        return Err(io::Error::other(format!(
            "{to} does not report the number of received datagrams"
        )));
    };
    Ok(Sent {
        sent,
        received,
        micros,
    })
}

/// Repeats a question until an answer of this type arrives; returns the number in it.
fn ask(socket: &UdpSocket, question: u8, answer: u8, tries: u32) -> Option<u64> {
    for _ in 0..tries {
        let begin = Instant::now();
        // Without a listener an ICMP error comes back.
        let _ = socket.send(&[question]);
        while begin.elapsed() < ANSWER_TIMEOUT {
            let mut said = [0; 9];
            match socket.recv(&mut said) {
                Ok(length) if length > 0 && said[0] == answer => {
                    let number = said[1..].try_into().expect("eight bytes");
                    return Some(u64::from_be_bytes(number));
                }
                Ok(_) => {}
                Err(_) => thread::park_timeout(ANSWER_TIMEOUT.saturating_sub(begin.elapsed())),
            }
        }
    }
    None
}

fn paced(socket: &UdpSocket, datagrams: u32, mbps: u32) -> io::Result<u64> {
    let frame = Duration::from_nanos(
        (DATAGRAM_BYTES as u64 + HEADER_BYTES) * 8_000 / u64::from(mbps.max(1)),
    );
    let data = [DATA; DATAGRAM_BYTES];
    let mut due = Instant::now();
    for _ in 0..datagrams {
        let now = Instant::now();
        due = due.max(now.checked_sub(MAX_LAG).unwrap_or(now));
        if let Some(early) = due.checked_duration_since(now) {
            // The kernel cannot sleep for less.
            if early > Duration::from_micros(200) {
                thread::park_timeout(early);
            }
        }
        socket.send(&data)?;
        due += frame;
    }
    Ok(u64::from(datagrams))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn the_receiver_counts_datagrams() {
        let free = UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
        let at = free.local_addr().expect("it is bound").to_string();
        drop(free);
        let (tell, told) = mpsc::channel();
        let own = at.clone();
        thread::spawn(move || receive(&own, || tell.send(()).expect("it waits")));
        told.recv().expect("it is bound");

        let first = send(&at, 100, 100, 10).expect("loopback is there");
        let second = send(&at, 7, 100, 10).expect("loopback is there");

        assert_eq!((first.sent, first.received), (100, 100));
        assert_eq!((second.sent, second.received), (7, 7));
    }

    #[test]
    fn nothing_is_sent_to_an_unreachable_receiver() {
        let deaf = UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
        let at = deaf.local_addr().expect("it is bound").to_string();

        assert_eq!(send(&at, 100, 100, 2).expect("loopback"), Sent::default());
    }

    #[test]
    fn a_rate_is_that_of_whole_frames() {
        let sent = Sent {
            sent: 10_000,
            received: 5_000,
            micros: 1_000_000,
        };
        assert_eq!(sent.mbps(), 49);
    }
}
