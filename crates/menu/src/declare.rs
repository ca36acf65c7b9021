//! What a menu's declaration says. A declaration is a constant and has no behaviour but small pure
//! hooks; parsing, printing, export, completion, API and reference are walks over it.

mod property;

pub use property::{Property, Shared};

use crate::{Item, Kind, Policies, Reason, Store, Value};

/// Whether a property or command does anything in this router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It does what the manual says.
    Full,
    /// It is typed, checked, kept and exported, and nothing else happens.
    None,
}

/// A letter before a row. Letters of one group share a column.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// The letter.
    pub letter: char,
    /// The Boolean cell of the row that lights it, and its name in the legend.
    pub name: &'static str,
    /// The column of letters, from 0.
    pub group: u8,
}

impl Flag {
    /// The letter of items that are kept and do nothing, or not all that they say.
    pub const NO_EFFECT: Self = Self::new('~', "no-effect", u8::MAX);

    /// A flag in a column of letters.
    pub const fn new(letter: char, name: &'static str, group: u8) -> Self {
        Self {
            letter,
            name,
            group,
        }
    }
}

/// What kind of menu it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Items that users add and remove.
    List,
    /// The same, and their order has a meaning.
    Ordered,
    /// Items that exist by themselves, such as ports; users only set them.
    Fixed,
    /// One set of settings.
    Settings,
    /// One set of values to read.
    Status,
    /// Rows to read.
    Rows,
    /// The items of all menus that share a space of names, by what they have in common.
    View,
    /// No items: a place for commands and menus.
    Folder,
}

/// Values that no two items may share.
#[derive(Clone, Copy, Debug)]
pub struct Unique {
    /// The properties that together are unique.
    pub properties: &'static [&'static str],
    /// The failure when they are not, without `failure: `.
    pub failure: &'static str,
}

/// An item that exists from the start.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its values; `.id` gives it a number of its own, such as `*FFFFFFFE`.
    pub values: &'static [(&'static str, &'static str)],
}

/// How an export names an item that exists from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// `set [ find name=all ]`, by the menu's key.
    Find,
    /// `set [ find default=yes ]`: the menu has one such item.
    Default,
    /// `set telnet`, by the menu's key.
    Name,
    /// `set 0`, by its place.
    Number,
    /// `set *FFFFFFFE`, by its id.
    Id,
}

/// Items that a menu has for those of another: one for each, made and removed with it.
#[derive(Clone, Copy, Debug)]
pub struct Follow {
    /// The path of the other menu.
    pub path: &'static str,
    /// The values that such an item begins with.
    pub values: &'static [(&'static str, &'static str)],
}

/// An argument of a command that is no property of the menu.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// The name, as typed.
    pub name: &'static str,
    /// The type of its values.
    pub kind: Kind,
    /// What it is for.
    pub help: &'static str,
    /// Whether the command needs it. Then its value may stand without its name.
    pub required: bool,
    /// Whether its value may stand without its name though it may be left out.
    pub unnamed: bool,
}

/// A command beside those that every menu of its shape has.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// The name, as typed.
    pub name: &'static str,
    /// What it does.
    pub help: &'static str,
    /// Its arguments; `numbers` stands for items.
    pub arguments: &'static [Argument],
    /// Whether it does anything.
    pub effect: Effect,
    /// Whether it goes on until it is stopped, as monitors do; others end by themselves, though
    /// they may take `once` as well.
    pub repeats: bool,
}

impl Command {
    /// A command that goes on until it is stopped.
    pub const fn repeating(mut self) -> Self {
        self.repeats = true;
        self
    }
}

/// A word of an older version, accepted on input.
#[derive(Clone, Copy, Debug)]
pub struct Old {
    /// The word, as older versions spelled the property.
    pub name: &'static str,
    /// Only with this value, where an empty one is none; any if absent.
    pub value: Option<&'static str>,
    /// The property that says it; empty if the notion is gone.
    pub becomes: &'static str,
    /// The value that says it; the same if absent. Of a notion that is gone: why its values are refused.
    pub with: Option<&'static str>,
    /// Whether an item that the value names is made when it does not exist, with these values.
    pub makes: Option<&'static [(&'static str, &'static str)]>,
}

