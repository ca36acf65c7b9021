//! RADIUS packets and attributes (RFC 2865, 2866, 2869, 5176). Authentication needs a hash and is part of the
//! protocol machine (`service/src/radius/`).
//!
//! ```text
//! 0      1      2      4                 20
//! +------+------+------+-----------------+------------------------------+
//! | code | id   | len  | authenticator   | attributes: kind, len, value |
//! +------+------+------+-----------------+------------------------------+
//! ```
//! A vendor-specific attribute ([`kind::VENDOR`]) contains the vendor id and attributes of the same format (RFC 2865,
//! 5.26).

use alloc::vec::Vec;

/// Length of the header.
pub const HEADER: usize = 20;
/// Maximum packet length (RFC 2865, 3).
pub const MOST: usize = 4096;
/// Maximum length of an attribute value.
pub const VALUE: usize = 253;

/// Packet codes (RFC 2865, 3; RFC 2866, 3; RFC 5176, 2.3).
pub mod code {
    /// Access-Request
    pub const ACCESS_REQUEST: u8 = 1;
    /// Access-Accept
    pub const ACCESS_ACCEPT: u8 = 2;
    /// Access-Reject
    pub const ACCESS_REJECT: u8 = 3;
    /// Accounting-Request
    pub const ACCOUNTING_REQUEST: u8 = 4;
    /// Accounting-Response
    pub const ACCOUNTING_RESPONSE: u8 = 5;
    /// Access-Challenge
    pub const ACCESS_CHALLENGE: u8 = 11;
    /// Disconnect-Request
    pub const DISCONNECT_REQUEST: u8 = 40;
    /// Disconnect-ACK
    pub const DISCONNECT_ACK: u8 = 41;
    /// Disconnect-NAK
    pub const DISCONNECT_NAK: u8 = 42;
    /// CoA-Request
    pub const COA_REQUEST: u8 = 43;
    /// CoA-ACK
    pub const COA_ACK: u8 = 44;
    /// CoA-NAK
    pub const COA_NAK: u8 = 45;
}

