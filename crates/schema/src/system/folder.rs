//! `/system`: commands on the router as a whole.

use menu::{Family, Kind, Menu, MenuShape, Policies};

use crate::declare::{
    APPEND, AS_VALUE, DO, DURATION, FILE, FREEZE, INTERVAL, ONCE, PORT, U32, WITHOUT_PAGING,
    argument, idle_command, required_argument, unnamed_argument,
};
use crate::spelling::HOST;

pub(crate) static MENU: Menu = Menu {
    commands: &[
        idle_command("check-disk", "Check the disk for errors", &[]),
        idle_command(
            "check-installation",
            "Check the integrity of the installed files",
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
        idle_command("reboot", "Restart the router", &[]),
        super::reset::RESET,
        idle_command(
            "serial-terminal",
            "Open a terminal on a serial port",
            &[
                argument("channel", U32, "Channel"),
                required_argument("port", Kind::Reference("port"), "Port"),
                argument("write", Kind::Text, "Write"),
            ],
        ),
        idle_command("shell", "Open a shell of a package", &[]),
        idle_command("shutdown", "Stop the router", &[]),
        idle_command(
            "ssh",
            "Open an SSH session",
            &[
                unnamed_argument("address", HOST, "Address"),
                argument("command", Kind::Text, "Command"),
                argument("output-to-file", Kind::Text, "Output to file"),
                argument("port", PORT, "Port"),
                argument("src-address", Kind::Address(Family::Any), "Source address"),
                argument("user", Kind::Text, "User"),
                argument("vrf", Kind::Name, "VRF"),
            ],
        ),
        idle_command(
            "ssh-exec",
            "Run a command over SSH",
            &[
                unnamed_argument("address", HOST, "Address"),
                AS_VALUE,
                argument("command", Kind::Text, "Command"),
                argument("output-to-file", Kind::Text, "Output to file"),
                argument("password", Kind::Text, "Password"),
                argument("port", PORT, "Port"),
                argument("src-address", Kind::Address(Family::Any), "Source address"),
                argument("user", Kind::Text, "User"),
                argument("vrf", Kind::Name, "VRF"),
            ],
        ),
        idle_command(
            "sup-output",
            "Write a file for support",
            &[
                APPEND,
                AS_VALUE,
                DO,
                DURATION,
                FREEZE,
                INTERVAL,
                argument("name", Kind::Text, "Name"),
                ONCE,
                argument("output-width", U32, "Output width"),
                WITHOUT_PAGING,
            ],
        ),
        idle_command(
            "telnet",
            "Open a Telnet session",
            &[
                unnamed_argument("address", HOST, "Address"),
                argument("port", PORT, "Port"),
                argument("vrf", Kind::Name, "VRF"),
            ],
        ),
    ],
    command_policies: &[("reset-configuration", Policies::WRITE.or(Policies::POLICY))],
    ..Menu::new("/system", MenuShape::Folder, "System settings and tools")
};
