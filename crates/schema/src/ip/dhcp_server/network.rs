//! `/ip/dhcp-server/network`: options for the clients of a network.

use menu::{Family, Flag, Kind, Menu, MenuShape, Unique};

use super::{OPTION_SET, OPTIONS};
use crate::declare::{IPV4, between, no, optional, text, with_default};
use crate::fragment::COMMENT;

const ADDRESSES: Kind = Kind::List(&IPV4);

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        with_default(
            "address",
            Kind::Prefix(Family::V4),
            "0.0.0.0/0",
            "The network",
        ),
        with_default("gateway", ADDRESSES, "", "The gateways"),
        optional(
            "netmask",
            between(0, 32),
            "Prefix length for clients; 0: prefix length of the network",
        ),
        with_default(
            "dns-server",
            ADDRESSES,
            "",
            "DNS servers; the router's own if empty",
        ),
        no("dns-none", "Send no DNS server"),
        with_default("wins-server", ADDRESSES, "", "The WINS servers"),
        with_default(
            "ntp-server",
            ADDRESSES,
            "",
            "NTP servers; the router's own if empty",
        ),
        no("ntp-none", "Send no NTP server"),
        with_default("caps-manager", ADDRESSES, "", "CAPsMAN addresses"),
        text("domain", "Domain name"),
        optional("next-server", IPV4, "Boot server"),
        text("boot-file-name", "Boot file"),
        with_default("dhcp-option", OPTIONS, "", "Options to send"),
        optional("dhcp-option-set", OPTION_SET, "Set of options to send"),
        COMMENT,
    ]],
    flags: &[Flag::new('D', "dynamic", 0)],
    columns: &["address", "gateway", "dns-server", "wins-server", "domain"],
    distinct: &[Unique {
        properties: &["address"],
        failure: "such network already exists",
    }],
    ..Menu::new(
        "/ip/dhcp-server/network",
        MenuShape::List,
        "Network configuration",
    )
};
