//! Addresses of the two ends, and the frames' path through the device.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use generator::{Fill, Layer, Stack, Template};
use wire::Mac;

use crate::cli::Through;

/// IP addresses of the two ends, and the next hop of a routed device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    pub(super) gateway: Option<IpAddr>,
}

/// Destination and source MAC addresses of the frames, with the addresses of the ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    pub(super) ends: Ends,
    pub(super) next_hop: Mac,
    pub(super) source: Mac,
    is_routed: bool,
}

impl Ends {
    /// Addresses for tests (RFC 2544, C.2.2; RFC 5180, 8).
    pub(super) fn defaults(ipv6: bool) -> Self {
        let (source, destination) = match ipv6 {
            false => (
                Ipv4Addr::new(198, 18, 0, 2).into(),
                Ipv4Addr::new(198, 19, 0, 2).into(),
            ),
            true => (
                Ipv6Addr::new(0x2001, 2, 0, 1, 0, 0, 0, 2).into(),
                Ipv6Addr::new(0x2001, 2, 0, 2, 0, 0, 0, 2).into(),
            ),
        };
        Self {
            source,
            destination,
            gateway: None,
        }
    }

    /// Reads the arguments.
    pub(super) fn of(through: &Through) -> Result<Self, String> {
        let defaults = Self::defaults(through.ipv6);
        let ends = Self {
            source: through.source.unwrap_or(defaults.source),
            destination: through.destination.unwrap_or(defaults.destination),
            gateway: through.gateway,
        };
        let all = [Some(ends.source), Some(ends.destination), ends.gateway];
        match all
            .iter()
            .flatten()
            .all(|address| address.is_ipv6() == through.ipv6)
        {
            true => Ok(ends),
            false => Err(String::from(
                "IPv6 addresses need --ipv6, and IPv4 addresses must be without",
            )),
        }
    }
}

impl Path {
    /// Path over a cable or bridge.
    pub(super) fn straight(ends: &Ends, [from, to]: [Mac; 2]) -> Self {
        Self {
            ends: *ends,
            next_hop: to,
            source: from,
            is_routed: false,
        }
    }

    /// Path by a router with this MAC address.
    pub(super) fn routed(ends: &Ends, from: Mac, router: Mac) -> Self {
        Self {
            ends: *ends,
            next_hop: router,
            source: from,
            is_routed: true,
        }
    }

    /// Kind of the device.
    pub(super) fn name(&self) -> &'static str {
        match self.is_routed {
            true => "routed",
            false => "bridged",
        }
    }

    /// Builds the template of the frames.
    pub(super) fn template(&self) -> Result<Arc<Template>, String> {
        let mac = |mac: Mac| {
            let [a, b, c, d, e, f] = mac.0;
            let number = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
            vec![(u128::from(number), u128::from(number))]
        };
        let address = |address: IpAddr| {
            let bits = match address {
                IpAddr::V4(address) => address.to_bits().into(),
                IpAddr::V6(address) => address.to_bits(),
            };
            vec![(bits, bits)]
        };
        let (layer, source, destination) = match self.ends.source {
            IpAddr::V4(_) => (Layer::Ip, "ip-src", "ip-dst"),
            IpAddr::V6(_) => (Layer::Ipv6, "ipv6-src", "ipv6-dst"),
        };
        let stack = Stack {
            layers: vec![Layer::Mac, layer, Layer::Udp],
            values: vec![
                ("mac-dst", mac(self.next_hop)),
                ("mac-src", mac(self.source)),
                (source, address(self.ends.source)),
                (destination, address(self.ends.destination)),
            ],
            raw: Vec::new(),
        };
        let (header, layout, fields) = stack.build().map_err(|error| error.to_string())?;
        let built = Template::new(&header, &layout, fields, Fill::Byte(0), true, None);
        built.map(Arc::new).map_err(|error| error.to_string())
    }
}
