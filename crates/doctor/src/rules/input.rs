//! What strangers reach of the router itself.

use crate::config::{Config, FILTER, shown, title};
use crate::packet::{Fate, Packet, through};
use crate::{Rule, Severity};

/// An interface to strangers by which a packet gets in.
fn open<'a>(config: &Config<'a>, protocol: &str, port: u16) -> Option<&'a str> {
    let gets_in = |ingress: &&str| {
        let packet = Packet {
            ingress,
            protocol,
            port,
        };
        matches!(
            through(config, FILTER, "input", packet),
            None | Some(Fate::Accepted)
        )
    };
    config.wan().into_iter().find(|wan| gets_in(wan))
}

/// A port that no rule names by chance.
const UNASKED: u16 = 47_808;

pub(super) const INPUT_OPEN_WAN: Rule = Rule {
    name: "input-open-wan",
    severity: Severity::Warning,
    cause: "chain input lets new connections of strangers in: they try passwords, and every service is theirs to find",
    mend: "drop in input what comes from the interfaces that lead outside, behind the rules that accept",
    find: |config, found| {
        let Some(wan) = open(config, "tcp", UNASKED) else {
            return;
        };
        let rules = config.chain(FILTER, "input");
        let said = format!("whoever comes by {wan} reaches the router");
        let fix = format!(
            "/ip/firewall/filter/add chain=input action=drop connection-state=new in-interface={wan}"
        );
        found.fixed(
            &rules.last().copied().into_iter().collect::<Vec<_>>(),
            said,
            vec![fix],
        );
    },
};

pub(super) const DNS_OPEN_RESOLVER: Rule = Rule {
    name: "dns-open-resolver",
    severity: Severity::Warning,
    cause: "the router answers strangers' questions to DNS: it is used to flood others",
    mend: "drop UDP and TCP port 53 from outside in input, or set allow-remote-requests=no",
    find: |config, found| {
        let Some(dns) = config
            .settings("/ip/dns")
            .filter(|dns| dns.is("allow-remote-requests"))
        else {
            return;
        };
        if let Some(wan) = open(config, "udp", 53) {
            let add = |protocol: &str| {
                format!(
                    "/ip/firewall/filter/add chain=input action=drop protocol={protocol} dst-port=53 in-interface={wan}"
                )
            };
            let said = format!("names are resolved for whoever comes by {wan}");
            found.fixed(&[dns], said, vec![add("udp"), add("tcp")]);
        }
    },
};

/// Services whose passwords go in the clear.
const CLEAR: &[&str] = &["telnet", "ftp", "www", "api"];

pub(super) const MGMT_SERVICE_OPEN: Rule = Rule {
    name: "mgmt-service-open",
    severity: Severity::Warning,
    cause: "a service of management without encryption answers strangers",
    mend: "disable the service, or give it the addresses that may use it",
    find: |config, found| {
        // All of it is open: that is said already.
        if open(config, "tcp", UNASKED).is_some() {
            return;
        }
        let mut open_to = None;
        let mut open_ones = config.enabled("/ip/service");
        open_ones.retain(|service| {
            let port = service
                .number("port")
                .and_then(|port| u16::try_from(port).ok());
            let clear =
                CLEAR.contains(&service.text("name")) && shown(service, "address").is_empty();
            let by = port
                .filter(|_| clear)
                .and_then(|port| open(config, "tcp", port));
            open_to = open_to.or(by);
            by.is_some()
        });
        let names: Vec<_> = open_ones
            .iter()
            .map(|service| service.text("name"))
            .collect();
        if let Some(wan) = open_to {
            let fix = names
                .iter()
                .map(|name| format!("/ip/service/disable {name}"));
            let said = format!("whoever comes by {wan} reaches {}", names.join(", "));
            found.fixed(&open_ones, said, fix.collect());
        }
    },
};

pub(super) const RP_FILTER_STRICT_MULTIWAN: Rule = Rule {
    name: "rp-filter-strict-multiwan",
    severity: Severity::Error,
    cause: "with rp-filter=strict a packet is dropped whose way back leads elsewhere: with several ways out, or \
            virtual routers, that is every other packet",
    mend: "set rp-filter=loose",
    find: |config, found| {
        let Some(settings) = config
            .settings("/ip/settings")
            .filter(|is| is.text("rp-filter") == "strict")
        else {
            return;
        };
        let routes = config.enabled("/ip/route");
        let ways = routes
            .iter()
            .filter(|route| shown(route, "dst-address") == "0.0.0.0/0")
            .count();
        let ways = ways + config.enabled("/ip/dhcp-client").len();
        let virtuals = config.enabled("/interface/vrrp");
        if ways > 1 || !virtuals.is_empty() {
            let why = match virtuals.first() {
                Some(one) => format!("there is {}", title(one)),
                None => format!("there are {ways} ways out"),
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