impl Old {
    /// A property that has another name.
    pub const fn renamed(name: &'static str, becomes: &'static str) -> Self {
        Self {
            name,
            value: None,
            becomes,
            with: None,
            makes: None,
        }
    }

    /// A property that older versions knew and had no value of: a verbose export says that it is not
    /// set. With a value it is refused, as what it asks for would be forgotten.
    pub const fn never(name: &'static str) -> Self {
        Self {
            value: Some(""),
            ..Self::gone(name)
        }
    }

    /// A property that is not for us to set: what is asked for is refused with this sentence.
    pub const fn refused(name: &'static str, why: &'static str) -> Self {
        Self {
            with: Some(why),
            ..Self::gone(name)
        }
    }

    /// A property that is gone: its values are taken and forgotten.
    pub const fn gone(name: &'static str) -> Self {
        Self::renamed(name, "")
    }
}

/// Words that older versions had for an item and that belong to an item of another menu now. Where a command adds an
/// item with one of them, the other item is made, too.
#[derive(Clone, Copy, Debug)]
pub struct Split {
    /// The path of the other menu.
    pub menu: &'static str,
    /// The words, each with the property of the other menu that has its value.
    pub words: &'static [(&'static str, &'static str)],
    /// Values that are spelled otherwise now: the word, the value, and what it is now.
    pub values: &'static [(&'static str, &'static str, &'static str)],
    /// How the two items refer to each other.
    pub link: Link,
}

/// How items refer to each other that one command of an older version made.
#[derive(Clone, Copy, Debug)]
pub enum Link {
    /// This property of the item names the other one, whose name is a number behind these letters.
    Names(&'static str, &'static str),
    /// This property of the other item names the item.
    NamedBy(&'static str),
}

/// Values that older versions had and this one lacks: an item that asks for one is refused with the reason.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// The words that are properties with such values.
    pub words: &'static [&'static str],
    /// The values, alone or in a list.
    pub values: &'static [&'static str],
    /// Why they are refused.
    pub why: &'static str,
}

/// Turns items of an older version in a store into those that say the same now, after a file that may have brought
/// some.
pub type Upgrade = fn(&mut Store) -> Result<(), Reason>;

