//! `/disk`: disks and what they hold.

use menu::{Effect, Family, Flag, Kind, Menu, Property, Shape};

use crate::declare::{
    APPEND, AS_VALUE, DO, DURATION, FILE, FREEZE, INTERVAL, MONITORED_ITEMS, NUMBERS, ONCE, PORT,
    PROPLIST, U32, WITHOUT_PAGING, argument, between, idle_command, no, shown, text, yes,
};
use crate::fragment::COMMENT_DISABLED;

const SIZE: Kind = Kind::Number {
    min: 0,
    max: i64::MAX,
};
const DISK: Kind = Kind::Reference("disk");

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new(
                "type",
                Kind::Words(&[
                    "crypted",
                    "file",
                    "hardware",
                    "iscsi",
                    "nfs",
                    "nvme-tcp",
                    "partition",
                    "raid",
                    "ramdisk",
                    "smb",
                    "sshfs",
                    "tmpfs",
                ]),
                "What kind of disk it is",
            )
            .default("hardware"),
            Property::new("slot", Kind::Name, "Name of the disk").optional(),
            Property::new("parent", DISK, "The disk that it is a part of").optional(),
            Property::new(
                "mount-point-template",
                Kind::Text,
                "How the folder is called",
            )
            .optional(),
            yes("mount-filesystem", "Mounts the file system"),
            no("mount-read-only", "Mounts the file system for reading only"),
            no("compress", "Compress"),
            Property::new("partition-number", U32, "Partition number").optional(),
            Property::new("partition-offset", SIZE, "Partition offset").optional(),
            Property::new("partition-size", SIZE, "Partition size").optional(),
            Property::new(
                "raid-type",
                Kind::Words(&["0", "1", "4", "5", "6", "linear", "faulty"]),
                "RAID type",
            )
            .optional(),
            Property::new("raid-device-count", U32, "RAID device count").optional(),
            Property::new(
                "raid-max-component-size",
                SIZE,
                "RAID greatest component size",
            )
            .optional(),
            Property::new(
                "raid-chunk-size",
                Kind::Words(&["64K", "128K", "256K", "512K", "1M", "2M", "4M"]),
                "RAID chunk size",
            )
            .default("1M"),
            Property::new("raid-master", Kind::Or(&["none"], &DISK), "RAID master").default("none"),
            Property::new("raid-role", U32, "RAID role").optional(),
            no("raid-member-failed", "RAID member failed"),
            no("nvme-tcp-export", "NVMe TCP export"),
            Property::new("nvme-tcp-server-port", PORT, "NVMe TCP server port").default("4420"),
            Property::new("nvme-tcp-server-nqn", Kind::Text, "NVMe TCP server NQN").optional(),
            Property::new(
                "nvme-tcp-server-allow-host-name",
                Kind::Text,
                "NVMe TCP server allow host name",
            )
            .optional(),
            Property::new(
                "nvme-tcp-server-password",
                Kind::Text,
                "NVMe TCP server password",
            )
            .optional()
            .sensitive(),
            Property::new(
                "nvme-tcp-address",
                Kind::Address(Family::V4),
                "NVMe TCP address",
            )
            .optional(),
            Property::new("nvme-tcp-nqn", Kind::Text, "NVMe TCP NQN").optional(),
            Property::new("nvme-tcp-host-name", Kind::Text, "NVMe TCP host name").optional(),
            Property::new("nvme-tcp-password", Kind::Text, "NVMe TCP password")
                .optional()
                .sensitive(),
            Property::new("nvme-tcp-port", PORT, "NVMe TCP port").default("4420"),
            no("iscsi-export", "ISCSI export"),
            Property::new("iscsi-server-port", PORT, "ISCSI server port").default("3260"),
            Property::new("iscsi-server-iqn", Kind::Text, "ISCSI server IQN").optional(),
            Property::new("iscsi-port", PORT, "ISCSI port").default("3260"),
            Property::new("iscsi-address", Kind::Address(Family::V4), "ISCSI address").optional(),
            Property::new("iscsi-iqn", Kind::Text, "ISCSI IQN").optional(),
            no("nfs-sharing", "NFS sharing"),
            Property::new("nfs-address", Kind::Address(Family::V4), "NFS address").optional(),
            Property::new("nfs-share", Kind::Text, "NFS share").optional(),
            no("smb-sharing", "SMB sharing"),
            Property::new("smb-server-user", Kind::Text, "SMB server user").optional(),
            Property::new("smb-server-password", Kind::Text, "SMB server password")
                .optional()
                .sensitive(),
            no("smb-server-encryption", "SMB server encryption"),
            Property::new("smb-address", Kind::Address(Family::V4), "SMB address").optional(),
            Property::new("smb-share", Kind::Text, "SMB share").optional(),
            Property::new("smb-user", Kind::Text, "SMB user").optional(),
            Property::new("smb-password", Kind::Text, "SMB password")
                .optional()
                .sensitive(),
            no("smb-encryption", "SMB encryption"),
            no("media-sharing", "Serves media"),
            Property::new(
                "media-interface",
                Kind::Or(&["none"], &Kind::Reference("interface")),
                "Interface that media are served at",
            )
            .default("none"),
            Property::new("tmpfs-max-size", SIZE, "Tmpfs greatest size").optional(),
            Property::new("ramdisk-size", SIZE, "Ramdisk size").optional(),
            Property::new(
                "crypted-backend",
                Kind::Or(&["none"], &DISK),
                "Crypted backend",
            )
            .optional(),
            Property::new("encryption-key", Kind::Text, "Encryption key")
                .optional()
                .sensitive(),
            text("self-encryption-password", "Self encryption password").sensitive(),
            Property::new("sshfs-address", Kind::Text, "SSHFS address").optional(),
            Property::new("sshfs-port", PORT, "SSHFS port").default("22"),
            Property::new("sshfs-user", Kind::Text, "SSHFS user").optional(),
            Property::new("sshfs-password", Kind::Text, "SSHFS password")
                .optional()
                .sensitive(),
            Property::new("sshfs-path", Kind::Text, "SSHFS path").optional(),
            no("swap", "Uses the disk as memory"),
            Property::new("file-path", Kind::Text, "File path").optional(),
            Property::new("file-size", SIZE, "File size").optional(),
            Property::new("file-offset", SIZE, "File offset").optional(),
            shown("slot-default", Kind::Text, "Slot default"),
            shown("fs-label", Kind::Text, "File system label"),
            shown("fs-uuid", Kind::Text, "File system UUID"),
            shown(
                "fs",
                Kind::Words(&[
                    "fat32",
                    "ext4",
                    "btrfs",
                    "xfs",
                    "nfs",
                    "smb",
                    "wipe",
                    "wipe-quick",
                    "tmpfs",
                    "exfat",
                    "ntfs",
                    "sshfs",
                    "squashfs",
                    "iso",
                    "discard",
                    "discard-secure",
                    "-",
                ]),
                "File system",
            ),
            shown("model", Kind::Text, "Model"),
            shown("serial", Kind::Text, "Serial"),
            shown("fw-version", Kind::Text, "Fw version"),
            shown("size", U32, "Size"),
            shown("free", U32, "Free"),
            shown("total-inodes", U32, "Total inodes"),
            shown("free-inodes", U32, "Free inodes"),
            shown("use", U32, "Use"),
            shown("mount-point", Kind::Text, "Mount point"),
            shown("sector-size", U32, "Sector size"),
            shown("interface", Kind::Text, "Interface"),
            shown("interface-speed", U32, "Interface speed"),
            shown("raid-member-state", Kind::Text, "RAID member state"),
            shown("state", Kind::Text, "State"),
            shown("raid-uuid", Kind::Text, "RAID UUID"),
            shown(
                "nvme-tcp-server-secret",
                Kind::Text,
                "NVMe TCP server secret",
            ),
            shown("nvme-tcp-secret", Kind::Text, "NVMe TCP secret"),
            shown("sshfs-local-user", Kind::Text, "SSHFS local user"),
            shown("io-ops", U32, "I/O ops"),
            shown("io-errors", U32, "I/O errors"),
            shown("read-ops", U32, "Read ops"),
            shown("read-ops-per-second", U32, "Read ops per second"),
            shown("read-bytes", U32, "Read bytes"),
            shown("read-rate", U32, "Read rate"),
            shown("read-merges", U32, "Read merges"),
            shown("read-time", Kind::SPAN, "Read time"),
            shown("write-ops", U32, "Write ops"),
            shown("write-ops-per-second", U32, "Write ops per second"),
            shown("write-bytes", U32, "Write bytes"),
            shown("write-rate", U32, "Write rate"),
            shown("write-merges", U32, "Write merges"),
            shown("write-time", Kind::SPAN, "Write time"),
            shown("in-flight-ops", U32, "In flight ops"),
            shown("active-time", Kind::SPAN, "Active time"),
            shown("wait-time", Kind::SPAN, "Wait time"),
            shown("discard-ops", U32, "Discard ops"),
            shown("discard-bytes", U32, "Discard bytes"),
            shown("discard-merges", U32, "Discard merges"),
            shown("discard-time", Kind::SPAN, "Discard time"),
            shown("flush-ops", U32, "Flush ops"),
            shown("flush-time", Kind::SPAN, "Flush time"),
            shown("temperature", U32, "Temperature"),
            shown("temperatures", Kind::List(&U32), "Temperatures"),
            shown(
                "critical-warning",
                Kind::List(&Kind::Words(&[
                    "spare-space",
                    "temperature",
                    "reliability-degraded",
                    "read-only",
                    "volatile-backup-failed",
                ])),
                "Critical warning",
            ),
            shown("available-spare", U32, "Available spare"),
            shown(
                "available-spare-threshold",
                U32,
                "Available spare threshold",
            ),
            shown("percentage-used", U32, "Percentage used"),
            shown("host-read-bytes", U32, "Host read bytes"),
            shown("host-write-bytes", U32, "Host write bytes"),
            shown("host-read-cmds", U32, "Host read cmds"),
            shown("host-write-cmds", U32, "Host write cmds"),
            shown("controller-busy-time", Kind::SPAN, "Controller busy time"),
            shown("power-cycles", U32, "Power cycles"),
            shown("power-on-time", Kind::SPAN, "Power on time"),
            shown("unsafe-shutdowns", U32, "Unsafe shutdowns"),
            shown(
                "unrecovered-integrity-errors",
                U32,
                "Unrecovered integrity errors",
            ),
            shown("warning-temperature", U32, "Warning temperature"),
            shown(
                "warning-temperature-time",
                Kind::SPAN,
                "Warning temperature time",
            ),
            shown("critical-temperature", U32, "Critical temperature"),
            shown(
                "critical-temperature-time",
                Kind::SPAN,
                "Critical temperature time",
            ),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('X', "disabled", 1),
        Flag::new('A', "acquired", 1),
        Flag::new('E', "empty", 1),
        Flag::new('B', "block-device", 1),
        Flag::new('M', "mounted", 1),
        Flag::new('F', "formatting", 1),
        Flag::new('S', "swap-enabled", 0),
        Flag::new('f', "raid-member-failed", 1),
        Flag::new('r', "raid-member", 1),
        Flag::new('c', "encrypted", 1),
        Flag::new('g', "guid-partition-table", 1),
        Flag::new('p', "partition", 1),
        Flag::new('t', "nvme-tcp-export", 1),
        Flag::new('i', "iscsi-export", 1),
        Flag::new('s', "smb-sharing", 1),
        Flag::new('n', "nfs-sharing", 1),
        Flag::new('m', "media-sharing", 1),
        Flag::new('L', "self-encrypted-and-locked", 1),
        Flag::new('O', "self-encryption-enabled", 1),
        Flag::new('o', "self-encryption-supported", 0),
    ],
    columns: &[
        "slot",
        "model",
        "serial",
        "interface",
        "size",
        "free",
        "use",
        "fs",
    ],
    space: Some("disk"),
    key: Some("slot"),
    kind: "disk",
    parts: 64,
    commands: &[
        idle_command(
            "blink",
            "Blink a disk's LED",
            &[
                APPEND,
                AS_VALUE,
                DO,
                DURATION,
                FILE,
                FREEZE,
                INTERVAL,
                ONCE,
                argument("slots", Kind::List(&DISK), "Slots"),
                WITHOUT_PAGING,
            ],
        ),
        idle_command(
            "check",
            "Check the file system",
            &[AS_VALUE, DURATION, FREEZE, NUMBERS, WITHOUT_PAGING],
        ),
        idle_command(
            "copy",
            "Copy one disk to another",
            &[
                APPEND,
                AS_VALUE,
                DO,
                argument("dst", DISK, "Destination"),
                argument("dst-offset", U32, "Destination offset"),
                DURATION,
                FILE,
                FREEZE,
                INTERVAL,
                ONCE,
                argument("size", U32, "Size"),
                argument("src", DISK, "Source"),
                argument("src-offset", U32, "Source offset"),
                WITHOUT_PAGING,
            ],
        ),
        idle_command("eject", "Prepare disks to be pulled out", &[NUMBERS]),
        idle_command(
            "format",
            "Make a file system",
            &[
                AS_VALUE,
                DURATION,
                argument(
                    "file-system",
                    Kind::Words(&[
                        "fat32",
                        "ext4",
                        "btrfs",
                        "xfs",
                        "wipe",
                        "wipe-quick",
                        "exfat",
                        "discard",
                        "discard-secure",
                    ]),
                    "File system",
                ),
                FREEZE,
                argument("label", Kind::Text, "Label"),
                argument("mbr-partition-table", Kind::Bool, "Mbr partition table"),
                NUMBERS,
                WITHOUT_PAGING,
            ],
        ),
        idle_command(
            "monitor-traffic",
            "Show what disks read and write",
            MONITORED_ITEMS,
        )
        .repeating(),
        idle_command(
            "nvme-discover",
            "Ask a server for its disks",
            &[
                argument("address", Kind::Address(Family::V4), "Address"),
                AS_VALUE,
                DURATION,
                FREEZE,
                argument("host-name", Kind::Text, "Host name"),
                argument("port", U32, "Port"),
                WITHOUT_PAGING,
            ],
        ),
        idle_command("raid-scrub", "Check an array", &[NUMBERS]),
        idle_command("raid-scrub-cancel", "Stop to check an array", &[NUMBERS]),
        idle_command(
            "repair",
            "Repair the file system",
            &[AS_VALUE, DURATION, FREEZE, NUMBERS, WITHOUT_PAGING],
        ),
        idle_command("reset-counters", "Set the counters to zero", &[NUMBERS]),
        idle_command("scan", "Look for new disks", &[AS_VALUE]),
        idle_command(
            "smart-info",
            "Show what the disk says of itself",
            &[AS_VALUE, DURATION, FREEZE, NUMBERS, WITHOUT_PAGING],
        ),
        idle_command(
            "test",
            "Measure a disk",
            &[
                AS_VALUE,
                argument("block-size", U32, "Block size"),
                argument("direction", Kind::Words(&["read", "write"]), "Direction"),
                argument("disk", DISK, "Disk"),
                DURATION,
                argument("entries-to-show", U32, "Entries to show"),
                FREEZE,
                argument("pattern", Kind::Words(&["sequential", "random"]), "Pattern"),
                PROPLIST,
                argument("thread-count", U32, "Thread count"),
                argument("type", Kind::Words(&["device", "filesystem"]), "Type"),
                WITHOUT_PAGING,
            ],
        ),
        idle_command("trim", "Tell the disk what is not used", &[NUMBERS]),
    ],
    effect: Effect::None,
    conditions: crate::conditions::DISK,
    ..Menu::new("/disk", Shape::List, "Disks")
};

