//! Access from the Internet to the router itself.

use menu::{Item, quote};

use super::listeners::{BANDWIDTH_TEST_PORT, accepting, has_ipsec};
use crate::config::{Config, FILTER, shown, title};
use crate::packet::{Packet, Verdict, chain_verdict};
use crate::rule::{Rule, Severity};

/// WAN interfaces from which the first packet of a connection reaches the router.
pub(super) struct Open<'a> {
    /// Interfaces whose packets a rule accepts.
    pub(super) accepted: Vec<&'a str>,
    /// Interfaces whose packets pass the end of the chain; a final drop rule closes them.
    unmatched: Vec<&'a str>,
}

impl<'a> Open<'a> {
    fn first(&self) -> Option<&'a str> {
        let all = self.accepted.iter().chain(&self.unmatched);
        all.copied().min()
    }
}

/// Returns the WAN interfaces that let a packet in.
pub(super) fn open<'a>(config: &Config<'a>, protocol: &str, port: u16) -> Open<'a> {
    let mut open = Open {
        accepted: Vec::new(),
        unmatched: Vec::new(),
    };
    for ingress in config.wan() {
        let packet = Packet {
            ingress,
            protocol,
            port,
            is_translated: false,
            destination: None,
        };
        match chain_verdict(config, FILTER, "input", packet) {
            None => open.unmatched.push(ingress),
            Some(Verdict::Accepted) => open.accepted.push(ingress),
            Some(Verdict::Dropped | Verdict::Unknown) => {}
        }
    }
    open
}

/// A port that no rule names by chance.
const UNNAMED_PORT: u16 = 47_808;

pub(super) const INPUT_OPEN_WAN: Rule = Rule {
    name: "input-open-wan",
    severity: Severity::Warning,
    cause: "chain input accepts new connections from outside: attackers can try passwords and find every service",
    mend: "accept the intended outside traffic in input, then drop all other packets from outside interfaces",
    find: |config, found| {
        let open = open(config, "tcp", UNNAMED_PORT);
        let Some(wan) = open.first() else {
            return;
        };
        let last: Vec<&Item> = config
            .chain(FILTER, "input")
            .last()
            .copied()
            .into_iter()
            .collect();
        let said = format!("clients on {wan} reach the router");
        // The user wrote the rule that accepts these packets, and has to decide about it.
        let fix = match open.accepted.is_empty() {
            true => close(config, &open.unmatched),
            false => Vec::new(),
        };
        found.fixed(&last, said, fix);
    },
};

/// Returns rules for the end of chain `input`: accept the configured listeners, drop other new connections from
/// these interfaces.
fn close(config: &Config<'_>, interfaces: &[&str]) -> Vec<String> {
    let first = interfaces.first().copied().unwrap_or_default();
    let mut rules = accepting(config, first);
    // Decrypted IPsec packets arrive on the WAN interface as well.
    let policy = if has_ipsec(config) {
        " ipsec-policy=in,none"
    } else {
        ""
    };
    rules.extend(interfaces.iter().map(|interface| {
        let interface = quote(interface);
        format!("{FILTER}/add chain=input action=drop connection-state=new{policy} in-interface={interface}")
    }));
    rules
}

pub(super) const DNS_OPEN_RESOLVER: Rule = Rule {
    name: "dns-open-resolver",
    severity: Severity::Warning,
    cause: "the router answers DNS queries from outside: attackers use it to flood others",
    mend: "drop UDP and TCP port 53 from outside in input, or set allow-remote-requests=no",
    find: |config, found| {
        let Some(dns) = config
            .settings("/ip/dns")
            .filter(|dns| dns.is("allow-remote-requests"))
        else {
            return;
        };
        let open = open(config, "udp", 53);
        if let Some(wan) = open.first() {
            let drop = |interface: &str| {
                let interface = quote(interface);
                ["udp", "tcp"].map(|protocol| {
                    format!(
                        "{FILTER}/add chain=input action=drop protocol={protocol} dst-port=53 in-interface={interface}"
                    )
                })
            };
            let said = format!("the router resolves names for clients on {wan}");
            let fix = match open.accepted.is_empty() {
                true => open
                    .unmatched
                    .iter()
                    .flat_map(|interface| drop(interface))
                    .collect(),
                false => Vec::new(),
            };
            found.fixed(&[dns], said, fix);
        }
    },
};

