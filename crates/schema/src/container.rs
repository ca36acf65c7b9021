//! `/container`: containers.

use menu::{Effect, Family, Flag, Kind, Menu, MenuShape, OldProperty, Property, Spelling};

use crate::declare::{
    AS_VALUE, FILE, NUMBER, NUMBERS, U32, argument, between, idle_command, no, shown, text,
};
use crate::fragment::{COMMENT, COMMENT_DISABLED};

const SIZE: Kind = Kind::Or(
    &["unlimited"],
    &Kind::Number {
        min: 0,
        max: i64::MAX,
    },
);
/// Command line words.
const WORDS: Kind = Kind::Text;
const SIGNALS: Kind = Kind::Spelled(&Spelling {
    describe: "N-SIGNAME    (signal)",
    canonical: |text| {
        let number = text
            .split('-')
            .next()
            .and_then(|number| number.parse::<u8>().ok())?;
        (1..=64).contains(&number).then(|| text.to_owned())
    },
});

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        text("file", "File of the image"),
        text("remote-image", "Image to download from the registry"),
        no("check-certificate", "Check certificate"),
        text("name", "Name of the container"),
        Property::new(
            "interface",
            Kind::List(&Kind::Reference("interface")),
            "Interfaces of the container",
        )
        .required(),
        Property::new("env", WORDS, "Environment").default(""),
        Property::new(
            "envlists",
            Kind::List(&Kind::Name),
            "Lists of environment variables",
        )
        .default(""),
        Property::new("entrypoint", WORDS, "Program to run").default(""),
        Property::new("cmd", WORDS, "Arguments of the program").default(""),
        Property::new("shell", WORDS, "Shell").default(""),
        Property::new("stop-signal", SIGNALS, "Stop signal").optional(),
        Property::new("stop-time", Kind::SPAN, "Stop time").default("10s"),
        Property::new("root-dir", Kind::Text, "Root folder").optional(),
        Property::new("layer-dir", Kind::Text, "Folder of shared layers").optional(),
        Property::new("mount", WORDS, "Mount").default(""),
        Property::new("tmpfs", WORDS, "Tmpfs").default(""),
        Property::new("mountlists", Kind::List(&Kind::Name), "Mount lists").default(""),
        Property::new("shm-size", SIZE, "Size of the shared memory").optional(),
        Property::new(
            "dns",
            Kind::List(&Kind::Address(Family::Any)),
            "DNS servers",
        )
        .default(""),
        Property::new(
            "default-dns",
            Kind::List(&Kind::Address(Family::Any)),
            "Default DNS",
        )
        .optional(),
        text("hostname", "Hostname"),
        text("domain-name", "Domain name"),
        text("workdir", "Working folder"),
        no("logging", "Write output to the log"),
        no(
            "start-on-boot",
            "Start the container when the router starts",
        ),
        no(
            "stop-on-unhealthy",
            "Stop the container when it is unhealthy",
        ),
        Property::new(
            "restart-policy",
            Kind::Words(&["no", "on-failure", "always"]),
            "Restart policy",
        )
        .default("no"),
        Property::new("restart-max-count", U32, "Maximum number of restarts").default("0"),
        Property::new("restart-interval", Kind::SPAN, "Restart interval").default("0s"),
        text("user", "User that runs the container"),
        Property::new(
            "cpu-list",
            Kind::List(&between(0, 255)),
            "Allowed processors",
        )
        .default(""),
        Property::new("memory-high", SIZE, "Memory limit for throttling").default("unlimited"),
        Property::new("memory-max", SIZE, "Maximum memory").default("unlimited"),
        Property::new("devices", WORDS, "Devices").default(""),
        Property::new("hosts", WORDS, "Hosts").default(""),
        Property::new("healthcheck-cmd", WORDS, "Healthcheck command").optional(),
        Property::new("healthcheck-interval", Kind::SPAN, "Healthcheck interval").optional(),
        Property::new("healthcheck-timeout", Kind::SPAN, "Healthcheck timeout").optional(),
        Property::new(
            "healthcheck-start-period",
            Kind::SPAN,
            "Healthcheck start period",
        )
        .optional(),
        Property::new(
            "healthcheck-start-interval",
            Kind::SPAN,
            "Healthcheck start interval",
        )
        .optional(),
        Property::new("healthcheck-retries", U32, "Healthcheck retries").optional(),
        Property::new("healthcheck-status", Kind::Text, "Healthcheck status").optional(),
        no("ignore-remote-image-change", "Ignore remote image change"),
        no("privileged", "Privileged"),
        Property::new("swap-max", SIZE, "Maximum swap space").optional(),
        shown("tag", Kind::Text, "Tag"),
        shown("os", Kind::Text, "Os"),
        shown("arch", Kind::Text, "Arch"),
        shown("env-current", Kind::Text, "Current environment variables"),
        shown("default-entrypoint", Kind::Text, "Default entrypoint"),
        shown("default-cmd", Kind::Text, "Default command"),
        shown("default-shell", Kind::Text, "Default shell"),
        shown("default-stop-signal", Kind::Text, "Default stop signal"),
        shown("default-workdir", Kind::Text, "Default workdir"),
        shown("restart-count", U32, "Restart count"),
        shown("default-user", Kind::Text, "Default user"),
        shown("memory-current", U32, "Memory in use"),
        shown("cpu-usage", U32, "CPU usage"),
        shown("container-size", U32, "Container size"),
        shown("data-size", U32, "Data size"),
        shown("image-id", Kind::Text, "Image identifier"),
        shown("config-json", Kind::Text, "Configuration in JSON"),
        shown("layers", Kind::Text, "Layers"),
        shown(
            "default-healthcheck-cmd",
            Kind::List(&Kind::Text),
            "Default healthcheck command",
        ),
        shown(
            "default-healthcheck-interval",
            Kind::SPAN,
            "Default healthcheck interval",
        ),
        shown(
            "default-healthcheck-timeout",
            Kind::SPAN,
            "Default healthcheck timeout",
        ),
        shown(
            "default-healthcheck-start-period",
            Kind::SPAN,
            "Default healthcheck start period",
        ),
        shown(
            "default-healthcheck-start-interval",
            Kind::SPAN,
            "Default healthcheck start interval",
        ),
        shown(
            "default-healthcheck-retries",
            U32,
            "Default healthcheck retries",
        ),
        COMMENT,
    ]],
    flags: &[
        Flag::new('S', "stopped", 0),
        Flag::new('N', "starting", 1),
        Flag::new('R', "running", 1),
        Flag::new('T', "stopping", 1),
        Flag::new('E', "downloading/extracting", 1),
        Flag::new('D', "deleting", 0),
        Flag::new('F', "download/extract failed", 1),
        Flag::new('C', "starting-with-healthcheck", 1),
        Flag::new('H', "healthy", 1),
        Flag::new('U', "unhealthy", 1),
    ],
    columns: &["name", "interface", "root-dir"],
    commands: &[
        idle_command(
            "kill",
            "Send a signal",
            &[AS_VALUE, NUMBER, argument("signal", SIGNALS, "Signal")],
        ),
        idle_command(
            "repull",
            "Download the image again",
            &[
                AS_VALUE,
                argument("file", Kind::Text, "File"),
                NUMBER,
                argument("remote-image", Kind::Text, "Remote image"),
            ],
        ),
        idle_command("restart", "Stop and start again", &[AS_VALUE, NUMBER]),
        idle_command(
            "run",
            "Run a program",
            &[
                AS_VALUE,
                argument("cmd", WORDS, "Command"),
                argument("detach", Kind::Bool, "Detach"),
                argument("entrypoint", WORDS, "Entrypoint"),
                argument("interactive", Kind::Bool, "Interactive"),
                argument("line-separator", Kind::Text, "Line separator"),
                NUMBER,
                argument("tty", Kind::Bool, "Tty"),
                argument("user", Kind::Text, "User"),
                argument("workdir", Kind::Text, "Workdir"),
            ],
        ),
        idle_command(
            "save",
            "Write the image to a file",
            &[
                argument("commit", Kind::Bool, "Commit"),
                FILE,
                argument("name", Kind::Text, "Name"),
                NUMBER,
            ],
        ),
        idle_command(
            "shell",
            "Open a shell",
            &[
                AS_VALUE,
                argument("cmd", WORDS, "Command"),
                argument("line-separator", Kind::Text, "Line separator"),
                argument("no-sh", Kind::Presence, "Run the command without a shell"),
                NUMBER,
                argument("timeout", Kind::SPAN, "Timeout"),
                argument("user", Kind::Text, "User"),
                argument("workdir", Kind::Text, "Workdir"),
            ],
        ),
        idle_command("start", "Start containers", &[NUMBERS]),
        idle_command("stop", "Stop containers", &[NUMBERS]),
        idle_command("update", "Download a newer image", &[AS_VALUE, NUMBER]),
    ],
    old: &[
        OldProperty::renamed("mounts", "mountlists"),
        OldProperty::renamed("auto-restart-interval", "restart-interval"),
    ],
    effect: Effect::None,
    ..Menu::new("/container", MenuShape::List, "Containers")
};

