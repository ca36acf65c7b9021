//! Attributes that authorize a session: of an access accept, and of a change of authorization (RFC 5176).

use core::net::{Ipv4Addr, Ipv6Addr};

use wire::radius::{Packet, kind, vendor};

/// Attributes that authorize a session. Attributes that the server did not send are `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Authorization {
    /// Mikrotik-Group: the group of a user, or the profile of a PPP session.
    pub group: Option<String>,
    /// Session-Timeout in seconds.
    pub session_timeout: Option<u32>,
    /// Idle-Timeout in seconds.
    pub idle_timeout: Option<u32>,
    /// Acct-Interim-Interval in seconds.
    pub interim: Option<u32>,
    /// Port-Limit: number of sessions of the user.
    pub port_limit: Option<u32>,
    /// Framed-MTU.
    pub mtu: Option<u32>,
    /// Addresses and routes of the user.
    pub ipv4: FramedIpv4,
    /// IPv6 prefixes and routes of the user.
    pub ipv6: FramedIpv6,
    /// Filter-Id: firewall chains, each with an optional `.in` or `.out`.
    pub filters: Vec<String>,
    /// Rate limit in the grammar of Mikrotik-Rate-Limit.
    pub rate_limit: Option<String>,
    /// Mikrotik-Address-List: address lists that receive the user's address.
    pub address_lists: Vec<String>,
    /// Mikrotik-Mark-Id: packet mark of the user's traffic.
    pub mark: Option<String>,
    /// Mikrotik-Realm.
    pub realm: Option<String>,
    /// Limits of bytes.
    pub limits: ByteLimits,
    /// Advertisement pages of hotspot users.
    pub advertise: Advertise,
    /// Options of DHCP leases.
    pub dhcp: DhcpOptions,
    /// Mikrotik-Switching-Filter: rules of a switch chip's port.
    pub switching_filter: Option<String>,
    /// Encryption of PPP by MPPE.
    pub encryption: Encryption,
}

/// IPv4 attributes of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FramedIpv4 {
    /// Framed-IP-Address. RouterOS: `None` also for 127.0.0.0/8 and from 224.0.0.0 on, which select the profile's pool.
    pub address: Option<Ipv4Addr>,
    /// Framed-IP-Netmask: the route to the user's network.
    pub netmask: Option<Ipv4Addr>,
    /// Framed-Pool.
    pub pool: Option<String>,
    /// Framed-Route: `network gateway metric`.
    pub routes: Vec<String>,
    /// MS-Primary-DNS-Server and MS-Secondary-DNS-Server.
    pub dns: [Option<Ipv4Addr>; 2],
    /// Mikrotik-Host-IP: address of a hotspot user before translation.
    pub host: Option<Ipv4Addr>,
}

/// IPv6 attributes of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FramedIpv6 {
    /// Framed-IPv6-Address.
    pub address: Option<Ipv6Addr>,
    /// Framed-Interface-Id.
    pub interface_id: Option<[u8; 8]>,
    /// Framed-IPv6-Prefix: prefixes of the session's link.
    pub prefixes: Vec<Prefix6>,
    /// Framed-IPv6-Pool.
    pub pool: Option<String>,
    /// Framed-IPv6-Route.
    pub routes: Vec<String>,
    /// Delegated-IPv6-Prefix.
    pub delegated_prefixes: Vec<Prefix6>,
    /// Delegated-IPv6-Prefix-Pool, or Mikrotik-Delegated-IPv6-Pool.
    pub delegated_pool: Option<String>,
}

/// IPv6 prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Prefix6 {
    /// Network address; bits beyond the length are zero.
    pub network: Ipv6Addr,
    /// Length, 0 to 128.
    pub length: u8,
}

/// Limits of bytes of a session. The 32-bit attributes and their Gigawords are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteLimits {
    /// Bytes from the user.
    pub input: Option<u64>,
    /// Bytes to the user.
    pub output: Option<u64>,
    /// Bytes of both directions.
    pub total: Option<u64>,
}

