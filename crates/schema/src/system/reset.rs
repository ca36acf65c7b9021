//! `/system/reset-configuration`: factory reset.

use menu::{Command, Kind};

use crate::declare::{argument, command};

pub(crate) const RESET: Command = command(
    "reset-configuration",
    "Reset configuration to default",
    &[
        argument("caps-mode", Kind::Bool, "Accepted without effect"),
        argument(
            "force-v6-to-v7-configuration-upgrade",
            Kind::Bool,
            "Accepted without effect",
        ),
        argument("keep-apps", Kind::Bool, "Accepted without effect"),
        argument(
            "keep-users",
            Kind::Bool,
            "Keep the users and their passwords",
        ),
        argument(
            "no-defaults",
            Kind::Bool,
            "Do not load the default configuration",
        ),
        argument(
            "run-after-reset",
            Kind::Text,
            "Script file to run after the reset",
        ),
        argument("shutdown", Kind::Bool, "Accepted without effect"),
        argument("skip-backup", Kind::Bool, "Do not create a backup first"),
    ],
);
