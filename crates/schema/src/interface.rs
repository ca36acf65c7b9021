//! `/interface`: all interfaces.

pub(crate) mod bonding;
pub(crate) mod bridge;
pub(crate) mod detect_internet;
pub(crate) mod dial;
pub(crate) mod dot1x;
pub(crate) mod eoip;
pub(crate) mod eoipv6;
pub(crate) mod ethernet;
pub(crate) mod gre;
pub(crate) mod gre6;
pub(crate) mod ipip;
pub(crate) mod ipipv6;
pub(crate) mod l2tp_client;
pub(crate) mod l2tp_ether;
pub(crate) mod l2tp_server;
pub(crate) mod list;
pub(crate) mod loopback;
pub(crate) mod lte;
pub(crate) mod macsec;
pub(crate) mod macvlan;
mod master_port;
pub(crate) mod mesh;
pub(crate) mod ovpn_client;
pub(crate) mod ovpn_server;
pub(crate) mod port;
pub(crate) mod ppp_client;
pub(crate) mod ppp_server;
pub(crate) mod pppoe_client;
pub(crate) mod pppoe_server;
pub(crate) mod pptp_client;
pub(crate) mod pptp_server;
pub(crate) mod pwr_line;
pub(crate) mod six_to_four;
pub(crate) mod sstp_client;
pub(crate) mod sstp_server;
pub(crate) mod tunnel;
pub(crate) mod veth;
pub(crate) mod vlan;
pub(crate) mod vpls;
pub(crate) mod vrrp;
pub(crate) mod vxlan;
pub(crate) mod w60g;
pub(crate) mod wifi;
pub(crate) mod wireguard;
pub(crate) mod wireless;

use menu::{
    Argument, Command, Draft, Effect, Flag, Kind, Menu, MenuShape, Property, Reason, Store,
};

use crate::declare::{
    APPEND, AS_VALUE, DO, DURATION, FILE, FREEZE, INTERVAL, PROPLIST, WITHOUT_PAGING, argument,
};
use crate::fragment::{COMMENT_DISABLED, INTERFACE_COUNTERS, INTERFACE_STATS, LINK_TIMES};

/// An EtherType by name or number.
pub(crate) const MAC_PROTOCOL: Kind = Kind::Or(
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
        "length",
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
    ],
    &Kind::Hex { max: 0xffff },
);

/// An IP protocol by name or number.
pub(crate) const IP_PROTOCOL: Kind = crate::firewall::PROTOCOL;

/// Selects items of a command.
pub(crate) const NUMBERS: Argument = Argument {
    name: "numbers",
    kind: Kind::Text,
    help: "List of item numbers",
    required: true,
    unnamed: false,
};

/// Resets counters.
pub(crate) const RESET_COUNTERS: Command = Command {
    name: "reset-counters",
    help: "Reset interface counters",
    arguments: &[NUMBERS],
    effect: Effect::Full,
    repeats: false,
};

/// Prints one page of a monitor.
pub(crate) const ONCE: Argument = Argument {
    name: "once",
    kind: Kind::Presence,
    help: "Print one page and stop",
    required: false,
    unnamed: false,
};

/// A command on items without effect.
pub(crate) const fn idle_command(name: &'static str, help: &'static str) -> Command {
    Command {
        name,
        help,
        arguments: &[NUMBERS],
        effect: Effect::None,
        repeats: false,
    }
}

/// Selects the item of a command.
pub(crate) const NUMBER: Argument = Argument {
    name: "number",
    ..NUMBERS
};

/// A command on one item without effect.
pub(crate) const fn idle_command_on_one(
    name: &'static str,
    help: &'static str,
    arguments: &'static [Argument],
) -> Command {
    Command {
        name,
        help,
        arguments,
        effect: Effect::None,
        repeats: false,
    }
}