/// Attribute types (RFC 2865, 5; RFC 2866, 5; RFC 2869, 5; RFC 3162, 2; RFC 3579, 3; RFC 4818, 3; RFC 5176, 3;
/// RFC 6911, 3).
pub mod kind {
    /// User-Name
    pub const USER_NAME: u8 = 1;
    /// User-Password
    pub const USER_PASSWORD: u8 = 2;
    /// CHAP-Password
    pub const CHAP_PASSWORD: u8 = 3;
    /// NAS-IP-Address
    pub const NAS_IP_ADDRESS: u8 = 4;
    /// NAS-Port
    pub const NAS_PORT: u8 = 5;
    /// Service-Type
    pub const SERVICE_TYPE: u8 = 6;
    /// Framed-Protocol
    pub const FRAMED_PROTOCOL: u8 = 7;
    /// Framed-IP-Address
    pub const FRAMED_IP_ADDRESS: u8 = 8;
    /// Framed-IP-Netmask
    pub const FRAMED_IP_NETMASK: u8 = 9;
    /// Filter-Id
    pub const FILTER_ID: u8 = 11;
    /// Framed-MTU
    pub const FRAMED_MTU: u8 = 12;
    /// Reply-Message
    pub const REPLY_MESSAGE: u8 = 18;
    /// Framed-Route
    pub const FRAMED_ROUTE: u8 = 22;
    /// State
    pub const STATE: u8 = 24;
    /// Class
    pub const CLASS: u8 = 25;
    /// Vendor-Specific
    pub const VENDOR: u8 = 26;
    /// Session-Timeout
    pub const SESSION_TIMEOUT: u8 = 27;
    /// Idle-Timeout
    pub const IDLE_TIMEOUT: u8 = 28;
    /// Called-Station-Id
    pub const CALLED_STATION: u8 = 30;
    /// Calling-Station-Id
    pub const CALLING_STATION: u8 = 31;
    /// NAS-Identifier
    pub const NAS_IDENTIFIER: u8 = 32;
    /// Proxy-State
    pub const PROXY_STATE: u8 = 33;
    /// Acct-Status-Type
    pub const STATUS: u8 = 40;
    /// Acct-Delay-Time
    pub const DELAY: u8 = 41;
    /// Acct-Input-Octets
    pub const INPUT_OCTETS: u8 = 42;
    /// Acct-Output-Octets
    pub const OUTPUT_OCTETS: u8 = 43;
    /// Acct-Session-Id
    pub const SESSION: u8 = 44;
    /// Acct-Authentic
    pub const AUTHENTIC: u8 = 45;
    /// Acct-Session-Time
    pub const SESSION_TIME: u8 = 46;
    /// Acct-Input-Packets
    pub const INPUT_PACKETS: u8 = 47;
    /// Acct-Output-Packets
    pub const OUTPUT_PACKETS: u8 = 48;
    /// Acct-Terminate-Cause
    pub const TERMINATE_CAUSE: u8 = 49;
    /// Acct-Input-Gigawords
    pub const INPUT_GIGAWORDS: u8 = 52;
    /// Acct-Output-Gigawords
    pub const OUTPUT_GIGAWORDS: u8 = 53;
    /// Event-Timestamp
    pub const EVENT_TIMESTAMP: u8 = 55;
    /// CHAP-Challenge
    pub const CHAP_CHALLENGE: u8 = 60;
    /// NAS-Port-Type
    pub const NAS_PORT_TYPE: u8 = 61;
    /// Port-Limit
    pub const PORT_LIMIT: u8 = 62;
    /// EAP-Message
    pub const EAP_MESSAGE: u8 = 79;
    /// Message-Authenticator
    pub const MESSAGE_AUTHENTICATOR: u8 = 80;
    /// Acct-Interim-Interval
    pub const INTERIM_INTERVAL: u8 = 85;
    /// NAS-Port-Id
    pub const NAS_PORT_ID: u8 = 87;
    /// Framed-Pool
    pub const FRAMED_POOL: u8 = 88;
    /// NAS-IPv6-Address
    pub const NAS_IPV6_ADDRESS: u8 = 95;
    /// Framed-Interface-Id
    pub const FRAMED_INTERFACE_ID: u8 = 96;
    /// Framed-IPv6-Prefix
    pub const FRAMED_IPV6_PREFIX: u8 = 97;
    /// Framed-IPv6-Route
    pub const FRAMED_IPV6_ROUTE: u8 = 99;
    /// Framed-IPv6-Pool
    pub const FRAMED_IPV6_POOL: u8 = 100;
    /// Error-Cause
    pub const ERROR_CAUSE: u8 = 101;
    /// Delegated-IPv6-Prefix
    pub const DELEGATED_IPV6_PREFIX: u8 = 123;
    /// Framed-IPv6-Address
    pub const FRAMED_IPV6_ADDRESS: u8 = 168;
    /// Delegated-IPv6-Prefix-Pool
    pub const DELEGATED_IPV6_PREFIX_POOL: u8 = 171;
}

