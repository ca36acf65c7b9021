//! `/interface/wireless/align`: antenna alignment.

use menu::Menu;

use crate::declare::{mac, no, number, yes};
use crate::fragment::idle_settings;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        number("frame-size", 200, 1_500, "Size of frames").default("300"),
        yes("active-mode", "Send frames"),
        no("receive-all", "Receive all frames"),
        mac("audio-monitor", "Monitored address").default("00:00:00:00:00:00"),
        mac("filter-mac", "Address filter").default("00:00:00:00:00:00"),
        no("ssid-all", "Receive frames of all networks"),
        number("frames-per-second", 1, 100, "Frames a second").default("25"),
        number("audio-min", -100, 0, "Signal of the lowest tone").default("-100"),
        number("audio-max", -100, 0, "Signal of the highest tone").default("-20"),
    ]],
    ..idle_settings("/interface/wireless/align", "Antenna alignment settings")
};
