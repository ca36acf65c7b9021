//! Packet files for Wireshark (draft-ietf-opsawg-pcapng, sections 3 and 4).

use std::collections::BTreeMap;

use frame::InterfaceId;

use crate::ObservedFrame;

/// Block types (section 11.1).
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
/// Options of all blocks, of interfaces and of packets (sections 3.5, 4.2, 4.3).
const END: u16 = 0;
const COMMENT: u16 = 1;
const APPLICATION: u16 = 4;
const NAME: u16 = 2;
const RESOLUTION: u16 = 9;
const FLAGS: u16 = 2;
/// Link type of Ethernet frames (LINKTYPE_ETHERNET).
const ETHERNET: u16 = 1;

/// A pcapng file: collects blocks to write.
#[derive(Debug)]
pub struct File {
    waiting: Vec<u8>,
    /// Number of each described interface.
    interfaces: BTreeMap<InterfaceId, u32>,
}

impl File {
    /// Starts a file that `application` writes.
    pub fn new(application: &str) -> Self {
        Self {
            waiting: head(application),
            interfaces: BTreeMap::new(),
        }
    }

    /// Adds captured bytes of a packet, with the name of the interface and the time in nanoseconds since
    /// 1970.
    pub fn add(&mut self, seen: &ObservedFrame, bytes: &[u8], name: &str, unix_nanos: u64) {
        let next = self.interfaces.len() as u32;
        let number = *self.interfaces.entry(seen.interface).or_insert_with(|| {
            self.waiting.extend(interface(name));
            next
        });
        self.waiting.extend(packet(seen, bytes, number, unix_nanos));
    }

    /// Returns the number of bytes to write.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Truncates the bytes to write to this length.
    pub fn cut(&mut self, waiting: usize) {
        self.waiting.truncate(waiting);
    }

    /// Removes and returns the bytes to write.
    pub fn take(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.waiting)
    }
}

fn head(application: &str) -> Vec<u8> {
    let mut body = Vec::new();
    // Byte order, version 1.0, and an unspecified section length.
    body.extend(0x1a2b_3c4d_u32.to_le_bytes());
    body.extend([1, 0, 0, 0]);
    body.extend(u64::MAX.to_le_bytes());
    option(&mut body, APPLICATION, application.as_bytes());
    option(&mut body, END, &[]);
    block(SECTION, &body)
}

/// Describes an interface with times in nanoseconds and without a length limit of packets.
fn interface(name: &str) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend(ETHERNET.to_le_bytes());
    body.extend([0; 2 + 4]);
    option(&mut body, NAME, name.as_bytes());
    option(&mut body, RESOLUTION, &[9]);
    option(&mut body, END, &[]);
    block(INTERFACE, &body)
}

fn packet(seen: &ObservedFrame, bytes: &[u8], interface: u32, unix_nanos: u64) -> Vec<u8> {
    let mut body = Vec::with_capacity(bytes.len() + 64);
    body.extend(interface.to_le_bytes());
    body.extend(((unix_nanos >> 32) as u32).to_le_bytes());
    body.extend((unix_nanos as u32).to_le_bytes());
    body.extend((bytes.len() as u32).to_le_bytes());
    body.extend((seen.len as u32).to_le_bytes());
    body.extend(bytes);
    body.resize(body.len().next_multiple_of(4), 0);
    // The two lowest bits: 1 inbound, 2 outbound.
    let flags: u32 = if seen.sent { 2 } else { 1 };
    option(&mut body, FLAGS, &flags.to_le_bytes());
    option(&mut body, COMMENT, seen.path.name().as_bytes());
    option(&mut body, END, &[]);
    block(PACKET, &body)
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let len = (body.len() as u32 + 12).to_le_bytes();
    [&kind.to_le_bytes()[..], &len, body, &len].concat()
}