/// Says why an item can not have these values, if it can not.
pub type Check = fn(&Draft<'_>, &Store) -> Result<(), Reason>;

/// Says why the items of a menu can not be as they are, all together.
pub type Guard = fn(&Store) -> Result<(), Reason>;

/// A menu. Build it from [`Menu::new`] with the struct update syntax.
pub struct Menu {
    /// The path, such as `/ip/address`.
    pub path: &'static str,
    /// What it holds, in a sentence.
    pub help: &'static str,
    /// Its shape.
    pub shape: Shape,
    /// Its properties in the order of `print detail`, in fragments that menus share.
    pub properties: &'static [&'static [Property]],
    /// Values that the router alone writes and nobody is shown ([`Property::kept`]), such as private keys. An item that
    /// has some cannot be made by a command: exports do not have it, and it is not taken away for want of one.
    pub kept: &'static [Property],
    /// Properties that no item changes once it has such values.
    pub settled: &'static [&'static str],
    /// Its flags in the order of the legend.
    pub flags: &'static [Flag],
    /// The columns of `print brief`; those that are empty in all rows are left out.
    pub columns: &'static [&'static str],
    /// The columns of `print stats`.
    pub stats: &'static [&'static str],
    /// What conditions may name, in order; the properties, then the flags if empty.
    pub conditions: &'static [&'static str],
    /// The space of names that its items' `key` belongs to, or that a view shows.
    pub space: Option<&'static str>,
    /// The property that names an item.
    pub key: Option<&'static str>,
    /// The word that a view shows as `type` for this menu's items.
    pub kind: &'static str,
    /// How names begin that are given to items without one; as `kind` says if empty.
    pub naming: &'static str,
    /// Beginnings of the names of ports that live here, each with its word for `type`.
    pub ports: &'static [(&'static str, &'static str)],
    /// What must be unique.
    pub unique: &'static [Unique],
    /// What must be unique among the items that are enabled. What is not set counts as a value, but
    /// for the first property: an item without it, or with another item's name there, is not asked.
    pub distinct: &'static [Unique],
    /// Whether no item can be made that is a dynamic row already, as far as `distinct` tells them apart.
    pub clashes_with_rows: bool,
    /// The properties by which rows are sorted; in order of creation if empty.
    pub sort: &'static [&'static str],
    /// Properties that a new item gets from who makes it and when.
    pub filled: &'static [(&'static str, Fill)],
    /// Items that exist from the start.
    pub builtin: &'static [Builtin],
    /// How an export names them.
    pub pick: Pick,
    /// Items that older versions had from the start. One is made when a command names it.
    pub supposed: &'static [Builtin],
    /// How many parts of the machine there may be here. Which ones there are is the machine's to
    /// say; one that a configuration names, by number or name, is supposed.
    pub parts: usize,
    /// The menus for whose items this one has an item each, with the menu's key as their name.
    pub follows: &'static [Follow],
    /// Commands beside those of the shape.
    pub commands: &'static [Command],
    /// Words of older versions.
    pub old: &'static [Old],
    /// Words of older versions that belong to other menus now.
    pub splits: &'static [Split],
    /// Values of older versions that there are no more.
    pub lost: &'static [Lost],
    /// What becomes of items of older versions at the end of a file.
    pub upgrade: Option<Upgrade>,
    /// Paths that older versions had for the menu.
    pub old_paths: &'static [&'static str],
    /// Whether its items do anything; a property or command of its own can still do nothing.
    pub effect: Effect,
    /// Of settings without effect: the property and the value by which users switch the feature off. An item that says
    /// so is as good as done.
    pub off: Option<(&'static str, &'static str)>,
    /// What of an item does nothing though its menu does: what is missing, in users' words.
    pub idle: Option<fn(&Item) -> Option<&'static str>>,
    /// For items that are as good as what they gather: the menu whose items are members of the item
    /// that they name, and the property that names others whose members are its own.
    pub gathers: Option<(&'static str, &'static str)>,
    /// For addresses of interfaces: the property with the address, whose network is reached by the
    /// interface of the other.
    pub networks: Option<(&'static str, &'static str)>,
    /// Whether rows end by themselves. RouterOS: `get` of a row that has ended gives nothing, and is no error.
    pub passes: bool,
    /// Whether only rows of the configuration are numbered by `print`.
    pub unnumbered_dynamic: bool,
    /// Whether dynamic rows stand before those of the configuration.
    pub dynamic_first: bool,
    /// Whether an item is there for a while only: it is not exported.
    pub passing: Option<fn(&Item) -> bool>,
    /// Whether `print` gives each row as a line of its columns without a heading.
    pub lines: bool,
    /// Says why the menu's items can not be as a transaction leaves them, all together.
    pub guard: Option<Guard>,
    /// What changing items needs besides the policy to write.
    pub policies: Policies,
    /// What single commands need, where that does not follow from their names.
    pub command_policies: &'static [(&'static str, Policies)],
    /// Whether the items that exist from the start are as good as any others: they can be removed.
    pub removable: bool,
    /// Properties without any of which settings show no row; empty where settings always have one.
    pub shown_with: &'static [&'static str],
    /// Whether the console prints the menu when its path is typed alone.
    pub prints_itself: bool,
    /// Whether the console hides the menu: its items show in a view only.
    pub hidden: bool,
    /// Whether the menu is there to read configurations of older versions, or of hardware that no
    /// machine of ours has: nobody is offered it, and programs do not find it.
    pub older: bool,
    /// Whether a property, by its name, says nothing of an item as it is: it is not shown.
    pub moot: Option<fn(&Item, &str) -> bool>,
    /// Fills in what follows from what was given.
    pub derive: Option<fn(&mut Draft<'_>)>,
    /// Says what the types cannot: what values do not go together.
    pub check: Option<Check>,
}