pub(crate) static CONFIG: Menu = Menu {
    properties: &[&[
        text("registry-url", "Image registry"),
        text("username", "User name for the registry"),
        text("password", "Password for the registry").sensitive(),
        text("layer-dir", "Folder of shared layers"),
        text("tmpdir", "Folder for downloads"),
        Property::new(
            "memory-high",
            SIZE,
            "Memory limit for throttling containers",
        )
        .default("unlimited"),
        Property::new("memory-max", SIZE, "Maximum memory of containers").default("unlimited"),
        Property::new("swap-max", SIZE, "Maximum swap space").default("unlimited"),
        shown("assumed-registry-url", Kind::Text, "Assumed registry URL"),
        shown("memory-current", U32, "Memory in use"),
    ]],
    old: &[OldProperty::renamed("ram-high", "memory-high")],
    effect: Effect::None,
    ..Menu::new(
        "/container/config",
        MenuShape::Settings,
        "Image download settings",
    )
};

pub(crate) static ENVS: Menu = Menu {
    properties: &[
        &[
            Property::new("list", Kind::Name, "Name of the list").required(),
            Property::new("key", Kind::Name, "Name of the variable").required(),
            text("value", "Value of the variable"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 1)],
    columns: &["list", "key", "value"],
    old: &[OldProperty::renamed("name", "list")],
    effect: Effect::None,
    ..Menu::new(
        "/container/envs",
        MenuShape::List,
        "Environment variables of containers",
    )
};

pub(crate) static MOUNTS: Menu = Menu {
    properties: &[
        &[
            Property::new("list", Kind::Name, "Name of the list").required(),
            text("src", "Folder on the router"),
            Property::new("dst", Kind::Name, "Folder in the container").required(),
            Property::new(
                "mode",
                Kind::Words(&["rw", "ro", "rw,noexec", "ro,noexec"]),
                "Mount the folder read-only",
            )
            .default("rw"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 1)],
    columns: &["list", "src", "dst", "mode"],
    old: &[OldProperty::renamed("name", "list")],
    effect: Effect::None,
    ..Menu::new("/container/mounts", MenuShape::List, "Mounts of containers")
};

pub(crate) static LAYERS: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Text, "Name"),
        shown("layer-dir", Kind::Text, "Folder of shared layers"),
        shown("size", Kind::Text, "Size"),
        shown("type", Kind::Words(&["layer", "root-dir"]), "Type"),
        shown("containers", Kind::Text, "Containers"),
    ]],
    columns: &["name", "size", "type"],
    effect: Effect::None,
    ..Menu::new("/container/layers", MenuShape::Rows, "Layers of images")
};

pub(crate) static LOG: Menu = Menu {
    properties: &[&[
        shown("time", Kind::Text, "Time"),
        shown("container", Kind::Text, "Container"),
        shown("message", Kind::Text, "Message"),
    ]],
    columns: &["time", "container", "message"],
    effect: Effect::None,
    ..Menu::new("/container/log", MenuShape::Rows, "Output of containers")
};
