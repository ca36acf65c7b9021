//! Declarations of menus. A declaration is a constant without behaviour except for small pure hooks. Parsing,
//! printing, export, completion, API and reference are derived from it.

mod property;

pub use property::{Property, Shared};

use crate::{Item, Kind, Policies, Reason, Store, Value};

/// Whether a property or command is implemented in ferroute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Implemented as documented by RouterOS.
    Full,
    /// Accepted, checked, stored and exported, without any other effect.
    None,
}

/// A flag letter in front of a printed row. Flags of one group share a column.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// The letter.
    pub letter: char,
    /// Name of the Boolean cell that shows the flag, and its name in the legend.
    pub name: &'static str,
    /// Column of the letter, from 0.
    pub group: u8,
}

impl Flag {
    /// The flag of items that are stored without effect, or without part of their effect.
    pub const NO_EFFECT: Self = Self::new('~', "no-effect", u8::MAX);

    /// Declares a flag.
    pub const fn new(letter: char, name: &'static str, group: u8) -> Self {
        Self {
            letter,
            name,
            group,
        }
    }
}

/// The shape of a menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MenuShape {
    /// A list of items that users add and remove.
    List,
    /// A list of items whose order matters.
    Ordered,
    /// Items that exist by themselves, such as ports. Users can only change them.
    Fixed,
    /// One set of settings.
    Settings,
    /// One set of read-only values.
    Status,
    /// Read-only rows.
    Rows,
    /// A view: the items of all menus that share a name space, with their common properties.
    View,
    /// No items: contains commands and menus only.
    Folder,
}

/// A uniqueness constraint.
#[derive(Clone, Copy, Debug)]
pub struct Unique {
    /// The properties whose combination must be unique.
    pub properties: &'static [&'static str],
    /// The failure message for duplicates, without `failure: `.
    pub failure: &'static str,
}

/// An item that exists by default.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Property values; `.id` sets the item's id, such as `*FFFFFFFE`.
    pub values: &'static [(&'static str, &'static str)],
}

/// How an export refers to a default item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportSelector {
    /// `set [ find name=all ]`: by the key property.
    Find,
    /// `set [ find default=yes ]`: the menu has one default item.
    Default,
    /// `set telnet`: by the key property.
    Name,
    /// `set 0`: by position.
    Number,
    /// `set *FFFFFFFE`: by id.
    Id,
}

/// Declares that a menu has one item for each item of another menu, added and removed together with it.
#[derive(Clone, Copy, Debug)]
pub struct FollowedMenu {
    /// Path of the other menu.
    pub path: &'static str,
    /// Initial values of such an item.
    pub values: &'static [(&'static str, &'static str)],
}

/// An argument of a command that is not a property of the menu.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// The name as typed.
    pub name: &'static str,
    /// The type of the value.
    pub kind: Kind,
    /// One-line help.
    pub help: &'static str,
    /// True if the command requires the argument. Its value may then stand without the name.
    pub required: bool,
    /// True if the value of an optional argument may stand without the name.
    pub unnamed: bool,
}

/// A command in addition to the standard commands of the menu's shape.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// The name as typed.
    pub name: &'static str,
    /// One-line help.
    pub help: &'static str,
    /// The arguments; `numbers` selects items.
    pub arguments: &'static [Argument],
    /// Whether the command is implemented.
    pub effect: Effect,
    /// True if the command runs until it is stopped, like `monitor`. Other commands end by themselves, even if
    /// they accept `once`.
    pub repeats: bool,
}

impl Command {
    /// Declares that the command runs until it is stopped.
    pub const fn repeating(mut self) -> Self {
        self.repeats = true;
        self
    }
}

/// A property of an older RouterOS version, accepted on input.
#[derive(Clone, Copy, Debug)]
pub struct OldProperty {
    /// The name of the property in older versions.
    pub name: &'static str,
    /// If set, the declaration applies to this value only; an empty string stands for no value.
    pub value: Option<&'static str>,
    /// The current property; empty if the feature was removed.
    pub becomes: &'static str,
    /// The value of the current property; `None` keeps the given value. For a removed feature: the refusal text
    /// for values.
    pub with: Option<&'static str>,
    /// If set, an item that the value names is added with these values unless it exists.
    pub makes: Option<&'static [(&'static str, &'static str)]>,
}

