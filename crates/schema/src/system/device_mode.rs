//! `/system/device-mode`: features allowed by the owner of the device.

use menu::{Effect, Kind, Menu, MenuShape};

use crate::declare::{
    APPEND, AS_VALUE, DO, DURATION, FILE, FREEZE, INTERVAL, ONCE, U32, WITHOUT_PAGING, argument,
    idle_command, shown,
};

const MODES: &[&str] = &["advanced", "basic", "home", "rose"];

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("mode", Kind::Words(MODES), "Mode"),
        shown("allowed-versions", Kind::Text, "Allowed versions"),
        shown("flagged", Kind::Bool, "Flagged"),
        shown("flagging-enabled", Kind::Bool, "Flagging enabled"),
        shown("scheduler", Kind::Bool, "Scheduler"),
        shown("socks", Kind::Bool, "Socks"),
        shown("fetch", Kind::Bool, "Fetch"),
        shown("pptp", Kind::Bool, "Pptp"),
        shown("l2tp", Kind::Bool, "L2tp"),
        shown("bandwidth-test", Kind::Bool, "Bandwidth test"),
        shown("traffic-gen", Kind::Bool, "Traffic generator"),
        shown("sniffer", Kind::Bool, "Sniffer"),
        shown("ipsec", Kind::Bool, "Ipsec"),
        shown("romon", Kind::Bool, "Romon"),
        shown("proxy", Kind::Bool, "Proxy"),
        shown("hotspot", Kind::Bool, "Hotspot"),
        shown("smb", Kind::Bool, "SMB"),
        shown("email", Kind::Bool, "Email"),
        shown("zerotier", Kind::Bool, "Zerotier"),
        shown("container", Kind::Bool, "Container"),
        shown("install-any-version", Kind::Bool, "Install any version"),
        shown("partitions", Kind::Bool, "Partitions"),
        shown("routerboard", Kind::Bool, "Routerboard"),
        shown("attempt-count", U32, "Attempt count"),
    ]],
    commands: &[idle_command(
        "update",
        "Request another mode, to be confirmed at the device",
        &[
            argument("activation-timeout", Kind::SPAN, "Activation timeout"),
            APPEND,
            AS_VALUE,
            argument("bandwidth-test", Kind::Bool, "Bandwidth test"),
            argument("container", Kind::Bool, "Container"),
            DO,
            DURATION,
            argument("email", Kind::Bool, "Email"),
            argument("fetch", Kind::Bool, "Fetch"),
            FILE,
            argument("flagged", Kind::Bool, "Flagged"),
            argument("flagging-enabled", Kind::Bool, "Flagging enabled"),
            FREEZE,
            argument("hotspot", Kind::Bool, "Hotspot"),
            argument("install-any-version", Kind::Bool, "Install any version"),
            INTERVAL,
            argument("ipsec", Kind::Bool, "Ipsec"),
            argument("l2tp", Kind::Bool, "L2tp"),
            argument("mode", Kind::Words(MODES), "Mode"),
            ONCE,
            argument("partitions", Kind::Bool, "Partitions"),
            argument("pptp", Kind::Bool, "Pptp"),
            argument("proxy", Kind::Bool, "Proxy"),
            argument("romon", Kind::Bool, "Romon"),
            argument("routerboard", Kind::Bool, "Routerboard"),
            argument("scheduler", Kind::Bool, "Scheduler"),
            argument("smb", Kind::Bool, "SMB"),
            argument("sniffer", Kind::Bool, "Sniffer"),
            argument("socks", Kind::Bool, "Socks"),
            argument("traffic-gen", Kind::Bool, "Traffic generator"),
            WITHOUT_PAGING,
            argument("zerotier", Kind::Bool, "Zerotier"),
        ],
    )],
    effect: Effect::None,
    ..Menu::new(
        "/system/device-mode",
        MenuShape::Status,
        "Features that the device allows",
    )
};