/// Advertisement pages of hotspot users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advertise {
    /// Mikrotik-Advertise-URL.
    pub urls: Vec<String>,
    /// Mikrotik-Advertise-Interval in seconds.
    pub intervals: Vec<u32>,
}

/// Options of DHCP leases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DhcpOptions {
    /// Mikrotik-DHCP-Option-Set.
    pub set: Option<String>,
    /// Mikrotik-DHCP-Option-Param-STR1 and STR2.
    pub params: [Option<String>; 2],
}

/// Encryption of PPP by MPPE (RFC 2548, 2.4.4 and 2.4.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Encryption {
    /// MS-MPPE-Encryption-Policy: 1 allows encryption, 2 requires it.
    pub policy: Option<u32>,
    /// MS-MPPE-Encryption-Types: set of key lengths.
    pub types: Option<u32>,
}

impl Prefix6 {
    /// Reads the value of a prefix attribute (RFC 3162, 2.3). Bits beyond the length are cleared.
    pub fn read(value: &[u8]) -> Option<Self> {
        let [_, length @ 0..=128, bytes @ ..] = value else {
            return None;
        };
        let mut network = [0; 16];
        network.get_mut(..bytes.len())?.copy_from_slice(bytes);
        if bytes.len() < usize::from(length.div_ceil(8)) {
            return None;
        }
        let mask = u128::MAX.checked_shl(128 - u32::from(*length)).unwrap_or(0);
        let network = Ipv6Addr::from_bits(u128::from_be_bytes(network) & mask);
        let length = *length;
        Some(Self { network, length })
    }

    /// Writes the value of a prefix attribute.
    pub fn to_bytes(self) -> Vec<u8> {
        let used = usize::from(self.length.div_ceil(8)).min(16);
        [&[0, self.length], &self.network.octets()[..used]].concat()
    }
}

impl Authorization {
    /// Reads the attributes of a packet. Malformed attributes are ignored.
    pub fn read(packet: &Packet<'_>) -> Self {
        let mikrotik = |kind| text(packet.of_vendor(vendor::MIKROTIK, kind)?);
        let microsoft = |kind| number(packet.of_vendor(vendor::MICROSOFT, kind)?);
        Self {
            group: mikrotik(vendor::MIKROTIK_GROUP),
            session_timeout: packet.number(kind::SESSION_TIMEOUT),
            idle_timeout: packet.number(kind::IDLE_TIMEOUT),
            interim: packet.number(kind::INTERIM_INTERVAL),
            port_limit: packet.number(kind::PORT_LIMIT),
            mtu: packet.number(kind::FRAMED_MTU),
            ipv4: ipv4(packet),
            ipv6: ipv6(packet),
            filters: texts(packet, kind::FILTER_ID),
            rate_limit: rate_limit(packet),
            address_lists: {
                let values = mikrotik_all(packet, vendor::MIKROTIK_ADDRESS_LIST);
                values.filter_map(text).collect()
            },
            mark: mikrotik(vendor::MIKROTIK_MARK_ID),
            realm: mikrotik(vendor::MIKROTIK_REALM),
            limits: byte_limits(packet),
            advertise: Advertise {
                urls: mikrotik_all(packet, vendor::MIKROTIK_ADVERTISE_URL)
                    .filter_map(text)
                    .collect(),
                intervals: mikrotik_all(packet, vendor::MIKROTIK_ADVERTISE_INTERVAL)
                    .filter_map(number)
                    .collect(),
            },
            dhcp: DhcpOptions {
                set: mikrotik(vendor::MIKROTIK_DHCP_OPTION_SET),
                params: [
                    mikrotik(vendor::MIKROTIK_DHCP_OPTION_PARAM_STR1),
                    mikrotik(vendor::MIKROTIK_DHCP_OPTION_PARAM_STR2),
                ],
            },
            switching_filter: mikrotik(vendor::MIKROTIK_SWITCHING_FILTER),
            encryption: Encryption {
                policy: microsoft(vendor::MS_MPPE_ENCRYPTION_POLICY),
                types: microsoft(vendor::MS_MPPE_ENCRYPTION_TYPES),
            },
        }
    }
}

