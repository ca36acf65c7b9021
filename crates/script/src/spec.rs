//! The parameters of menu commands and built-in commands.

use menu::{Argument, Kind, Menu, MenuShape, Property};

use crate::builtin::{ArgumentKind, Builtin};

/// A parameter of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) takes: ArgumentKind,
    pub(crate) unnamed: bool,
    pub(crate) required: bool,
    pub(crate) property: Option<&'static Property>,
    /// The declaration of the argument in the menu's command.
    pub(crate) argument: Option<&'static Argument>,
    /// The menu whose items or properties the values name. For a property: its own menu.
    pub(crate) names: Option<&'static Menu>,
    /// True for parameters of older versions, which are accepted but not offered.
    pub(crate) older: bool,
    pub(crate) help: &'static str,
}

impl Parameter {
    const fn new(
        name: &'static str,
        takes: ArgumentKind,
        unnamed: bool,
        help: &'static str,
    ) -> Self {
        Self {
            name,
            takes,
            unnamed,
            required: false,
            property: None,
            argument: None,
            names: None,
            older: false,
            help,
        }
    }

    /// The value type, if a menu declares it.
    pub(crate) fn kind(&self) -> Option<&'static Kind> {
        let argument = self.argument.map(|argument| &argument.kind);
        self.property.map(|property| &property.kind).or(argument)
    }

    const fn required(mut self) -> Self {
        self.required = true;
        self
    }
}

const NUMBERS: Parameter =
    Parameter::new("numbers", ArgumentKind::Value, true, "List of item numbers").required();

/// The flags of `print`.
const PRINT: [&str; 17] = [
    "as-value",
    "append",
    "brief",
    "comments",
    "count-only",
    "detail",
    "follow",
    "follow-only",
    "once",
    "show-ids",
    "stats",
    "stats-detail",
    "terse",
    "timestamp",
    "value-list",
    "without-paging",
    "with-extra-info",
];

/// The arguments of `print` with a value.
const PRINT_VALUES: [&str; 6] = [
    "file", "from", "group-by", "interval", "order-by", "proplist",
];

/// Returns the parameters of a menu command as RouterOS's parser knows them: repeating commands also take
/// output options, most others `as-value`.
pub(crate) fn of_menu_exactly(menu: &'static Menu, command: &str) -> Vec<Parameter> {
    let mut parameters = of_menu(menu, command);
    if menu.commands.iter().all(|own| own.name != command) {
        return parameters;
    }
    let more = if is_shown(menu, command) {
        SHOWN
    } else {
        &SHOWN[..1]
    };
    for (name, takes) in more {
        if parameters.iter().all(|parameter| parameter.name != *name) {
            parameters.push(Parameter::new(name, *takes, false, "Output format"));
        }
    }
    parameters
}

/// True if a menu command runs until it is stopped.
pub(crate) fn repeats(menu: &Menu, command: &str) -> bool {
    let mut own = menu.commands.iter().filter(|own| own.name == command);
    own.any(|own| own.repeats)
}

/// True if a menu command declares an argument.
pub(crate) fn declares(menu: &Menu, command: &str, argument: &str) -> bool {
    let mut own = menu.commands.iter().filter(|own| own.name == command);
    own.any(|own| own.arguments.iter().any(|own| own.name == argument))
}

/// True if a menu command takes output options: repeating commands and commands that show their progress.
fn is_shown(menu: &Menu, command: &str) -> bool {
    let mut own = menu.commands.iter().filter(|own| own.name == command);
    own.any(|own| own.arguments.iter().any(|argument| argument.name == "once"))
}

/// Returns the parameters of a menu command in the console. Repeating commands also take output options such as
/// interval and duration.
pub(crate) fn of_menu_shown(menu: &'static Menu, command: &str) -> Vec<Parameter> {
    let mut parameters = of_menu(menu, command);
    if menu.commands.iter().all(|own| own.name != command) {
        return parameters;
    }
    let shown = is_shown(menu, command);
    for (name, takes) in SHOWN {
        let told = match *name {
            // Every command has an answer that it may return as a value.
            "as-value" => true,
            // Progress output has no pages.
            "append" | "file" | "freeze-frame-interval" => shown && repeats(menu, command),
            _ => shown,
        };
        if told && parameters.iter().all(|parameter| parameter.name != *name) {
            parameters.push(Parameter::new(name, *takes, false, "Output format"));
        }
    }
    parameters
}

