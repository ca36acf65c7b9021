//! Messages of DHCP and BOOTP (RFC 2131, 2; RFC 951) with raw options (RFC 2132).
//!
//! `dhcproto` parses the fixed part and iterates over options. This module joins long options (RFC 3396) and reads
//! the options in `sname` and `file` (option 52). Option values stay bytes, so that one malformed value does not
//! invalidate the whole message.

use core::net::Ipv4Addr;
use std::collections::BTreeMap;

use dhcproto::v4::borrowed::{self, DhcpOptionIterator};
use wire::{Mac, Protocol, ipv4, udp};

pub use dhcproto::v4::MessageType;
pub use wire::dhcp::{CLIENT_PORT, SERVER_PORT};

use wire::dhcp::HEADER_LEN;

/// Numbers of the options that ferroute handles.
pub mod code {
    #![allow(missing_docs, reason = "the names of RFC 2132 and its successors")]
    pub const SUBNET_MASK: u8 = 1;
    pub const ROUTER: u8 = 3;
    pub const DNS: u8 = 6;
    pub const HOST_NAME: u8 = 12;
    pub const DOMAIN: u8 = 15;
    pub const STATIC_ROUTES: u8 = 33;
    pub const NTP: u8 = 42;
    pub const VENDOR: u8 = 43;
    pub const WINS: u8 = 44;
    pub const REQUESTED: u8 = 50;
    pub const LEASE_TIME: u8 = 51;
    pub const OVERLOAD: u8 = 52;
    pub const MESSAGE_TYPE: u8 = 53;
    pub const SERVER_ID: u8 = 54;
    pub const PARAMETERS: u8 = 55;
    pub const MESSAGE: u8 = 56;
    pub const LARGEST: u8 = 57;
    pub const T1: u8 = 58;
    pub const T2: u8 = 59;
    pub const CLASS: u8 = 60;
    pub const CLIENT_ID: u8 = 61;
    pub const TFTP_NAME: u8 = 66;
    pub const BOOT_FILE: u8 = 67;
    pub const FQDN: u8 = 81;
    pub const AGENT: u8 = 82;
    pub const CLASSLESS_ROUTES: u8 = 121;
    pub const CAPWAP: u8 = 138;
}

/// Maximum message length in bytes: UDP payload of a jumbo frame.
const LONGEST: usize = 9_000;
/// Minimum message length in bytes for old clients and relay agents (RFC 1542, 2.1).
const SHORTEST: usize = 300;
/// Message length in bytes that every client accepts: 576 bytes of IP less the headers (RFC 2131, 2).
const ALWAYS: usize = 548;
const COOKIE: [u8; 4] = [99, 130, 83, 99];
const BROADCAST: u16 = 0x8000;
const PAD: u8 = 0;
const END: u8 = 255;

/// Reason why a message cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The message is shorter than its fixed part.
    Truncated,
    /// The message is longer than 9,000 bytes.
    TooLong,
    /// The hardware address is longer than its field.
    HardwareAddress,
    /// An option exceeds its field.
    Options,
}

/// A DHCP or BOOTP message. The default is an empty request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// True for messages from server to client (`op` 2).
    pub is_reply: bool,
    /// Hardware type; 1 is Ethernet.
    pub htype: u8,
    /// Length of the hardware address, 16 at most.
    pub hlen: u8,
    /// Number of relay agents on the path.
    pub hops: u8,
    /// Transaction id.
    pub xid: u32,
    /// Seconds since the client started the exchange.
    pub secs: u16,
    /// Broadcast flag: the client asks for broadcast answers.
    pub broadcast: bool,
    /// Address that the client already uses.
    pub ciaddr: Ipv4Addr,
    /// Address that the server assigns.
    pub yiaddr: Ipv4Addr,
    /// Address of the next server to boot from.
    pub siaddr: Ipv4Addr,
    /// Address of the relay agent.
    pub giaddr: Ipv4Addr,
    /// Hardware address of the client, padded with zeros.
    pub chaddr: [u8; 16],
    /// Server name, 64 bytes at most; empty if the field holds options.
    pub sname: Vec<u8>,
    /// Boot file, 128 bytes at most; empty if the field holds options.
    pub file: Vec<u8>,
    /// Options.
    pub options: Options,
}

impl Default for Message {
    fn default() -> Self {
        let none = Ipv4Addr::UNSPECIFIED;
        Self {
            is_reply: false,
            htype: 1,
            hlen: 6,
            hops: 0,
            xid: 0,
            secs: 0,
            broadcast: false,
            ciaddr: none,
            yiaddr: none,
            siaddr: none,
            giaddr: none,
            chaddr: [0; 16],
            sname: Vec::new(),
            file: Vec::new(),
            options: Options::default(),
        }
    }
}