fn ipv4(packet: &Packet<'_>) -> FramedIpv4 {
    let address = |kind| packet.number(kind).map(Ipv4Addr::from_bits);
    let dns = |kind| number(packet.of_vendor(vendor::MICROSOFT, kind)?).map(Ipv4Addr::from_bits);
    // 255.255.255.254 lets the router choose (RFC 2865, 5.8).
    let is_host = |address: &Ipv4Addr| !address.is_loopback() && address.octets()[0] < 224;
    let host = packet.of_vendor(vendor::MIKROTIK, vendor::MIKROTIK_HOST_IP);
    FramedIpv4 {
        address: address(kind::FRAMED_IP_ADDRESS).filter(is_host),
        netmask: address(kind::FRAMED_IP_NETMASK),
        pool: first_text(packet, kind::FRAMED_POOL),
        routes: texts(packet, kind::FRAMED_ROUTE),
        dns: [dns(vendor::MS_PRIMARY_DNS), dns(vendor::MS_SECONDARY_DNS)],
        host: host.and_then(number).map(Ipv4Addr::from_bits),
    }
}

fn ipv6(packet: &Packet<'_>) -> FramedIpv6 {
    let prefixes = |kind| {
        let attributes = packet.attributes().filter(move |of| of.kind == kind);
        attributes
            .filter_map(|of| Prefix6::read(of.value))
            .collect()
    };
    let address = packet.get(kind::FRAMED_IPV6_ADDRESS);
    let interface_id = packet.get(kind::FRAMED_INTERFACE_ID);
    let mikrotik_pool = || {
        let pool = packet.of_vendor(vendor::MIKROTIK, vendor::MIKROTIK_DELEGATED_IPV6_POOL);
        pool.and_then(text)
    };
    FramedIpv6 {
        address: address
            .and_then(|of| <[u8; 16]>::try_from(of.value).ok())
            .map(Ipv6Addr::from),
        interface_id: interface_id.and_then(|of| of.value.try_into().ok()),
        prefixes: prefixes(kind::FRAMED_IPV6_PREFIX),
        pool: first_text(packet, kind::FRAMED_IPV6_POOL),
        routes: texts(packet, kind::FRAMED_IPV6_ROUTE),
        delegated_prefixes: prefixes(kind::DELEGATED_IPV6_PREFIX),
        delegated_pool: first_text(packet, kind::DELEGATED_IPV6_PREFIX_POOL).or_else(mikrotik_pool),
    }
}

fn byte_limits(packet: &Packet<'_>) -> ByteLimits {
    let value = |kind| number(packet.of_vendor(vendor::MIKROTIK, kind)?);
    let limit = |low, gigawords| match (value(low), value(gigawords)) {
        (None, None) => None,
        (low, high) => Some(u64::from(high.unwrap_or(0)) << 32 | u64::from(low.unwrap_or(0))),
    };
    ByteLimits {
        input: limit(
            vendor::MIKROTIK_RECV_LIMIT,
            vendor::MIKROTIK_RECV_LIMIT_GIGAWORDS,
        ),
        output: limit(
            vendor::MIKROTIK_XMIT_LIMIT,
            vendor::MIKROTIK_XMIT_LIMIT_GIGAWORDS,
        ),
        total: limit(
            vendor::MIKROTIK_TOTAL_LIMIT,
            vendor::MIKROTIK_TOTAL_LIMIT_GIGAWORDS,
        ),
    }
}

