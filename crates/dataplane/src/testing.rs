//! Packets by their bytes, for tests.

/// A UDP packet over IPv4 in an Ethernet frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Udp4 {
    pub(crate) to: [u8; 6],
    pub(crate) source: u32,
    pub(crate) destination: u32,
    pub(crate) source_port: u16,
    pub(crate) destination_port: u16,
    pub(crate) ttl: u8,
    pub(crate) protocol: u8,
    /// Flags and fragment offset.
    pub(crate) fragment: u16,
    /// Bytes behind the UDP header.
    pub(crate) payload: usize,
}

/// The router's own address on the test's ingress interface.
pub(crate) const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

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
    pub(crate) fn packet(&self) -> Vec<u8> {
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

    pub(crate) fn frame(&self) -> Vec<u8> {
        ethernet(self.to, 0x0800, &self.packet())
    }
}

/// Writes the header checksum of an IPv4 packet.
pub(crate) fn seal(packet: &mut [u8]) {
    let header = usize::from(packet[0] & 0xf) * 4;
    packet[10..12].fill(0);
    let sum = sum(&packet[..header]);
    packet[10..12].copy_from_slice(&(!sum).to_be_bytes());
}

/// The ones' complement sum, the plain way.
pub(crate) fn sum(bytes: &[u8]) -> u16 {
    let mut sum = 0u32;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

pub(crate) fn ethernet(to: [u8; 6], ethertype: u16, packet: &[u8]) -> Vec<u8> {
    let mut bytes = to.to_vec();
    bytes.extend([2, 0, 0, 0, 0, 9]);
    bytes.extend(ethertype.to_be_bytes());
    bytes.extend(packet);
    bytes
}

pub(crate) fn arp() -> Vec<u8> {
    ethernet([0xff; 6], 0x0806, &[0; 46])
}