impl OldProperty {
    /// Declares a renamed property.
    pub const fn renamed(name: &'static str, becomes: &'static str) -> Self {
        Self {
            name,
            value: None,
            becomes,
            with: None,
            makes: None,
        }
    }

    /// Declares a property that never had a value in exports of older versions: a verbose export contains it as
    /// unset. Other values are refused rather than dropped.
    pub const fn never(name: &'static str) -> Self {
        Self {
            value: Some(""),
            ..Self::gone(name)
        }
    }

    /// Declares a property that ferroute does not allow to set; values are refused with this text.
    pub const fn refused(name: &'static str, why: &'static str) -> Self {
        Self {
            with: Some(why),
            ..Self::gone(name)
        }
    }

    /// Declares a removed property whose values are ignored.
    pub const fn gone(name: &'static str) -> Self {
        Self::renamed(name, "")
    }
}

/// Properties of older versions that moved to an item of another menu. An `add` command with such a property
/// also adds the other item.
#[derive(Clone, Copy, Debug)]
pub struct MovedProperties {
    /// Path of the other menu.
    pub menu: &'static str,
    /// The old properties, each with the property of the other menu that receives the value.
    pub words: &'static [(&'static str, &'static str)],
    /// Renamed values: property, old value, new value.
    pub values: &'static [(&'static str, &'static str, &'static str)],
    /// How the two items refer to each other.
    pub link: Link,
}

/// How two items that replace one item of an older version refer to each other.
#[derive(Clone, Copy, Debug)]
pub enum Link {
    /// A property of the item names the other item, whose name consists of these letters and a number.
    Names(&'static str, &'static str),
    /// A property of the other item names the item.
    NamedBy(&'static str),
}

/// Values of older versions that no longer exist. Commands with such a value are refused with a reason.
#[derive(Clone, Copy, Debug)]
pub struct RemovedValues {
    /// The properties with such values.
    pub words: &'static [&'static str],
    /// The values, alone or as list elements.
    pub values: &'static [&'static str],
    /// The reason for the refusal.
    pub why: &'static str,
}

/// Converts items of an older version in a store. Called after the import of a file that may have added such
/// items.
pub type Upgrade = fn(&mut Store) -> Result<(), Reason>;