/// Vendor ids and attribute types.
pub mod vendor {
    /// Microsoft (RFC 2548).
    pub const MICROSOFT: u32 = 311;
    /// MS-CHAP-Response
    pub const MS_CHAP_RESPONSE: u8 = 1;
    /// MS-CHAP-Error
    pub const MS_CHAP_ERROR: u8 = 2;
    /// MS-MPPE-Encryption-Policy
    pub const MS_MPPE_ENCRYPTION_POLICY: u8 = 7;
    /// MS-MPPE-Encryption-Types
    pub const MS_MPPE_ENCRYPTION_TYPES: u8 = 8;
    /// MS-CHAP-Domain
    pub const MS_CHAP_DOMAIN: u8 = 10;
    /// MS-CHAP-Challenge
    pub const MS_CHAP_CHALLENGE: u8 = 11;
    /// MS-CHAP-MPPE-Keys
    pub const MS_CHAP_MPPE_KEYS: u8 = 12;
    /// MS-MPPE-Send-Key
    pub const MS_MPPE_SEND_KEY: u8 = 16;
    /// MS-MPPE-Recv-Key
    pub const MS_MPPE_RECV_KEY: u8 = 17;
    /// MS-CHAP2-Response
    pub const MS_CHAP2_RESPONSE: u8 = 25;
    /// MS-CHAP2-Success
    pub const MS_CHAP2_SUCCESS: u8 = 26;
    /// MS-Primary-DNS-Server
    pub const MS_PRIMARY_DNS: u8 = 28;
    /// MS-Secondary-DNS-Server
    pub const MS_SECONDARY_DNS: u8 = 29;
    /// Ascend.
    pub const ASCEND: u32 = 529;
    /// Ascend-Data-Rate
    pub const ASCEND_DATA_RATE: u8 = 197;
    /// Ascend-Xmit-Rate
    pub const ASCEND_XMIT_RATE: u8 = 255;
    /// Broadband Forum (RFC 4679).
    pub const BROADBAND_FORUM: u32 = 3561;
    /// Agent-Circuit-Id
    pub const AGENT_CIRCUIT_ID: u8 = 1;
    /// Agent-Remote-Id
    pub const AGENT_REMOTE_ID: u8 = 2;
    /// Wi-Fi Alliance (WISPr).
    pub const WISPR: u32 = 14_122;
    /// WISPr-Bandwidth-Max-Up: bits per second from the user
    pub const WISPR_BANDWIDTH_MAX_UP: u8 = 7;
    /// WISPr-Bandwidth-Max-Down: bits per second to the user
    pub const WISPR_BANDWIDTH_MAX_DOWN: u8 = 8;
    /// MikroTik.
    pub const MIKROTIK: u32 = 14_988;
    /// Mikrotik-Recv-Limit: bytes from the user
    pub const MIKROTIK_RECV_LIMIT: u8 = 1;
    /// Mikrotik-Xmit-Limit: bytes to the user
    pub const MIKROTIK_XMIT_LIMIT: u8 = 2;
    /// Mikrotik-Group: the group of a user, or the profile of a session
    pub const MIKROTIK_GROUP: u8 = 3;
    /// Mikrotik-Rate-Limit
    pub const MIKROTIK_RATE_LIMIT: u8 = 8;
    /// Mikrotik-Realm
    pub const MIKROTIK_REALM: u8 = 9;
    /// Mikrotik-Host-IP
    pub const MIKROTIK_HOST_IP: u8 = 10;
    /// Mikrotik-Mark-Id
    pub const MIKROTIK_MARK_ID: u8 = 11;
    /// Mikrotik-Advertise-URL
    pub const MIKROTIK_ADVERTISE_URL: u8 = 12;
    /// Mikrotik-Advertise-Interval
    pub const MIKROTIK_ADVERTISE_INTERVAL: u8 = 13;
    /// Mikrotik-Recv-Limit-Gigawords
    pub const MIKROTIK_RECV_LIMIT_GIGAWORDS: u8 = 14;
    /// Mikrotik-Xmit-Limit-Gigawords
    pub const MIKROTIK_XMIT_LIMIT_GIGAWORDS: u8 = 15;
    /// Mikrotik-Total-Limit
    pub const MIKROTIK_TOTAL_LIMIT: u8 = 17;
    /// Mikrotik-Total-Limit-Gigawords
    pub const MIKROTIK_TOTAL_LIMIT_GIGAWORDS: u8 = 18;
    /// Mikrotik-Address-List
    pub const MIKROTIK_ADDRESS_LIST: u8 = 19;
    /// Mikrotik-Delegated-IPv6-Pool
    pub const MIKROTIK_DELEGATED_IPV6_POOL: u8 = 22;
    /// Mikrotik-DHCP-Option-Set
    pub const MIKROTIK_DHCP_OPTION_SET: u8 = 23;
    /// Mikrotik-DHCP-Option-Param-STR1
    pub const MIKROTIK_DHCP_OPTION_PARAM_STR1: u8 = 24;
    /// Mikrotik-DHCP-Option-Param-STR2
    pub const MIKROTIK_DHCP_OPTION_PARAM_STR2: u8 = 25;
    /// Mikrotik-Switching-Filter
    pub const MIKROTIK_SWITCHING_FILTER: u8 = 30;
}