/// What a new item gets in a property that nobody gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// The date: `2026-11-22`.
    Date,
    /// The time of the day: `03:30:00`.
    Time,
    /// The user's name.
    User,
    /// 32 bytes that nobody can foretell, in base64.
    Key,
    /// The same where `auto` was given.
    KeyIfAuto,
    /// A random link address that begins with `FE` (RouterOS: of EoIP).
    TunnelMac,
}

impl Menu {
    /// An empty menu of a shape, to be filled in by the struct update syntax.
    pub const fn new(path: &'static str, shape: Shape, help: &'static str) -> Self {
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
            pick: Pick::Find,
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

    /// All properties, in the order of `print detail`.
    pub fn properties(&self) -> impl Iterator<Item = &'static Property> + use<> {
        self.properties.iter().flat_map(|fragment| fragment.iter())
    }

    /// All properties, and behind them what is kept beside them: as items have their values.
    pub(crate) fn all_properties(&self) -> impl Iterator<Item = &'static Property> + use<> {
        self.properties().chain(self.kept)
    }

    /// The property of this name.
    pub fn property(&self, name: &str) -> Option<&'static Property> {
        self.properties().find(|property| property.name == name)
    }

    /// The place of a property among the values of an item.
    pub fn index(&self, name: &str) -> Option<usize> {
        self.all_properties()
            .position(|property| property.name == name)
    }

    /// Whether a command of this menu does nothing: its own, or one that changes items that do
    /// nothing.
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

    /// Whether an item switches off what the router does not do anyway.
    pub(crate) fn is_off(&self, item: &Item) -> bool {
        let says = |(property, value)| {
            item.get(property)
                .is_some_and(|own| own.to_string() == value)
        };
        self.off.is_some_and(says)
    }

    /// The path as `/export` writes it: `/ip address`.
    pub fn export_path(&self) -> String {
        let mut text = String::from("/");
        text.push_str(&self.path.get(1..).unwrap_or_default().replace('/', " "));
        text
    }

    /// Whether items can be added and removed.
    pub const fn grows(&self) -> bool {
        matches!(self.shape, Shape::List | Shape::Ordered)
    }

    /// Whether `add` or `remove` is a command of the menu: of its items, or one of its own.
    pub fn takes(&self, command: &str) -> bool {
        self.grows() || self.commands.iter().any(|own| own.name == command)
    }

    /// Whether the one row of settings or of a state says anything. RouterOS: `print` shows nothing where nothing is
    /// known, and nothing of the sensors of a machine that has none.
    pub(crate) fn has_values(&self, row: &crate::Row) -> bool {
        match self.shown_with {
            [] => {
                self.shape != Shape::Status
                    || row.cells.iter().any(|(name, _)| !name.starts_with('.'))
            }
            names => names.iter().any(|name| row.get(name).is_some()),
        }
    }

    /// Whether the menu has items or rows, rather than one set of values.
    pub const fn has_rows(&self) -> bool {
        !matches!(self.shape, Shape::Settings | Shape::Status | Shape::Folder)
    }

    /// Whether there is anything to configure.
    pub const fn is_configuration(&self) -> bool {
        matches!(
            self.shape,
            Shape::List | Shape::Ordered | Shape::Fixed | Shape::Settings
        )
    }

    /// The commands of the menu: those of its shape, then its own. Name and help.
    pub fn all_commands(&self) -> Vec<(&'static str, &'static str)> {
        let has = |name| self.property(name).is_some();
        let changes = self.is_configuration() || self.shape == Shape::View;
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
                self.shape != Shape::Folder,
                "get",
                "Gets value of item's property",
            ),
            (
                self.shape == Shape::Ordered,
                "move",
                "Change order of items",
            ),
            (
                self.shape != Shape::Folder,
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

/// An item in the making, as the hooks of its menu see it.
pub struct Draft<'a> {
    /// The menu.
    pub menu: &'static Menu,
    /// The values, by the place of the property.
    pub values: &'a mut [Option<Value>],
    /// The names that this command gives.
    pub given: &'a [&'static str],
}

impl Draft<'_> {
    /// The value of a property.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(self.menu.index(name)?)?.as_ref()
    }

    /// Whether this command gives the property.
    pub fn is_given(&self, name: &str) -> bool {
        self.given.contains(&name)
    }

    /// Whether a Boolean property is true.
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
