//! `/interface/wifi/configuration`: configuration profiles, with references to other profiles and inline
//! properties.

use menu::{Menu, Property, Unique};

use crate::declare::{named, reference};
use crate::fragment::{COMMENT_SAID, DISABLED_DYNAMIC, idle_list};
use crate::interworking::interworking;
use crate::wifi::{aaa, channel, configuration, datapath, security, steering};

const OWN: &[Property] = configuration!("");
/// Inline channel properties.
pub(crate) const CHANNEL: &[Property] = channel!("channel.");
/// Inline security properties.
pub(crate) const SECURITY: &[Property] = security!("security.");
/// Inline datapath properties.
pub(crate) const DATAPATH: &[Property] = datapath!("datapath.");
/// Inline AAA properties.
pub(crate) const AAA: &[Property] = aaa!("aaa.");
/// Inline steering properties.
pub(crate) const STEERING: &[Property] = steering!("steering.");
/// Inline interworking properties.
pub(crate) const INTERWORKING: &[Property] = interworking!("interworking.");
/// References to profiles.
pub(crate) const PROFILES: &[Property] = &[
    reference("channel", "wifi-channel", "Channel").optional(),
    reference("security", "wifi-security", "Security").optional(),
    reference("datapath", "wifi-datapath", "Datapath profile").optional(),
    reference("aaa", "wifi-aaa", "AAA profile").optional(),
    reference("interworking", "wifi-interworking", "Interworking profile").optional(),
    reference("steering", "wifi-steering", "Steering profile").optional(),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[named("Name of the profile")],
        OWN,
        PROFILES,
        CHANNEL,
        SECURITY,
        DATAPATH,
        AAA,
        INTERWORKING,
        STEERING,
        COMMENT_SAID,
    ],
    flags: DISABLED_DYNAMIC,
    columns: &["name", "mode", "ssid", "channel", "security", "datapath"],
    space: Some("wifi-configuration"),
    key: Some("name"),
    unique: &[Unique {
        properties: &["name"],
        failure: "already have such name",
    }],
    old_paths: &["/interface/wifiwave2/configuration"],
    ..idle_list("/interface/wifi/configuration", "Configuration profiles")
};
