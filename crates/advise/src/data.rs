//! VPNs as data: characteristics, ports, clients, figures and weaknesses; and the choice between them.

/// Who uses the VPN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Single users on the way.
    RoadWarrior,
    /// A network of another site.
    Branch,
    /// A site with secrets: strength before speed.
    Secret,
}

/// A program or system with a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// Windows 10 and 11.
    Windows,
    /// macOS and iOS.
    Apple,
    /// Android.
    Android,
    /// Linux.
    Linux,
    /// RouterOS or ferroute.
    RouterOs,
}

/// The other end of a site-to-site VPN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FarEnd {
    /// RouterOS or ferroute.
    RouterOs,
    /// A VPN gateway of Azure.
    Azure,
    /// A Site-to-Site VPN connection of AWS.
    Aws,
    /// Cisco IOS.
    Cisco,
}

/// What a user needs.
#[derive(Clone, Debug)]
pub struct Need {
    /// Who uses the VPN.
    pub who: Who,
    /// Systems of the users.
    pub clients: Vec<Client>,
    /// System of the other site.
    pub far: FarEnd,
    /// True if NAT is between the ends: the server cannot begin.
    pub nat: bool,
    /// True if a firewall at the client lets only web traffic out.
    pub only_https: bool,
    /// Public address or name of the server.
    pub server: String,
    /// Fixed public address of the second site; unused behind NAT.
    pub client: String,
    /// Network behind the server.
    pub server_network: String,
    /// Network behind the other site.
    pub client_network: String,
}

/// Characteristics of a VPN, as a talk's table has them.
#[derive(Clone, Copy, Debug)]
pub struct Characteristics {
    /// True if the VPN is an interface.
    pub interface: bool,
    /// Encryption; empty if there is none.
    pub encryption: &'static str,
    /// Authentication of the ends; empty if there is none.
    pub authentication: &'static str,
    /// How it is bridged; empty if it cannot be.
    pub bridged: &'static str,
}

/// Clocks of one packet of 1,418 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Row of the benchmark.
    pub row: &'static str,
    /// Clocks for an encrypted packet.
    pub clocks_out: u32,
    /// Clocks for a decrypted packet.
    pub clocks_in: u32,
}

/// A VPN.
#[derive(Clone, Copy, Debug)]
pub struct Vpn {
    /// Name.
    pub name: &'static str,
    /// Characteristics.
    pub characteristics: Characteristics,
    /// Layers for the calculator of tunnels.
    pub layers: &'static str,
    /// Clocks of the benchmark.
    pub measured: Option<Measured>,
    /// Throughput of one TCP connection through two routers, MTU 1500, in Mbit/s.
    pub tcp_mbps: Option<u32>,
    /// Protocols and ports that firewalls let through.
    pub ports: &'static str,
    /// Behaviour behind NAT.
    pub nat: &'static str,
    /// Systems with a built-in client.
    pub built_in: &'static [Client],
    /// Systems with a client to install.
    pub installed: &'static [Client],
    /// What is weak.
    pub weak: &'static str,
    /// True if today's algorithms are used: no known attack.
    pub is_secure: bool,
}

use Client::{Android, Apple, Linux, RouterOs, Windows};

const fn plain(interface: bool, bridged: &'static str) -> Characteristics {
    Characteristics {
        interface,
        encryption: "",
        authentication: "",
        bridged,
    }
}

const fn secured(
    interface: bool,
    encryption: &'static str,
    authentication: &'static str,
    bridged: &'static str,
) -> Characteristics {
    Characteristics {
        interface,
        encryption,
        authentication,
        bridged,
    }
}

const NONE: Vpn = Vpn {
    name: "",
    characteristics: plain(true, ""),
    layers: "",
    measured: None,
    tcp_mbps: None,
    ports: "",
    nat: "",
    built_in: &[],
    installed: &[],
    weak: "",
    is_secure: false,
};

