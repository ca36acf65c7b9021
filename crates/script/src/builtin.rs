//! The built-in commands of the scripting language: names, arguments and help.

/// The kind of value that an argument takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// A value.
    Value,
    /// A value; bare words are strings, whatever their spelling.
    Text,
    /// A duration.
    Span,
    /// A code block in braces.
    Code,
    /// The name of a variable.
    Name,
    /// No value: the bare name is the argument.
    Flag,
}

/// An argument of a built-in command.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The name.
    pub name: &'static str,
    /// The kind of value.
    pub takes: ArgumentKind,
    /// True if the value may stand without the name.
    pub unnamed: bool,
    /// True if the command requires the argument.
    pub required: bool,
}

/// A command of the language.
#[derive(Debug)]
pub struct Builtin {
    /// The name without the colon.
    pub name: &'static str,
    /// One-line help.
    pub help: &'static str,
    /// The arguments.
    pub parameters: &'static [Parameter],
    /// The menu that also has this command, if any. The root then knows the command by its bare name.
    pub of: Option<&'static str>,
}

impl Builtin {
    /// Sets the menu that has this command.
    pub(crate) const fn of(mut self, menu: &'static str) -> Self {
        self.of = Some(menu);
        self
    }
}

pub(crate) const fn parameter(
    name: &'static str,
    takes: ArgumentKind,
    unnamed: bool,
    required: bool,
) -> Parameter {
    Parameter {
        name,
        takes,
        unnamed,
        required,
    }
}

/// A required value that may stand without its name.
pub(crate) const fn value(name: &'static str) -> Parameter {
    parameter(name, ArgumentKind::Value, true, true)
}

/// An optional value that may stand without its name.
pub(crate) const fn maybe(name: &'static str) -> Parameter {
    parameter(name, ArgumentKind::Value, true, false)
}

/// An optional value that requires its name.
pub(crate) const fn named(name: &'static str) -> Parameter {
    parameter(name, ArgumentKind::Value, false, false)
}

/// A flag: `yes`, `no`, or the bare name for `yes`.
const fn bare(name: &'static str) -> Parameter {
    parameter(name, ArgumentKind::Flag, false, false)
}

const fn code(name: &'static str, required: bool) -> Parameter {
    parameter(name, ArgumentKind::Code, false, required)
}

pub(crate) const VALUE: &[Parameter] = &[value("value")];
const VARIABLE: Parameter = parameter("name", ArgumentKind::Name, true, true);
/// The revision that `undo` or `redo` must reach. If another revision is next, the command is refused.
pub(crate) const REVISION: &[Parameter] = &[named("revision")];
const MESSAGE: &[Parameter] = &[value("message")];

pub(crate) const fn builtin(
    name: &'static str,
    help: &'static str,
    parameters: &'static [Parameter],
) -> Builtin {
    Builtin {
        name,
        help,
        parameters,
        of: None,
    }
}

