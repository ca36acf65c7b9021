//! Configuration through an IKE SA (RFC 7296, 3.15): asked for, given, read.

use core::net::IpAddr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::config::ModeConfig;
use crate::event::Lease;
use crate::message::{Attribute, Configuration, address, octets};

const REQUEST: u8 = 1;
const REPLY: u8 = 2;

const ADDRESS4: u16 = 1;
const NETMASK4: u16 = 2;
const DNS4: u16 = 3;
const ADDRESS6: u16 = 8;
const DNS6: u16 = 10;
const SUBNET4: u16 = 13;
const SUBNET6: u16 = 15;
/// RFC 8598, 3.1.
const DOMAIN: u16 = 25;

/// What an initiator asks for.
pub(crate) fn request() -> Configuration {
    let kinds = [ADDRESS4, NETMASK4, DNS4, SUBNET4, DOMAIN];
    Configuration {
        kind: REQUEST,
        identifier: 0,
        attributes: kinds
            .iter()
            .map(|kind| Attribute::bytes(*kind, &[]))
            .collect(),
    }
}

/// What a responder gives, with this address. `system` are the name servers of this host.
pub(crate) fn reply(
    config: &ModeConfig,
    given: Option<IpAddr>,
    system: &[IpAddr],
) -> Configuration {
    let mut attributes = Vec::new();
    match given {
        Some(IpAddr::V4(given)) => {
            attributes.push(Attribute::bytes(ADDRESS4, &given.octets()));
            if let Ok(net) = Ipv4Net::new(given, config.prefix_len) {
                attributes.push(Attribute::bytes(NETMASK4, &net.netmask().octets()));
            }
        }
        Some(IpAddr::V6(given)) => {
            let bytes = [&given.octets()[..], &[config.prefix_len]].concat();
            attributes.push(Attribute::bytes(ADDRESS6, &bytes));
        }
        None => {}
    }
    let system = system
        .iter()
        .filter(|server| config.system_dns && !config.dns.contains(server));
    for server in config.dns.iter().chain(system) {
        let kind = if server.is_ipv4() { DNS4 } else { DNS6 };
        attributes.push(Attribute::bytes(kind, &octets(*server)));
    }
    for net in &config.split_include {
        attributes.push(match net {
            IpNet::V4(net) => {
                let bytes = [net.network().octets(), net.netmask().octets()].concat();
                Attribute::bytes(SUBNET4, &bytes)
            }
            IpNet::V6(net) => {
                let bytes = [&net.network().octets()[..], &[net.prefix_len()]].concat();
                Attribute::bytes(SUBNET6, &bytes)
            }
        });
    }
    for domain in &config.split_dns {
        attributes.push(Attribute::bytes(DOMAIN, domain.as_bytes()));
    }
    Configuration {
        kind: REPLY,
        identifier: 0,
        attributes,
    }
}

/// What a request wishes, or a reply gives. Attributes that are not known or not whole are left out.
pub(crate) fn lease(said: &Configuration) -> Lease {
    let mut lease = Lease::default();
    for attribute in &said.attributes {
        let bytes = attribute.value.bytes();
        match attribute.kind {
            ADDRESS4 => lease.address = address(bytes).filter(IpAddr::is_ipv4).or(lease.address),
            ADDRESS6 => {
                let split = bytes
                    .split_last()
                    .and_then(|(len, bytes)| Some((address(bytes)?, *len)));
                if let Some((given, len)) = split.filter(|_| lease.address.is_none()) {
                    (lease.address, lease.prefix_len) = (Some(given), Some(len));
                }
            }
            NETMASK4 => {
                let mask = address(bytes).and_then(|mask| ipnet::ip_mask_to_prefix(mask).ok());
                lease.prefix_len = mask.or(lease.prefix_len);
            }
            DNS4 | DNS6 => lease.dns.extend(address(bytes)),
            SUBNET4 => {
                let halves = bytes.split_at_checked(4);
                let halves = halves.and_then(|(net, mask)| Some((address(net)?, address(mask)?)));
                let net = halves.and_then(|(net, mask)| IpNet::with_netmask(net, mask).ok());
                lease.subnets.extend(net);
            }
            SUBNET6 => {
                let split = bytes.split_last();
                let net = split.and_then(|(len, bytes)| {
                    let bytes = <[u8; 16]>::try_from(bytes).ok()?;
                    Ipv6Net::new(bytes.into(), *len).ok()
                });
                lease.subnets.extend(net.map(IpNet::V6));
            }
            DOMAIN => lease.domains.extend(
                String::from_utf8(bytes.to_vec())
                    .ok()
                    .filter(|one| !one.is_empty()),
            ),
            _ => {}
        }
    }
    lease
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_is_read() {
        let config = ModeConfig {
            name: "x".into(),
            responder: true,
            prefix_len: 24,
            split_include: vec![
                "10.9.0.0/16".parse().expect("a prefix"),
                "2001:db8::/32".parse().expect("one"),
            ],
            dns: vec!["192.0.2.53".parse().expect("an address")],
            system_dns: true,
            split_dns: vec!["example.net".into()],
            ..ModeConfig::default()
        };
        let given = "10.8.0.7".parse().ok();
        let system: IpAddr = "192.0.2.1".parse().expect("an address");
        let said = reply(&config, given, &[config.dns[0], system]).write();
        let lease = lease(&Configuration::read(&said).expect("a reply"));
        assert_eq!((lease.address, lease.prefix_len), (given, Some(24)));
        assert_eq!(
            (lease.dns, lease.domains, lease.subnets),
            (
                vec![config.dns[0], system],
                config.split_dns.clone(),
                config.split_include.clone()
            )
        );
        let own = ModeConfig {
            system_dns: false,
            ..config
        };
        let said = reply(&own, given, &[system]).write();
        let lease = super::lease(&Configuration::read(&said).expect("a reply"));
        assert_eq!(lease.dns, own.dns);
        assert_eq!(super::lease(&request()), Lease::default());
    }
}