/// Services that transmit passwords in clear.
const CLEARTEXT_SERVICES: &[&str] = &["telnet", "ftp", "www", "api"];

pub(super) const MGMT_SERVICE_OPEN: Rule = Rule {
    name: "mgmt-service-open",
    severity: Severity::Warning,
    cause: "an unencrypted management service answers clients from outside",
    mend: "disable the service, or restrict it to the addresses of its users",
    find: |config, found| {
        // `input-open-wan` reports the case that every port is open.
        if open(config, "tcp", UNNAMED_PORT).first().is_some() {
            return;
        }
        let mut open_to = None;
        let mut open_ones = config.enabled("/ip/service");
        open_ones.retain(|service| {
            let port = service
                .number("port")
                .and_then(|port| u16::try_from(port).ok());
            let clear = CLEARTEXT_SERVICES.contains(&service.text("name"))
                && shown(service, "address").is_empty();
            let by = port
                .filter(|_| clear)
                .and_then(|port| open(config, "tcp", port).first());
            open_to = open_to.or(by);
            by.is_some()
        });
        let names: Vec<_> = open_ones
            .iter()
            .map(|service| service.text("name"))
            .collect();
        if let Some(wan) = open_to {
            // No commands: the file opens the service to the Internet, so its owner has to decide.
            let said = format!("clients on {wan} reach {}", names.join(", "));
            found.add(&open_ones, said);
        }
    },
};

pub(super) const BANDWIDTH_SERVER_OPEN: Rule = Rule {
    name: "bandwidth-server-open",
    severity: Severity::Warning,
    cause: "the bandwidth test server answers clients from outside: a test takes the uplink and a core, and attackers \
            can try passwords",
    mend: "set allowed-addresses4 of /tool/bandwidth-server to the networks of its users, or set enabled=no",
    find: |config, found| {
        // `input-open-wan` reports the case that every port is open.
        if open(config, "tcp", UNNAMED_PORT).first().is_some() {
            return;
        }
        let server = config.settings("/tool/bandwidth-server");
        let server = server.filter(|server| server.is("enabled"));
        let Some(server) = server.filter(|server| shown(server, "allowed-addresses4").is_empty())
        else {
            return;
        };
        if let Some(wan) = open(config, "tcp", BANDWIDTH_TEST_PORT).first() {
            let who = match server.is("authenticate") {
                true => "with a password",
                false => "without a password",
            };
            // No commands: the file opens the port to the Internet, so its owner has to decide.
            found.add(&[server], format!("clients on {wan} test {who}"));
        }
    },
};

pub(super) const RP_FILTER_STRICT_MULTIWAN: Rule = Rule {
    name: "rp-filter-strict-multiwan",
    severity: Severity::Error,
    cause: "rp-filter=strict drops packets whose reply would leave by another interface: with several uplinks or \
            virtual routers it drops valid packets",
    mend: "set rp-filter=loose",
    find: |config, found| {
        let Some(settings) = config
            .settings("/ip/settings")
            .filter(|is| is.text("rp-filter") == "strict")
        else {
            return;
        };
        let uplinks = config.uplinks();
        let virtuals = config.enabled("/interface/vrrp");
        if uplinks > 1 || !virtuals.is_empty() {
            let why = match virtuals.first() {
                Some(one) => format!("there is {}", title(one)),
                None => format!("there are {uplinks} uplinks"),
            };
            let fix = String::from("/ip/settings/set rp-filter=loose");
            found.fixed(
                &[settings],
                format!("rp-filter=strict, and {why}"),
                vec![fix],
            );
        }
    },
};
