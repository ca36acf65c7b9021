//! Built-in commands other than control flow. Some are parsed but not implemented: a script with such a command
//! runs until it reaches the command, which is refused.

use crate::builtin::{
    ArgumentKind, Builtin, Parameter, REVISION, VALUE, builtin, maybe, named, parameter, value,
};

const fn flag(name: &'static str) -> Parameter {
    parameter(name, ArgumentKind::Flag, false, false)
}

const fn text(name: &'static str) -> Parameter {
    parameter(name, ArgumentKind::Text, false, false)
}

const fn first_text(name: &'static str) -> Parameter {
    parameter(name, ArgumentKind::Text, true, true)
}

/// The commands, sorted by name.
pub(crate) static FUNCTIONS: &[Builtin] = &[
    builtin(
        "beep",
        "make a sound",
        &[
            named("frequency"),
            parameter("length", ArgumentKind::Span, false, false),
            flag("as-value"),
        ],
    ),
    builtin(
        "convert",
        "convert a value from one form to another",
        &[
            text("from"),
            named("from-scheme"),
            text("to"),
            named("to-scheme"),
            text("transform"),
            named("transform-scheme"),
            value("value"),
        ],
    ),
    builtin(
        "deserialize",
        "convert text to a value",
        &[
            text("from"),
            text("delimiter"),
            text("options"),
            value("value"),
        ],
    ),
    builtin(
        "execute",
        "run a script in the background",
        &[
            parameter("script", ArgumentKind::Code, true, true),
            flag("as-string"),
            text("file"),
        ],
    ),
    builtin("exit", "leave the script", &[]),
    builtin(
        "grep",
        "find lines in the output of a command",
        &[
            parameter("script", ArgumentKind::Code, true, true),
            text("pattern"),
            text("filename"),
            named("after"),
            named("before"),
            flag("as-array"),
        ],
    ),
    builtin(
        "import",
        "run an exported script from a file",
        &[
            first_text("file-name"),
            named("from-line"),
            flag("verbose"),
            flag("dry-run"),
        ],
    ),
    builtin("jobname", "return name of the running script", &[]),
    builtin(
        "lock",
        "block other users for the duration of a command",
        &[parameter("delay", ArgumentKind::Span, false, false)],
    ),
    builtin("parse", "parse text and return it as code", VALUE),
    builtin(
        "ping",
        "send echo requests",
        &[
            first_text("address"),
            flag("as-value"),
            text("arp-ping"),
            named("count"),
            named("dscp"),
            flag("do-not-fragment"),
            text("interface"),
            parameter("interval", ArgumentKind::Span, false, false),
            text("routing-table"),
            named("size"),
            text("src-address"),
            named("ttl"),
            text("vrf"),
        ],
    )
    .of("/tool"),
    builtin("quit", "leave the console", &[]),
    builtin(
        "range",
        "return a range of numbers",
        &[value("from"), value("to")],
    ),
    builtin("recursive-print", "print all menus below", &[]),
    builtin("redo", "redo the last undone action", REVISION),
    builtin(
        "resolve",
        "perform a DNS lookup of a name",
        &[
            first_text("domain-name"),
            text("server"),
            named("server-port"),
            text("type"),
        ],
    ),
    builtin(
        "rndnum",
        "return a random number",
        &[value("from"), value("to")],
    ),
    builtin(
        "rndstr",
        "return a random text",
        &[maybe("from"), maybe("length")],
    ),
    builtin(
        "serialize",
        "convert a value to text",
        &[
            text("to"),
            text("delimiter"),
            text("file-name"),
            text("options"),
            named("order"),
            value("value"),
        ],
    ),
    builtin(
        "time",
        "measure how long a command takes",
        &[parameter("command", ArgumentKind::Code, true, true)],
    ),
    builtin(
        "timestamp",
        "return the time since the epoch",
        &[flag("use-tz")],
    ),
    builtin(
        "tocrlf",
        "convert line ends to those of DOS",
        &[first_text("input")],
    ),
    builtin(
        "tolf",
        "convert line ends to those of Unix",
        &[first_text("input")],
    ),
    builtin("tonsec", "convert a time to nanoseconds", VALUE),
    builtin("undo", "undo the last action", REVISION),
];

/// Commands that are parsed but not implemented.
const NOT_RUN: &[&str] = &["lock", "recursive-print"];

/// True if a command is parsed but not implemented.
pub(crate) fn is_unimplemented(builtin: &Builtin) -> bool {
    NOT_RUN.contains(&builtin.name)
}