/// All built-in commands, sorted by name.
pub static ALL: &[Builtin] = &[
    builtin("break", "end the loop", &[]),
    builtin(
        "continue",
        "continue with the next iteration of the loop",
        &[],
    ),
    builtin(
        "delay",
        "does nothing for a while",
        &[parameter("delay-time", ArgumentKind::Span, true, true)],
    ),
    builtin(
        "do",
        "executes command",
        &[
            parameter("command", ArgumentKind::Code, true, true),
            parameter("while", ArgumentKind::Value, false, false),
            code("on-error", false),
        ],
    ),
    builtin("error", "stop the script with an error", MESSAGE),
    builtin(
        "find",
        "locates value in string or array",
        &[value("in"), value("key"), maybe("from")],
    ),
    builtin(
        "for",
        "executes command for a range of integer values",
        &[
            parameter("counter", ArgumentKind::Name, true, true),
            parameter("from", ArgumentKind::Value, true, true),
            parameter("to", ArgumentKind::Value, true, true),
            named("step"),
            parameter("do", ArgumentKind::Code, true, true),
            code("on-error", false),
        ],
    ),
    builtin(
        "foreach",
        "executes command for every element in a list",
        &[
            parameter("counter", ArgumentKind::Name, true, true),
            parameter("in", ArgumentKind::Value, true, true),
            parameter("do", ArgumentKind::Code, true, true),
            code("on-error", false),
        ],
    ),
    builtin(
        "global",
        "set value for global variable",
        &[VARIABLE, maybe("value"), code("do", false)],
    ),
    builtin(
        "if",
        "executes given command if condition is true",
        &[
            parameter("condition", ArgumentKind::Value, true, true),
            parameter("do", ArgumentKind::Code, true, false),
            parameter("else", ArgumentKind::Code, false, false),
        ],
    ),
    builtin(
        "import",
        "run an exported script from a file",
        &[
            parameter("file-name", ArgumentKind::Text, true, false),
            parameter("file", ArgumentKind::Text, false, false),
            named("from-line"),
            bare("verbose"),
            bare("dry-run"),
            bare("atomic"),
        ],
    ),
    builtin("len", "return number of elements in value", VALUE),
    builtin(
        "local",
        "set value for local variable",
        &[VARIABLE, maybe("value"), code("do", false)],
    ),
    builtin("nothing", "do nothing and return nothing", &[]),
    builtin(
        "onerror",
        "executes command and handles its error",
        &[
            parameter("error", ArgumentKind::Name, true, true),
            parameter("in", ArgumentKind::Code, true, true),
            parameter("do", ArgumentKind::Code, true, true),
        ],
    ),
    builtin(
        "password",
        "change password",
        &[
            parameter("old-password", ArgumentKind::Text, true, true),
            parameter("new-password", ArgumentKind::Text, true, true),
            parameter("confirm-new-password", ArgumentKind::Text, true, true),
        ],
    ),
    builtin(
        "pick",
        "return range of string characters or array values",
        &[value("counter"), value("begin"), maybe("end")],
    ),
    builtin("put", "prints argument on the screen", MESSAGE),
    builtin("redo", "redo the last undone action", REVISION),
    builtin(
        "retry",
        "executes command until it has no error",
        &[
            parameter("command", ArgumentKind::Code, true, true),
            parameter("delay", ArgumentKind::Span, false, false),
            named("max"),
            code("on-error", false),
        ],
    ),
    builtin("return", "return value from function", VALUE),
    builtin(
        "set",
        "set value of a variable",
        &[VARIABLE, maybe("value"), code("do", false)],
    ),
    builtin(
        "toarray",
        "convert argument to array value",
        &[
            value("value"),
            parameter("delimiter", ArgumentKind::Text, false, false),
        ],
    ),
    builtin("tobool", "convert argument to truth value", VALUE),
    builtin("toid", "convert argument to internal number value", VALUE),
    builtin("toip", "convert argument to IP address value", VALUE),
    builtin("toip6", "convert argument to IPv6 address value", VALUE),
    builtin("tonum", "convert argument to integer number value", VALUE),
    builtin("tostr", "convert argument to string value", VALUE),
    builtin("totime", "convert argument to time interval value", VALUE),
    builtin("typeof", "return type of value", VALUE),
    builtin("undo", "undo the last action", REVISION),
    builtin(
        "while",
        "executes command while condition is true",
        &[
            parameter("condition", ArgumentKind::Value, true, true),
            parameter("do", ArgumentKind::Code, true, true),
        ],
    ),
];

/// Commands that wait or contact other hosts. A file with such a command is not imported as one transaction.
pub(crate) const WAITING: &[&str] = &["delay", "while", "retry", "execute", "fetch", "resolve"];

/// The commands that completion offers: implemented ones, without duplicates, sorted by name.
pub fn offered() -> impl Iterator<Item = &'static Builtin> {
    let known = crate::builtin_functions::FUNCTIONS.iter();
    let known = known.filter(|builtin| !crate::builtin_functions::is_unimplemented(builtin));
    let mut all: Vec<_> = ALL.iter().chain(known).collect();
    all.sort_by_key(|builtin| builtin.name);
    all.dedup_by_key(|builtin| builtin.name);
    all.into_iter()
}

/// Returns the command with this name or with this unique prefix.
pub fn find(word: &str) -> Option<&'static Builtin> {
    let all = || ALL.iter().chain(crate::builtin_functions::FUNCTIONS);
    if let Some(exact) = all().find(|builtin| builtin.name == word) {
        return Some(exact);
    }
    let mut matches = all().filter(|builtin| builtin.name.starts_with(word));
    let first = matches.next().filter(|_| !word.is_empty())?;
    // A command that is implemented may still stand in the list of commands that are only accepted.
    matches
        .all(|other| other.name == first.name)
        .then_some(first)
}

/// True if the name of any command begins with `word`.
pub(crate) fn begins(word: &str) -> bool {
    let mut all = ALL.iter().chain(crate::builtin_functions::FUNCTIONS);
    all.any(|builtin| builtin.name.starts_with(word))
}
