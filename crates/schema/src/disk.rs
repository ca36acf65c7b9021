//! `/disk`: disks and what they hold.

use menu::{Effect, Family, Flag, Kind, Menu, Property, Shape};

use crate::fragment::COMMENT_DISABLED;
use crate::short::{
    APPEND, AS_VALUE, COUNT, DO, DURATION, FILE, FREEZE, INTERVAL, MONITORED_ITEMS, NUMBERS, ONCE,
    PORT, PROPLIST, WITHOUT_PAGING, between, idle, may, shown, switch, text,
};

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
            switch("mount-filesystem", "yes", "Mounts the file system"),
            switch(
                "mount-read-only",
                "no",
                "Mounts the file system for reading only",
            ),
            switch("compress", "no", "Compress"),
            Property::new("partition-number", COUNT, "Partition number").optional(),
            Property::new("partition-offset", SIZE, "Partition offset").optional(),
            Property::new("partition-size", SIZE, "Partition size").optional(),
            Property::new(
                "raid-type",
                Kind::Words(&["0", "1", "4", "5", "6", "linear", "faulty"]),
                "RAID type",
            )
            .optional(),
            Property::new("raid-device-count", COUNT, "RAID device count").optional(),
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
            Property::new("raid-role", COUNT, "RAID role").optional(),
            switch("raid-member-failed", "no", "RAID member failed"),
            switch("nvme-tcp-export", "no", "NVMe TCP export"),
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
            switch("iscsi-export", "no", "ISCSI export"),
            Property::new("iscsi-server-port", PORT, "ISCSI server port").default("3260"),
            Property::new("iscsi-server-iqn", Kind::Text, "ISCSI server IQN").optional(),
            Property::new("iscsi-port", PORT, "ISCSI port").default("3260"),
            Property::new("iscsi-address", Kind::Address(Family::V4), "ISCSI address").optional(),
            Property::new("iscsi-iqn", Kind::Text, "ISCSI IQN").optional(),
            switch("nfs-sharing", "no", "NFS sharing"),
            Property::new("nfs-address", Kind::Address(Family::V4), "NFS address").optional(),
            Property::new("nfs-share", Kind::Text, "NFS share").optional(),
            switch("smb-sharing", "no", "SMB sharing"),
            Property::new("smb-server-user", Kind::Text, "SMB server user").optional(),
            Property::new("smb-server-password", Kind::Text, "SMB server password")
                .optional()
                .sensitive(),
            switch("smb-server-encryption", "no", "SMB server encryption"),
            Property::new("smb-address", Kind::Address(Family::V4), "SMB address").optional(),
            Property::new("smb-share", Kind::Text, "SMB share").optional(),
            Property::new("smb-user", Kind::Text, "SMB user").optional(),
            Property::new("smb-password", Kind::Text, "SMB password")
                .optional()
                .sensitive(),
            switch("smb-encryption", "no", "SMB encryption"),
            switch("media-sharing", "no", "Serves media"),
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
            switch("swap", "no", "Uses the disk as memory"),
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
            shown("size", COUNT, "Size"),
            shown("free", COUNT, "Free"),
            shown("total-inodes", COUNT, "Total inodes"),
            shown("free-inodes", COUNT, "Free inodes"),
            shown("use", COUNT, "Use"),
            shown("mount-point", Kind::Text, "Mount point"),
            shown("sector-size", COUNT, "Sector size"),
            shown("interface", Kind::Text, "Interface"),
            shown("interface-speed", COUNT, "Interface speed"),
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
            shown("io-ops", COUNT, "I/O ops"),
            shown("io-errors", COUNT, "I/O errors"),
            shown("read-ops", COUNT, "Read ops"),
            shown("read-ops-per-second", COUNT, "Read ops per second"),
            shown("read-bytes", COUNT, "Read bytes"),
            shown("read-rate", COUNT, "Read rate"),
            shown("read-merges", COUNT, "Read merges"),
            shown("read-time", Kind::SPAN, "Read time"),
            shown("write-ops", COUNT, "Write ops"),
            shown("write-ops-per-second", COUNT, "Write ops per second"),
            shown("write-bytes", COUNT, "Write bytes"),
            shown("write-rate", COUNT, "Write rate"),
            shown("write-merges", COUNT, "Write merges"),
            shown("write-time", Kind::SPAN, "Write time"),
            shown("in-flight-ops", COUNT, "In flight ops"),
            shown("active-time", Kind::SPAN, "Active time"),
            shown("wait-time", Kind::SPAN, "Wait time"),
            shown("discard-ops", COUNT, "Discard ops"),
            shown("discard-bytes", COUNT, "Discard bytes"),
            shown("discard-merges", COUNT, "Discard merges"),
            shown("discard-time", Kind::SPAN, "Discard time"),
            shown("flush-ops", COUNT, "Flush ops"),
            shown("flush-time", Kind::SPAN, "Flush time"),
            shown("temperature", COUNT, "Temperature"),
            shown("temperatures", Kind::List(&COUNT), "Temperatures"),
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
            shown("available-spare", COUNT, "Available spare"),
            shown(
                "available-spare-threshold",
                COUNT,
                "Available spare threshold",
            ),
            shown("percentage-used", COUNT, "Percentage used"),
            shown("host-read-bytes", COUNT, "Host read bytes"),
            shown("host-write-bytes", COUNT, "Host write bytes"),
            shown("host-read-cmds", COUNT, "Host read cmds"),
            shown("host-write-cmds", COUNT, "Host write cmds"),
            shown("controller-busy-time", Kind::SPAN, "Controller busy time"),
            shown("power-cycles", COUNT, "Power cycles"),
            shown("power-on-time", Kind::SPAN, "Power on time"),
            shown("unsafe-shutdowns", COUNT, "Unsafe shutdowns"),
            shown(
                "unrecovered-integrity-errors",
                COUNT,
                "Unrecovered integrity errors",
            ),
            shown("warning-temperature", COUNT, "Warning temperature"),
            shown(
                "warning-temperature-time",
                Kind::SPAN,
                "Warning temperature time",
            ),
            shown("critical-temperature", COUNT, "Critical temperature"),
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
        idle(
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
                may("slots", Kind::List(&DISK), "Slots"),
                WITHOUT_PAGING,
            ],
        ),
        idle(
            "check",
            "Check the file system",
            &[AS_VALUE, DURATION, FREEZE, NUMBERS, WITHOUT_PAGING],
        ),
        idle(
            "copy",
            "Copy one disk to another",
            &[
                APPEND,
                AS_VALUE,
                DO,
                may("dst", DISK, "Destination"),
                may("dst-offset", COUNT, "Destination offset"),
                DURATION,
                FILE,
                FREEZE,
                INTERVAL,
                ONCE,
                may("size", COUNT, "Size"),
                may("src", DISK, "Source"),
                may("src-offset", COUNT, "Source offset"),
                WITHOUT_PAGING,
            ],
        ),
        idle("eject", "Prepare disks to be pulled out", &[NUMBERS]),
        idle(
            "format",
            "Make a file system",
            &[
                AS_VALUE,
                DURATION,
                may(
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
                may("label", Kind::Text, "Label"),
                may("mbr-partition-table", Kind::Bool, "Mbr partition table"),
                NUMBERS,
                WITHOUT_PAGING,
            ],
        ),
        idle(
            "monitor-traffic",
            "Show what disks read and write",
            MONITORED_ITEMS,
        )
        .repeating(),
        idle(
            "nvme-discover",
            "Ask a server for its disks",
            &[
                may("address", Kind::Address(Family::V4), "Address"),
                AS_VALUE,
                DURATION,
                FREEZE,
                may("host-name", Kind::Text, "Host name"),
                may("port", COUNT, "Port"),
                WITHOUT_PAGING,
            ],
        ),
        idle("raid-scrub", "Check an array", &[NUMBERS]),
        idle("raid-scrub-cancel", "Stop to check an array", &[NUMBERS]),
        idle(
            "repair",
            "Repair the file system",
            &[AS_VALUE, DURATION, FREEZE, NUMBERS, WITHOUT_PAGING],
        ),
        idle("reset-counters", "Set the counters to zero", &[NUMBERS]),
        idle("scan", "Look for new disks", &[AS_VALUE]),
        idle(
            "smart-info",
            "Show what the disk says of itself",
            &[AS_VALUE, DURATION, FREEZE, NUMBERS, WITHOUT_PAGING],
        ),
        idle(
            "test",
            "Measure a disk",
            &[
                AS_VALUE,
                may("block-size", COUNT, "Block size"),
                may("direction", Kind::Words(&["read", "write"]), "Direction"),
                may("disk", DISK, "Disk"),
                DURATION,
                may("entries-to-show", COUNT, "Entries to show"),
                FREEZE,
                may("pattern", Kind::Words(&["sequential", "random"]), "Pattern"),
                PROPLIST,
                may("thread-count", COUNT, "Thread count"),
                may("type", Kind::Words(&["device", "filesystem"]), "Type"),
                WITHOUT_PAGING,
            ],
        ),
        idle("trim", "Tell the disk what is not used", &[NUMBERS]),
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
        shown("total-devs", COUNT, "Total devs"),
        shown("dev-ids", Kind::List(&COUNT), "Deviation ids"),
        shown("devs", Kind::Text, "Devs"),
        shown("spaces", Kind::List(&Kind::Text), "Spaces"),
        shown("balance-status", Kind::Text, "Balance status"),
        shown("replace-status", Kind::Text, "Replace status"),
        shown("scrub-status", Kind::Text, "Scrub status"),
        shown("write-errors", Kind::List(&COUNT), "Write errors"),
        shown("read-errors", Kind::List(&COUNT), "Read errors"),
        shown("flush-errors", Kind::List(&COUNT), "Flush errors"),
        shown("corruption-errors", Kind::List(&COUNT), "Corruption errors"),
        shown("generation-errors", Kind::List(&COUNT), "Generation errors"),
    ]],
    flags: &[
        Flag::new('I', "missing-devs", 1),
        Flag::new('b', "balancing", 1),
        Flag::new('r', "replacing", 1),
        Flag::new('s', "scrubbing", 1),
    ],
    columns: &["label", "uuid", "total-devs"],
    commands: &[
        idle(
            "add-device",
            "Add a disk",
            &[may("device", DISK, "Device"), NUMBERS],
        ),
        idle("balance-cancel", "Stop to balance", &[NUMBERS]),
        idle(
            "balance-start",
            "Spread data anew",
            &[
                may(
                    "data-profile",
                    Kind::Words(&[
                        "dup", "raid0", "raid1", "raid10", "raid1c3", "raid1c4", "single",
                    ]),
                    "Data profile",
                ),
                may(
                    "data-usage",
                    Kind::Range("-", &between(0, 100)),
                    "Data usage",
                ),
                may(
                    "metadata-profile",
                    Kind::Words(&[
                        "dup", "raid0", "raid1", "raid10", "raid1c3", "raid1c4", "single",
                    ]),
                    "Metadata profile",
                ),
                may(
                    "metadata-usage",
                    Kind::Range("-", &between(0, 100)),
                    "Metadata usage",
                ),
                NUMBERS,
                may(
                    "system-profile",
                    Kind::Words(&[
                        "dup", "raid0", "raid1", "raid10", "raid1c3", "raid1c4", "single",
                    ]),
                    "System profile",
                ),
                may(
                    "system-usage",
                    Kind::Range("-", &between(0, 100)),
                    "System usage",
                ),
            ],
        ),
        idle(
            "remove-device",
            "Remove a disk",
            &[
                may("device", DISK, "Device"),
                may("device-id", COUNT, "Device identifier"),
                NUMBERS,
            ],
        ),
        idle("replace-cancel", "Stop to replace", &[NUMBERS]),
        idle(
            "replace-device",
            "Replace a disk",
            &[
                may("device-to-add", DISK, "Device to add"),
                may("device-to-remove", DISK, "Device to remove"),
                may("device-to-remove-id", COUNT, "Device to remove identifier"),
                NUMBERS,
            ],
        ),
        idle("reset-counters", "Set the counters to zero", &[NUMBERS]),
        idle("scrub-cancel", "Stop to check", &[NUMBERS]),
        idle("scrub-start", "Check all data", &[NUMBERS]),
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
        switch("read-only", "no", "Whether nothing can be written"),
        switch("mount", "no", "Whether it is mounted"),
        text("mountpoint", "Where it is mounted"),
        shown("top-level", Kind::Text, "Top level"),
        shown("fullname", Kind::Text, "Fullname"),
        shown("uuid", Kind::Text, "UUID"),
        shown("received-uuid", Kind::Text, "Received UUID"),
        shown("creation-time", Kind::Text, "Creation time"),
        shown("subvolume-id", COUNT, "Subvolume identifier"),
        shown("generation", COUNT, "Generation"),
        shown("send-trans-id", COUNT, "Send trans identifier"),
        shown("send-time", Kind::Text, "Send time"),
        shown("recv-trans-id", COUNT, "Recv trans identifier"),
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
        shown("bytes", COUNT, "Bytes"),
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
        switch("auto-smb-sharing", "no", "Shares disks by SMB"),
        Property::new("auto-smb-user", Kind::Text, "Who may use shared disks").default("guest"),
        switch("auto-media-sharing", "no", "Serves media of disks"),
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