/// Reason why bytes are no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than the header or the length field.
    Truncated,
    /// The length field is below the header length or above the maximum.
    Length,
    /// An attribute is shorter than its header or exceeds the packet.
    Attribute,
}

/// Checked view of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    bytes: &'a [u8],
    header: &'a [u8; HEADER],
    attributes: &'a [u8],
}

/// Attribute of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Type.
    pub kind: u8,
    /// Value.
    pub value: &'a [u8],
    /// Offset of the value in the packet.
    pub at: usize,
}

impl<'a> Packet<'a> {
    /// Views bytes as a packet; bytes after its length are padding (RFC 2865, 3).
    ///
    /// # Errors
    /// Returns [`Malformed`] if lengths are invalid.
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let header: &[u8; HEADER] = bytes.first_chunk().ok_or(Malformed::Truncated)?;
        let len = usize::from(crate::u16_at(header, 2));
        if !(HEADER..=MOST).contains(&len) {
            return Err(Malformed::Length);
        }
        let bytes = bytes.get(..len).ok_or(Malformed::Truncated)?;
        let attributes = bytes.get(HEADER..).ok_or(Malformed::Truncated)?;
        let packet = Self {
            bytes,
            header,
            attributes,
        };
        let mut end = HEADER;
        for attribute in packet.attributes() {
            end = attribute.at + attribute.value.len();
        }
        match end == len {
            true => Ok(packet),
            false => Err(Malformed::Attribute),
        }
    }

    /// Code.
    pub const fn code(&self) -> u8 {
        self.header[0]
    }

    /// Identifier, which matches requests and answers.
    pub const fn id(&self) -> u8 {
        self.header[1]
    }

    /// Authenticator.
    pub fn authenticator(&self) -> [u8; 16] {
        crate::bytes_at(self.header, 4)
    }

    /// The packet without padding.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Attributes, in order.
    pub fn attributes(&self) -> Attributes<'a> {
        Attributes {
            rest: self.attributes,
            at: HEADER,
        }
    }

    /// First attribute of a type.
    pub fn get(&self, kind: u8) -> Option<Attribute<'a>> {
        self.attributes().find(|attribute| attribute.kind == kind)
    }

    /// Concatenated values of all attributes of a type, for long values split over several attributes.
    pub fn whole(&self, kind: u8) -> Vec<u8> {
        let pieces = self.attributes().filter(|attribute| attribute.kind == kind);
        pieces.flat_map(|piece| piece.value).copied().collect()
    }

    /// Value of a 32-bit attribute.
    pub fn number(&self, kind: u8) -> Option<u32> {
        let value = self.get(kind)?.value.try_into().ok()?;
        Some(u32::from_be_bytes(value))
    }

    /// Attributes of a vendor, in order. One vendor-specific attribute may contain several (RFC 2865, 5.26).
    pub fn vendor_attributes(&self, vendor: u32) -> impl Iterator<Item = Attribute<'a>> {
        let all = self
            .attributes()
            .filter(|attribute| attribute.kind == kind::VENDOR);
        all.filter_map(move |attribute| {
            let (number, rest) = attribute.value.split_first_chunk()?;
            let at = attribute.at + number.len();
            (u32::from_be_bytes(*number) == vendor).then_some(Attributes { rest, at })
        })
        .flatten()
    }

    /// Value of the first attribute of a vendor's type.
    pub fn of_vendor(&self, vendor: u32, kind: u8) -> Option<&'a [u8]> {
        let mut its = self.vendor_attributes(vendor);
        its.find(|attribute| attribute.kind == kind)
            .map(|attribute| attribute.value)
    }
}