/// Returns the rate limit, `upload/download` in bits per second. RouterOS: Mikrotik-Rate-Limit precedes the attributes
/// of Ascend, and these precede those of WISPr. The first Ascend-Data-Rate limits the download; the upload is limited
/// by a second one, or by the only one if there is an Ascend-Xmit-Rate.
fn rate_limit(packet: &Packet<'_>) -> Option<String> {
    if let Some(limit) = packet.of_vendor(vendor::MIKROTIK, vendor::MIKROTIK_RATE_LIMIT) {
        return text(limit);
    }
    let ascend: Vec<_> = packet
        .vendor_attributes(vendor::ASCEND)
        .filter(|of| of.kind == vendor::ASCEND_DATA_RATE)
        .filter_map(|of| number(of.value))
        .collect();
    let xmit = packet.of_vendor(vendor::ASCEND, vendor::ASCEND_XMIT_RATE);
    let pair = match (xmit.and_then(number), &ascend[..]) {
        (Some(download), upload) => Some((upload.first().copied().unwrap_or(0), download)),
        (None, [download, upload, ..]) => Some((*upload, *download)),
        (None, [both]) => Some((*both, *both)),
        (None, []) => None,
    };
    let wispr = |kind| number(packet.of_vendor(vendor::WISPR, kind)?);
    let wispr = || match (
        wispr(vendor::WISPR_BANDWIDTH_MAX_UP),
        wispr(vendor::WISPR_BANDWIDTH_MAX_DOWN),
    ) {
        (None, None) => None,
        (upload, download) => Some((upload.unwrap_or(0), download.unwrap_or(0))),
    };
    let (upload, download) = pair.or_else(wispr)?;
    Some(format!("{upload}/{download}"))
}

/// Reads text; `None` if it is empty or not UTF-8. Some servers terminate it with zeros.
pub(super) fn text(value: &[u8]) -> Option<String> {
    let text = core::str::from_utf8(value).ok()?.trim_end_matches('\0');
    (!text.is_empty()).then(|| text.to_owned())
}

fn number(value: &[u8]) -> Option<u32> {
    value.try_into().ok().map(u32::from_be_bytes)
}

fn first_text(packet: &Packet<'_>, kind: u8) -> Option<String> {
    packet.get(kind).and_then(|of| text(of.value))
}

fn texts(packet: &Packet<'_>, kind: u8) -> Vec<String> {
    let attributes = packet.attributes().filter(|of| of.kind == kind);
    attributes.filter_map(|of| text(of.value)).collect()
}

fn mikrotik_all<'a>(packet: &Packet<'a>, kind: u8) -> impl Iterator<Item = &'a [u8]> {
    let attributes = packet.vendor_attributes(vendor::MIKROTIK);
    attributes
        .filter(move |of| of.kind == kind)
        .map(|of| of.value)
}

#[cfg(test)]
mod tests {
    use wire::radius::{Builder, code};

    use super::*;

    fn read(built: Builder) -> Authorization {
        let bytes = built.finish().expect("it fits");
        Authorization::read(&Packet::new_checked(&bytes).expect("a packet"))
    }

    fn accept() -> Builder {
        Builder::new(code::ACCESS_ACCEPT, 1, [0; 16])
    }

