//! Configuration payloads (RFC 7296, 3.15; draft-dukes-ike-mode-cfg-02): builds requests and replies, and
//! parses both.

use core::net::IpAddr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::config::ModeConfig;
use crate::event::Lease;
use crate::message::{Attribute, Configuration, Version, address, octets};

const REQUEST: u8 = 1;
const REPLY: u8 = 2;

const ADDRESS4: u16 = 1;
const NETMASK4: u16 = 2;
const DNS4: u16 = 3;
const ADDRESS6: u16 = 8;
const DNS6: u16 = 10;
const SUBNET4: u16 = 13;
const SUBNET6: u16 = 15;
/// INTERNAL_DNS_DOMAIN (RFC 8598, 3.1).
const DOMAIN: u16 = 25;
/// Cisco Unity attributes (IKEv1): default domain; split domains, separated by commas; split networks, each
/// with address, mask, protocol and two ports.
const UNITY_DOMAIN: u16 = 28_674;
const UNITY_DOMAINS: u16 = 28_675;
const UNITY_NETS: u16 = 28_676;
const UNITY_NET: usize = 14;

/// Builds an initiator's request.
pub(crate) fn request(version: Version) -> Configuration {
    let kinds = match version {
        Version::One => [ADDRESS4, NETMASK4, DNS4, UNITY_NETS, UNITY_DOMAINS],
        Version::Two => [ADDRESS4, NETMASK4, DNS4, SUBNET4, DOMAIN],
    };
    Configuration {
        kind: REQUEST,
        identifier: 0,
        attributes: kinds
            .iter()
            .map(|kind| Attribute::bytes(*kind, &[]))
            .collect(),
    }
}

/// Builds a responder's reply. `given` is the assigned address, `system` are the DNS servers of this router.
pub(crate) fn reply(
    config: &ModeConfig,
    given: Option<IpAddr>,
    system: &[IpAddr],
    version: Version,
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
    match version {
        Version::One => push_unity(config, &mut attributes),
        Version::Two => push_behind(config, &mut attributes),
    }
    Configuration {
        kind: REPLY,
        identifier: 0,
        attributes,
    }
}

/// Adds split networks and split domains for IKEv2.
fn push_behind(config: &ModeConfig, attributes: &mut Vec<Attribute>) {
    for net in &config.split_include {
        attributes.push(match net {
            IpNet::V4(net) => Attribute::bytes(SUBNET4, &masked(net)),
            IpNet::V6(net) => {
                let bytes = [&net.network().octets()[..], &[net.prefix_len()]].concat();
                Attribute::bytes(SUBNET6, &bytes)
            }
        });
    }
    for domain in &config.split_dns {
        attributes.push(Attribute::bytes(DOMAIN, domain.as_bytes()));
    }
}

/// Adds split networks (IPv4 only) and split domains for IKEv1.
fn push_unity(config: &ModeConfig, attributes: &mut Vec<Attribute>) {
    let mut nets = Vec::new();
    for net in &config.split_include {
        if let IpNet::V4(net) = net {
            nets.extend(masked(net));
            nets.extend([0; UNITY_NET - 8]);
        }
    }
    if !nets.is_empty() {
        attributes.push(Attribute::bytes(UNITY_NETS, &nets));
    }
    if !config.split_dns.is_empty() {
        let domains = config.split_dns.join(",");
        attributes.push(Attribute::bytes(UNITY_DOMAINS, domains.as_bytes()));
    }
}

fn masked(net: &Ipv4Net) -> Vec<u8> {
    [net.network().octets(), net.netmask().octets()].concat()
}

/// Parses a request or reply. Ignores unknown and truncated attributes.
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
            SUBNET4 => lease.subnets.extend(unmasked(bytes)),
            UNITY_NETS => {
                let nets = bytes.chunks_exact(UNITY_NET);
                let nets = nets.filter_map(|net| unmasked(net.get(..8)?));
                lease.subnets.extend(nets);
            }
            SUBNET6 => {
                let split = bytes.split_last();
                let net = split.and_then(|(len, bytes)| {
                    let bytes = <[u8; 16]>::try_from(bytes).ok()?;
                    Ipv6Net::new(bytes.into(), *len).ok()
                });
                lease.subnets.extend(net.map(IpNet::V6));
            }
            DOMAIN | UNITY_DOMAIN | UNITY_DOMAINS => {
                let domains = core::str::from_utf8(bytes).unwrap_or_default();
                let domains = domains.split(',').filter(|one| !one.is_empty());
                lease.domains.extend(domains.map(str::to_owned));
            }
            _ => {}
        }
    }
    lease
}

/// Parses a network of four address bytes and four mask bytes.
fn unmasked(bytes: &[u8]) -> Option<IpNet> {
    let (net, mask) = bytes.split_at_checked(4)?;
    IpNet::with_netmask(address(net)?, address(mask)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_attributes_parse_to_the_same_values() {
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
        let reply = |config: &ModeConfig, system: &[IpAddr]| {
            reply(config, given, system, Version::Two).write()
        };
        let said = reply(&config, &[config.dns[0], system]);
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
        let said = reply(&own, &[system]);
        let lease = super::lease(&Configuration::read(&said).expect("a reply"));
        assert_eq!(lease.dns, own.dns);
    }

    #[test]
    fn clients_of_ikev1_are_given_networks_in_one_attribute() {
        let config = ModeConfig {
            prefix_len: 32,
            split_include: vec![
                "10.9.0.0/16".parse().expect("a prefix"),
                "2001:db8::/32".parse().expect("one that cannot be said"),
                "10.7.1.0/24".parse().expect("one"),
            ],
            split_dns: vec!["example.net".into(), "example.com".into()],
            ..ModeConfig::default()
        };
        let said = reply(&config, None, &[], Version::One);
        let nets = said.attributes.iter().find(|one| one.kind == UNITY_NETS);
        let mut expected = vec![10, 9, 0, 0, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0];
        expected.extend([10, 7, 1, 0, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(nets.map(|nets| nets.value.bytes()), Some(&expected[..]));
        let lease = lease(&Configuration::read(&said.write()).expect("a reply"));
        let nets = [config.split_include[0], config.split_include[2]];
        assert_eq!(
            (lease.subnets, lease.domains),
            (nets.to_vec(), config.split_dns)
        );
    }

    #[test]
    fn requests_have_no_values() {
        for version in [Version::One, Version::Two] {
            assert_eq!(lease(&request(version)), Lease::default());
        }
    }
}
