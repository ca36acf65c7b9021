//! `/system/reset-configuration`: factory reset.

use menu::{Command, Kind};

use crate::declare::{argument, command};

pub(crate) const RESET: Command = command(
    "reset-configuration",
    "Reset configuration to default",
    &[
        argument("caps-mode", Kind::Bool, "Of no use here"),
        argument(
            "force-v6-to-v7-configuration-upgrade",
            Kind::Bool,
            "Of no use here",
        ),
        argument("keep-apps", Kind::Bool, "Of no use here"),
        argument("keep-users", Kind::Bool, "Keep the users"),
        argument("no-defaults", Kind::Bool, "Begin with nothing"),
        argument("run-after-reset", Kind::Text, "The file to begin with"),
        argument("shutdown", Kind::Bool, "Of no use here"),
        argument("skip-backup", Kind::Bool, "Do without a backup before"),
    ],
);