    /// Returns an accept with every attribute of a session.
    fn whole_accept() -> Builder {
        let mikrotik =
            |built: Builder, kind, value: &[u8]| built.with_vendor(vendor::MIKROTIK, kind, value);
        let prefix = [0, 48, 0x20, 1, 0x0d, 0xb8, 0, 1];
        let built = accept()
            .with_number(kind::SESSION_TIMEOUT, 3_600)
            .with_number(kind::IDLE_TIMEOUT, 60)
            .with_number(kind::INTERIM_INTERVAL, 300)
            .with_number(kind::PORT_LIMIT, 2)
            .with_number(kind::FRAMED_MTU, 1_480)
            .with(kind::FRAMED_IP_ADDRESS, &[192, 0, 2, 7])
            .with(kind::FRAMED_IP_NETMASK, &[255, 255, 255, 248])
            .with(kind::FRAMED_POOL, b"clients")
            .with(kind::FRAMED_ROUTE, b"198.51.100.0/24 192.0.2.7 1")
            .with(kind::FRAMED_ROUTE, b"203.0.113.0/24")
            .with(kind::FILTER_ID, b"customers.in\0")
            .with(kind::FRAMED_IPV6_ADDRESS, &[0x20; 16])
            .with(kind::FRAMED_INTERFACE_ID, &[0, 0, 0, 0, 0, 0, 0, 9])
            .with(
                kind::FRAMED_IPV6_PREFIX,
                &[&[0, 64][..], &[0x3f; 8]].concat(),
            )
            .with(kind::FRAMED_IPV6_POOL, b"links")
            .with(kind::FRAMED_IPV6_ROUTE, b"2001:db8:9::/48 :: 1")
            .with(kind::DELEGATED_IPV6_PREFIX, &prefix)
            .with(kind::DELEGATED_IPV6_PREFIX_POOL, b"sites");
        let built = [
            (vendor::MIKROTIK_GROUP, &b"gold"[..]),
            (vendor::MIKROTIK_RATE_LIMIT, b"1M/2M"),
            (vendor::MIKROTIK_REALM, b"example"),
            (vendor::MIKROTIK_MARK_ID, b"m"),
            (vendor::MIKROTIK_HOST_IP, &[10, 0, 0, 1]),
            (vendor::MIKROTIK_RECV_LIMIT, &[0, 0, 0, 5]),
            (vendor::MIKROTIK_RECV_LIMIT_GIGAWORDS, &[0, 0, 0, 1]),
            (vendor::MIKROTIK_XMIT_LIMIT_GIGAWORDS, &[0, 0, 0, 2]),
            (vendor::MIKROTIK_TOTAL_LIMIT, &[0, 0, 0, 6]),
            (vendor::MIKROTIK_ADDRESS_LIST, b"paid"),
            (vendor::MIKROTIK_ADDRESS_LIST, b"fast"),
            (vendor::MIKROTIK_DELEGATED_IPV6_POOL, b"others"),
            (vendor::MIKROTIK_DHCP_OPTION_SET, b"phones"),
            (vendor::MIKROTIK_DHCP_OPTION_PARAM_STR2, b"two"),
            (vendor::MIKROTIK_ADVERTISE_URL, b"http://192.0.2.1/"),
            (vendor::MIKROTIK_ADVERTISE_INTERVAL, &[0, 0, 0, 30]),
            (vendor::MIKROTIK_SWITCHING_FILTER, b"action drop"),
        ]
        .into_iter()
        .fold(built, |built, (kind, value)| mikrotik(built, kind, value));
        [
            (vendor::MS_MPPE_ENCRYPTION_POLICY, [0, 0, 0, 2]),
            (vendor::MS_MPPE_ENCRYPTION_TYPES, [0, 0, 0, 4]),
            (vendor::MS_PRIMARY_DNS, [192, 0, 2, 53]),
        ]
        .into_iter()
        .fold(built, |built, (kind, value)| {
            built.with_vendor(vendor::MICROSOFT, kind, &value)
        })
    }

    /// Returns the content of [`whole_accept`].
    fn whole_authorization() -> Authorization {
        Authorization {
            group: Some("gold".into()),
            session_timeout: Some(3_600),
            idle_timeout: Some(60),
            interim: Some(300),
            port_limit: Some(2),
            mtu: Some(1_480),
            ipv4: FramedIpv4 {
                address: Some([192, 0, 2, 7].into()),
                netmask: Some([255, 255, 255, 248].into()),
                pool: Some("clients".into()),
                routes: vec![
                    "198.51.100.0/24 192.0.2.7 1".into(),
                    "203.0.113.0/24".into(),
                ],
                dns: [Some([192, 0, 2, 53].into()), None],
                host: Some([10, 0, 0, 1].into()),
            },
            ipv6: FramedIpv6 {
                address: Some([0x20; 16].into()),
                interface_id: Some([0, 0, 0, 0, 0, 0, 0, 9]),
                prefixes: vec![Prefix6 {
                    network: "3f3f:3f3f:3f3f:3f3f::".parse().expect("an address"),
                    length: 64,
                }],
                pool: Some("links".into()),
                routes: vec!["2001:db8:9::/48 :: 1".into()],
                delegated_prefixes: vec![Prefix6 {
                    network: "2001:db8:1::".parse().expect("an address"),
                    length: 48,
                }],
                delegated_pool: Some("sites".into()),
            },
            filters: vec!["customers.in".into()],
            rate_limit: Some("1M/2M".into()),
            address_lists: vec!["paid".into(), "fast".into()],
            mark: Some("m".into()),
            realm: Some("example".into()),
            limits: ByteLimits {
                input: Some((1 << 32) + 5),
                output: Some(2 << 32),
                total: Some(6),
            },
            advertise: Advertise {
                urls: vec!["http://192.0.2.1/".into()],
                intervals: vec![30],
            },
            dhcp: DhcpOptions {
                set: Some("phones".into()),
                params: [None, Some("two".into())],
            },
            switching_filter: Some("action drop".into()),
            encryption: Encryption {
                policy: Some(2),
                types: Some(4),
            },
        }
    }

