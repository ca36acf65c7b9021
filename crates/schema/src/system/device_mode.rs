//! `/system/device-mode`: which features the owner of the device allows.

use menu::{Effect, Kind, Menu, Shape};

use crate::short::{
    APPEND, AS_VALUE, COUNT, DO, DURATION, FILE, FREEZE, INTERVAL, ONCE, WITHOUT_PAGING, idle, may,
    shown,
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
        shown("traffic-gen", Kind::Bool, "Traffic gen"),
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
        shown("attempt-count", COUNT, "Attempt count"),
    ]],
    commands: &[idle(
        "update",
        "Ask for another mode, to be confirmed at the device",
        &[
            may("activation-timeout", Kind::SPAN, "Activation timeout"),
            APPEND,
            AS_VALUE,
            may("bandwidth-test", Kind::Bool, "Bandwidth test"),
            may("container", Kind::Bool, "Container"),
            DO,
            DURATION,
            may("email", Kind::Bool, "Email"),
            may("fetch", Kind::Bool, "Fetch"),
            FILE,
            may("flagged", Kind::Bool, "Flagged"),
            may("flagging-enabled", Kind::Bool, "Flagging enabled"),
            FREEZE,
            may("hotspot", Kind::Bool, "Hotspot"),
            may("install-any-version", Kind::Bool, "Install any version"),
            INTERVAL,
            may("ipsec", Kind::Bool, "Ipsec"),
            may("l2tp", Kind::Bool, "L2tp"),
            may("mode", Kind::Words(MODES), "Mode"),
            ONCE,
            may("partitions", Kind::Bool, "Partitions"),
            may("pptp", Kind::Bool, "Pptp"),
            may("proxy", Kind::Bool, "Proxy"),
            may("romon", Kind::Bool, "Romon"),
            may("routerboard", Kind::Bool, "Routerboard"),
            may("scheduler", Kind::Bool, "Scheduler"),
            may("smb", Kind::Bool, "SMB"),
            may("sniffer", Kind::Bool, "Sniffer"),
            may("socks", Kind::Bool, "Socks"),
            may("traffic-gen", Kind::Bool, "Traffic gen"),
            WITHOUT_PAGING,
            may("zerotier", Kind::Bool, "Zerotier"),
        ],
    )],
    effect: Effect::None,
    ..Menu::new(
        "/system/device-mode",
        Shape::Status,
        "Features that the device allows",
    )
};
