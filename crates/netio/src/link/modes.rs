//! Link modes of a device by ethtool netlink (`linux/ethtool_netlink.h`, "ethtool-netlink" in the kernel's
//! documentation): speed, duplex, auto-negotiation, modes, pause frames.
//!
//! Link modes are bits with the numbers of `enum ethtool_link_mode_bit_indices`.

use std::io;

use netlink_sys::protocols::NETLINK_GENERIC;
use netlink_sys::{Socket, SocketAddr};

/// Generic netlink family that resolves the ids of other families.
const CONTROL: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;

const LINKMODES_GET: u8 = 4;
const LINKMODES_SET: u8 = 5;
const PAUSE_GET: u8 = 21;
const PAUSE_SET: u8 = 22;

const HEADER: u16 = 1;
const HEADER_INDEX: u16 = 1;
const HEADER_FLAGS: u16 = 3;
/// Flag: bitsets are words instead of lists of names.
const COMPACT: u32 = 1;

const MODES_NEGOTIATE: u16 = 2;
const MODES_OURS: u16 = 3;
const MODES_PEER: u16 = 4;
const MODES_SPEED: u16 = 5;
const MODES_DUPLEX: u16 = 6;
const BITSET_NOMASK: u16 = 1;
const BITSET_SIZE: u16 = 2;
const BITSET_VALUE: u16 = 4;
const BITSET_MASK: u16 = 5;
const PAUSE_NEGOTIATE: u16 = 2;
const PAUSE_RX: u16 = 3;
const PAUSE_TX: u16 = 4;

const NESTED: u16 = 1 << 15;
const REQUEST: u16 = 1;
const ACK: u16 = 4;
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// Lengths of a netlink header and of the generic netlink header behind it.
const NETLINK: usize = 16;
const GENERIC: usize = 4;

/// State and capabilities of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkModes {
    /// Speed in Mbit/s; `None` if unknown.
    pub speed_mbps: Option<u32>,
    /// Full duplex; `None` if unknown.
    pub full_duplex: Option<bool>,
    /// Auto-negotiation is on.
    pub negotiates: bool,
    /// Advertised modes.
    pub offers: u128,
    /// Supported modes.
    pub supports: u128,
    /// Modes that the link partner advertises.
    pub partner: u128,
    /// Pause frames: receive, transmit; `None` if unknown.
    pub pause: Option<(bool, bool)>,
}

/// Changes of a link; `None` leaves a setting unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkChange {
    /// Auto-negotiation.
    pub negotiate: Option<bool>,
    /// Advertised modes.
    pub offer: Option<u128>,
    /// Speed in Mbit/s, and full duplex.
    pub speed: Option<(u32, bool)>,
    /// Pause frames: receive, transmit.
    pub pause: (Option<bool>, Option<bool>),
}

/// Socket for requests in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Ethtool {
    socket: Socket,
    family: u16,
    sequence: u32,
}