/// Output options of repeating commands.
const SHOWN: &[(&str, ArgumentKind)] = &[
    ("as-value", ArgumentKind::Flag),
    ("append", ArgumentKind::Flag),
    ("do", ArgumentKind::Code),
    ("duration", ArgumentKind::Span),
    ("file", ArgumentKind::Text),
    ("freeze-frame-interval", ArgumentKind::Span),
    ("interval", ArgumentKind::Span),
    ("proplist", ArgumentKind::Text),
    ("without-paging", ArgumentKind::Flag),
];

/// Returns the parameters of a menu command.
pub(crate) fn of_menu(menu: &'static Menu, command: &str) -> Vec<Parameter> {
    let mut parameters = of_any_menu(menu, command);
    let named = [
        "destination",
        "group-by",
        "number",
        "numbers",
        "order-by",
        "proplist",
        "value-name",
    ];
    for parameter in &mut parameters {
        if named.contains(&parameter.name) {
            parameter.names = Some(menu);
        }
    }
    parameters
}

/// The parameter that names a property.
const VALUE_NAME: Parameter = Parameter::new(
    "value-name",
    ArgumentKind::Value,
    true,
    "Name of the property",
);

fn of_any_menu(menu: &'static Menu, command: &str) -> Vec<Parameter> {
    if let Some(own) = menu.commands.iter().find(|own| own.name == command) {
        return own.arguments.iter().map(own_argument).collect();
    }
    let items = menu.has_rows();
    let numbers = items.then_some(NUMBERS).into_iter();
    match command {
        "add" => settable(menu).chain(extras(menu)).collect(),
        "set" => numbers.chain(settable(menu)).collect(),
        "print" => print(menu),
        "get" => {
            let number = Parameter {
                name: "number",
                ..NUMBERS
            };
            let texts = ["as-string", "as-string-value"];
            let texts =
                texts.map(|name| Parameter::new(name, ArgumentKind::Flag, false, "As text"));
            let number = items.then_some(number).into_iter();
            number.chain([VALUE_NAME]).chain(texts).collect()
        }
        crate::edit::NAME => {
            let number = Parameter {
                name: "number",
                ..NUMBERS
            };
            let number = items.then_some(number).into_iter();
            number.chain([VALUE_NAME.required()]).collect()
        }
        "unset" | "reset" => numbers.chain([VALUE_NAME.required()]).collect(),
        "comment" => {
            let text = Parameter::new("comment", ArgumentKind::Value, false, "Text of the comment");
            numbers.chain([text]).collect()
        }
        "move" => {
            let to = Parameter::new(
                "destination",
                ArgumentKind::Value,
                true,
                "Item before which the items are moved",
            );
            numbers.chain([to]).collect()
        }
        "export" => {
            let condition =
                Parameter::new("where", ArgumentKind::Value, false, "Condition for items");
            let condition = items.then_some(condition).into_iter();
            export().into_iter().chain(condition).collect()
        }
        _ => numbers.collect(),
    }
}

/// Returns the parameters of `export`, for a menu or a folder.
pub(crate) fn export() -> Vec<Parameter> {
    let flags = [
        "compact",
        "hide-sensitive",
        "show-sensitive",
        "terse",
        "verbose",
    ];
    let flags = flags.map(|name| {
        Parameter::new(
            name,
            ArgumentKind::Flag,
            false,
            "Level of detail of the export",
        )
    });
    let values = [
        ("file", "File for the export"),
        ("path", "Menus to export; ! excludes a menu"),
    ];
    let values = values.map(|(name, help)| Parameter::new(name, ArgumentKind::Value, false, help));
    flags.into_iter().chain(values).collect()
}

/// Returns the parameters of a built-in command.
pub(crate) fn of_builtin(builtin: &'static Builtin) -> Vec<Parameter> {
    let convert = |p: &'static crate::builtin::Parameter| Parameter {
        name: p.name,
        takes: p.takes,
        unnamed: p.unnamed,
        required: p.required,
        property: None,
        argument: None,
        names: None,
        older: false,
        help: "",
    };
    builtin.parameters.iter().map(convert).collect()
}