impl Message {
    /// Parses the payload of a UDP datagram. A message without the magic cookie is BOOTP and has no options.
    ///
    /// # Errors
    /// Returns [`Malformed`] if the message is too short or too long, or if a field is invalid.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        if bytes.len() > LONGEST {
            return Err(Malformed::TooLong);
        }
        let read = borrowed::Message::new(bytes).map_err(|_| Malformed::Truncated)?;
        if read.hlen() > 16 {
            return Err(Malformed::HardwareAddress);
        }
        let mut chaddr = [0; 16];
        let hardware = read.chaddr();
        chaddr[..hardware.len()].copy_from_slice(hardware);
        let mut message = Self {
            is_reply: bytes[0] == 2,
            htype: read.htype().into(),
            hlen: read.hlen(),
            hops: read.hops(),
            xid: read.xid(),
            secs: read.secs(),
            broadcast: read.flags().broadcast(),
            ciaddr: read.ciaddr(),
            yiaddr: read.yiaddr(),
            siaddr: read.siaddr(),
            giaddr: read.giaddr(),
            chaddr,
            sname: read.sname().to_vec(),
            file: read.fname().to_vec(),
            options: Options::default(),
        };
        let (head, behind) = bytes.split_at(HEADER_LEN);
        if head.ends_with(&COOKIE) {
            message.options.read(behind)?;
            // RFC 2131, 4.1: the options field comes first, then `file`, then `sname`.
            let overload = message.options.byte(code::OVERLOAD).unwrap_or(0);
            if overload & 1 != 0 {
                message.options.read(&head[108..236])?;
                message.file.clear();
            }
            if overload & 2 != 0 {
                message.options.read(&head[44..108])?;
                message.sname.clear();
            }
            message.options.remove(code::OVERLOAD);
        }
        Ok(message)
    }

    /// Encodes the message, padded to 300 bytes. `most` is the length that the receiver accepts (option 57). Options
    /// that do not fit are left out, highest numbers first. The relay agent option comes last (RFC 3046, 2.1) and is
    /// always included.
    pub fn encode(&self, most: usize) -> Vec<u8> {
        let most = most.clamp(ALWAYS, LONGEST);
        let mut bytes = Vec::with_capacity(SHORTEST + 64);
        bytes.extend([
            1 + u8::from(self.is_reply),
            self.htype,
            self.hlen,
            self.hops,
        ]);
        bytes.extend(self.xid.to_be_bytes());
        bytes.extend(self.secs.to_be_bytes());
        let flags = if self.broadcast { BROADCAST } else { 0 };
        bytes.extend(flags.to_be_bytes());
        for address in [self.ciaddr, self.yiaddr, self.siaddr, self.giaddr] {
            bytes.extend(address.octets());
        }
        bytes.extend(self.chaddr);
        for (text, end) in [(&self.sname, 108), (&self.file, 236)] {
            let room = end - bytes.len();
            bytes.extend(text.iter().take(room));
            bytes.resize(end, 0);
        }
        // BOOTP messages have no cookie and no options.
        if !self.options.0.is_empty() {
            bytes.extend(COOKIE);
            self.options.write(most, &mut bytes);
        }
        bytes.resize(bytes.len().max(SHORTEST), PAD);
        bytes
    }

    /// Message type (option 53); `None` for BOOTP.
    pub fn kind(&self) -> Option<MessageType> {
        self.options.byte(code::MESSAGE_TYPE).map(MessageType::from)
    }

    /// MAC address of the client; `None` if the hardware type is not Ethernet.
    pub fn mac(&self) -> Option<Mac> {
        let mac = *self.chaddr.first_chunk()?;
        (self.htype == 1 && self.hlen == 6).then_some(Mac(mac))
    }
}

/// Options by number, as bytes, without pad and end options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options(BTreeMap<u8, Vec<u8>>);

impl Options {
    /// Adds the options of one field.
    fn read(&mut self, field: &[u8]) -> Result<(), Malformed> {
        if !is_whole(field) {
            return Err(Malformed::Options);
        }
        for option in DhcpOptionIterator::new(field) {
            // RFC 3396: concatenates the fragments of a long option, even from different fields.
            let value = self.0.entry(option.code().into()).or_default();
            value.extend(option.data());
        }
        Ok(())
    }

