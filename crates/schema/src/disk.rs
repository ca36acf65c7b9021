//! `/disk`: disks, partitions and memory disks.

pub(crate) mod btrfs;

use menu::{Effect, Family, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{
    APPEND, AS_VALUE, DO, DURATION, FILE, FREEZE, INTERVAL, MONITORED_ITEMS, NUMBERS, ONCE, PORT,
    PROPLIST, U32, WITHOUT_PAGING, argument, idle_command, no, shown, text, yes,
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
                "Disk type",
            )
            .default("hardware"),
            Property::new("slot", Kind::Name, "Name of the disk").optional(),
            Property::new("parent", DISK, "Parent disk")
                .optional()
                .inert(),
            Property::new(
                "mount-point-template",
                Kind::Text,
                "Template of the mount point's name",
            )
            .optional()
            .inert(),
            yes("mount-filesystem", "Mount the file system").inert(),
            no("mount-read-only", "Mount the file system read-only").inert(),
            no("compress", "Compress").inert(),
            Property::new("partition-number", U32, "Partition number")
                .optional()
                .inert(),
            Property::new("partition-offset", SIZE, "Partition offset")
                .optional()
                .inert(),
            Property::new("partition-size", SIZE, "Partition size")
                .optional()
                .inert(),
            Property::new(
                "raid-type",
                Kind::Words(&["0", "1", "4", "5", "6", "linear", "faulty"]),
                "RAID type",
            )
            .optional()
            .inert(),
            Property::new("raid-device-count", U32, "RAID device count")
                .optional()
                .inert(),
            Property::new(
                "raid-max-component-size",
                SIZE,
                "Maximum size of a RAID component",
            )
            .optional()
            .inert(),
            Property::new(
                "raid-chunk-size",
                Kind::Words(&["64K", "128K", "256K", "512K", "1M", "2M", "4M"]),
                "RAID chunk size",
            )
            .default("1M")
            .inert(),
            Property::new("raid-master", Kind::Or(&["none"], &DISK), "RAID master")
                .default("none")
                .inert(),
            Property::new("raid-role", U32, "RAID role")
                .optional()
                .inert(),
            no("raid-member-failed", "RAID member failed").inert(),
            no("nvme-tcp-export", "NVMe TCP export").inert(),
            Property::new("nvme-tcp-server-port", PORT, "NVMe TCP server port")
                .default("4420")
                .inert(),
            Property::new("nvme-tcp-server-nqn", Kind::Text, "NVMe TCP server NQN")
                .optional()
                .inert(),
            Property::new(
                "nvme-tcp-server-allow-host-name",
                Kind::Text,
                "NVMe TCP server allow host name",
            )
            .optional()
            .inert(),
            Property::new(
                "nvme-tcp-server-password",
                Kind::Text,
                "NVMe TCP server password",
            )
            .optional()
            .sensitive()
            .inert(),
            Property::new(
                "nvme-tcp-address",
                Kind::Address(Family::V4),
                "NVMe TCP address",
            )
            .optional()
            .inert(),
            Property::new("nvme-tcp-nqn", Kind::Text, "NVMe TCP NQN")
                .optional()
                .inert(),
            Property::new("nvme-tcp-host-name", Kind::Text, "NVMe TCP host name")
                .optional()
                .inert(),
            Property::new("nvme-tcp-password", Kind::Text, "NVMe TCP password")
                .optional()
                .sensitive()
                .inert(),
            Property::new("nvme-tcp-port", PORT, "NVMe TCP port")
                .default("4420")
                .inert(),
            no("iscsi-export", "ISCSI export").inert(),
            Property::new("iscsi-server-port", PORT, "ISCSI server port")
                .default("3260")
                .inert(),
            Property::new("iscsi-server-iqn", Kind::Text, "ISCSI server IQN")
                .optional()
                .inert(),
            Property::new("iscsi-port", PORT, "ISCSI port")
                .default("3260")
                .inert(),
            Property::new("iscsi-address", Kind::Address(Family::V4), "ISCSI address")
                .optional()
                .inert(),
            Property::new("iscsi-iqn", Kind::Text, "ISCSI IQN")
                .optional()
                .inert(),
            no("nfs-sharing", "NFS sharing").inert(),
            Property::new("nfs-address", Kind::Address(Family::V4), "NFS address")
                .optional()
                .inert(),
            Property::new("nfs-share", Kind::Text, "NFS share")
                .optional()
                .inert(),
            no("smb-sharing", "SMB sharing").inert(),
            Property::new("smb-server-user", Kind::Text, "SMB server user")
                .optional()
                .inert(),
            Property::new("smb-server-password", Kind::Text, "SMB server password")
                .optional()
                .sensitive()
                .inert(),
            no("smb-server-encryption", "SMB server encryption").inert(),
            Property::new("smb-address", Kind::Address(Family::V4), "SMB address")
                .optional()
                .inert(),
            Property::new("smb-share", Kind::Text, "SMB share")
                .optional()
                .inert(),
            Property::new("smb-user", Kind::Text, "SMB user")
                .optional()
                .inert(),
            Property::new("smb-password", Kind::Text, "SMB password")
                .optional()
                .sensitive()
                .inert(),
            no("smb-encryption", "SMB encryption").inert(),
            no("media-sharing", "Share the disk by the media server").inert(),
            Property::new(
                "media-interface",
                Kind::Or(&["none"], &Kind::Reference("interface")),
                "Interface of the media server",
            )
            .default("none")
            .inert(),
            Property::new("tmpfs-max-size", SIZE, "Maximum size of the tmpfs").optional(),
            Property::new("ramdisk-size", SIZE, "Ramdisk size")
                .optional()
                .inert(),
            Property::new(
                "crypted-backend",
                Kind::Or(&["none"], &DISK),
                "Crypted backend",
            )
            .optional()
            .inert(),
            Property::new("encryption-key", Kind::Text, "Encryption key")
                .optional()
                .sensitive()
                .inert(),
            text("self-encryption-password", "Self encryption password")
                .sensitive()
                .inert(),
            Property::new("sshfs-address", Kind::Text, "SSHFS address")
                .optional()
                .inert(),
            Property::new("sshfs-port", PORT, "SSHFS port")
                .default("22")
                .inert(),
            Property::new("sshfs-user", Kind::Text, "SSHFS user")
                .optional()
                .inert(),
            Property::new("sshfs-password", Kind::Text, "SSHFS password")
                .optional()
                .sensitive()
                .inert(),
            Property::new("sshfs-path", Kind::Text, "SSHFS path")
                .optional()
                .inert(),
            no("swap", "Use the disk as swap space").inert(),
            Property::new("file-path", Kind::Text, "File path")
                .optional()
                .inert(),
            Property::new("file-size", SIZE, "File size")
                .optional()
                .inert(),
            Property::new("file-offset", SIZE, "File offset")
                .optional()
                .inert(),
            shown("slot-default", Kind::Text, "Default slot"),
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
            shown("fw-version", Kind::Text, "Firmware version"),
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
            shown("io-ops", U32, "I/O operations"),
            shown("io-errors", U32, "I/O errors"),
            shown("read-ops", U32, "Read operations"),
            shown("read-ops-per-second", U32, "Read operations per second"),
            shown("read-bytes", U32, "Read bytes"),
            shown("read-rate", U32, "Read rate"),
            shown("read-merges", U32, "Read merges"),
            shown("read-time", Kind::SPAN, "Read time"),
            shown("write-ops", U32, "Write operations"),
            shown("write-ops-per-second", U32, "Write operations per second"),
            shown("write-bytes", U32, "Write bytes"),
            shown("write-rate", U32, "Write rate"),
            shown("write-merges", U32, "Write merges"),
            shown("write-time", Kind::SPAN, "Write time"),
            shown("in-flight-ops", U32, "I/O operations in progress"),
            shown("active-time", Kind::SPAN, "Active time"),
            shown("wait-time", Kind::SPAN, "Wait time"),
            shown("discard-ops", U32, "Discard operations"),
            shown("discard-bytes", U32, "Discard bytes"),
            shown("discard-merges", U32, "Discard merges"),
            shown("discard-time", Kind::SPAN, "Discard time"),
            shown("flush-ops", U32, "Flush operations"),
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
            shown("host-read-cmds", U32, "Read commands of the host"),
            shown("host-write-cmds", U32, "Write commands of the host"),
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
        idle_command("eject", "Prepare disks for removal", &[NUMBERS]),
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
                argument(
                    "mbr-partition-table",
                    Kind::Bool,
                    "Use an MBR partition table",
                ),
                NUMBERS,
                WITHOUT_PAGING,
            ],
        ),
        idle_command("monitor-traffic", "Show disk throughput", MONITORED_ITEMS).repeating(),
        idle_command(
            "nvme-discover",
            "Discover NVMe disks of a server",
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
        idle_command("raid-scrub", "Check a RAID array", &[NUMBERS]),
        idle_command(
            "raid-scrub-cancel",
            "Stop the check of a RAID array",
            &[NUMBERS],
        ),
        idle_command(
            "repair",
            "Repair the file system",
            &[AS_VALUE, DURATION, FREEZE, NUMBERS, WITHOUT_PAGING],
        ),
        idle_command("reset-counters", "Set the counters to zero", &[NUMBERS]),
        idle_command("scan", "Look for new disks", &[AS_VALUE]),
        idle_command(
            "smart-info",
            "Show SMART data",
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
        idle_command("trim", "Discard unused blocks", &[NUMBERS]),
    ],
    idle: Some(|item| (item.text("type") != "tmpfs").then_some("disks")),
    conditions: crate::conditions::DISK,
    ..Menu::new("/disk", MenuShape::List, "Disks")
};

pub(crate) static SETTINGS: Menu = Menu {
    properties: &[&[
        Property::new(
            "default-mount-point-template",
            Kind::Text,
            "Default template of mount points",
        )
        .default("[slot]"),
        no("auto-smb-sharing", "Share new disks by SMB"),
        Property::new("auto-smb-user", Kind::Text, "SMB users of new disks").default("guest"),
        no("auto-media-sharing", "Share new disks by the media server"),
        Property::new(
            "auto-media-interface",
            Kind::Or(&["none"], &Kind::Reference("interface")),
            "Interface of the media server",
        )
        .default("none"),
    ]],
    effect: Effect::None,
    ..Menu::new(
        "/disk/settings",
        MenuShape::Settings,
        "Settings for new disks",
    )
};
