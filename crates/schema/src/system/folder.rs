//! `/system`: what is done to the router as a whole.

use menu::{Family, Kind, Menu, Policies, Shape};

use crate::short::{
    APPEND, AS_VALUE, COUNT, DO, DURATION, FILE, FREEZE, INTERVAL, ONCE, PORT, WITHOUT_PAGING,
    bare, idle, may, need,
};
use crate::spelling::HOST;

pub(crate) static MENU: Menu = Menu {
    commands: &[
        idle("check-disk", "Check the disk for errors", &[]),
        idle(
            "check-installation",
            "Check whether the installed files are whole",
            &[
                APPEND,
                AS_VALUE,
                DO,
                DURATION,
                FILE,
                FREEZE,
                INTERVAL,
                ONCE,
                WITHOUT_PAGING,
            ],
        ),
        idle("reboot", "Restart the router", &[]),
        super::reset::RESET,
        idle(
            "serial-terminal",
            "Talk to a device at a serial port",
            &[
                may("channel", COUNT, "Channel"),
                need("port", Kind::Reference("port"), "Port"),
                may("write", Kind::Text, "Write"),
            ],
        ),
        idle("shell", "Open a shell of a package", &[]),
        idle("shutdown", "Stop the router", &[]),
        idle(
            "ssh",
            "Open an SSH session",
            &[
                bare("address", HOST, "Address"),
                may("command", Kind::Text, "Command"),
                may("output-to-file", Kind::Text, "Output to file"),
                may("port", PORT, "Port"),
                may("src-address", Kind::Address(Family::Any), "Source address"),
                may("user", Kind::Text, "User"),
                may("vrf", Kind::Name, "VRF"),
            ],
        ),
        idle(
            "ssh-exec",
            "Run a command over SSH",
            &[
                bare("address", HOST, "Address"),
                AS_VALUE,
                may("command", Kind::Text, "Command"),
                may("output-to-file", Kind::Text, "Output to file"),
                may("password", Kind::Text, "Password"),
                may("port", PORT, "Port"),
                may("src-address", Kind::Address(Family::Any), "Source address"),
                may("user", Kind::Text, "User"),
                may("vrf", Kind::Name, "VRF"),
            ],
        ),
        idle(
            "sup-output",
            "Write a file for support",
            &[
                APPEND,
                AS_VALUE,
                DO,
                DURATION,
                FREEZE,
                INTERVAL,
                may("name", Kind::Text, "Name"),
                ONCE,
                may("output-width", COUNT, "Output width"),
                WITHOUT_PAGING,
            ],
        ),
        idle(
            "telnet",
            "Open a Telnet session",
            &[
                bare("address", HOST, "Address"),
                may("port", PORT, "Port"),
                may("vrf", Kind::Name, "VRF"),
            ],
        ),
    ],
    command_policies: &[("reset-configuration", Policies::WRITE.or(Policies::POLICY))],
    ..Menu::new("/system", Shape::Folder, "The router itself")
};
