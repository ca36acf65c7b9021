//! `/ip/dhcp-server/network`: what clients of a network are told.

use menu::{Effect, Family, Flag, Kind, Menu, Shape, Unique};

use super::{OPTION_SET, OPTIONS};
use crate::brief::{IPV4, may, no, number, text, with};
use crate::fragment::COMMENT;

const ADDRESSES: Kind = Kind::List(&IPV4);

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        with(
            "address",
            Kind::Prefix(Family::V4),
            "0.0.0.0/0",
            "The network",
        ),
        with("gateway", ADDRESSES, "", "The gateways"),
        may(
            "netmask",
            number(0, 32),
            "Length of the prefix; 0 is the network's",
        ),
        with(
            "dns-server",
            ADDRESSES,
            "",
            "The DNS servers; the router's if empty",
        ),
        no("dns-none", "Whether no DNS server is told"),
        with("wins-server", ADDRESSES, "", "The WINS servers"),
        with(
            "ntp-server",
            ADDRESSES,
            "",
            "The time servers; the router's if empty",
        ),
        no("ntp-none", "Whether no time server is told"),
        with("caps-manager", ADDRESSES, "", "Managers of access points"),
        text("domain", "The domain"),
        may("next-server", IPV4, "The server to boot from"),
        text("boot-file-name", "The file to boot"),
        with("dhcp-option", OPTIONS, "", "Options to send"),
        may("dhcp-option-set", OPTION_SET, "Set of options to send"),
        COMMENT,
    ]],
    flags: &[Flag::new('D', "dynamic", 0)],
    columns: &["address", "gateway", "dns-server", "wins-server", "domain"],
    distinct: &[Unique {
        properties: &["address"],
        failure: "such network already exists",
    }],
    effect: Effect::None,
    ..Menu::new(
        "/ip/dhcp-server/network",
        Shape::List,
        "Network configuration",
    )
};
