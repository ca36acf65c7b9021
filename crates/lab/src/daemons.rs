//! Daemons in the hosts of a lab: DHCP and DNS servers, and DHCP clients.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::everyday;
use crate::layout::Layout;

/// A daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Daemon {
    /// Name of the host.
    pub host: &'static str,
    /// Program with its arguments. `{folder}` stands for the folder of [`furnish`].
    pub argv: &'static [&'static str],
}

impl Daemon {
    /// Returns program and arguments, with the folder of [`furnish`] filled in.
    pub fn words(&self, folder: &Path) -> Vec<String> {
        let folder = folder.display().to_string();
        let word = |word: &&str| word.replace("{folder}", &folder);
        self.argv.iter().map(word).collect()
    }
}

/// Configuration file of a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// Name in the folder of [`furnish`].
    pub name: &'static str,
    /// Its contents.
    pub text: &'static str,
}

/// Writes the configuration files of a layout's daemons into an existing folder.
///
/// # Errors
/// A file cannot be written.
pub fn furnish(layout: &Layout, folder: &Path) -> io::Result<()> {
    let files = match layout.name {
        "everyday" => everyday::FILES,
        _ => &[],
    };
    for file in files {
        fs::write(folder.join(file.name), file.text)?;
    }
    let script = folder.join(LEASE);
    fs::write(&script, LEASE_SCRIPT)?;
    fs::set_permissions(script, fs::Permissions::from_mode(0o700))
}

/// Name of the file with [`LEASE_SCRIPT`] in the folder of [`furnish`].
pub const LEASE: &str = "lease";

/// Script that a DHCP client runs for a new or lost lease: sets address and route in its host.
pub const LEASE_SCRIPT: &str = r#"#!/bin/sh
case $1 in
deconfig)
    ip -4 address flush dev "$interface"
    ip link set dev "$interface" up ;;
bound | renew)
    ip address replace "$ip/$mask" dev "$interface"
    for gateway in $router; do ip route replace default via "$gateway" dev "$interface"; done ;;
esac
"#;

/// Returns the daemons of a layout.
pub fn daemons(layout: &Layout) -> &'static [Daemon] {
    match layout.name {
        "home" => HOME,
        "everyday" => everyday::DAEMONS,
        _ => &[],
    }
}

const HOME: &[Daemon] = &[PROVIDER, taker("client"), taker("laptop")];

/// The provider: addresses for routers, and DNS names of the Internet.
pub(crate) const PROVIDER: Daemon = Daemon {
    host: "server",
    argv: &[
        "dnsmasq",
        "--keep-in-foreground",
        "--conf-file=/dev/null",
        "--no-resolv",
        "--no-hosts",
        "--interface=eth0",
        "--except-interface=lo",
        "--bind-interfaces",
        "--pid-file=",
        "--dhcp-leasefile=/dev/null",
        "--leasefile-ro",
        "--dhcp-authoritative",
        // The router, identified by the MAC address of its port.
        "--dhcp-host=02:00:00:00:01:01,203.0.113.100",
        "--dhcp-range=203.0.113.100,203.0.113.199,1h",
        "--dhcp-option=option:router,203.0.113.1",
        "--dhcp-option=option:dns-server,203.0.113.1",
        "--address=/www.example.net/198.51.100.80",
    ],
};

/// A DHCP client that asks once a second until it has an address, and keeps it.
pub(crate) const fn taker(host: &'static str) -> Daemon {
    Daemon {
        host,
        argv: &[
            "udhcpc",
            "-f",
            "-i",
            "eth0",
            "-t",
            "3",
            "-T",
            "1",
            "-A",
            "1",
            "-s",
            "{folder}/lease",
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn daemons_run_on_existing_hosts() {
        for layout in crate::LAYOUTS {
            for daemon in daemons(layout) {
                assert!(layout.host(daemon.host).is_some(), "{daemon:?}");
            }
        }
    }
}
