//! Insecure tunnels.

use std::collections::BTreeSet;
use std::net::IpAddr;

use menu::{Item, Value};

use crate::config::{FILTER, MANGLE, NAT, has, shown, title};
use crate::{Rule, Severity};

const FAST: &[&str] = &["/interface/eoip", "/interface/gre", "/interface/ipip"];

pub(super) const FASTPATH_TUNNEL_BYPASS: Rule = Rule {
    name: "fastpath-tunnel-bypass",
    severity: Severity::Advice,
    cause: "packets on a tunnel's FastPath bypass rules and queues for the outer packet",
    mend: "set allow-fast-path=no on the tunnel if rules should see its packets",
    find: |config, found| {
        let gre = |rule: &&Item| {
            matches!(
                shown(rule, "protocol").as_str(),
                "gre" | "ipencap" | "47" | "4"
            ) && matches!(
                rule.text("action"),
                "drop" | "reject" | "mark-packet" | "mark-connection"
            )
        };
        let rules: Vec<_> = [FILTER, MANGLE, NAT]
            .iter()
            .flat_map(|path| config.enabled(path))
            .collect();
        let Some(rule) = rules.iter().find(|rule| gre(rule)) else {
            return;
        };
        for tunnel in FAST.iter().flat_map(|path| config.enabled(path)) {
            if tunnel.is("allow-fast-path") && has(tunnel, "allow-fast-path") {
                found.add(
                    &[tunnel, rule],
                    format!("{} may bypass {}", title(tunnel), title(rule)),
                );
            }
        }
    },
};

pub(super) const PPTP_SECURITY: Rule = Rule {
    name: "pptp-security",
    severity: Severity::Warning,
    cause: "PPTP's MS-CHAPv2 and MPPE are broken: an attacker who records a login can decrypt the session",
    mend: "use WireGuard, IKEv2, or L2TP with use-ipsec=required",
    find: |config, found| {
        let server = config.settings("/interface/pptp-server/server");
        for server in server.into_iter().filter(|server| server.is("enabled")) {
            // No commands: the clients need another VPN server first.
            found.add(&[server], String::from("the PPTP server is enabled"));
        }
        for client in config.enabled("/interface/pptp-client") {
            found.add(&[client], format!("{} is PPTP", title(client)));
        }
    },
};

pub(super) const DOUBLE_ENCAPSULATION: Rule = Rule {
    name: "double-encapsulation",
    severity: Severity::Warning,
    cause: "EoIP in a PPP tunnel adds a second header, causes twice the fragments, and over SSTP or OpenVPN carries \
            TCP in TCP",
    mend: "use EoIP to the other site's own address, with ipsec-secret= for encryption; or BCP in the PPP tunnel",
    find: |config, found| {
        let secrets = config.enabled("/ppp/secret");
        let far = secrets.iter().map(|secret| secret.get("remote-address"));
        let profiles = config.enabled("/ppp/profile");
        let near = profiles
            .iter()
            .chain(&secrets)
            .map(|item| item.get("local-address"));
        let inside: BTreeSet<_> = far.chain(near).filter_map(address).collect();
        for tunnel in config.enabled("/interface/eoip") {
            let to = address(tunnel.get("remote-address"));
            if to.is_some_and(|to| inside.contains(&to)) {
                let said = format!(
                    "{} runs to {}, inside a PPP tunnel",
                    title(tunnel),
                    shown(tunnel, "remote-address")
                );
                found.add(&[tunnel], said);
            }
        }
    },
};

fn address(value: Option<&Value>) -> Option<IpAddr> {
    match value {
        Some(Value::Address(address)) => Some(*address),
        Some(other) => other.as_str()?.parse().ok(),
        None => None,
    }
}