    #[test]
    fn every_attribute_of_a_session_is_read() {
        assert_eq!(read(whole_accept()), whole_authorization());
    }

    #[test]
    fn some_addresses_select_the_profiles_pool() {
        let address = |octets: [u8; 4]| {
            read(accept().with(kind::FRAMED_IP_ADDRESS, &octets))
                .ipv4
                .address
        };
        assert_eq!(address([255, 255, 255, 254]), None);
        assert_eq!(address([127, 1, 2, 3]), None);
        assert_eq!(address([224, 0, 0, 0]), None);
        assert_eq!(address([223, 0, 0, 1]), Some([223, 0, 0, 1].into()));
    }

    #[test]
    fn rate_limits_of_other_vendors_are_converted() {
        let ascend = |built: Builder, kind, value: u32| {
            built.with_vendor(vendor::ASCEND, kind, &value.to_be_bytes())
        };
        let data = |built, value| ascend(built, vendor::ASCEND_DATA_RATE, value);
        let xmit = |built, value| ascend(built, vendor::ASCEND_XMIT_RATE, value);
        let wispr = |built: Builder, kind, value: u32| {
            built.with_vendor(vendor::WISPR, kind, &value.to_be_bytes())
        };
        let both = |built| {
            let built = wispr(built, vendor::WISPR_BANDWIDTH_MAX_UP, 7);
            wispr(built, vendor::WISPR_BANDWIDTH_MAX_DOWN, 8)
        };
        let limit = |built| read(built).rate_limit;
        assert_eq!(limit(accept()), None);
        assert_eq!(limit(both(accept())).as_deref(), Some("7/8"));
        assert_eq!(limit(data(both(accept()), 1)).as_deref(), Some("1/1"));
        assert_eq!(limit(data(data(accept(), 1), 2)).as_deref(), Some("2/1"));
        assert_eq!(limit(xmit(data(accept(), 1), 2)).as_deref(), Some("1/2"));
        let own =
            data(accept(), 1).with_vendor(vendor::MIKROTIK, vendor::MIKROTIK_RATE_LIMIT, b"3M");
        assert_eq!(limit(own).as_deref(), Some("3M"));
    }

    #[test]
    fn malformed_prefixes_are_ignored_and_stray_bits_are_cleared() {
        let prefix = |value: &[u8]| {
            read(accept().with(kind::DELEGATED_IPV6_PREFIX, value))
                .ipv6
                .delegated_prefixes
        };
        for bad in [
            &[][..],
            &[0],
            &[0, 129],
            &[0, 9, 0xff],
            &[0, 64, 1, 2, 3],
            &[[0, 64].as_slice(), &[1; 17]].concat(),
        ] {
            assert_eq!(prefix(bad), [], "{bad:?}");
        }
        let read = prefix(&[0, 12, 0x20, 0xff]);
        let expected = Prefix6 {
            network: "20f0::".parse().expect("an address"),
            length: 12,
        };
        assert_eq!(read, [expected]);
        assert_eq!(expected.to_bytes(), [0, 12, 0x20, 0xf0]);
        let all = Prefix6 {
            network: Ipv6Addr::UNSPECIFIED,
            length: 0,
        };
        assert_eq!(prefix(&[0, 0]), [all]);
    }
}
