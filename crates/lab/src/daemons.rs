//! Daemons in the hosts of a lab: DHCP and DNS servers, and DHCP clients.

use std::path::Path;

/// A daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Daemon {
    /// Name of the host.
    pub host: &'static str,
    /// Program with its arguments. `{folder}` stands for the folder of [`furnish`](crate::furnish).
    pub argv: &'static [&'static str],
    /// Program that the daemon needs; the program of a script, if `argv` runs one.
    pub needs: &'static str,
}

impl Daemon {
    /// Returns program and arguments, with the folder of [`furnish`](crate::furnish) filled in.
    pub fn words(&self, folder: &Path) -> Vec<String> {
        let folder = folder.display().to_string();
        let word = |word: &&str| word.replace("{folder}", &folder);
        self.argv.iter().map(word).collect()
    }

    /// Whether the daemon asks for an address by DHCP.
    pub fn is_dhcp_client(&self) -> bool {
        self.argv.first() == Some(&DHCP_CLIENT)
    }
}

/// Configuration file of a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// Name in the folder of [`furnish`](crate::furnish).
    pub name: &'static str,
    /// Its contents.
    pub text: &'static str,
}

/// Name of the file with [`LEASE_SCRIPT`] in the folder of [`furnish`](crate::furnish).
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

/// Daemons of the lab `home`.
pub(crate) const HOME: &[Daemon] = &[PROVIDER, taker("client"), taker("laptop")];

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
    needs: "dnsmasq",
};

const DHCP_CLIENT: &str = "udhcpc";

/// A DHCP client that asks once a second until it has an address, and keeps it.
pub(crate) const fn taker(host: &'static str) -> Daemon {
    Daemon {
        host,
        argv: &[
            DHCP_CLIENT,
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
        needs: "udhcpc",
    }
}
