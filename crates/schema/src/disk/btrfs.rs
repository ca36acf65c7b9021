//! `/disk/btrfs`: Btrfs file systems.

use menu::{Effect, Flag, Kind, Menu, MenuShape, Property};

use super::DISK;
use crate::declare::{NUMBERS, PORT, U32, argument, between, idle_command, no, shown, text};

pub(crate) static FILESYSTEM: Menu = Menu {
    properties: &[&[
        text("label", "Label"),
        text("default-subvolume", "Subvolume that is mounted by default"),
        shown("uuid", Kind::Text, "UUID"),
        shown("total-devs", U32, "Number of devices"),
        shown("dev-ids", Kind::List(&U32), "Device identifiers"),
        shown("devs", Kind::Text, "Devs"),
        shown("spaces", Kind::List(&Kind::Text), "Spaces"),
        shown("balance-status", Kind::Text, "Balance status"),
        shown("replace-status", Kind::Text, "Replace status"),
        shown("scrub-status", Kind::Text, "Scrub status"),
        shown("write-errors", Kind::List(&U32), "Write errors"),
        shown("read-errors", Kind::List(&U32), "Read errors"),
        shown("flush-errors", Kind::List(&U32), "Flush errors"),
        shown("corruption-errors", Kind::List(&U32), "Corruption errors"),
        shown("generation-errors", Kind::List(&U32), "Generation errors"),
    ]],
    flags: &[
        Flag::new('I', "missing-devs", 1),
        Flag::new('b', "balancing", 1),
        Flag::new('r', "replacing", 1),
        Flag::new('s', "scrubbing", 1),
    ],
    columns: &["label", "uuid", "total-devs"],
    commands: &[
        idle_command(
            "add-device",
            "Add a disk",
            &[argument("device", DISK, "Device"), NUMBERS],
        ),
        idle_command("balance-cancel", "Stop balancing", &[NUMBERS]),
        idle_command(
            "balance-start",
            "Balance data over the disks",
            &[
                argument(
                    "data-profile",
                    Kind::Words(&[
                        "dup", "raid0", "raid1", "raid10", "raid1c3", "raid1c4", "single",
                    ]),
                    "Data profile",
                ),
                argument(
                    "data-usage",
                    Kind::Range("-", &between(0, 100)),
                    "Data usage",
                ),
                argument(
                    "metadata-profile",
                    Kind::Words(&[
                        "dup", "raid0", "raid1", "raid10", "raid1c3", "raid1c4", "single",
                    ]),
                    "Metadata profile",
                ),
                argument(
                    "metadata-usage",
                    Kind::Range("-", &between(0, 100)),
                    "Metadata usage",
                ),
                NUMBERS,
                argument(
                    "system-profile",
                    Kind::Words(&[
                        "dup", "raid0", "raid1", "raid10", "raid1c3", "raid1c4", "single",
                    ]),
                    "System profile",
                ),
                argument(
                    "system-usage",
                    Kind::Range("-", &between(0, 100)),
                    "System usage",
                ),
            ],
        ),
        idle_command(
            "remove-device",
            "Remove a disk",
            &[
                argument("device", DISK, "Device"),
                argument("device-id", U32, "Device identifier"),
                NUMBERS,
            ],
        ),
        idle_command("replace-cancel", "Stop replacing a disk", &[NUMBERS]),
        idle_command(
            "replace-device",
            "Replace a disk",
            &[
                argument("device-to-add", DISK, "Device to add"),
                argument("device-to-remove", DISK, "Device to remove"),
                argument("device-to-remove-id", U32, "Device to remove identifier"),
                NUMBERS,
            ],
        ),
        idle_command("reset-counters", "Set the counters to zero", &[NUMBERS]),
        idle_command("scrub-cancel", "Stop checking", &[NUMBERS]),
        idle_command("scrub-start", "Check the checksums of all data", &[NUMBERS]),
    ],
    effect: Effect::None,
    ..Menu::new(
        "/disk/btrfs/filesystem",
        MenuShape::Fixed,
        "File systems of Btrfs",
    )
};

pub(crate) static SUBVOLUME: Menu = Menu {
    properties: &[&[
        Property::new("fs", Kind::Text, "The file system").required(),
        text("parent", "Source subvolume"),
        Property::new("name", Kind::Name, "Name of the subvolume").required(),
        no("read-only", "Whether the subvolume is read-only"),
        no("mount", "Whether the subvolume is mounted"),
        text("mountpoint", "Mount point"),
        shown(
            "top-level",
            Kind::Text,
            "Identifier of the parent subvolume",
        ),
        shown("fullname", Kind::Text, "Fullname"),
        shown("uuid", Kind::Text, "UUID"),
        shown("received-uuid", Kind::Text, "Received UUID"),
        shown("creation-time", Kind::Text, "Creation time"),
        shown("subvolume-id", U32, "Subvolume identifier"),
        shown("generation", U32, "Generation"),
        shown("send-trans-id", U32, "Transaction identifier of the sender"),
        shown("send-time", Kind::Text, "Send time"),
        shown(
            "recv-trans-id",
            U32,
            "Transaction identifier of the receiver",
        ),
        shown("recv-time", Kind::Text, "Time of receipt"),
        shown("snapshots", Kind::Text, "Snapshots"),
        shown("path", Kind::Text, "Path"),
    ]],
    flags: &[
        Flag::new('D', "dead", 0),
        Flag::new('S', "snapshot", 1),
        Flag::new('M', "mounted", 2),
    ],
    columns: &["fs", "name", "read-only"],
    effect: Effect::None,
    ..Menu::new(
        "/disk/btrfs/subvolume",
        MenuShape::List,
        "Subvolumes of Btrfs",
    )
};

pub(crate) static TRANSFER: Menu = Menu {
    properties: &[&[
        Property::new("type", Kind::Words(&["receive", "send"]), "Direction").required(),
        Property::new("fs", Kind::Text, "File system").optional(),
        Property::new("send-parent", Kind::Text, "Send parent").optional(),
        Property::new(
            "send-subvolumes",
            Kind::List(&Kind::Text),
            "Send subvolumes",
        )
        .optional(),
        Property::new("file", Kind::Text, "File to write or to read").optional(),
        Property::new("ssh-address", Kind::Text, "SSH address").optional(),
        Property::new("ssh-receive-mount", Kind::Text, "SSH receive mount").optional(),
        Property::new("ssh-port", PORT, "SSH port").default("22"),
        Property::new("ssh-user", Kind::Text, "SSH user").optional(),
        shown("bytes", U32, "Bytes"),
        shown("status", Kind::Text, "Status"),
    ]],
    columns: &["type", "fs", "bytes", "status"],
    effect: Effect::None,
    ..Menu::new(
        "/disk/btrfs/transfer",
        MenuShape::List,
        "Copies of subvolumes",
    )
};
