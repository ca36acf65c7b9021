//! DHCP messages as a forwarding device sees them (RFC 2131, 2; RFC 3046): their direction, and the relay agent
//! information option.

use alloc::vec::Vec;
use core::net::Ipv4Addr;
use core::ops::Range;

/// UDP port of servers and relay agents.
pub const SERVER_PORT: u16 = 67;
/// UDP port of clients.
pub const CLIENT_PORT: u16 = 68;
/// Length of a message before its options: BOOTP's fixed part without the vendor area, and the magic cookie.
pub const HEADER_LEN: usize = 240;

const COOKIE: [u8; 4] = [99, 130, 83, 99];
const PAD: u8 = 0;
const END: u8 = 255;
/// Relay agent information option (RFC 3046, 2.0), and its sub-options.
const AGENT: u8 = 82;
const CIRCUIT: u8 = 1;
const REMOTE: u8 = 2;

/// Reason why a message is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than its fixed part.
    Truncated,
    /// No magic cookie before the options: plain BOOTP.
    NoCookie,
    /// An option exceeds the message, or the end option is missing.
    Options,
}

/// Checked view of a message, the payload of a UDP datagram.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    header: &'a [u8; HEADER_LEN],
    /// Position of the relay agent information option, and of the end option.
    agent: Option<(usize, usize)>,
    end: usize,
}

impl<'a> Message<'a> {
    /// Views bytes as a message.
    ///
    /// # Errors
    /// Returns [`Malformed`] for truncated messages, BOOTP and invalid options.
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, options): (&[u8; HEADER_LEN], _) =
            bytes.split_first_chunk().ok_or(Malformed::Truncated)?;
        if header[HEADER_LEN - 4..] != COOKIE {
            return Err(Malformed::NoCookie);
        }
        let (mut at, mut agent) = (0, None);
        loop {
            let code = *options.get(at).ok_or(Malformed::Options)?;
            let len = match code {
                END => break,
                PAD => 1,
                _ => 2 + usize::from(*options.get(at + 1).ok_or(Malformed::Options)?),
            };
            if code == AGENT {
                agent = Some((HEADER_LEN + at, HEADER_LEN + at + len));
            }
            at += len;
        }
        Ok(Self {
            header,
            agent,
            end: HEADER_LEN + at,
        })
    }

    /// True for messages from server to client.
    pub fn is_reply(&self) -> bool {
        self.header[0] == 2
    }

    /// Address of the relay agent; unspecified without one.
    pub fn giaddr(&self) -> Ipv4Addr {
        let [a, b, c, d] = [24, 25, 26, 27].map(|at: usize| self.header[at]);
        Ipv4Addr::new(a, b, c, d)
    }

    /// Range of the relay agent information option, with code and length.
    pub fn agent(&self) -> Option<Range<usize>> {
        self.agent.map(|(from, to)| from..to)
    }

    /// Position of the end option.
    pub const fn end(&self) -> usize {
        self.end
    }
}

/// Builds a relay agent information option with circuit id and remote id; `None` if both ids are empty or exceed one
/// option.
pub fn agent_information(circuit: &[u8], remote: &[u8]) -> Option<Vec<u8>> {
    let mut option = Vec::with_capacity(6 + circuit.len() + remote.len());
    option.extend([AGENT, 0]);
    for (code, value) in [(CIRCUIT, circuit), (REMOTE, remote)] {
        if !value.is_empty() {
            option.extend([code, u8::try_from(value.len()).ok()?]);
            option.extend(value);
        }
    }
    option[1] = u8::try_from(option.len() - 2).ok()?;
    (option.len() > 2).then_some(option)
}

/// Inserts an option before the end option of a message. `message` has space behind the message, whose length is
/// `len`. Returns the new length; padding behind the end option is reused.
///
/// Returns `None`, with the message unchanged, if there is not enough space.
pub fn insert(message: &mut [u8], end: usize, len: usize, option: &[u8]) -> Option<usize> {
    let behind = end + option.len();
    let now = len.max(behind + 1);
    let rest = message.get_mut(behind..now)?;
    rest.fill(PAD);
    *rest.first_mut()? = END;
    message.get_mut(end..behind)?.copy_from_slice(option);
    Some(now)
}

/// Replaces an option by padding; the length of the message is unchanged.
pub fn blank(message: &mut [u8], option: Range<usize>) {
    if let Some(option) = message.get_mut(option) {
        option.fill(PAD);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(op: u8, options: &[u8]) -> Vec<u8> {
        let mut bytes = alloc::vec![0; HEADER_LEN];
        bytes[0] = op;
        bytes[HEADER_LEN - 4..].copy_from_slice(&COOKIE);
        bytes.extend(options);
        bytes
    }

    #[test]
    fn the_direction_and_agent_option_are_parsed() {
        let bytes = message(2, &[53, 1, 5, 0, 82, 3, 1, 1, 7, 255, 0, 0]);
        let read = Message::new_checked(&bytes).expect("it is well-formed");

        assert!(read.is_reply() && read.giaddr().is_unspecified());
        assert_eq!((read.agent(), read.end()), (Some(244..249), 249));
    }

    #[test]
    fn malformed_messages_have_named_errors() {
        let whole = message(1, &[53, 1, 1, 255]);
        for len in 0..whole.len() {
            assert!(Message::new_checked(&whole[..len]).is_err(), "{len}");
        }
        let options = [&[53][..], &[53, 9, 1], &[82, 255, 255]];
        for options in options {
            let read = Message::new_checked(&message(1, options)).err();
            assert_eq!(read, Some(Malformed::Options));
        }
        let mut other = whole;
        other[238] = 0;
        let read = Message::new_checked(&other).err();
        assert_eq!(read, Some(Malformed::NoCookie));
    }

    #[test]
    fn an_option_is_inserted_and_removed() {
        let option = agent_information(b"ether1", b"ap").expect("it is short");
        assert_eq!(option, b"\x52\x0c\x01\x06ether1\x02\x02ap");
        for padding in [0, 3, 60] {
            let mut bytes = message(1, &[53, 1, 1, 255]);
            bytes.resize(bytes.len() + padding, 0);
            let len = bytes.len();
            let end = Message::new_checked(&bytes).expect("well-formed").end();
            bytes.resize(len + 40, 9);

            let now = insert(&mut bytes, end, len, &option).expect("there is room");
            bytes.truncate(now);
            let read = Message::new_checked(&bytes).expect("well-formed");
            let at = read.agent().expect("the option");
            assert_eq!((&bytes[at.clone()], now), (&option[..], len.max(end + 15)));

            blank(&mut bytes, at);
            let read = Message::new_checked(&bytes).expect("well-formed");
            assert_eq!((read.agent(), bytes.len()), (None, now));
        }
    }

    #[test]
    fn without_room_the_packet_stays_unchanged() {
        let mut bytes = message(1, &[53, 1, 1, 255]);
        let before = bytes.clone();
        let len = bytes.len();
        assert_eq!(insert(&mut bytes, 243, len, &[82, 1, 1]), None);
        assert_eq!(bytes, before);
        assert_eq!(agent_information(&[7; 256], b""), None);
        assert_eq!(agent_information(&[7; 200], &[7; 100]), None);
        assert_eq!(agent_information(b"", b""), None);
    }
}
