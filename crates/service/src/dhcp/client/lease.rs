//! The lease in a server's answer: address, lease times and network options.

use core::net::Ipv4Addr;

use machine::{Duration, Instant};

use super::super::message::{Message, Options, code};

/// Lease time that means "forever", in seconds (RFC 2131, 3.3).
const INFINITE: u32 = u32::MAX;
/// Shortest time between the request and the renewal of a lease.
const SOONEST: Duration = Duration::from_secs(1);
/// Maximum number of routes taken from one lease.
const ROUTES: usize = 64;

/// Leased address with the server's options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Address of the client.
    pub address: Ipv4Addr,
    /// Prefix length of the address.
    pub len: u8,
    /// Server identifier (option 54).
    pub server: Ipv4Addr,
    /// All options of the server's answer.
    pub options: Options,
    /// Renewal, rebinding and expiry times; `None` for an infinite lease.
    pub times: Option<Times>,
}

/// Times of a lease (RFC 2131, 4.4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// T1: the client asks its own server to extend the lease.
    pub renew: Instant,
    /// T2: the client asks any server to extend the lease.
    pub rebind: Instant,
    /// Expiry of the lease.
    pub end: Instant,
}

/// Static route from option 121 or 33.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Destination network: first address and prefix length.
    pub network: (Ipv4Addr, u8),
    /// Gateway; unspecified if the network is on the link.
    pub gateway: Ipv4Addr,
}

impl Lease {
    /// Parses the answer to a request that was sent at `sent`. Returns `None` if the address is not a host address,
    /// or if server identifier or lease time are missing.
    pub(super) fn read(message: &Message, sent: Instant) -> Option<Self> {
        let options = &message.options;
        let address = message.yiaddr;
        let server = options.address(code::SERVER_ID)?;
        let seconds = options.u32(code::LEASE_TIME).filter(|time| *time > 0)?;
        let len = match options.contains(code::SUBNET_MASK) {
            true => mask_length(options.address(code::SUBNET_MASK)?)?,
            false => natural_length(address),
        };
        (is_of_a_host(address, len) && is_unicast(server)).then(|| Self {
            address,
            len,
            server,
            options: options.clone(),
            times: (seconds != INFINITE).then(|| times(options, seconds, sent)),
        })
    }

    /// Gateways (option 3), in order of preference.
    pub fn routers(&self) -> Vec<Ipv4Addr> {
        let mut routers = self.options.addresses(code::ROUTER);
        routers.retain(|router| is_unicast(*router));
        routers
    }

    /// Static routes of option 121, or of option 33 if option 121 is absent (RFC 3442; RFC 2132, 5.8). A malformed
    /// option 121 yields no routes.
    pub fn routes(&self) -> Vec<Route> {
        let classless = self.options.get(code::CLASSLESS_ROUTES);
        let Some(value) = classless else {
            return self.natural_routes();
        };
        classless_routes(value).unwrap_or_default()
    }

    /// True if option 121 holds routes. The client then ignores the router option (RFC 3442).
    pub fn is_classless(&self) -> bool {
        let value = self.options.get(code::CLASSLESS_ROUTES);
        value
            .and_then(classless_routes)
            .is_some_and(|routes| !routes.is_empty())
    }

    fn natural_routes(&self) -> Vec<Route> {
        let pairs = self.options.addresses(code::STATIC_ROUTES);
        let (pairs, _) = pairs.as_chunks::<2>();
        let routes = pairs.iter().filter_map(|[to, gateway]| {
            let network = (*to, natural_length(*to));
            (is_unicast(*to) && is_unicast(*gateway)).then_some(Route {
                network,
                gateway: *gateway,
            })
        });
        routes.take(ROUTES).collect()
    }
}

fn times(options: &Options, seconds: u32, sent: Instant) -> Times {
    let lease = Duration::from_secs(seconds.into());
    let told = |code| {
        let seconds = options.u32(code)?;
        Some(Duration::from_secs(seconds.into()))
    };
    // RFC 2131, 4.4.5. A server's T1 or T2 that violates T1 < T2 < lease time is replaced by its default.
    let rebind = told(code::T2).filter(|rebind| *rebind < lease);
    let rebind = rebind.unwrap_or(lease * 7 / 8);
    let renew = told(code::T1).filter(|renew| *renew < rebind);
    let renew = renew.unwrap_or_else(|| (lease / 2).min(rebind));
    let rebind = rebind.max(SOONEST);
    Times {
        renew: sent + renew.max(SOONEST).min(rebind),
        rebind: sent + rebind,
        end: sent + lease.max(SOONEST),
    }
}

/// Parses option 121: per route a prefix length, the significant bytes of the network, and the gateway.
fn classless_routes(mut value: &[u8]) -> Option<Vec<Route>> {
    let mut routes = Vec::new();
    while let Some((len, rest)) = value.split_first() {
        let (significant, rest) = rest.split_at_checked(usize::from(len.div_ceil(8)))?;
        let (gateway, rest) = rest.split_first_chunk::<4>()?;
        let mut network = [0; 4];
        network
            .get_mut(..significant.len())?
            .copy_from_slice(significant);
        let network = u32::from_be_bytes(network) & mask(*len)?;
        if routes.len() < ROUTES {
            routes.push(Route {
                network: (network.into(), *len),
                gateway: (*gateway).into(),
            });
        }
        value = rest;
    }
    Some(routes)
}

/// Network mask of a prefix length; `None` above 32.
fn mask(len: u8) -> Option<u32> {
    let host = 32_u32.checked_sub(len.into())?;
    Some(u32::MAX.checked_shl(host).unwrap_or(0))
}

