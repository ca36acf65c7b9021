//! `/tool/sniffer`: packets are captured.

use menu::{Effect, Family, Flag, Kind, Menu, Property, Shape};

use crate::short::{
    AS_VALUE, COUNT, DURATION, FREEZE, PORT, PROPLIST, WITHOUT_PAGING, bare, between, idle, may,
    shown, switch, text,
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
        switch("only-headers", "no", "Keeps headers only"),
        Property::new("memory-limit", Kind::Kib, "Memory for packets").default("100KiB"),
        switch(
            "memory-scroll",
            "yes",
            "Keeps the newest rather than the oldest packets",
        ),
        text("file-name", "File for packets"),
        Property::new("file-limit", Kind::Kib, "Size of the file").default("1000KiB"),
        switch("streaming-enabled", "no", "Sends packets to a server"),
        Property::new("streaming-server", SOCKET, "The server, by TZSP").default("0.0.0.0:37008"),
        Property::new("max-packet-size", COUNT, "Bytes of a packet that are kept").default("2048"),
        switch(
            "filter-stream",
            "no",
            "Leaves out what is sent to the server",
        ),
        Property::new("filter-interface", INTERFACES, "Interfaces to capture at").default(""),
        Property::new("filter-mac-address", MACS, "Hardware addresses to capture").default(""),
        Property::new(
            "filter-src-mac-address",
            MACS,
            "Hardware addresses of senders to capture",
        )
        .default(""),
        Property::new(
            "filter-dst-mac-address",
            MACS,
            "Hardware addresses of receivers to capture",
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
            "IPv4 addresses of senders to capture",
        )
        .default(""),
        Property::new(
            "filter-dst-ip-address",
            IPV4,
            "IPv4 addresses of receivers to capture",
        )
        .default(""),
        Property::new("filter-ipv6-address", IPV6, "IPv6 addresses to capture").default(""),
        Property::new(
            "filter-src-ipv6-address",
            IPV6,
            "IPv6 addresses of senders to capture",
        )
        .default(""),
        Property::new(
            "filter-dst-ipv6-address",
            IPV6,
            "IPv6 addresses of receivers to capture",
        )
        .default(""),
        Property::new(
            "filter-ip-protocol",
            IP_PROTOCOLS,
            "Protocols of layer 4 to capture",
        )
        .default(""),
        Property::new("filter-port", PORTS, "Ports to capture").default(""),
        Property::new("filter-src-port", PORTS, "Ports of senders to capture").default(""),
        Property::new("filter-dst-port", PORTS, "Ports of receivers to capture").default(""),
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
            "Whether any or all filters must match",
        )
        .default("or"),
        Property::new("quick-rows", COUNT, "Lines that the quick display keeps").default("20"),
        switch(
            "quick-show-frame",
            "no",
            "Shows the bytes in the quick display",
        ),
        shown("running", Kind::Bool, "Running"),
    ]],
    commands: &[
        idle(
            "quick",
            "Show packets as they pass",
            &[
                AS_VALUE,
                may("cpu", CPUS, "CPU"),
                may("direction", Kind::Words(&["any", "rx", "tx"]), "Direction"),
                may("dst-ip-address", IPV4, "Destination IP address"),
                may("dst-ipv6-address", IPV6, "Destination IPv6 address"),
                may("dst-mac-address", MACS, "Destination MAC address"),
                may("dst-port", PORTS, "Destination port"),
                DURATION,
                FREEZE,
                bare("interface", INTERFACES, "Interface"),
                may("ip-address", IPV4, "IP address"),
                may("ip-protocol", IP_PROTOCOLS, "IP protocol"),
                may("ipv6-address", IPV6, "IPv6 address"),
                may("mac-address", MACS, "MAC address"),
                may("mac-protocol", MAC_PROTOCOLS, "MAC protocol"),
                may(
                    "operator-between-entries",
                    Kind::Words(&["and", "or"]),
                    "Operator between entries",
                ),
                may("port", PORTS, "Port"),
                PROPLIST,
                may("rows", COUNT, "Rows"),
                may("show-frame", Kind::Bool, "Show frame"),
                may("size", SIZES, "Size"),
                may("src-ip-address", IPV4, "Source IP address"),
                may("src-ipv6-address", IPV6, "Source IPv6 address"),
                may("src-mac-address", MACS, "Source MAC address"),
                may("src-port", PORTS, "Source port"),
                may("vlan-id", VLANS, "VLAN identifier"),
                WITHOUT_PAGING,
            ],
        ),
        idle(
            "save",
            "Write what was captured to a file",
            &[may("file-name", Kind::Text, "File name")],
        ),
        idle(
            "start",
            "Begin to capture",
            &[
                may("cpu", CPUS, "CPU"),
                may("direction", Kind::Words(&["any", "rx", "tx"]), "Direction"),
                may("dst-ip-address", IPV4, "Destination IP address"),
                may("dst-ipv6-address", IPV6, "Destination IPv6 address"),
                may("dst-mac-address", MACS, "Destination MAC address"),
                may("dst-port", PORTS, "Destination port"),
                may("interface", INTERFACES, "Interface"),
                may("ip-address", IPV4, "IP address"),
                may("ip-protocol", IP_PROTOCOLS, "IP protocol"),
                may("ipv6-address", IPV6, "IPv6 address"),
                may("mac-address", MACS, "MAC address"),
                may("mac-protocol", MAC_PROTOCOLS, "MAC protocol"),
                may(
                    "operator-between-entries",
                    Kind::Words(&["and", "or"]),
                    "Operator between entries",
                ),
                may("port", PORTS, "Port"),
                may("size", SIZES, "Size"),
                may("src-ip-address", IPV4, "Source IP address"),
                may("src-ipv6-address", IPV6, "Source IPv6 address"),
                may("src-mac-address", MACS, "Source MAC address"),
                may("src-port", PORTS, "Source port"),
                may("vlan-id", VLANS, "VLAN identifier"),
            ],
        ),
        idle("stop", "Stop to capture", &[]),
    ],
    effect: Effect::None,
    ..Menu::new("/tool/sniffer", Shape::Settings, "Capture of packets")
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
    effect: Effect::None,
    ..Menu::new(
        "/tool/sniffer/connection",
        Shape::Rows,
        "Connections that were seen",
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
    effect: Effect::None,
    ..Menu::new("/tool/sniffer/host", Shape::Rows, "Hosts that were seen")
};