/// Iterator over attributes; ends at a malformed one.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    rest: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Attribute<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let [kind, len, ..] = *self.rest else {
            return None;
        };
        let value = self.rest.get(2..usize::from(len))?;
        let attribute = Attribute {
            kind,
            value,
            at: self.at + 2,
        };
        self.rest = self.rest.get(usize::from(len)..).unwrap_or_default();
        self.at += usize::from(len);
        Some(attribute)
    }
}

/// Builder of a packet.
#[derive(Clone, Debug)]
pub struct Builder {
    bytes: Vec<u8>,
    /// An attribute did not fit.
    full: bool,
}

impl Builder {
    /// Creates a packet without attributes.
    pub fn new(code: u8, id: u8, authenticator: [u8; 16]) -> Self {
        let mut bytes = Vec::with_capacity(256);
        bytes.extend([code, id, 0, 0]);
        bytes.extend(authenticator);
        Self { bytes, full: false }
    }

    /// Adds an attribute. If it is too long or the packet is full, [`Self::finish`] fails.
    #[must_use]
    pub fn with(mut self, kind: u8, value: &[u8]) -> Self {
        let len = value.len() + 2;
        match u8::try_from(len) {
            Ok(len8) if self.bytes.len() + len <= MOST => {
                self.bytes.extend([kind, len8]);
                self.bytes.extend(value);
            }
            _ => self.full = true,
        }
        self
    }

    /// Adds a long value, split over as many attributes as needed.
    #[must_use]
    pub fn with_whole(self, kind: u8, value: &[u8]) -> Self {
        value
            .chunks(VALUE)
            .fold(self, |built, piece| built.with(kind, piece))
    }

    /// Adds a 32-bit attribute.
    #[must_use]
    pub fn with_number(self, kind: u8, value: u32) -> Self {
        self.with(kind, &value.to_be_bytes())
    }

    /// Adds a vendor-specific attribute.
    #[must_use]
    pub fn with_vendor(mut self, vendor: u32, kind: u8, value: &[u8]) -> Self {
        let Ok(len) = u8::try_from(value.len() + 2) else {
            self.full = true;
            return self;
        };
        let mut inside = Vec::with_capacity(value.len() + 6);
        inside.extend(vendor.to_be_bytes());
        inside.extend([kind, len]);
        inside.extend(value);
        self.with(kind::VENDOR, &inside)
    }

