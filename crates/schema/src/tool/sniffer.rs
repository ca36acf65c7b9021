//! `/tool/sniffer`: packet capture.

use menu::{Family, Flag, Kind, Menu, MenuShape, Policies, Property};

use crate::declare::{
    AS_VALUE, DURATION, FREEZE, PORT, PROPLIST, U32, WITHOUT_PAGING, argument, between, command,
    no, shown, text, unnamed_argument, yes,
};
use crate::spelling::SOCKET;

const PORTS: Kind = Kind::List(&Kind::Not(&Kind::Or(
    &[
        "bgp",
        "bootpc",
        "bootps",
        "discard",
        "dns",
        "domain",
        "echo",
        "ftp",
        "ftp-data",
        "gre",
        "http",
        "https",
        "imap",
        "imap3",
        "imaps",
        "ldap",
        "ldaps",
        "l2tp",
        "mndp",
        "netbios-dgm",
        "netbios-ns",
        "netbios-ssn",
        "ntp",
        "pop3",
        "pop3s",
        "pptp",
        "radius",
        "radius-acct",
        "rip",
        "rtsp",
        "sip",
        "smtp",
        "snmp",
        "snmp-trap",
        "ssh",
        "sunrpc",
        "syslog",
        "telnet",
        "tftp",
        "time",
        "winbox",
        "www",
    ],
    &PORT,
)));
const IP_PROTOCOLS: Kind = Kind::List(&Kind::Not(&Kind::Or(
    &[
        "ddp",
        "dccp",
        "egp",
        "encap",
        "etherip",
        "ggp",
        "gre",
        "hmp",
        "icmp",
        "icmpv6",
        "idpr-cmtp",
        "igmp",
        "igp",
        "ipencap",
        "ipip",
        "ipsec-ah",
        "ipsec-esp",
        "ipv6",
        "iso-tp4",
        "l2tp",
        "ospf",
        "pim",
        "pup",
        "rdp",
        "rspf",
        "rsvp",
        "sctp",
        "st",
        "tcp",
        "udp",
        "udp-lite",
        "vmtp",
        "vrrp",
        "xns-idp",
        "xtp",
    ],
    &between(0, 255),
)));
const MAC_PROTOCOLS: Kind = Kind::List(&Kind::Not(&Kind::Or(
    &[
        "802.2",
        "arp",
        "capsman",
        "dot1x",
        "homeplug-av",
        "ip",
        "ipv6",
        "ipx",
        "lacp",
        "lldp",
        "loop-protect",
        "macsec",
        "mpls-multicast",
        "mpls-unicast",
        "mvrp",
        "packing-compr",
        "packing-simple",
        "pppoe",
        "pppoe-discovery",
        "rarp",
        "romon",
        "service-vlan",
        "vlan",
        "xerox",
    ],
    &between(0, 65_535),
)));
const MACS: Kind = Kind::List(&Kind::Not(&Kind::Mac));
const IPV4: Kind = Kind::List(&Kind::Not(&Kind::Prefix(Family::V4)));
const IPV6: Kind = Kind::List(&Kind::Not(&Kind::Prefix(Family::V6)));
const VLANS: Kind = Kind::List(&Kind::Not(&between(0, 4_095)));
const CPUS: Kind = Kind::List(&Kind::Not(&between(0, 255)));
const SIZES: Kind = Kind::List(&Kind::Not(&Kind::Range("-", &PORT)));
const INTERFACES: Kind = Kind::List(&Kind::Or(&["all"], &Kind::Reference("interface")));

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("only-headers", "Capture headers only"),
        Property::new("memory-limit", Kind::Kib, "Memory for packets").default("100KiB"),
        yes("memory-scroll", "Discard the oldest packets at the limit"),
        text("file-name", "File for packets"),
        Property::new("file-limit", Kind::Kib, "Size of the file").default("1000KiB"),
        no("streaming-enabled", "Stream packets to a server"),
        Property::new("streaming-server", SOCKET, "TZSP server address").default("0.0.0.0:37008"),
        Property::new(
            "max-packet-size",
            U32,
            "Maximum number of bytes kept per packet",
        )
        .default("2048"),
        no(
            "filter-stream",
            "Leave out packets that are streamed to the server",
        ),
        Property::new("filter-interface", INTERFACES, "Interfaces to capture at").default(""),
        Property::new("filter-mac-address", MACS, "Hardware addresses to capture").default(""),
        Property::new(
            "filter-src-mac-address",
            MACS,
            "Source MAC addresses to capture",
        )
        .default(""),
        Property::new(
            "filter-dst-mac-address",
            MACS,
            "Destination MAC addresses to capture",
        )
        .default(""),
        Property::new(
            "filter-mac-protocol",
            MAC_PROTOCOLS,
            "Protocols of layer 2 to capture",
        )
        .default(""),
        Property::new("filter-ip-address", IPV4, "IPv4 addresses to capture").default(""),
        Property::new(
            "filter-src-ip-address",
            IPV4,
            "Source IPv4 addresses to capture",
        )
        .default(""),
        Property::new(
            "filter-dst-ip-address",
            IPV4,
            "Destination IPv4 addresses to capture",
        )
        .default(""),
        Property::new("filter-ipv6-address", IPV6, "IPv6 addresses to capture").default(""),
        Property::new(
            "filter-src-ipv6-address",
            IPV6,
            "Source IPv6 addresses to capture",
        )
        .default(""),
        Property::new(
            "filter-dst-ipv6-address",
            IPV6,
            "Destination IPv6 addresses to capture",
        )
        .default(""),
        Property::new(
            "filter-ip-protocol",
            IP_PROTOCOLS,
            "Protocols of layer 4 to capture",
        )
        .default(""),
        Property::new("filter-port", PORTS, "Ports to capture").default(""),
        Property::new("filter-src-port", PORTS, "Source ports to capture").default(""),
        Property::new("filter-dst-port", PORTS, "Destination ports to capture").default(""),
        Property::new("filter-vlan", VLANS, "VLANs to capture").default(""),
        Property::new("filter-cpu", CPUS, "Processors to capture at").default(""),
        Property::new("filter-size", SIZES, "Sizes of packets to capture").default(""),
        Property::new(
            "filter-direction",
            Kind::Words(&["any", "tx", "rx"]),
            "Direction to capture",
        )
        .default("any"),
        Property::new(
            "filter-operator-between-entries",
            Kind::Words(&["or", "and"]),
            "Combination of filters: and, or",
        )
        .default("or"),
        Property::new("quick-rows", U32, "Number of lines in the quick display").default("20"),
        no("quick-show-frame", "Show packet bytes in the quick display"),
        shown("running", Kind::Bool, "Running"),
    ]],
    commands: &[
        command(
            "quick",
            "Show captured packets live",
            &[
                AS_VALUE,
                argument("cpu", CPUS, "CPU"),
                argument("direction", Kind::Words(&["any", "rx", "tx"]), "Direction"),
                argument("dst-ip-address", IPV4, "Destination IP address"),
                argument("dst-ipv6-address", IPV6, "Destination IPv6 address"),
                argument("dst-mac-address", MACS, "Destination MAC address"),
                argument("dst-port", PORTS, "Destination port"),
                DURATION,
                FREEZE,
                unnamed_argument("interface", INTERFACES, "Interface"),
                argument("ip-address", IPV4, "IP address"),
                argument("ip-protocol", IP_PROTOCOLS, "IP protocol"),
                argument("ipv6-address", IPV6, "IPv6 address"),
                argument("mac-address", MACS, "MAC address"),
                argument("mac-protocol", MAC_PROTOCOLS, "MAC protocol"),
                argument(
                    "operator-between-entries",
                    Kind::Words(&["and", "or"]),
                    "Operator between entries",
                ),
                argument("port", PORTS, "Port"),
                PROPLIST,
                argument("rows", U32, "Rows"),
                argument("show-frame", Kind::Bool, "Show frame"),
                argument("size", SIZES, "Size"),
                argument("src-ip-address", IPV4, "Source IP address"),
                argument("src-ipv6-address", IPV6, "Source IPv6 address"),
                argument("src-mac-address", MACS, "Source MAC address"),
                argument("src-port", PORTS, "Source port"),
                argument("vlan-id", VLANS, "VLAN identifier"),
                WITHOUT_PAGING,
            ],
        )
        .repeating(),
        command(
            "save",
            "Write the captured packets to a file",
            &[argument("file-name", Kind::Text, "File name")],
        ),
        command(
            "start",
            "Start the capture",
            &[
                argument("cpu", CPUS, "CPU"),
                argument("direction", Kind::Words(&["any", "rx", "tx"]), "Direction"),
                argument("dst-ip-address", IPV4, "Destination IP address"),
                argument("dst-ipv6-address", IPV6, "Destination IPv6 address"),
                argument("dst-mac-address", MACS, "Destination MAC address"),
                argument("dst-port", PORTS, "Destination port"),
                argument("interface", INTERFACES, "Interface"),
                argument("ip-address", IPV4, "IP address"),
                argument("ip-protocol", IP_PROTOCOLS, "IP protocol"),
                argument("ipv6-address", IPV6, "IPv6 address"),
                argument("mac-address", MACS, "MAC address"),
                argument("mac-protocol", MAC_PROTOCOLS, "MAC protocol"),
                argument(
                    "operator-between-entries",
                    Kind::Words(&["and", "or"]),
                    "Operator between entries",
                ),
                argument("port", PORTS, "Port"),
                argument("size", SIZES, "Size"),
                argument("src-ip-address", IPV4, "Source IP address"),
                argument("src-ipv6-address", IPV6, "Source IPv6 address"),
                argument("src-mac-address", MACS, "Source MAC address"),
                argument("src-port", PORTS, "Source port"),
                argument("vlan-id", VLANS, "VLAN identifier"),
            ],
        ),
        command("stop", "Stop the capture", &[]),
    ],
    // `start` discards the capture of another user, and `save` writes a file.
    command_policies: &[
        ("quick", Policies::SNIFF),
        ("save", Policies::SNIFF.or(Policies::WRITE)),
        ("start", Policies::SNIFF.or(Policies::WRITE)),
        ("stop", Policies::SNIFF.or(Policies::WRITE)),
    ],
    ..Menu::new("/tool/sniffer", MenuShape::Settings, "Packet sniffer")
};