impl Ethtool {
    /// Opens a socket.
    ///
    /// # Errors
    /// Returns the kernel's error if it does not support ethtool netlink.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_GENERIC)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        let mut asked = Self {
            socket,
            family: CONTROL,
            sequence: 0,
        };
        let question = attribute(FAMILY_NAME, b"ethtool\0");
        let answer = asked.exchange(GET_FAMILY, &question)?;
        let id = attributes(&answer).find(|(kind, _)| *kind == FAMILY_ID);
        let id = id.and_then(|(_, bytes)| bytes.first_chunk().copied());
        asked.family = id.map(u16::from_ne_bytes).ok_or(io::ErrorKind::NotFound)?;
        Ok(asked)
    }

    /// Returns the link modes of a device.
    ///
    /// # Errors
    /// Returns the kernel's error: no such device, unsupported by the driver.
    pub fn modes(&mut self, index: u32) -> io::Result<LinkModes> {
        let answer = self.exchange(LINKMODES_GET, &header(index))?;
        let mut modes = LinkModes::default();
        for (kind, bytes) in attributes(&answer) {
            let byte = bytes.first().copied().unwrap_or_default();
            match kind {
                MODES_NEGOTIATE => modes.negotiates = byte != 0,
                MODES_OURS => (modes.offers, modes.supports) = bitset(bytes),
                MODES_PEER => modes.partner = bitset(bytes).0,
                MODES_SPEED => {
                    let speed = bytes.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
                    modes.speed_mbps = speed.filter(|speed| *speed != u32::MAX && *speed != 0);
                }
                MODES_DUPLEX => modes.full_duplex = (byte < 2).then_some(byte == 1),
                _ => {}
            }
        }
        modes.pause = self.pause(index).ok();
        Ok(modes)
    }

    fn pause(&mut self, index: u32) -> io::Result<(bool, bool)> {
        let answer = self.exchange(PAUSE_GET, &header(index))?;
        let says = |wanted| {
            let mut all = attributes(&answer);
            all.any(|(kind, bytes)| kind == wanted && bytes.first() == Some(&1))
        };
        Ok((says(PAUSE_RX), says(PAUSE_TX)))
    }

    /// Changes the link of a device.
    ///
    /// # Errors
    /// Returns the kernel's error: not permitted, not supported by the driver, no such mode.
    pub fn change(&mut self, index: u32, change: &LinkChange) -> io::Result<()> {
        let mut wanted = Vec::new();
        if let Some(negotiate) = change.negotiate {
            wanted.extend(attribute(MODES_NEGOTIATE, &[negotiate.into()]));
        }
        if let Some(offer) = change.offer {
            let set = [
                attribute(BITSET_NOMASK, &[]),
                attribute(BITSET_SIZE, &u128::BITS.to_ne_bytes()),
                attribute(BITSET_VALUE, &words(offer)),
            ];
            wanted.extend(attribute(MODES_OURS | NESTED, &set.concat()));
        }
        if let Some((speed, full)) = change.speed {
            wanted.extend(attribute(MODES_SPEED, &speed.to_ne_bytes()));
            wanted.extend(attribute(MODES_DUPLEX, &[full.into()]));
        }
        if !wanted.is_empty() {
            self.exchange(LINKMODES_SET, &[header(index), wanted].concat())?;
        }
        let (obeys, sends) = change.pause;
        let mut wanted = Vec::new();
        if obeys.is_some() || sends.is_some() {
            wanted.extend(attribute(PAUSE_NEGOTIATE, &[0]));
        }
        for (kind, wish) in [(PAUSE_RX, obeys), (PAUSE_TX, sends)] {
            wanted.extend(
                wish.map(|on| attribute(kind, &[on.into()]))
                    .unwrap_or_default(),
            );
        }
        if !wanted.is_empty() {
            self.exchange(PAUSE_SET, &[header(index), wanted].concat())?;
        }
        Ok(())
    }

    /// Sends a request and returns the attributes of the answer; empty for a mere acknowledgement.
    fn exchange(&mut self, command: u8, attributes: &[u8]) -> io::Result<Vec<u8>> {
        self.sequence = self.sequence.wrapping_add(1);
        let len = (NETLINK + GENERIC + attributes.len()) as u32;
        let mut request = len.to_ne_bytes().to_vec();
        request.extend(self.family.to_ne_bytes());
        request.extend((REQUEST | ACK).to_ne_bytes());
        request.extend(self.sequence.to_ne_bytes());
        request.extend([0; 4]);
        request.extend([command, 1, 0, 0]);
        request.extend(attributes);
        self.socket.send(&request, 0)?;
        let mut answer = Vec::new();
        loop {
            let (bytes, _) = self.socket.recv_from_full()?;
            for (kind, sequence, body) in messages(&bytes) {
                if sequence != self.sequence {
                    continue;
                }
                match kind {
                    ERROR => {
                        let code = body.first_chunk().map(|code| i32::from_ne_bytes(*code));
                        return match code {
                            Some(0) => Ok(answer),
                            Some(code) => Err(io::Error::from_raw_os_error(code.saturating_neg())),
                            None => Err(io::ErrorKind::InvalidData.into()),
                        };
                    }
                    DONE => return Ok(answer),
                    _ => answer = body.get(GENERIC..).unwrap_or_default().to_vec(),
                }
            }
        }
    }
}

