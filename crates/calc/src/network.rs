//! IPv4 and IPv6 networks: first and last address, mask, hosts.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::{ArgumentValues, Calculator, Rows, argument, row};

pub(crate) const NETWORK: Calculator = Calculator {
    name: "network",
    help: "Network of an address with a prefix length",
    arguments: &[argument("address", "with prefix length", "192.168.88.1/24")],
    run: network,
};

fn network(given: &ArgumentValues<'_>) -> Result<Rows, String> {
    let (address, length) = given.read("address", prefix)?;
    Ok(match address {
        IpAddr::V4(address) => v4(address, length),
        IpAddr::V6(address) => v6(address, length),
    })
}

fn prefix(text: &str) -> Result<(IpAddr, u32), String> {
    let wrong = || {
        "expected an address with prefix length, such as 10.0.0.1/24 or 2001:db8::1/64".to_owned()
    };
    let (address, length) = text.split_once('/').ok_or_else(wrong)?;
    let address: IpAddr = address.parse().map_err(|_| wrong())?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let length = length.parse().ok().filter(|length| *length <= most);
    Ok((address, length.ok_or_else(wrong)?))
}

fn v4(address: Ipv4Addr, length: u32) -> Rows {
    let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
    let (first, last) = (u32::from(address) & mask, u32::from(address) | !mask);
    let ip = |bits: u32| Ipv4Addr::from(bits).to_string();
    // Both addresses of a /31 are hosts (RFC 3021).
    let (low, high) = if length < 31 {
        (first + 1, last - 1)
    } else {
        (first, last)
    };
    vec![
        row("network", format!("{}/{length}", ip(first))),
        row("mask", ip(mask)),
        row("wildcard", ip(!mask)),
        row(
            "broadcast",
            if length < 31 {
                ip(last)
            } else {
                "none".to_owned()
            },
        ),
        row("hosts", format!("{} to {}", ip(low), ip(high))),
        row(
            "number of hosts",
            (u64::from(high) - u64::from(low) + 1).to_string(),
        ),
    ]
}

fn v6(address: Ipv6Addr, length: u32) -> Rows {
    let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
    let (first, last) = (u128::from(address) & mask, u128::from(address) | !mask);
    let ip = |bits: u128| Ipv6Addr::from(bits).to_string();
    vec![
        row("network", format!("{}/{length}", ip(first))),
        row("addresses", format!("{} to {}", ip(first), ip(last))),
        row("number of addresses", format!("2^{}", 128 - length)),
        row(
            "networks of /64",
            match 64_u32.checked_sub(length) {
                Some(bits) => format!("2^{bits}"),
                None => "none".to_owned(),
            },
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(address: &str) -> Vec<String> {
        let rows = NETWORK.run(&[("address", address)]).expect("it calculates");
        rows.into_iter().map(|(_, value)| value).collect()
    }

    #[test]
    fn networks_have_ends_masks_and_hosts() {
        let home = of("192.168.88.17/24");
        assert_eq!(home[0], "192.168.88.0/24");
        assert_eq!((&*home[1], &*home[3]), ("255.255.255.0", "192.168.88.255"));
        assert_eq!(
            (&*home[4], &*home[5]),
            ("192.168.88.1 to 192.168.88.254", "254")
        );
        assert_eq!(of("10.0.0.1/31")[5], "2");
        assert_eq!(of("10.0.0.1/32")[4], "10.0.0.1 to 10.0.0.1");
        assert_eq!(of("0.0.0.0/0")[5], "4294967294");
        assert_eq!(of("2001:db8::1/48")[3], "2^16");
        assert_eq!(of("::/0")[2], "2^128");
        assert!(NETWORK.run(&[("address", "10.0.0.1")]).is_err());
        assert!(NETWORK.run(&[("address", "10.0.0.1/33")]).is_err());
    }
}