    fn write(&self, most: usize, bytes: &mut Vec<u8>) {
        let agent = self.get(code::AGENT);
        let len = |value: &[u8]| value.len() + 2 * value.len().div_ceil(255).max(1);
        let most = most.saturating_sub(1 + agent.map_or(0, len));
        // Message type and server identifier come first, for receivers that parse options in order.
        let first = [code::MESSAGE_TYPE, code::SERVER_ID];
        let others = self.0.iter().map(|(code, value)| (*code, &value[..]));
        let others = others.filter(|(code, _)| !first.contains(code) && *code != code::AGENT);
        let first = first
            .into_iter()
            .filter_map(|code| Some((code, self.get(code)?)));
        for (code, value) in first.chain(others) {
            if bytes.len() + len(value) <= most {
                put(code, value, bytes);
            }
        }
        if let Some(agent) = agent {
            put(code::AGENT, agent, bytes);
        }
        bytes.push(END);
    }

    /// Returns the value of an option.
    pub fn get(&self, code: u8) -> Option<&[u8]> {
        self.0.get(&code).map(Vec::as_slice)
    }

    /// True if the option is present.
    pub fn contains(&self, code: u8) -> bool {
        self.0.contains_key(&code)
    }

    /// Sets an option. Pad and end options are ignored.
    pub fn set(&mut self, code: u8, value: impl Into<Vec<u8>>) {
        if code != PAD && code != END {
            self.0.insert(code, value.into());
        }
    }

    /// Sets an option to a list of addresses; an empty list leaves the option unchanged.
    pub fn set_addresses(&mut self, code: u8, addresses: &[Ipv4Addr]) {
        if !addresses.is_empty() {
            let value: Vec<u8> = addresses.iter().flat_map(|one| one.octets()).collect();
            self.set(code, value);
        }
    }

    /// Removes an option and returns its value.
    pub fn remove(&mut self, code: u8) -> Option<Vec<u8>> {
        self.0.remove(&code)
    }

    /// Iterates over the options in ascending order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u8, &[u8])> {
        self.0.iter().map(|(code, value)| (*code, &value[..]))
    }

    /// Returns the value of a one-byte option.
    pub fn byte(&self, code: u8) -> Option<u8> {
        match self.get(code)? {
            [byte] => Some(*byte),
            _ => None,
        }
    }

    /// Returns the value of a two-byte option.
    pub fn u16(&self, code: u8) -> Option<u16> {
        let bytes = self.get(code)?.try_into().ok()?;
        Some(u16::from_be_bytes(bytes))
    }

    /// Returns the value of a four-byte option.
    pub fn u32(&self, code: u8) -> Option<u32> {
        let bytes = self.get(code)?.try_into().ok()?;
        Some(u32::from_be_bytes(bytes))
    }

    /// Returns the value of an option that holds one address.
    pub fn address(&self, code: u8) -> Option<Ipv4Addr> {
        self.u32(code).map(Ipv4Addr::from_bits)
    }

    /// Returns the addresses in a list option; an incomplete address at the end is ignored.
    pub fn addresses(&self, code: u8) -> Vec<Ipv4Addr> {
        let value = self.get(code).unwrap_or_default();
        let (addresses, _) = value.as_chunks::<4>();
        addresses.iter().copied().map(Ipv4Addr::from).collect()
    }

    /// Returns the value of a text option, without zeros at the end. Invalid UTF-8 and control characters are
    /// replaced.
    pub fn text(&self, code: u8) -> Option<String> {
        let value = self.get(code)?;
        let end = value.iter().rposition(|byte| *byte != 0)? + 1;
        let text = String::from_utf8_lossy(&value[..end]);
        Some(text.replace(char::is_control, "?"))
    }
}

/// Builds an IPv4 packet with a UDP datagram. The IPv4 identification is 0.
pub fn packet(
    src: Ipv4Addr,
    src_port: u16,
    dst: Ipv4Addr,
    dst_port: u16,
    message: &[u8],
) -> Vec<u8> {
    let udp = udp::Repr { src_port, dst_port }.to_bytes_v4(message, src, dst);
    let header = ipv4::Repr::new(Protocol::UDP, src, dst);
    let len = udp.len() + message.len();
    [&header.to_bytes(len)[..], &udp, message].concat()
}

/// Encodes an option, in fragments of 255 bytes.
fn put(code: u8, value: &[u8], bytes: &mut Vec<u8>) {
    if value.is_empty() {
        bytes.extend([code, 0]);
    }
    for piece in value.chunks(255) {
        bytes.extend([code, piece.len() as u8]);
        bytes.extend(piece);
    }
}

