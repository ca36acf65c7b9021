//! `/tool`: commands of tools.

use menu::{Command, Effect, Family, Kind, Menu, MenuShape, Policies, Spelling};

use crate::declare::{
    APPEND, AS_VALUE, DO, DURATION, FILE, FREEZE, ONCE, PORT, PROPLIST, U32, WITHOUT_PAGING,
    argument, between, command, idle_command, nanoseconds, required_argument, unnamed_argument,
};
use crate::spelling::HOST;

const INTERFACE: Kind = Kind::Reference("interface");

/// The target of an echo request. Any text is accepted, because name resolution reports errors better.
const ASKED: Kind = Kind::Spelled(&Spelling {
    describe: "IP or IPv6 address, or DNS name",
    canonical: |text| Some(text.to_owned()),
});
const COUNT: Kind = between(0, u32::MAX as i64);
const SIZE: Kind = between(28, 65_535);
const TTL: Kind = between(1, 255);
const DSCP: Kind = between(0, 63);

const fn milliseconds(min: i64, max: i64) -> Kind {
    nanoseconds(min * 1_000_000, max * 1_000_000)
}

const CHECK: Kind = Kind::Words(&["no", "yes", "yes-without-crl"]);

pub(crate) static MENU: Menu = Menu {
    commands: &[
        command(
            "bandwidth-test",
            "Measure throughput to another router",
            &[
                unnamed_argument("address", HOST, "Address"),
                APPEND,
                AS_VALUE,
                argument("connection-count", U32, "Connection count"),
                argument(
                    "connection-counts",
                    Kind::List(&between(1, 255)),
                    "Connection counts of several tests, one after the other",
                ),
                argument(
                    "direction",
                    Kind::Words(&["receive", "transmit", "both"]),
                    "Direction",
                ),
                DO,
                DURATION,
                FILE,
                FREEZE,
                argument("interval", Kind::SPAN, "Interval"),
                argument("local-tx-speed", Kind::Rate, "Local transmit rate"),
                argument(
                    "local-udp-tx-size",
                    Kind::Range("-", &between(28, 64_000)),
                    "Size of UDP packets sent by this router",
                ),
                ONCE,
                argument("password", Kind::Text, "Password"),
                PROPLIST,
                argument("protocol", Kind::Words(&["udp", "tcp"]), "Protocol"),
                argument("random-data", Kind::Bool, "Random data"),
                argument("remote-tx-speed", Kind::Rate, "Remote transmit rate"),
                argument(
                    "remote-udp-tx-size",
                    Kind::Range("-", &between(28, 64_000)),
                    "Size of UDP packets sent by the remote router",
                ),
                argument("user", Kind::Text, "User"),
                WITHOUT_PAGING,
            ],
        )
        .repeating(),
        command(
            "calculate",
            "Calculate rates, TCP windows, token buckets, overheads and networks",
            &[
                AS_VALUE,
                required_argument(
                    "calculator",
                    Kind::Words(&[
                        "rates", "capacity", "window", "bucket", "tunnel", "wireless", "network",
                    ]),
                    "Name of the calculation",
                ),
                PROPLIST,
                argument(
                    "values",
                    Kind::Text,
                    "Parameters such as \"frame=1518 speed=10G\"; omitted ones have default values",
                ),
                WITHOUT_PAGING,
            ],
        )
        .repeating(),
        idle_command(
            "dns-update",
            "Send a dynamic update to a DNS server",
            &[
                argument("address", Kind::Address(Family::V4), "Address"),
                argument("dns-server", Kind::Address(Family::V4), "DNS server"),
                argument("key", Kind::Text, "Key"),
                argument("key-name", Kind::Text, "Key name"),
                argument("name", Kind::Text, "Name"),
                argument("ttl", U32, "TTL"),
                argument("zone", Kind::Text, "Zone"),
            ],
        ),
        command(
            "fetch",
            "Transfer files by HTTP, FTP, TFTP or SFTP",
            &[
                argument("address", HOST, "Address"),
                AS_VALUE,
                argument("ascii", Kind::Bool, "Ascii"),
                argument("certificate", Kind::Reference("certificate"), "Certificate"),
                argument("check-certificate", CHECK, "Check certificate"),
                argument("dst-path", Kind::Text, "Destination path"),
                DURATION,
                argument("host", Kind::Text, "Host"),
                argument(
                    "http-auth-scheme",
                    Kind::Words(&["basic", "digest"]),
                    "HTTP authentication scheme",
                ),
                argument(
                    "http-content-encoding",
                    Kind::Words(&["deflate", "gzip"]),
                    "HTTP content encoding",
                ),
                argument("http-data", Kind::Text, "HTTP data"),
                argument("http-header-field", Kind::Fields, "HTTP header field"),
                argument(
                    "http-max-redirect-count",
                    U32,
                    "Maximum number of HTTP redirects",
                ),
                argument(
                    "http-method",
                    Kind::Words(&["get", "post", "put", "delete", "head", "patch"]),
                    "HTTP method",
                ),
                argument("http-percent-encoding", Kind::Bool, "HTTP percent encoding"),
                argument(
                    "http-version",
                    Kind::Words(&["http1_1", "http2"]),
                    "HTTP version",
                ),
                argument(
                    "idle-timeout",
                    Kind::Or(&["none"], &Kind::SPAN),
                    "Idle timeout",
                ),
                argument("ip-type", Kind::Words(&["any", "ipv4", "ipv6"]), "IP type"),
                argument("keep-result", Kind::Bool, "Keep result"),
                argument(
                    "mode",
                    Kind::Words(&["http", "https", "ftp", "tftp", "sftp"]),
                    "Mode",
                ),
                ONCE,
                argument(
                    "output",
                    Kind::Words(&["none", "file", "user", "user-with-headers"]),
                    "Output",
                ),
                argument("password", Kind::Text, "Password"),
                argument("port", U32, "Port"),
                PROPLIST,
                argument("src-address", Kind::Address(Family::Any), "Source address"),
                argument("src-path", Kind::Text, "Source path"),
                argument("upload", Kind::Bool, "Upload"),
                argument("url", Kind::Text, "URL"),
                argument("user", Kind::Text, "User"),
                WITHOUT_PAGING,
            ],
        )
        .repeating(),
        command(
            "flood-ping",
            "Send echo requests as fast as they are answered",
            &[
                unnamed_argument("address", HOST, "Address"),
                APPEND,
                AS_VALUE,
                argument("count", U32, "Count"),
                DO,
                DURATION,
                FILE,
                FREEZE,
                argument("interval", Kind::SPAN, "Interval"),
                ONCE,
                PROPLIST,
                argument("size", SIZE, "Size"),
                argument("timeout", Kind::SPAN, "Timeout"),
                WITHOUT_PAGING,
            ],
        )
        .repeating(),
        command(
            "ip-scan",
            "Scan a network for addresses in use",
            &[
                argument(
                    "address-range",
                    Kind::Addresses(Family::V4),
                    "Address range",
                ),
                AS_VALUE,
                DURATION,
                FREEZE,
                unnamed_argument("interface", INTERFACE, "Interface"),
                PROPLIST,
                WITHOUT_PAGING,
            ],
        )
        .repeating(),
        idle_command(
            "mac-scan",
            "Scan for devices by MAC address",
            &[
                AS_VALUE,
                DURATION,
                FREEZE,
                unnamed_argument("interface", INTERFACE, "Interface"),
                PROPLIST,
                WITHOUT_PAGING,
            ],
        ),
        idle_command(
            "mac-telnet",
            "Open a session by MAC address",
            &[
                unnamed_argument("host", Kind::Text, "Host"),
                argument("interface", INTERFACE, "Interface"),
            ],
        ),
        Command {
            name: "ping",
            help: "Send echo requests",
            arguments: &[
                required_argument("address", ASKED, "Destination address"),
                argument("arp-ping", Kind::Bool, "Send ARP requests instead of ICMP"),
                AS_VALUE,
                argument("count", COUNT, "Number of packets; 0 for no limit"),
                argument("do-not-fragment", Kind::Presence, "Do not fragment packets"),
                argument("dscp", DSCP, "DSCP"),
                argument("interface", INTERFACE, "Outgoing interface"),
                argument(
                    "interval",
                    milliseconds(10, 5_000),
                    "Time between two packets",
                ),
                PROPLIST,
                argument("size", SIZE, "Length of the packet with its IP header"),
                argument("src-address", Kind::Address(Family::Any), "Source address"),
                argument("ttl", TTL, "TTL"),
                argument("vrf", Kind::Name, "VRF; main only"),
                WITHOUT_PAGING,
            ],
            effect: Effect::Full,
            repeats: true,
        },
        command(
            "ping-speed",
            "Estimate throughput by echo requests",
            &[
                unnamed_argument("address", HOST, "Address"),
                APPEND,
                AS_VALUE,
                DO,
                DURATION,
                FILE,
                argument("first-ping-size", SIZE, "First ping size"),
                FREEZE,
                argument("interval", Kind::SPAN, "Interval"),
                ONCE,
                PROPLIST,
                argument("second-ping-size", SIZE, "Second ping size"),
                argument("time-between-pings", Kind::SPAN, "Time between pings"),
                WITHOUT_PAGING,
            ],
        )
        .repeating(),
        command(
            "profile",
            "Show CPU usage by task",
            &[
                AS_VALUE,
                argument(
                    "by",
                    Kind::Words(&["facility", "rule", "queue", "tunnel", "interface"]),
                    "What the usage is divided by",
                ),
                argument(
                    "cpu",
                    Kind::Text,
                    "Number of a worker; all shows each worker, total their sum",
                ),
                DURATION,
                FREEZE,
                WITHOUT_PAGING,
            ],
        )
        .repeating(),
        idle_command(
            "snmp-get",
            "Read a value by SNMP",
            &[
                argument("address", HOST, "Address"),
                AS_VALUE,
                argument(
                    "authentication-password",
                    Kind::Text,
                    "Authentication password",
                ),
                argument(
                    "authentication-protocol",
                    Kind::Words(&["MD5", "SHA1"]),
                    "Authentication protocol",
                ),
                argument("community", Kind::Text, "Community"),
                argument("encryption-password", Kind::Text, "Encryption password"),
                argument(
                    "encryption-protocol",
                    Kind::Words(&["DES", "AES"]),
                    "Encryption protocol",
                ),
                argument("next", Kind::Bool, "Next"),
                argument("oid", Kind::Text, "Oid"),
                argument("port", U32, "Port"),
                argument(
                    "security",
                    Kind::Words(&["none", "authorized", "private"]),
                    "Security",
                ),
                argument("tries", U32, "Tries"),
                argument("try-timeout", Kind::SPAN, "Try timeout"),
                argument("version", Kind::Words(&["1", "2c", "3"]), "Version"),
                WITHOUT_PAGING,
            ],
        ),
        idle_command(
            "snmp-walk",
            "Read values by SNMP",
            &[
                argument("address", HOST, "Address"),
                AS_VALUE,
                argument(
                    "authentication-password",
                    Kind::Text,
                    "Authentication password",
                ),
                argument(
                    "authentication-protocol",
                    Kind::Words(&["MD5", "SHA1"]),
                    "Authentication protocol",
                ),
                argument("community", Kind::Text, "Community"),
                argument("encryption-password", Kind::Text, "Encryption password"),
                argument(
                    "encryption-protocol",
                    Kind::Words(&["DES", "AES"]),
                    "Encryption protocol",
                ),
                argument("oid", Kind::Text, "Oid"),
                argument("port", U32, "Port"),
                argument(
                    "security",
                    Kind::Words(&["none", "authorized", "private"]),
                    "Security",
                ),
                argument("tries", U32, "Tries"),
                argument("try-timeout", Kind::SPAN, "Try timeout"),
                argument("version", Kind::Words(&["1", "2c", "3"]), "Version"),
                WITHOUT_PAGING,
            ],
        ),
        command(
            "speed-test",
            "Measure throughput, delay and loss to another router",
            &[
                argument("address", HOST, "Address"),
                APPEND,
                AS_VALUE,
                argument("connection-count", U32, "Connection count"),
                DO,
                DURATION,
                FILE,
                FREEZE,
                argument("interval", Kind::SPAN, "Interval"),
                ONCE,
                argument("password", Kind::Text, "Password"),
                PROPLIST,
                argument("test-duration", Kind::SPAN, "Test duration"),
                argument("user", Kind::Text, "User"),
                WITHOUT_PAGING,
            ],
        )
        .repeating(),
        command(
            "torch",
            "Show current traffic of an interface",
            &[
                AS_VALUE,
                argument("cpu", U32, "CPU"),
                argument("dscp", Kind::Or(&["any"], &between(0, 63)), "DSCP"),
                argument(
                    "dst-address",
                    Kind::Prefix(Family::V4),
                    "Destination address",
                ),
                argument(
                    "dst-address6",
                    Kind::Prefix(Family::V6),
                    "IPv6 destination address",
                ),
                DURATION,
                FREEZE,
                unnamed_argument("interface", INTERFACE, "Interface"),
                argument(
                    "ip-protocol",
                    Kind::Or(
                        &["any", "icmp", "tcp", "udp", "gre", "ospf"],
                        &between(0, 255),
                    ),
                    "IP protocol",
                ),
                argument(
                    "mac-protocol",
                    Kind::Or(&["any", "arp", "ip", "ipv6", "vlan"], &between(0, 65_535)),
                    "MAC protocol",
                ),
                argument("port", Kind::Or(&["any"], &PORT), "Port"),
                PROPLIST,
                argument("src-address", Kind::Prefix(Family::V4), "Source address"),
                argument(
                    "src-address6",
                    Kind::Prefix(Family::V6),
                    "IPv6 source address",
                ),
                argument(
                    "vlan-id",
                    Kind::Or(&["any"], &between(0, 4_095)),
                    "VLAN identifier",
                ),
                WITHOUT_PAGING,
            ],
        )
        .repeating(),
        super::trace::TRACE,
        Command {
            name: "traceroute",
            help: "Show the routers on the path",
            arguments: &[
                required_argument("address", ASKED, "Address"),
                AS_VALUE,
                argument("count", COUNT, "Number of rounds; 0 for no limit"),
                argument("do-not-fragment", Kind::Presence, "Do not fragment packets"),
                argument("dscp", DSCP, "DSCP"),
                DURATION,
                FREEZE,
                argument("interface", INTERFACE, "Outgoing interface"),
                argument("max-hops", TTL, "Maximum number of hops"),
                argument("port", U32, "UDP port; unused with ICMP"),
                PROPLIST,
                argument(
                    "protocol",
                    Kind::Words(&["icmp", "udp"]),
                    "Protocol; icmp only",
                ),
                argument("size", SIZE, "Length of the packet with its IP header"),
                argument("src-address", Kind::Address(Family::Any), "Source address"),
                argument("timeout", milliseconds(1_000, 8_000), "Timeout of a probe"),
                argument("use-dns", Kind::Bool, "Show names; not supported"),
                argument("vrf", Kind::Name, "VRF; main only"),
                WITHOUT_PAGING,
            ],
            effect: Effect::Full,
            repeats: true,
        },
        command(
            "wol",
            "Wake up a machine (Wake-on-LAN)",
            &[
                AS_VALUE,
                argument("interface", INTERFACE, "Interface"),
                required_argument("mac", Kind::Mac, "MAC"),
            ],
        ),
    ],
    // RouterOS: the group `read` has the policy `test`. `wol` requires more, because it wakes a machine.
    command_policies: &[
        ("bandwidth-test", Policies::TEST),
        ("calculate", Policies::TEST),
        ("fetch", Policies::TEST),
        ("flood-ping", Policies::TEST),
        ("ip-scan", Policies::TEST),
        ("ping", Policies::TEST),
        ("ping-speed", Policies::TEST),
        ("profile", Policies::TEST),
        ("snmp-get", Policies::TEST),
        ("snmp-walk", Policies::TEST),
        ("speed-test", Policies::TEST),
        ("torch", Policies::TEST),
        ("trace", Policies::TEST),
        ("traceroute", Policies::TEST),
    ],
    ..Menu::new("/tool", MenuShape::Folder, "Tools")
};