pub(crate) static CONNECTION: Menu = Menu {
    properties: &[&[
        shown("src-address", Kind::Text, "Source address"),
        shown("dst-address", Kind::Text, "Destination address"),
        shown("bytes", Kind::Text, "Bytes"),
        shown("resends", Kind::Text, "Resends"),
        shown("mss", Kind::Text, "Mss"),
    ]],
    flags: &[Flag::new('A', "active", 1)],
    columns: &["src-address", "dst-address", "bytes", "resends", "mss"],
    ..Menu::new(
        "/tool/sniffer/connection",
        MenuShape::Rows,
        "Captured connections",
    )
};

pub(crate) static HOSTS: Menu = Menu {
    properties: &[&[
        shown("address", Kind::Address(Family::V4), "Address"),
        shown("rate", Kind::Text, "Rate"),
        shown("peak-rate", Kind::Text, "Peak rate"),
        shown("total", Kind::Text, "Total"),
    ]],
    columns: &["address", "rate", "peak-rate", "total"],
    ..Menu::new("/tool/sniffer/host", MenuShape::Rows, "Captured hosts")
};

pub(crate) static PACKET: Menu = Menu {
    properties: &[&[
        shown("time", U32, "Time"),
        shown("num", U32, "Packet number"),
        shown("direction", Kind::Words(&["rx", "tx"]), "Direction"),
        shown(
            "path",
            Kind::Text,
            "Path through the router, as far as known",
        ),
        shown("src-mac", Kind::Mac, "Source MAC"),
        shown("dst-mac", Kind::Mac, "Destination MAC"),
        shown("vlan", Kind::Text, "VLAN"),
        shown("interface", Kind::Reference("interface"), "Interface"),
        shown("src-address", Kind::Text, "Source address"),
        shown("dst-address", Kind::Text, "Destination address"),
        shown("protocol", Kind::Text, "Protocol"),
        shown("ip-protocol", Kind::Words(&["ip"]), "IP protocol"),
        shown("size", U32, "Size"),
        shown("cpu", U32, "CPU"),
        shown("ip-packet-size", U32, "IP packet size"),
        shown("ip-header-size", U32, "IP header size"),
        shown("dscp", U32, "DSCP"),
        shown("ecn", U32, "ECN"),
        shown("identification", U32, "Identification"),
        shown("fragment-offset", U32, "Fragment offset"),
        shown("ttl", U32, "TTL"),
        shown("tcp-flags", Kind::Text, "TCP flags"),
        shown("data", Kind::Text, "Data"),
    ]],
    columns: &[
        "time",
        "interface",
        "direction",
        "path",
        "src-address",
        "dst-address",
        "ip-protocol",
        "size",
        "cpu",
    ],
    // Captured packets contain private data: reading them requires the policy `sniff` as well.
    command_policies: &[
        ("find", Policies::READ.or(Policies::SNIFF)),
        ("get", Policies::READ.or(Policies::SNIFF)),
        ("print", Policies::READ.or(Policies::SNIFF)),
    ],
    ..Menu::new("/tool/sniffer/packet", MenuShape::Rows, "Captured packets")
};

pub(crate) static PROTOCOL: Menu = Menu {
    properties: &[&[
        shown("protocol", Kind::Text, "Protocol"),
        shown("ip-protocol", Kind::Words(&["ip"]), "IP protocol"),
        shown("port", Kind::Text, "Port"),
        shown("packets", U32, "Packets"),
        shown("bytes", U32, "Bytes"),
        shown("share", U32, "Share"),
    ]],
    columns: &[
        "protocol",
        "ip-protocol",
        "port",
        "packets",
        "bytes",
        "share",
    ],
    ..Menu::new(
        "/tool/sniffer/protocol",
        MenuShape::Rows,
        "Captured protocols",
    )
};