/// Checks the values of an item against each other and the store.
pub type Check = fn(&Draft<'_>, &Store) -> Result<(), Reason>;

/// Checks all items of a menu together.
pub type Guard = fn(&Store) -> Result<(), Reason>;

/// The declaration of a menu. Build it from [`Menu::new`] with struct update syntax.
pub struct Menu {
    /// The path, such as `/ip/address`.
    pub path: &'static str,
    /// The content of the menu, in one sentence.
    pub help: &'static str,
    /// The shape.
    pub shape: MenuShape,
    /// The properties in the order of `print detail`, in fragments that menus share.
    pub properties: &'static [&'static [Property]],
    /// Internal values that only the router writes and that are never shown ([`Property::kept`]), such as
    /// private keys. An item with internal values cannot be added by a command, so exports leave it out and
    /// imports do not remove it.
    pub kept: &'static [Property],
    /// Properties that cannot change once the item has internal values.
    pub settled: &'static [&'static str],
    /// The flags in the order of the legend.
    pub flags: &'static [Flag],
    /// The columns of `print brief`. Columns that are empty in all rows are left out.
    pub columns: &'static [&'static str],
    /// The columns of `print stats`.
    pub stats: &'static [&'static str],
    /// The names that conditions may use, in order. If empty: the properties, then the flags.
    pub conditions: &'static [&'static str],
    /// The name space of the items' `key`; for a view, the name space it shows.
    pub space: Option<&'static str>,
    /// The property that holds the item's name.
    pub key: Option<&'static str>,
    /// The value of `type` for the menu's items in a view.
    pub kind: &'static str,
    /// Prefix of generated names for items without a name; `kind` if empty.
    pub naming: &'static str,
    /// Name prefixes of the ports in this menu, each with its `type`.
    pub ports: &'static [(&'static str, &'static str)],
    /// Uniqueness constraints on all items.
    pub unique: &'static [Unique],
    /// Uniqueness constraints on enabled items. An unset property counts as a value, except the first property:
    /// items without it, or whose value names another item, are not checked.
    pub distinct: &'static [Unique],
    /// True if an item must not equal a dynamic row in the properties of `distinct`.
    pub clashes_with_rows: bool,
    /// The properties by which rows are sorted; if empty, rows are in order of creation.
    pub sort: &'static [&'static str],
    /// Properties that are filled in when an item is added: creator, time, keys.
    pub filled: &'static [(&'static str, AutoValue)],
    /// Items that exist by default.
    pub builtin: &'static [Builtin],
    /// How an export refers to default items.
    pub pick: ExportSelector,
    /// Items that existed by default in older versions. Such an item is added when a command names it.
    pub supposed: &'static [Builtin],
    /// Maximum number of hardware parts in this menu. The hardware defines which parts exist; an import also
    /// adds parts that a configuration names by number or name.
    pub parts: usize,
    /// The menus whose items each have an item in this menu, with that item's name as the key.
    pub follows: &'static [FollowedMenu],
    /// Commands in addition to the standard commands of the shape.
    pub commands: &'static [Command],
    /// Properties of older versions.
    pub old: &'static [OldProperty],
    /// Properties of older versions that moved to other menus.
    pub splits: &'static [MovedProperties],
    /// Values of older versions that no longer exist.
    pub lost: &'static [RemovedValues],
    /// Converts items of older versions at the end of an import.
    pub upgrade: Option<Upgrade>,
    /// Paths of the menu in older versions.
    pub old_paths: &'static [&'static str],
    /// Whether items of the menu have an effect. Single properties or commands may still have none.
    pub effect: Effect,
    /// For settings without effect: property and value that switch the feature off. Such settings are not
    /// reported as without effect.
    pub off: Option<(&'static str, &'static str)>,
    /// Returns the missing feature, in users' words, of an item without effect in a menu with effect.
    pub idle: Option<fn(&Item) -> Option<&'static str>>,
    /// For items that group others, such as interface lists: the menu of the members, and the property that
    /// includes other groups. A group has an effect if a member has one.
    pub gathers: Option<(&'static str, &'static str)>,
    /// For interface addresses: the property with the address and the property with the interface that connects
    /// its network.
    pub networks: Option<(&'static str, &'static str)>,
    /// True if rows disappear by themselves. RouterOS: `get` of a row that has disappeared returns nothing and
    /// raises no error.
    pub passes: bool,
    /// True if `print` numbers only configured items, not dynamic rows.
    pub unnumbered_dynamic: bool,
    /// True if dynamic rows precede configured items.
    pub dynamic_first: bool,
    /// Returns true for a temporary item, which is not exported.
    pub passing: Option<fn(&Item) -> bool>,
    /// True if `print` shows each row as one line of its columns, without a heading.
    pub lines: bool,
    /// Checks all items of the menu together at the end of a transaction.
    pub guard: Option<Guard>,
    /// The policies that changing items requires in addition to `write`.
    pub policies: Policies,
    /// The policies of single commands, where they do not follow from the command name.
    pub command_policies: &'static [(&'static str, Policies)],
    /// True if default items can be removed.
    pub removable: bool,
    /// `print` of settings shows nothing unless one of these properties is set. Empty: settings are always
    /// shown.
    pub shown_with: &'static [&'static str],
    /// True if the console prints the menu when the user enters it.
    pub prints_itself: bool,
    /// True if the console hides the menu; its items appear in a view only.
    pub hidden: bool,
    /// True for menus that only exist to read configurations of older versions or of hardware that ferroute
    /// does not support. Completion does not offer them, and the API hides them.
    pub older: bool,
    /// Returns true if a property is meaningless for an item in its current state; it is then not shown.
    pub moot: Option<fn(&Item, &str) -> bool>,
    /// Fills in values that follow from the given ones.
    pub derive: Option<fn(&mut Draft<'_>)>,
    /// Checks the combination of values.
    pub check: Option<Check>,
}