/// Arguments of a modem upgrade.
pub(crate) const MODEM_UPGRADE: &[Argument] = &[
    APPEND,
    AS_VALUE,
    DO,
    DURATION,
    FILE,
    argument("firmware-file", Kind::Text, "Firmware file"),
    FREEZE,
    INTERVAL,
    NUMBER,
    ONCE,
    PROPLIST,
    argument("update-channel", Kind::Text, "Update channel"),
    argument("upgrade", Kind::Bool, "Install the firmware"),
    WITHOUT_PAGING,
];

/// Arguments of an AT command for a modem.
pub(crate) const AT_CHAT: &[Argument] = &[
    NUMBER,
    argument("input", Kind::Text, "AT command for the modem"),
    argument("wait", Kind::Bool, "Whether to wait for the answer"),
];

/// A monitor command without effect.
pub(crate) const IDLE_MONITOR: Command = Command {
    name: "monitor",
    help: "Monitor the state of items",
    arguments: &[NUMBERS, ONCE],
    effect: Effect::None,
    repeats: true,
};

/// Commands of interface menus without effect.
pub(crate) const IDLE_COMMANDS: &[Command] = &[IDLE_MONITOR];

/// Flags of interfaces.
pub(crate) const FLAGS: &[Flag] = &[
    Flag::new('X', "disabled", 0),
    Flag::new('R', "running", 0),
    Flag::new('S', "slave", 1),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the interface").required(),
            Property::new("default-name", Kind::Text, "Default name of the port").read_only(),
            Property::new("type", Kind::Text, "Type of the interface").read_only(),
            Property::new(
                "mtu",
                Kind::Or(
                    &["auto"],
                    &Kind::Number {
                        min: 68,
                        max: 65_536,
                    },
                ),
                "Maximum transmission unit of layer 3",
            ),
            Property::new("actual-mtu", Kind::COUNTER, "Effective MTU of layer 3").read_only(),
            Property::new(
                "l2mtu",
                Kind::Number {
                    min: 0,
                    max: 65_535,
                },
                "Maximum transmission unit of layer 2",
            ),
            // Not a counter, because a missing value is not 0: some drivers do not report it.
            Property::new(
                "max-l2mtu",
                Kind::Number {
                    min: 0,
                    max: 65_535,
                },
                "Maximum layer 2 MTU of the port",
            )
            .read_only(),
            Property::new("vrf", Kind::Text, "VRF of the interface").read_only(),
            Property::new("mac-address", Kind::Mac, "Hardware address").read_only(),
        ],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('D', "dynamic", 0),
        Flag::new('X', "disabled", 1),
        Flag::new('R', "running", 1),
        Flag::new('S', "slave", 2),
        Flag::new('P', "passthrough", 3),
    ],
    columns: &[
        "name",
        "type",
        "actual-mtu",
        "l2mtu",
        "max-l2mtu",
        "mac-address",
    ],
    stats: INTERFACE_STATS,
    space: Some("interface"),
    key: Some("name"),
    commands: &[
        RESET_COUNTERS,
        Command {
            name: "monitor-traffic",
            help: "Monitor traffic on interfaces",
            arguments: &[
                Argument {
                    name: "interface",
                    kind: Kind::List(&Kind::Or(&["aggregate"], &Kind::Reference("interface"))),
                    help: "Interfaces to monitor",
                    required: true,
                    unnamed: false,
                },
                ONCE,
            ],
            effect: Effect::Full,
            repeats: true,
        },
    ],
    conditions: crate::conditions::INTERFACE,
    ..Menu::new("/interface", MenuShape::View, "Interfaces of all types")
};

/// Refuses a VRRP or macvlan interface on another VRRP or macvlan interface, which shares the link of a third
/// interface.
pub(crate) fn has_a_link(draft: &Draft<'_>, store: &Store) -> Result<(), Reason> {
    let below = draft.get("interface").and_then(|name| name.as_str());
    let below = below.and_then(|name| store.named("interface", name));
    let kind = below.map(|item| item.menu.path);
    match kind {
        Some("/interface/vrrp" | "/interface/macvlan") => Err(Reason::failure(
            "a VRRP or macvlan interface can not carry another one; use its parent interface",
        )),
        _ => Ok(()),
    }
}