pub(crate) static BTRFS_FILESYSTEM: Menu = Menu {
    properties: &[&[
        text("label", "Label"),
        text("default-subvolume", "Subvolume that is mounted"),
        shown("uuid", Kind::Text, "UUID"),
        shown("total-devs", U32, "Total devs"),
        shown("dev-ids", Kind::List(&U32), "Deviation ids"),
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
        idle_command("balance-cancel", "Stop to balance", &[NUMBERS]),
        idle_command(
            "balance-start",
            "Spread data anew",
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
        idle_command("replace-cancel", "Stop to replace", &[NUMBERS]),
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
        idle_command("scrub-cancel", "Stop to check", &[NUMBERS]),
        idle_command("scrub-start", "Check all data", &[NUMBERS]),
    ],
    effect: Effect::None,
    ..Menu::new(
        "/disk/btrfs/filesystem",
        Shape::Fixed,
        "File systems of Btrfs",
    )
};

pub(crate) static BTRFS_SUBVOLUME: Menu = Menu {
    properties: &[&[
        Property::new("fs", Kind::Text, "The file system").required(),
        text("parent", "The subvolume that it is made from"),
        Property::new("name", Kind::Name, "Name of the subvolume").required(),
        no("read-only", "Whether nothing can be written"),
        no("mount", "Whether it is mounted"),
        text("mountpoint", "Where it is mounted"),
        shown("top-level", Kind::Text, "Top level"),
        shown("fullname", Kind::Text, "Fullname"),
        shown("uuid", Kind::Text, "UUID"),
        shown("received-uuid", Kind::Text, "Received UUID"),
        shown("creation-time", Kind::Text, "Creation time"),
        shown("subvolume-id", U32, "Subvolume identifier"),
        shown("generation", U32, "Generation"),
        shown("send-trans-id", U32, "Send trans identifier"),
        shown("send-time", Kind::Text, "Send time"),
        shown("recv-trans-id", U32, "Recv trans identifier"),
        shown("recv-time", Kind::Text, "Recv time"),
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
    ..Menu::new("/disk/btrfs/subvolume", Shape::List, "Subvolumes of Btrfs")
};

pub(crate) static BTRFS_TRANSFER: Menu = Menu {
    properties: &[&[
        Property::new(
            "type",
            Kind::Words(&["receive", "send"]),
            "Whether it is sent or received",
        )
        .required(),
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
    ..Menu::new("/disk/btrfs/transfer", Shape::List, "Copies of subvolumes")
};

pub(crate) static SETTINGS: Menu = Menu {
    properties: &[&[
        Property::new(
            "default-mount-point-template",
            Kind::Text,
            "How folders are called",
        )
        .default("[slot]"),
        no("auto-smb-sharing", "Shares disks by SMB"),
        Property::new("auto-smb-user", Kind::Text, "Who may use shared disks").default("guest"),
        no("auto-media-sharing", "Serves media of disks"),
        Property::new(
            "auto-media-interface",
            Kind::Or(&["none"], &Kind::Reference("interface")),
            "Interface that media are served at",
        )
        .default("none"),
    ]],
    effect: Effect::None,
    ..Menu::new(
        "/disk/settings",
        Shape::Settings,
        "What is done with new disks",
    )
};