/// The initial value of a property that a command does not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutoValue {
    /// The current date: `2026-11-22`.
    Date,
    /// The current time of day: `03:30:00`.
    Time,
    /// The name of the user who adds the item.
    User,
    /// 32 random bytes in base64.
    Key,
    /// 32 random bytes in base64, where the value `auto` is given.
    KeyIfAuto,
    /// A random MAC address beginning with `FE` (RouterOS: EoIP tunnels).
    TunnelMac,
}

impl Menu {
    /// Creates an empty menu of a shape, as a base for struct update syntax.
    pub const fn new(path: &'static str, shape: MenuShape, help: &'static str) -> Self {
        Self {
            path,
            help,
            shape,
            properties: &[],
            kept: &[],
            settled: &[],
            flags: &[],
            columns: &[],
            stats: &[],
            conditions: &[],
            space: None,
            key: None,
            kind: "",
            naming: "",
            ports: &[],
            unique: &[],
            distinct: &[],
            clashes_with_rows: false,
            sort: &[],
            builtin: &[],
            pick: ExportSelector::Find,
            supposed: &[],
            parts: 0,
            follows: &[],
            commands: &[],
            old: &[],
            splits: &[],
            lost: &[],
            upgrade: None,
            old_paths: &[],
            effect: Effect::Full,
            off: None,
            idle: None,
            gathers: None,
            networks: None,
            lines: false,
            passes: false,
            unnumbered_dynamic: false,
            dynamic_first: false,
            passing: None,
            guard: None,
            filled: &[],
            policies: Policies::NONE,
            command_policies: &[],
            removable: false,
            shown_with: &[],
            prints_itself: false,
            hidden: false,
            older: false,
            moot: None,
            derive: None,
            check: None,
        }
    }