const NO_ENCRYPTION: &str = "no encryption and no proof of the sender: use it inside IPsec";

/// All VPNs. Figures are rows of `docs/benchmarks.md`.
pub const VPNS: &[Vpn] = &[
    Vpn {
        name: "WireGuard",
        characteristics: secured(true, "ChaCha20-Poly1305", "X25519 keys", ""),
        layers: "wireguard",
        measured: Some(Measured {
            row: "wireguard-out",
            clocks_out: 1253,
            clocks_in: 1441,
        }),
        tcp_mbps: Some(1310),
        ports: "UDP, one port (51820 by custom)",
        nat: "passes; the end behind NAT begins, and keeps the entry by persistent-keepalive",
        built_in: &[RouterOs, Linux],
        installed: &[Windows, Apple, Android],
        weak: "no users or passwords: a stolen key works until its peer is removed; blocked where only web traffic passes",
        is_secure: true,
    },
    Vpn {
        name: "IKEv2",
        characteristics: secured(false, "AES-GCM", "certificates, secrets, EAP", ""),
        layers: "esp-tunnel:aes-gcm-256:nat-t",
        measured: Some(Measured {
            row: "esp-gcm-128-out",
            clocks_out: 325,
            clocks_in: 368,
        }),
        tcp_mbps: Some(1580),
        ports: "UDP 500 and 4500, and ESP (protocol 50)",
        nat: "passes by UDP 4500",
        built_in: &[RouterOs, Windows, Apple, Android],
        installed: &[Linux],
        weak: "many options that both ends have to agree about; no interface, so routes and queues need policies or marks",
        is_secure: true,
    },
    Vpn {
        name: "OpenVPN",
        characteristics: secured(
            true,
            "AES-GCM",
            "certificates and passwords (TLS)",
            "mode=ethernet",
        ),
        layers: "ovpn:aes-gcm-256",
        measured: Some(Measured {
            row: "ovpn-udp-gcm-out",
            clocks_out: 369,
            clocks_in: 481,
        }),
        tcp_mbps: None,
        ports: "UDP 1194, or any TCP port, such as 443",
        nat: "passes",
        built_in: &[RouterOs],
        installed: &[Windows, Apple, Android, Linux],
        weak: "over TCP, a lost segment delays all packets behind it (TCP in TCP): use it only where UDP is blocked",
        is_secure: true,
    },
    Vpn {
        name: "SSTP",
        characteristics: secured(true, "AES (TLS)", "certificate and password", "with BCP"),
        layers: "sstp:tls1.2",
        ports: "TCP 443",
        nat: "passes, also through web proxies",
        built_in: &[RouterOs, Windows],
        installed: &[Linux],
        weak: "always TCP in TCP",
        is_secure: true,
        ..NONE
    },
    Vpn {
        name: "L2TP with IPsec",
        characteristics: secured(
            true,
            "AES (IPsec, IKEv1)",
            "secret and password",
            "with BCP",
        ),
        layers: "l2tp,esp-transport:aes-cbc-256:sha1:nat-t",
        ports: "UDP 500, 4500 and 1701 inside IPsec, and ESP",
        nat: "passes by UDP 4500; Windows refuses a server behind NAT",
        built_in: &[RouterOs, Windows, Apple],
        installed: &[Linux],
        weak: "one secret for all users, IKEv1, and two headers",
        is_secure: false,
        ..NONE
    },
    Vpn {
        name: "L2TP",
        characteristics: secured(true, "MPPE128", "MS-CHAPv2", "with BCP"),
        layers: "l2tp,mppe",
        ports: "UDP 1701",
        nat: "passes",
        built_in: &[RouterOs],
        installed: &[Linux],
        weak: "MPPE (RC4) and MS-CHAPv2 are broken",
        ..NONE
    },
    Vpn {
        name: "PPTP",
        characteristics: secured(true, "MPPE128", "MS-CHAPv2", "with BCP"),
        layers: "pptp",
        ports: "TCP 1723 and GRE (protocol 47)",
        nat: "needs a helper for GRE at each NAT",
        built_in: &[RouterOs, Windows],
        installed: &[Linux],
        weak: "MPPE (RC4) and MS-CHAPv2 are broken: a recorded login is decrypted",
        ..NONE
    },
    Vpn {
        name: "PPPoE",
        characteristics: secured(true, "MPPE128", "CHAP, MS-CHAPv2", "with BCP"),
        layers: "pppoe",
        ports: "none: EtherType 0x8863 and 0x8864 of one Ethernet",
        nat: "not routed",
        built_in: &[RouterOs, Windows, Linux],
        weak: "no protection of the link",
        ..NONE
    },
    Vpn {
        name: "EoIP",
        characteristics: plain(true, "yes"),
        layers: "eoip",
        tcp_mbps: Some(1630),
        ports: "GRE (protocol 47)",
        nat: "does not pass most NAT",
        built_in: &[RouterOs],
        weak: NO_ENCRYPTION,
        ..NONE
    },
    Vpn {
        name: "GRE",
        characteristics: plain(true, ""),
        layers: "gre",
        tcp_mbps: Some(1600),
        ports: "GRE (protocol 47)",
        nat: "does not pass most NAT",
        built_in: &[RouterOs, Linux],
        weak: NO_ENCRYPTION,
        ..NONE
    },
    Vpn {
        name: "IPIP",
        characteristics: plain(true, ""),
        layers: "ipip",
        ports: "IPv4 in IPv4 (protocol 4)",
        nat: "does not pass most NAT",
        built_in: &[RouterOs, Linux],
        weak: NO_ENCRYPTION,
        ..NONE
    },
];

