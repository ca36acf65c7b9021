//! Builds packets in which every field can have an invalid value.

/// MAC addresses of the router's LAN port and of the client in the lab.
const ROUTER: [u8; 6] = [2, 0, 0, 0, 2, 1];
const CLIENT: [u8; 6] = [2, 0, 0, 0, 2, 2];

const TRAILER: &[u8] = b"behind the packet";

/// An IPv4 packet from the client to the server; a field with `None` gets its correct value.
#[derive(Clone, Debug)]
pub(super) struct V4 {
    pub(super) to: [u8; 6],
    pub(super) version: u8,
    pub(super) header_words: Option<u8>,
    pub(super) total: Option<u16>,
    pub(super) fragment: u16,
    pub(super) ttl: u8,
    pub(super) checksum: Option<u16>,
    pub(super) source: [u8; 4],
    pub(super) destination: [u8; 4],
    pub(super) options: Vec<u8>,
    pub(super) payload: Vec<u8>,
    pub(super) trailer: bool,
}

impl V4 {
    /// An unsolicited echo reply: hosts do not respond to it, and routers may answer it with an ICMP error.
    pub(super) fn new(name: &str) -> Self {
        Self {
            to: ROUTER,
            version: 4,
            header_words: None,
            total: None,
            fragment: 0,
            ttl: 64,
            checksum: None,
            source: [192, 168, 88, 10],
            destination: [203, 0, 113, 1],
            options: Vec::new(),
            payload: echo(0, &mark(name)),
            trailer: false,
        }
    }

    /// As a frame.
    pub(super) fn frame(&self) -> Vec<u8> {
        let words = 5 + self.options.len().div_ceil(4);
        let mut header = vec![0; words * 4];
        header[0] = self.version << 4 | self.header_words.unwrap_or(words as u8);
        let total = (header.len() + self.payload.len()) as u16;
        header[2..4].copy_from_slice(&self.total.unwrap_or(total).to_be_bytes());
        header[4..6].copy_from_slice(&[0xfe, 0x44]);
        header[6..8].copy_from_slice(&self.fragment.to_be_bytes());
        header[8] = self.ttl;
        header[9] = 1;
        header[12..16].copy_from_slice(&self.source);
        header[16..20].copy_from_slice(&self.destination);
        header[20..20 + self.options.len()].copy_from_slice(&self.options);
        // The receiver computes the checksum over the length in the header.
        let summed = usize::from(header[0] & 15) * 4;
        let sum = self
            .checksum
            .unwrap_or_else(|| checksum(&header[..summed.min(header.len())]));
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        frame(self.to, [8, 0], &[&header, &self.payload], self.trailer)
    }
}

/// An IPv6 packet from the client to the server; a field with `None` gets its correct value.
#[derive(Clone, Debug)]
pub(super) struct V6 {
    pub(super) version: u8,
    pub(super) length: Option<u16>,
    pub(super) hop_limit: u8,
    pub(super) source: [u16; 8],
    pub(super) destination: [u16; 8],
    /// Type of the first extension header, and the bytes of all.
    pub(super) extensions: Option<(u8, Vec<u8>)>,
    pub(super) payload: Vec<u8>,
    pub(super) trailer: bool,
}

/// Protocol number of ICMPv6.
pub(super) const ICMP6: u8 = 58;

impl V6 {
    /// An unsolicited echo reply, as for IPv4.
    pub(super) fn new(name: &str) -> Self {
        Self {
            version: 6,
            length: None,
            hop_limit: 64,
            source: [0x2001, 0xdb8, 0x88, 0, 0, 0, 0, 0x10],
            destination: [0x2001, 0xdb8, 1, 0, 0, 0, 0, 1],
            extensions: None,
            payload: echo(129, &mark(name)),
            trailer: false,
        }
    }

    /// As a frame.
    pub(super) fn frame(&self) -> Vec<u8> {
        let (next, extensions) = self.extensions.clone().unwrap_or((ICMP6, Vec::new()));
        let length = (extensions.len() + self.payload.len()) as u16;
        let mut header = vec![self.version << 4, 0, 0, 0];
        header.extend(self.length.unwrap_or(length).to_be_bytes());
        header.extend([next, self.hop_limit]);
        header.extend(self.source.iter().flat_map(|word| word.to_be_bytes()));
        header.extend(self.destination.iter().flat_map(|word| word.to_be_bytes()));
        let mut payload = self.payload.clone();
        // The checksum includes the addresses (RFC 8200, 8.1).
        let mut pseudo = header[8..40].to_vec();
        pseudo.extend((payload.len() as u32).to_be_bytes());
        pseudo.extend([0, 0, 0, ICMP6]);
        payload[2..4].fill(0);
        pseudo.extend(&payload);
        payload[2..4].copy_from_slice(&checksum(&pseudo).to_be_bytes());
        frame(
            ROUTER,
            [0x86, 0xdd],
            &[&header, &extensions, &payload],
            self.trailer,
        )
    }
}

/// An ICMP message with an identifier: echo request or reply of either version.
pub(super) fn echo(kind: u8, data: &[u8]) -> Vec<u8> {
    let mut message = vec![kind, 0, 0, 0, 0xfe, 0x44, 0, 1];
    message.extend(data);
    let sum = checksum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    message
}

/// Returns the mark of a case's packets, at the beginning of the payload.
pub(super) fn mark(name: &str) -> Vec<u8> {
    format!("<{name}>........").into_bytes()
}

/// Returns true if the frame contains the mark of this case.
pub(super) fn is_marked(frame: &[u8], name: &str) -> bool {
    contains(frame, format!("<{name}>").as_bytes())
}

/// Returns true if the frame contains the trailing bytes after a packet.
pub(super) fn has_trailer(frame: &[u8]) -> bool {
    contains(frame, TRAILER)
}

/// Returns type and code of an ICMP message of either version.
pub(super) fn icmp(frame: &[u8]) -> Option<(u8, u8)> {
    let at = match frame.get(12..14)? {
        [8, 0] => 14 + usize::from(frame.get(14)? & 15) * 4,
        _ => 14 + 40,
    };
    Some((*frame.get(at)?, *frame.get(at + 1)?))
}

fn frame(to: [u8; 6], kind: [u8; 2], parts: &[&[u8]], trailer: bool) -> Vec<u8> {
    let mut frame: Vec<u8> = [&to[..], &CLIENT, &kind].concat();
    frame.extend(parts.concat());
    if trailer {
        frame.extend(TRAILER);
    }
    frame
}

fn contains(frame: &[u8], what: &[u8]) -> bool {
    frame.windows(what.len()).any(|window| window == what)
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u64::from(*low));
    let mut sum: u64 = bytes.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
