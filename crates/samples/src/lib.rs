//! Sample packets for tests, built byte by byte without the code under test.

/// UDP packet over IPv4 in an Ethernet frame.
#[derive(Clone, Copy, Debug)]
pub struct Udp4 {
    /// Destination MAC address.
    pub to: [u8; 6],
    /// Source address.
    pub source: u32,
    /// Destination address.
    pub destination: u32,
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// TTL.
    pub ttl: u8,
    /// Protocol number.
    pub protocol: u8,
    /// Flags and fragment offset.
    pub fragment: u16,
    /// Length of the UDP payload in bytes.
    pub payload: usize,
}

/// MAC address of the router on the test's ingress interface.
pub const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

impl Default for Udp4 {
    fn default() -> Self {
        Self {
            to: MAC,
            source: 0x0a00_0002,
            destination: 0x0b00_0002,
            source_port: 1000,
            destination_port: 2000,
            ttl: 64,
            protocol: 17,
            fragment: 0,
            payload: 18,
        }
    }
}

impl Udp4 {
    /// Builds the packet, from the IP header on.
    pub fn packet(&self) -> Vec<u8> {
        let total = 28 + self.payload;
        let mut bytes = vec![0x45, 0];
        bytes.extend((total as u16).to_be_bytes());
        bytes.extend([0x12, 0x34]);
        bytes.extend(self.fragment.to_be_bytes());
        bytes.extend([self.ttl, self.protocol, 0, 0]);
        bytes.extend(self.source.to_be_bytes());
        bytes.extend(self.destination.to_be_bytes());
        bytes.extend(self.source_port.to_be_bytes());
        bytes.extend(self.destination_port.to_be_bytes());
        bytes.extend(((8 + self.payload) as u16).to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend((0..self.payload).map(|at| at as u8));
        seal(&mut bytes);
        bytes
    }

    /// Builds the packet in an Ethernet frame.
    pub fn frame(&self) -> Vec<u8> {
        ethernet(self.to, 0x0800, &self.packet())
    }
}

/// Writes the header checksum of an IPv4 packet.
pub fn seal(packet: &mut [u8]) {
    let header = usize::from(packet[0] & 0xf) * 4;
    packet[10..12].fill(0);
    let sum = sum(&packet[..header]);
    packet[10..12].copy_from_slice(&(!sum).to_be_bytes());
}

/// Ones' complement sum, computed naively.
pub fn sum(bytes: &[u8]) -> u16 {
    let mut sum = 0u32;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Builds an Ethernet frame around these bytes.
pub fn ethernet(to: [u8; 6], ethertype: u16, packet: &[u8]) -> Vec<u8> {
    let mut bytes = to.to_vec();
    bytes.extend([2, 0, 0, 0, 0, 9]);
    bytes.extend(ethertype.to_be_bytes());
    bytes.extend(packet);
    bytes
}

/// Builds a broadcast ARP frame with a zero payload.
pub fn arp() -> Vec<u8> {
    ethernet([0xff; 6], 0x0806, &[0; 46])
}

/// IPv6 packet.
#[derive(Clone, Copy, Debug)]
pub struct Udp6 {
    /// Source address.
    pub source: u128,
    /// Destination address.
    pub destination: u128,
    /// Hop limit.
    pub hop_limit: u8,
    /// Next header number.
    pub next_header: u8,
    /// Payload length in bytes.
    pub payload: usize,
}

impl Default for Udp6 {
    fn default() -> Self {
        Self {
            source: 0x2001_0db8_0000_000a << 64 | 2,
            destination: 0x2001_0db8_0000_000b << 64 | 2,
            hop_limit: 64,
            next_header: 17,
            payload: 26,
        }
    }
}

impl Udp6 {
    /// Builds the packet, from the IP header on.
    pub fn packet(&self) -> Vec<u8> {
        let mut bytes = vec![0x60, 0, 0, 0];
        bytes.extend((self.payload as u16).to_be_bytes());
        bytes.extend([self.next_header, self.hop_limit]);
        bytes.extend(self.source.to_be_bytes());
        bytes.extend(self.destination.to_be_bytes());
        bytes.extend((0..self.payload).map(|at| at as u8));
        bytes
    }

    /// Builds the packet in an Ethernet frame.
    pub fn frame(&self) -> Vec<u8> {
        ethernet(MAC, 0x86dd, &self.packet())
    }
}
