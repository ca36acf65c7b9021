//! Files of packets that Wireshark's tools read (draft-ietf-opsawg-pcapng, sections 3 and 4).

/// Block types (section 11.1).
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
/// Options: of all blocks, of interfaces, of packets (sections 3.5, 4.2, 4.3).
const END: u16 = 0;
const COMMENT: u16 = 1;
const APPLICATION: u16 = 4;
const NAME: u16 = 2;
const RESOLUTION: u16 = 9;
const FLAGS: u16 = 2;
/// Frames of Ethernet (LINKTYPE_ETHERNET).
const ETHERNET: u16 = 1;

/// The head of a file.
pub fn head(application: &str) -> Vec<u8> {
    let mut body = Vec::new();
    // The order of bytes, version 1.0, and no length of the section.
    body.extend(0x1a2b_3c4d_u32.to_le_bytes());
    body.extend([1, 0, 0, 0]);
    body.extend(u64::MAX.to_le_bytes());
    option(&mut body, APPLICATION, application.as_bytes());
    option(&mut body, END, &[]);
    block(SECTION, &body)
}

/// Describes an interface; its number is how many were described before it. Times are in nanoseconds.
pub fn interface(name: &str, snap: u32) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend(ETHERNET.to_le_bytes());
    body.extend([0, 0]);
    body.extend(snap.to_le_bytes());
    option(&mut body, NAME, name.as_bytes());
    option(&mut body, RESOLUTION, &[9]);
    option(&mut body, END, &[]);
    block(INTERFACE, &body)
}

/// A packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// The interface's number.
    pub interface: u32,
    /// Nanoseconds since 1970.
    pub unix_nanos: u64,
    /// Whether it was transmitted.
    pub sent: bool,
    /// The length of the whole frame in bytes.
    pub len: usize,
    /// Its beginning.
    pub bytes: &'a [u8],
    /// What is said of it.
    pub comment: &'a str,
}

impl Packet<'_> {
    /// Its block.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(self.bytes.len() + 64);
        body.extend(self.interface.to_le_bytes());
        body.extend(((self.unix_nanos >> 32) as u32).to_le_bytes());
        body.extend((self.unix_nanos as u32).to_le_bytes());
        body.extend((self.bytes.len() as u32).to_le_bytes());
        body.extend((self.len as u32).to_le_bytes());
        body.extend(self.bytes);
        body.resize(body.len().next_multiple_of(4), 0);
        // The two lowest bits: 1 inbound, 2 outbound.
        let flags: u32 = if self.sent { 2 } else { 1 };
        option(&mut body, FLAGS, &flags.to_le_bytes());
        option(&mut body, COMMENT, self.comment.as_bytes());
        option(&mut body, END, &[]);
        block(PACKET, &body)
    }
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
