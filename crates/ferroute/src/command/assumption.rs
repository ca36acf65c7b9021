//! Option `--assume` of offline commands: dynamic addresses, as `ether1=203.0.113.2/24,gateway=203.0.113.1`.
//!
//! A running router gets them by DHCP, PPPoE or router advertisements; a router made from a file needs them as
//! options.

use std::net::IpAddr;
use std::str::FromStr;

use menu::quote_always;

use crate::command::trace::OfflineRouter;

/// Assumed address of an interface, and the default gateway of its network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assumption {
    interface: String,
    address: IpAddr,
    /// Prefix length in bits.
    len: u8,
    gateway: Option<IpAddr>,
}

/// Syntax of the option, for messages.
const SYNTAX: &str =
    "INTERFACE=ADDRESS/LENGTH[,gateway=ADDRESS], such as ether1=203.0.113.2/24,gateway=203.0.113.1";

impl FromStr for Assumption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| format!("{text}: {what}; the form is {SYNTAX}");
        let (interface, rest) = text
            .split_once('=')
            .filter(|(interface, _)| !interface.is_empty())
            .ok_or_else(|| wrong("an interface is missing"))?;
        let mut words = rest.split(',');
        let network = words.next().unwrap_or_default();
        let (address, len) = network
            .split_once('/')
            .ok_or_else(|| wrong("the address has no /LENGTH"))?;
        let address: IpAddr =
            { address.parse() }.map_err(|_| wrong(&format!("{address} is not an address")))?;
        let longest = if address.is_ipv6() { 128 } else { 32 };
        let len = { len.parse::<u8>() }
            .ok()
            .filter(|len| *len <= longest)
            .ok_or_else(|| wrong(&format!("the prefix length must be 0 to {longest}")))?;
        let mut gateway = None;
        for word in words {
            let said = word.strip_prefix("gateway=");
            let said = said.ok_or_else(|| wrong(&format!("`{word}` is not gateway=ADDRESS")))?;
            let said: IpAddr =
                { said.parse() }.map_err(|_| wrong(&format!("{said} is not an address")))?;
            if said.is_ipv6() != address.is_ipv6() {
                return Err(wrong("address and gateway are of different families"));
            }
            gateway = Some(said);
        }
        Ok(Self {
            interface: interface.to_owned(),
            address,
            len,
            gateway,
        })
    }
}

impl Assumption {
    /// Adds address and route to a router made from a file.
    ///
    /// # Errors
    /// The router refuses them, for example because the interface does not exist.
    pub(crate) fn apply(&self, router: &mut OfflineRouter) -> Result<(), String> {
        let commands = match router.assume_session(&self.interface) {
            Some(adds_route) => self.commands_of_session(adds_route),
            None => self.commands(),
        };
        for command in commands {
            let refused = |why: String| format!("--assume {}=…: {why}", self.interface);
            router.ask(&command).map_err(refused)?;
        }
        Ok(())
    }

    /// Returns the commands for a point-to-point interface: the gateway is its other end.
    fn commands_of_session(&self, adds_route: bool) -> Vec<String> {
        let mut commands = self.commands();
        commands.truncate(1);
        let gateway = match self.gateway {
            Some(IpAddr::V4(gateway)) => {
                commands[0].push_str(&format!(" network={gateway}"));
                true
            }
            Some(IpAddr::V6(_)) => true,
            None => false,
        };
        if gateway || adds_route {
            let menu = if self.address.is_ipv6() {
                "/ipv6"
            } else {
                "/ip"
            };
            let named = quote_always(&self.interface);
            commands.push(format!("{menu}/route/add gateway={named}"));
        }
        commands
    }

    fn commands(&self) -> Vec<String> {
        let Self {
            interface,
            address,
            len,
            gateway,
        } = self;
        let named = quote_always(interface);
        let (menu, more) = match address {
            IpAddr::V4(_) => ("/ip", ""),
            IpAddr::V6(_) => ("/ipv6", " advertise=no"),
        };
        let add = format!("{menu}/address/add address={address}/{len} interface={named}{more}");
        let route = gateway.map(|gateway| {
            let by = match gateway {
                IpAddr::V6(gateway) if gateway.is_unicast_link_local() => {
                    quote_always(&format!("{gateway}%{interface}"))
                }
                gateway => gateway.to_string(),
            };
            format!("{menu}/route/add gateway={by}")
        });
        [Some(add), route].into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assumption_is_an_interface_with_an_address_and_perhaps_a_gateway() {
        let read = |text: &str| text.parse::<Assumption>();
        let both = read("ether1=203.0.113.2/24,gateway=203.0.113.1").expect("both");
        assert_eq!(
            both.commands(),
            [
                "/ip/address/add address=203.0.113.2/24 interface=\"ether1\"",
                "/ip/route/add gateway=203.0.113.1",
            ]
        );
        let link = read("wan=2001:db8::2/64,gateway=fe80::1").expect("both");
        assert_eq!(
            link.commands()[1],
            "/ipv6/route/add gateway=\"fe80::1%wan\""
        );
        assert_eq!(
            read("lan=10.0.0.1/8").expect("an address").commands().len(),
            1
        );
        let session = read("pppoe-out1=203.0.113.2/32,gateway=203.0.113.1").expect("both");
        assert_eq!(
            session.commands_of_session(false),
            [
                "/ip/address/add address=203.0.113.2/32 interface=\"pppoe-out1\" network=203.0.113.1",
                "/ip/route/add gateway=\"pppoe-out1\"",
            ]
        );
        for (text, what) in [
            ("203.0.113.2/24", "an interface is missing"),
            ("ether1=203.0.113.2", "no /LENGTH"),
            ("ether1=203.0.113.2/33", "the prefix length must be 0 to 32"),
            ("ether1=router/24", "router is not an address"),
            (
                "ether1=203.0.113.2/24,203.0.113.1",
                "is not gateway=ADDRESS",
            ),
            (
                "ether1=203.0.113.2/24,gateway=fe80::1",
                "different families",
            ),
        ] {
            let said = read(text).expect_err(text);
            assert!(
                said.contains(what) && said.contains("INTERFACE=ADDRESS"),
                "{said}"
            );
        }
    }
}