    /// Returns all properties in the order of `print detail`.
    pub fn properties(&self) -> impl Iterator<Item = &'static Property> + use<> {
        self.properties.iter().flat_map(|fragment| fragment.iter())
    }

    /// Returns all properties, followed by the internal ones, in the order of item values.
    pub(crate) fn all_properties(&self) -> impl Iterator<Item = &'static Property> + use<> {
        self.properties().chain(self.kept)
    }

    /// Returns the property with this name.
    pub fn property(&self, name: &str) -> Option<&'static Property> {
        self.properties().find(|property| property.name == name)
    }

    /// Returns the index of a property in the values of an item.
    pub fn index(&self, name: &str) -> Option<usize> {
        self.all_properties()
            .position(|property| property.name == name)
    }

    /// True if a command of this menu has no effect: it is not implemented itself, or changes items without
    /// effect.
    pub fn is_idle(&self, command: &str) -> bool {
        let own = self.commands.iter().find(|own| own.name == command);
        match own {
            Some(own) => own.effect == Effect::None || self.effect == Effect::None,
            None => {
                let reads = ["export", "find", "get", "print"];
                self.effect == Effect::None && !reads.contains(&command)
            }
        }
    }

    /// True if an item switches off a feature that ferroute lacks.
    pub(crate) fn is_off(&self, item: &Item) -> bool {
        let says = |(property, value)| {
            item.get(property)
                .is_some_and(|own| own.to_string() == value)
        };
        self.off.is_some_and(says)
    }

    /// Returns the path in the format of `/export`: `/ip address`.
    pub fn export_path(&self) -> String {
        let mut text = String::from("/");
        text.push_str(&self.path.get(1..).unwrap_or_default().replace('/', " "));
        text
    }

    /// True if items can be added and removed.
    pub const fn grows(&self) -> bool {
        matches!(self.shape, MenuShape::List | MenuShape::Ordered)
    }

    /// True if `add` or `remove` is a command of the menu, for its items or declared explicitly.
    pub fn takes(&self, command: &str) -> bool {
        self.grows() || self.commands.iter().any(|own| own.name == command)
    }

    /// True if the single row of settings or status values has content. RouterOS: `print` shows nothing if no
    /// value is known, for example for sensors that the hardware lacks.
    pub(crate) fn has_values(&self, row: &crate::Row) -> bool {
        match self.shown_with {
            [] => {
                self.shape != MenuShape::Status
                    || row.cells.iter().any(|(name, _)| !name.starts_with('.'))
            }
            names => names.iter().any(|name| row.get(name).is_some()),
        }
    }

    /// True if the menu has items or rows rather than one set of values.
    pub const fn has_rows(&self) -> bool {
        !matches!(
            self.shape,
            MenuShape::Settings | MenuShape::Status | MenuShape::Folder
        )
    }

    /// True if the menu has configuration.
    pub const fn is_configuration(&self) -> bool {
        matches!(
            self.shape,
            MenuShape::List | MenuShape::Ordered | MenuShape::Fixed | MenuShape::Settings
        )
    }

    /// Returns name and help of all commands: the standard commands of the shape, then the declared ones.
    pub fn all_commands(&self) -> Vec<(&'static str, &'static str)> {
        let has = |name| self.property(name).is_some();
        let changes = self.is_configuration() || self.shape == MenuShape::View;
        let rows = self.has_rows();
        let standard: [(bool, &'static str, &'static str); 13] = [
            (self.grows(), "add", "Create a new item"),
            (
                changes && rows && has("comment"),
                "comment",
                "Set comment for items",
            ),
            (
                changes && rows && has("disabled"),
                "disable",
                "Disable items",
            ),
            (changes && rows && has("disabled"), "enable", "Enable items"),
            (
                true,
                "export",
                "Print or save an export script that can be used to restore configuration",
            ),
            (rows, "find", "Find items by value"),
            (
                self.shape != MenuShape::Folder,
                "get",
                "Gets value of item's property",
            ),
            (
                self.shape == MenuShape::Ordered,
                "move",
                "Change order of items",
            ),
            (
                self.shape != MenuShape::Folder,
                "print",
                "Print values of item properties",
            ),
            (self.grows(), "remove", "Remove item"),
            (
                changes && rows,
                "reset",
                "Reset item properties to their defaults",
            ),
            (changes, "set", "Change item properties"),
            (
                changes && self.properties().any(|p| p.unset),
                "unset",
                "Unset item property",
            ),
        ];
        let standard = standard.into_iter().filter(|(there, ..)| *there);
        let own = self
            .commands
            .iter()
            .map(|command| (command.name, command.help));
        standard
            .map(|(_, name, help)| (name, help))
            .chain(own)
            .collect()
    }
}

impl std::fmt::Debug for Menu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Menu({})", self.path)
    }
}

/// An item under construction, for the hooks of its menu.
pub struct Draft<'a> {
    /// The menu.
    pub menu: &'static Menu,
    /// The values by property index.
    pub values: &'a mut [Option<Value>],
    /// The names of the properties that the command sets.
    pub given: &'a [&'static str],
}

impl Draft<'_> {
    /// Returns the value of a property.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(self.menu.index(name)?)?.as_ref()
    }

    /// True if the command sets the property.
    pub fn is_given(&self, name: &str) -> bool {
        self.given.contains(&name)
    }

    /// True if a Boolean property is true.
    pub fn is(&self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    /// Sets or unsets a property.
    pub fn set(&mut self, name: &str, value: Option<Value>) {
        let slot = self
            .menu
            .index(name)
            .and_then(|index| self.values.get_mut(index));
        if let Some(slot) = slot {
            *slot = value;
        }
    }
}
