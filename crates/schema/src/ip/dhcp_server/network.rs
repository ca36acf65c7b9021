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
            "Length of the prefix; 0 is the network's",
        ),
        with_default(
            "dns-server",
            ADDRESSES,
            "",
            "The DNS servers; the router's if empty",
        ),
        no("dns-none", "Whether no DNS server is sent"),
        with_default("wins-server", ADDRESSES, "", "The WINS servers"),
        with_default(
            "ntp-server",
            ADDRESSES,
            "",
            "The time servers; the router's if empty",
        ),
        no("ntp-none", "Whether no time server is sent"),
        with_default("caps-manager", ADDRESSES, "", "Managers of access points"),
        text("domain", "The domain"),
        optional("next-server", IPV4, "The server to boot from"),
        text("boot-file-name", "The file to boot"),
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