/// True if no option exceeds the field. The end option may be missing.
fn is_whole(field: &[u8]) -> bool {
    let mut rest = field;
    loop {
        rest = match rest {
            [] | [END, ..] => return true,
            [PAD, rest @ ..] => rest,
            [_, len, value @ ..] => match value.get(usize::from(*len)..) {
                Some(rest) => rest,
                None => return false,
            },
            [_] => return false,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn discover() -> Message {
        let mut message = Message {
            xid: 0x0102_0304,
            secs: 7,
            broadcast: true,
            giaddr: [10, 0, 0, 1].into(),
            ..Message::default()
        };
        message.chaddr[..6].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
        message.options.set(code::MESSAGE_TYPE, [1]);
        message.options.set(code::HOST_NAME, *b"caf\xe9\0");
        message.options.set(code::CLIENT_ID, vec![7; 270]);
        message.options.set(code::AGENT, [1, 1, 7]);
        message
    }

    #[test]
    fn written_messages_parse_to_the_same_values() {
        let message = discover();
        let bytes = message.encode(0);
        let read = Message::decode(&bytes).expect("it is well-formed");

        assert_eq!(read, message);
        assert_eq!(read.kind(), Some(MessageType::Discover));
        assert_eq!(read.mac(), Some(Mac([2, 0, 0, 0, 0, 9])));
        assert_eq!(
            read.options.text(code::HOST_NAME).as_deref(),
            Some("caf\u{fffd}")
        );
        assert_eq!(bytes[240..243], [53, 1, 1], "the type stands first");
        let end = bytes
            .windows(6)
            .position(|part| part == [82, 3, 1, 1, 7, END]);
        assert!(end.is_some(), "the agent's option stands last");
        assert_eq!(bytes[bytes.len() - 1], END);
    }

    #[test]
    fn a_bootp_message_has_no_options_and_the_minimum_length() {
        let message = Message::default();
        let bytes = message.encode(0);

        assert_eq!(bytes.len(), SHORTEST);
        assert_eq!(Message::decode(&bytes), Ok(message));
    }

    #[test]
    fn overloaded_and_split_options_are_concatenated() {
        let mut bytes = discover().encode(0);
        bytes.truncate(240);
        bytes[108..114].copy_from_slice(&[12, 2, b'a', b'b', END, 9]);
        bytes[44..49].copy_from_slice(&[12, 1, b'c', PAD, END]);
        bytes.extend([53, 1, 3, 52, 1, 3, 12, 1, b'x']);
        let read = Message::decode(&bytes).expect("it is well-formed");

        assert_eq!(read.options.text(code::HOST_NAME).as_deref(), Some("xabc"));
        assert_eq!(read.kind(), Some(MessageType::Request));
        assert!(read.file.is_empty() && read.sname.is_empty());
    }

    #[test]
    fn options_without_room_are_omitted_but_the_agent_option_stays() {
        let mut message = discover();
        message.options.set(224, vec![1; 200]);
        message.options.set(225, vec![2; 40]);
        let bytes = message.encode(0);
        let read = Message::decode(&bytes).expect("it is well-formed");

        assert!(bytes.len() <= ALWAYS);
        assert!(read.options.contains(code::AGENT) && read.options.contains(code::CLIENT_ID));
        assert_eq!(read.options.get(224), None);
        assert!(Message::decode(&message.encode(1_400)).is_ok_and(|all| all.options.contains(225)));
    }

    #[test]
    fn every_truncation_and_bit_flip_parses_or_fails() {
        let bytes = discover().encode(0);
        for len in 0..bytes.len() {
            let read = Message::decode(&bytes[..len]);
            assert_eq!(
                read.is_err_and(|fault| fault == Malformed::Truncated),
                len < 240
            );
        }
        for at in 0..bytes.len() * 8 {
            let mut other = bytes.clone();
            other[at / 8] ^= 1 << (at % 8);
            if let Ok(read) = Message::decode(&other) {
                let again = Message::decode(&read.encode(LONGEST));
                assert!(again.is_ok_and(|again| again.options == read.options));
            }
        }
        let mut other = bytes;
        other[2] = 17;
        assert_eq!(Message::decode(&other), Err(Malformed::HardwareAddress));
        assert_eq!(Message::decode(&[0; LONGEST + 1]), Err(Malformed::TooLong));
    }

    #[test]
    fn packets_have_correct_checksums() {
        let (from, to) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::BROADCAST);
        let bytes = packet(from, SERVER_PORT, to, CLIENT_PORT, b"message");
        let packet = ipv4::Packet::new_verified(&bytes).expect("a right header");
        let datagram = udp::Datagram::new_checked(packet.payload()).expect("a datagram");

        assert_eq!(datagram.verify_v4(from, to), Ok(()));
        assert_eq!(
            (datagram.payload(), datagram.dst_port()),
            (&b"message"[..], 68)
        );
    }
}