pub(crate) static PACKET: Menu = Menu {
    properties: &[&[
        shown("time", COUNT, "Time"),
        shown("num", COUNT, "Number of"),
        shown("direction", Kind::Words(&["rx", "tx"]), "Direction"),
        shown("src-mac", Kind::Mac, "Source MAC"),
        shown("dst-mac", Kind::Mac, "Destination MAC"),
        shown("vlan", Kind::Text, "VLAN"),
        shown("interface", Kind::Reference("interface"), "Interface"),
        shown("src-address", Kind::Text, "Source address"),
        shown("dst-address", Kind::Text, "Destination address"),
        shown("protocol", Kind::Text, "Protocol"),
        shown("ip-protocol", Kind::Words(&["ip"]), "IP protocol"),
        shown("size", COUNT, "Size"),
        shown("cpu", COUNT, "CPU"),
        shown("ip-packet-size", COUNT, "IP packet size"),
        shown("ip-header-size", COUNT, "IP header size"),
        shown("dscp", COUNT, "DSCP"),
        shown("ecn", COUNT, "ECN"),
        shown("identification", COUNT, "Identification"),
        shown("fragment-offset", COUNT, "Fragment offset"),
        shown("ttl", COUNT, "TTL"),
        shown("tcp-flags", Kind::Text, "TCP flags"),
        shown("data", Kind::Text, "Data"),
    ]],
    columns: &[
        "time",
        "interface",
        "direction",
        "src-address",
        "dst-address",
        "ip-protocol",
        "size",
        "cpu",
    ],
    effect: Effect::None,
    ..Menu::new(
        "/tool/sniffer/packet",
        Shape::Rows,
        "Packets that were captured",
    )
};

pub(crate) static PROTOCOL: Menu = Menu {
    properties: &[&[
        shown("protocol", Kind::Text, "Protocol"),
        shown("ip-protocol", Kind::Words(&["ip"]), "IP protocol"),
        shown("port", Kind::Text, "Port"),
        shown("packets", COUNT, "Packets"),
        shown("bytes", COUNT, "Bytes"),
        shown("share", COUNT, "Share"),
    ]],
    columns: &[
        "protocol",
        "ip-protocol",
        "port",
        "packets",
        "bytes",
        "share",
    ],
    effect: Effect::None,
    ..Menu::new(
        "/tool/sniffer/protocol",
        Shape::Rows,
        "Protocols that were seen",
    )
};