    /// Fills in the length and returns the packet; `None` if an attribute did not fit.
    pub fn finish(mut self) -> Option<Vec<u8>> {
        let len = u16::try_from(self.bytes.len())
            .ok()
            .filter(|_| !self.full)?;
        self.bytes
            .get_mut(2..4)?
            .copy_from_slice(&len.to_be_bytes());
        Some(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet() -> Vec<u8> {
        let built = Builder::new(code::ACCESS_ACCEPT, 7, [9; 16])
            .with(kind::USER_NAME, b"anna")
            .with_number(kind::SESSION_TIMEOUT, 3_600)
            .with_vendor(vendor::MIKROTIK, vendor::MIKROTIK_GROUP, b"full")
            .with(kind::CLASS, b"");
        built.finish().expect("it fits")
    }

    #[test]
    fn written_messages_parse_again() {
        let bytes = packet();

        let read = Packet::new_checked(&bytes).expect("it is one");

        assert_eq!(
            (read.code(), read.id(), read.authenticator()),
            (2, 7, [9; 16])
        );
        assert_eq!(
            read.get(kind::USER_NAME).map(|of| (of.value, of.at)),
            Some((&b"anna"[..], 22))
        );
        assert_eq!(read.number(kind::SESSION_TIMEOUT), Some(3_600));
        assert_eq!(
            read.number(kind::USER_NAME),
            Some(u32::from_be_bytes(*b"anna"))
        );
        assert_eq!(
            read.of_vendor(vendor::MIKROTIK, vendor::MIKROTIK_GROUP),
            Some(&b"full"[..])
        );
        assert_eq!(
            read.of_vendor(vendor::MICROSOFT, vendor::MIKROTIK_GROUP),
            None
        );
        assert_eq!(read.get(kind::CLASS).map(|of| of.value), Some(&b""[..]));
        assert_eq!(read.attributes().count(), 4);
        let padded = [&bytes[..], &[0; 9]].concat();
        assert_eq!(
            Packet::new_checked(&padded).map(|read| read.bytes().len()),
            Ok(bytes.len())
        );
    }

    #[test]
    fn truncated_and_damaged_messages_are_not_read_beyond_their_end() {
        let inside = [
            &vendor::MIKROTIK.to_be_bytes()[..],
            &[vendor::MIKROTIK_GROUP, 3, b'a'],
            &[vendor::MIKROTIK_RATE_LIMIT, 4, b'1', b'M'],
        ];
        let built = Builder::new(code::ACCESS_ACCEPT, 7, [9; 16])
            .with_vendor(vendor::ASCEND, vendor::ASCEND_DATA_RATE, &[0, 0, 0, 1])
            .with(kind::VENDOR, &inside.concat())
            .with_vendor(vendor::MIKROTIK, vendor::MIKROTIK_MARK_ID, b"m");
        let bytes = built.finish().expect("it fits");
        let read = Packet::new_checked(&bytes).expect("it is one");

        let all: Vec<_> = read.vendor_attributes(vendor::MIKROTIK).collect();

        let of = |attribute: &Attribute<'_>| (attribute.kind, attribute.value.to_vec());
        let expected = [(3, b"a".to_vec()), (8, b"1M".to_vec()), (11, b"m".to_vec())];
        assert_eq!(all.iter().map(of).collect::<Vec<_>>(), expected);
        for attribute in all {
            let end = attribute.at + attribute.value.len();
            assert_eq!(bytes.get(attribute.at..end), Some(attribute.value));
        }
    }

    #[test]
    fn no_truncation_and_no_flipped_bit_is_read_beyond() {
        let whole = packet();
        for end in 0..whole.len() {
            assert!(Packet::new_checked(&whole[..end]).is_err());
        }
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            if let Ok(read) = Packet::new_checked(&bytes) {
                let sum: usize = read.attributes().map(|of| of.value.len() + 2).sum();
                assert_eq!(sum + HEADER, read.bytes().len());
                let _ = read.of_vendor(vendor::MIKROTIK, vendor::MIKROTIK_GROUP);
            }
        }
        let mut long = whole;
        long[2..4].copy_from_slice(&4097_u16.to_be_bytes());
        assert_eq!(Packet::new_checked(&long).err(), Some(Malformed::Length));
    }

    #[test]
    fn oversized_messages_are_not_built() {
        let empty = || Builder::new(1, 1, [0; 16]);
        assert!(empty().with(1, &[0; VALUE]).finish().is_some());
        assert_eq!(empty().with(1, &[0; VALUE + 1]).finish(), None);
        assert!(
            empty()
                .with_vendor(1, 1, &[0; VALUE - 6])
                .finish()
                .is_some()
        );
        assert_eq!(empty().with_vendor(1, 1, &[0; VALUE - 5]).finish(), None);
        let full = (0..16).fold(empty(), |built, _| built.with(1, &[0; VALUE]));
        assert_eq!(full.with(1, &[0; VALUE]).finish(), None);
    }
}