/// Returns a VPN by its name.
fn named(name: &str) -> &'static Vpn {
    VPNS.iter().find(|vpn| vpn.name == name).unwrap_or(&VPNS[0])
}

/// Returns two candidates, the better one first, each with the reason.
pub fn candidates(need: &Need) -> [(&'static Vpn, &'static str); 2] {
    let pick = |first, why, second, other| [(named(first), why), (named(second), other)];
    if need.only_https {
        return pick(
            "OpenVPN",
            "runs over TCP 443, which looks like web traffic to most firewalls",
            "WireGuard",
            "if the firewall can be opened for one UDP port: no TCP in TCP",
        );
    }
    match (need.who, need.far) {
        (Who::Branch | Who::Secret, FarEnd::Azure | FarEnd::Aws | FarEnd::Cisco) => pick(
            "IKEv2",
            "the only VPN that this end speaks, with modern algorithms",
            "WireGuard",
            "from a virtual machine behind the far end, if it may run one",
        ),
        (Who::Secret, _) => pick(
            "IKEv2",
            "approved algorithms (AES-256-GCM, SHA-256, ECP-256), and keys in smart cards by certificate",
            "WireGuard",
            "least code and no negotiation to attack; the preshared key also protects against quantum computers",
        ),
        (Who::Branch, _) => pick(
            "WireGuard",
            "one key for each end, an interface for routes and queues, and it follows changing addresses",
            "IKEv2",
            "higher throughput by AES instructions, and every vendor has it",
        ),
        (Who::RoadWarrior, _) => {
            let has_ike2 = |client: &Client| named("IKEv2").built_in.contains(client);
            if !need.clients.is_empty() && need.clients.iter().all(has_ike2) {
                return pick(
                    "WireGuard",
                    "a file or a code to scan for each user, and it follows users from network to network",
                    "IKEv2",
                    "the clients have it built in: nothing to install",
                );
            }
            pick(
                "WireGuard",
                "a file or a code to scan for each user, and it follows users from network to network",
                "OpenVPN",
                "users and passwords, clients for every system, and TCP 443 where UDP is blocked",
            )
        }
    }
}