/// Prefix length of a mask; `None` if the mask is not contiguous.
fn mask_length(mask: Ipv4Addr) -> Option<u8> {
    let bits = mask.to_bits();
    let len = bits.leading_ones();
    (len + bits.trailing_zeros().min(32 - len) == 32).then_some(len as u8)
}

/// Prefix length by address class (RFC 791, 2.3), for servers that send no subnet mask.
const fn natural_length(address: Ipv4Addr) -> u8 {
    match address.octets()[0] {
        0..128 => 8,
        128..192 => 16,
        _ => 24,
    }
}

fn is_unicast(address: Ipv4Addr) -> bool {
    let first = address.octets()[0];
    first != 0 && first != 127 && first < 224
}

/// True for a host address: neither network nor broadcast address of its subnet (RFC 1122, 3.2.1.3).
fn is_of_a_host(address: Ipv4Addr, len: u8) -> bool {
    let host = !mask(len).unwrap_or(0);
    let own = address.to_bits() & host;
    is_unicast(address) && (len >= 31 || own != 0 && own != host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(set: &[(u8, &[u8])]) -> Message {
        let mut message = Message {
            yiaddr: [10, 0, 0, 7].into(),
            ..Message::default()
        };
        message.options.set(code::SERVER_ID, [10, 0, 0, 1]);
        message
            .options
            .set(code::LEASE_TIME, 1000_u32.to_be_bytes());
        for (code, value) in set {
            message.options.set(*code, *value);
        }
        message
    }

    fn read(set: &[(u8, &[u8])]) -> Option<Lease> {
        Lease::read(&answer(set), Instant::ZERO)
    }

    fn at(second: u64) -> Instant {
        Instant::from_secs(second)
    }

    #[test]
    fn renewal_times_are_the_servers_or_half_and_seven_eighths() {
        let of = |set| {
            let times = read(set).and_then(|lease| lease.times).expect("it ends");
            (times.renew, times.rebind, times.end)
        };
        assert_eq!(of(&[]), (at(500), at(875), at(1000)));
        let told: [(u8, &[u8]); 2] = [(code::T1, &[0, 0, 0, 9]), (code::T2, &[0, 0, 0, 90])];
        assert_eq!(of(&told), (at(9), at(90), at(1000)));
        let turned: [(u8, &[u8]); 2] = [(code::T1, &[0, 0, 2, 0]), (code::T2, &[0, 0, 0, 90])];
        assert_eq!(
            of(&turned),
            (at(90), at(90), at(1000)),
            "the first is not before the second"
        );
        let late: [(u8, &[u8]); 1] = [(code::T2, &[1, 0, 0, 0])];
        assert_eq!(of(&late), (at(500), at(875), at(1000)));
        assert_eq!(of(&[(code::LEASE_TIME, &[0, 0, 0, 1])]).0, at(1));
        let never = read(&[(code::LEASE_TIME, &[0xff; 4])]).expect("it is good");
        assert_eq!(never.times, None);
    }

    #[test]
    fn offers_of_unusable_addresses_are_ignored() {
        assert!(read(&[(code::LEASE_TIME, &[0; 4])]).is_none());
        assert!(read(&[(code::SERVER_ID, &[0; 4])]).is_none());
        assert!(read(&[(code::SUBNET_MASK, &[255, 0, 255, 0])]).is_none());
        assert!(read(&[(code::SUBNET_MASK, &[255, 0])]).is_none());
        for bad in [
            [0, 0, 0, 0],
            [127, 0, 0, 1],
            [224, 0, 0, 1],
            [255; 4],
            [10, 0, 0, 0],
        ] {
            let mut message = answer(&[(code::SUBNET_MASK, &[255, 255, 255, 0])]);
            message.yiaddr = bad.into();
            assert!(Lease::read(&message, Instant::ZERO).is_none(), "{bad:?}");
        }
        let lens = [
            ([255, 255, 255, 0], 24),
            ([255, 255, 255, 255], 32),
            ([255, 255, 255, 254], 31),
            ([0, 0, 0, 0], 0),
        ];
        for (mask, len) in lens {
            let lease = read(&[(code::SUBNET_MASK, &mask)]).expect("a mask");
            assert_eq!(lease.len, len);
        }
        assert_eq!(read(&[]).expect("it is good").len, 8, "class A");
    }

    #[test]
    fn classless_static_routes_replace_routers_and_static_routes() {
        let value = [
            24, 192, 168, 7, 10, 0, 0, 2, 0, 10, 0, 0, 3, 9, 172, 0xff, 10, 0, 0, 4,
        ];
        let natural = [172, 16, 0, 0, 10, 0, 0, 9];
        let both: [(u8, &[u8]); 2] = [
            (code::CLASSLESS_ROUTES, &value),
            (code::STATIC_ROUTES, &natural),
        ];
        let lease = read(&both).expect("it is good");
        let route = |network: [u8; 4], len, last| Route {
            network: (network.into(), len),
            gateway: [10, 0, 0, last].into(),
        };
        let expected = [
            route([192, 168, 7, 0], 24, 2),
            route([0; 4], 0, 3),
            route([172, 128, 0, 0], 9, 4),
        ];
        assert_eq!(lease.routes(), expected);
        assert!(lease.is_classless());

        let lease = read(&both[1..]).expect("it is good");
        assert_eq!(lease.routes(), [route([172, 16, 0, 0], 16, 9)]);
        for cut in 1..value.len() {
            let lease = read(&[(code::CLASSLESS_ROUTES, &value[..cut])]).expect("it is good");
            assert!(lease.routes().len() <= 2);
        }
        let lease = read(&[(code::CLASSLESS_ROUTES, &[33, 1, 1, 1, 1, 1, 10, 0, 0, 2])]);
        let lease = lease.expect("it is good");
        assert!(lease.routes().is_empty() && !lease.is_classless());
    }
}
