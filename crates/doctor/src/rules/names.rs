//! Layer7 patterns that are host names.

use menu::Item;

use crate::config::{FILTER, MANGLE, has, name, shown};
use crate::rule::{Rule, Severity};

pub(super) const L7_HOST_NAME: Rule = Rule {
    name: "l7-host-name",
    severity: Severity::Warning,
    cause: "the pattern is the name of a site, and sites are visited by TLS, which encrypts what the pattern looks for: \
            the rule costs processor time and matches almost nothing",
    mend: "match the name in the TLS handshake with tls-host=*name* protocol=tcp dst-port=443, or in DNS queries with \
           protocol=udp dst-port=53",
    find: |config, found| {
        for path in [FILTER, MANGLE] {
            for rule in config.enabled(path) {
                let pattern = rule.text("layer7-protocol");
                let mut patterns = config.enabled("/ip/firewall/layer7-protocol").into_iter();
                let Some(item) = patterns.find(|item| item.name() == Some(pattern)) else {
                    continue;
                };
                let regexp = shown(item, "regexp");
                let Some(site) = host_name(&regexp).filter(|_| covers_tls(rule)) else {
                    continue;
                };
                let said = format!("{pattern} looks for {site} in connections of TLS");
                let fix = match rule.text("action") {
                    "drop" | "reject" if path == FILTER && !has(rule, "connection-mark") => {
                        vec![format!(
                            "{FILTER}/set {} !layer7-protocol protocol=tcp dst-port=443 tls-host=*{site}*",
                            rule.id
                        )]
                    }
                    _ => Vec::new(),
                };
                found.fixed(&[rule, item], said, fix);
            }
        }
    },
};

/// Returns the name that a regular expression looks for, if it is nothing but a name between wildcards.
fn host_name(regexp: &str) -> Option<&str> {
    let wild = |c: char| matches!(c, '^' | '$' | '.' | '*' | '+' | '(' | ')' | '\\');
    let inner = regexp.trim_matches(wild);
    let is_name = inner.len() > 3 && inner.contains(|c: char| c.is_ascii_alphabetic()) && {
        inner.replace("\\.", ".")
    }
    .chars()
    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'));
    (is_name && !inner.contains('\\')).then_some(inner)
}

/// Returns true if a rule covers TLS connections among others. Rules that name port 443 have the finding `l7-https`.
fn covers_tls(rule: &Item) -> bool {
    let protocol = name(rule, "protocol").unwrap_or_default();
    matches!(protocol, "" | "tcp") && shown(rule, "dst-port").is_empty()
}