/// Returns the parameter for a property of a menu.
pub(crate) const fn of_property(menu: &'static Menu, property: &'static Property) -> Parameter {
    Parameter {
        required: property.required,
        property: Some(property),
        names: Some(menu),
        ..Parameter::new(property.name, ArgumentKind::Value, false, property.help)
    }
}

/// The parameters for writable properties, and for property names of older versions.
fn settable(menu: &'static Menu) -> impl Iterator<Item = Parameter> {
    let own = menu
        .properties()
        .filter(|property| !property.read_only)
        .map(move |property| of_property(menu, property));
    let old = menu.old.iter().filter(|old| {
        menu.property(old.name)
            .is_none_or(|property| property.read_only)
    });
    let old = old.map(|old| old.name);
    let split = menu.splits.iter().flat_map(|split| split.words);
    let split = split.map(|(word, _)| *word);
    let split = split.filter(|word| menu.property(word).is_none());
    own.chain(old.chain(split).map(|name| Parameter {
        older: true,
        ..Parameter::new(
            name,
            ArgumentKind::Value,
            false,
            "Property of an older version",
        )
    }))
}

fn extras(menu: &'static Menu) -> impl Iterator<Item = Parameter> {
    let copy = Parameter::new(
        "copy-from",
        ArgumentKind::Value,
        false,
        "Item from which values are copied",
    );
    let place = Parameter::new(
        "place-before",
        ArgumentKind::Value,
        false,
        "Item before which the new item is added",
    );
    let place = (menu.shape == MenuShape::Ordered).then_some(place);
    std::iter::once(copy).chain(place)
}

fn print(menu: &'static Menu) -> Vec<Parameter> {
    if !menu.has_rows() {
        let flags = ["as-value", "comments", "without-paging"];
        let flags =
            flags.map(|name| Parameter::new(name, ArgumentKind::Flag, false, "Output format"));
        let values = ["file", "interval", "proplist"];
        let values = values.map(|name| {
            Parameter::new(name, ArgumentKind::Value, false, "Selection of the output")
        });
        return flags.into_iter().chain(values).collect();
    }
    let flags = PRINT.map(|name| Parameter::new(name, ArgumentKind::Flag, false, "Output format"));
    let values = PRINT_VALUES
        .map(|name| Parameter::new(name, ArgumentKind::Value, false, "Selection of the output"));
    let condition = Parameter::new("where", ArgumentKind::Value, false, "Condition for rows");
    let event = Parameter::new(
        "on-event",
        ArgumentKind::Code,
        false,
        "Code to run for each row",
    );
    let last = [event, condition];
    let own = if is_of_rules(menu) {
        rules()
    } else {
        Vec::new()
    };
    let all = flags.into_iter().chain(values).chain(last);
    all.chain(own).collect()
}

/// True for tables of firewall rules.
pub(crate) const fn is_of_rules(menu: &Menu) -> bool {
    menu.dynamic_first
}

/// The additional parameters of `print` for firewall rules.
fn rules() -> Vec<Parameter> {
    let flags = [
        ("all", "All rules"),
        ("dynamic", "Dynamic rules only"),
        ("static", "Static rules only"),
    ];
    let flags = flags.map(|(name, help)| Parameter::new(name, ArgumentKind::Flag, false, help));
    let chain = Parameter::new(
        "chain",
        ArgumentKind::Value,
        false,
        "Rules of this chain only",
    );
    flags.into_iter().chain([chain]).collect()
}

fn own_argument(argument: &'static Argument) -> Parameter {
    Parameter {
        name: argument.name,
        takes: match argument.kind {
            Kind::Presence => ArgumentKind::Flag,
            // RouterOS: an argument named `do` is always code.
            _ if argument.name == "do" => ArgumentKind::Code,
            _ => ArgumentKind::Value,
        },
        unnamed: argument.required
            || argument.unnamed
            || matches!(argument.name, "numbers" | "number" | "prompt" | "url"),
        required: argument.required,
        property: None,
        argument: Some(argument),
        names: None,
        older: false,
        help: argument.help,
    }
}