/// Iterates over the messages of a datagram: type, sequence number, body.
fn messages(bytes: &[u8]) -> impl Iterator<Item = (u16, u32, &[u8])> {
    let mut rest = bytes;
    core::iter::from_fn(move || {
        let head: &[u8; NETLINK] = rest.first_chunk()?;
        let [a, b, c, d, kind_low, kind_high, _, _, e, f, g, h, ..] = *head;
        let len = u32::from_ne_bytes([a, b, c, d]) as usize;
        let body = rest.get(NETLINK..len)?;
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        let kind = u16::from_ne_bytes([kind_low, kind_high]);
        Some((kind, u32::from_ne_bytes([e, f, g, h]), body))
    })
}

/// Iterates over attributes: type and value.
fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    core::iter::from_fn(move || {
        let [a, b, c, d] = *rest.first_chunk()?;
        let len = usize::from(u16::from_ne_bytes([a, b]));
        let value = rest.get(4..len)?;
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((u16::from_ne_bytes([c, d]) & !(3 << 14), value))
    })
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let len = 4 + value.len();
    let mut bytes = (len as u16).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(len.next_multiple_of(4), 0);
    bytes
}

/// Request header with the device index.
fn header(index: u32) -> Vec<u8> {
    let index = attribute(HEADER_INDEX, &index.to_ne_bytes());
    let flags = attribute(HEADER_FLAGS, &COMPACT.to_ne_bytes());
    attribute(HEADER | NESTED, &[index, flags].concat())
}

/// Values and mask of a bitset.
fn bitset(bytes: &[u8]) -> (u128, u128) {
    let bits = |wanted| {
        let found = attributes(bytes).find(|(kind, _)| *kind == wanted);
        found.map_or(0, |(_, bytes)| from_words(bytes))
    };
    (bits(BITSET_VALUE), bits(BITSET_MASK))
}

/// Bitsets consist of 32-bit words, lowest first; RouterOS has no names for modes beyond 128.
fn from_words(bytes: &[u8]) -> u128 {
    let words = bytes.as_chunks::<4>().0.iter().take(4).enumerate();
    words.fold(0, |all, (at, word)| {
        all | u128::from(u32::from_ne_bytes(*word)) << (32 * at)
    })
}

fn words(bits: u128) -> Vec<u8> {
    let words = (0..4).map(|at| (bits >> (32 * at)) as u32);
    words.flat_map(u32::to_ne_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_round_trip_and_truncation_ends_the_list() {
        let bytes = [attribute(3, &[1]), attribute(7 | NESTED, b"value")].concat();
        let read: Vec<_> = attributes(&bytes).collect();
        assert_eq!(read, [(3, &[1][..]), (7, b"value")]);
        for len in 0..bytes.len() {
            assert!(attributes(&bytes[..len]).count() < 2 || len >= bytes.len() - 3);
        }
        let wide = 1 << 100 | 5;
        assert_eq!(from_words(&words(wide)), wide);
    }

    #[test]
    fn a_device_without_link_modes_is_reported() {
        let Ok(mut ethtool) = Ethtool::open() else {
            return eprintln!("skipped: this kernel has no ethtool by netlink");
        };
        // The loopback device has index 1 in every namespace.
        let refused = ethtool.modes(1).map(|_| ());
        assert!(refused.is_err());
        let gone = ethtool.modes(u32::MAX >> 1);
        assert!(gone.is_err());
    }
}
