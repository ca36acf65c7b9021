//! Export: writes the configuration as commands that recreate it, in the layout of RouterOS v7.

mod sequence;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::export::sequence::Sequence;
use crate::store::references;
use crate::{
    Clock, ExportSelector, Item, Kind, Menu, MenuShape, Output, Property, Store, Value, quote,
};

/// The amount of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Style {
    /// Values that differ from the defaults.
    #[default]
    Compact,
    /// Values that differ from the defaults, one command with its path per line.
    Terse,
    /// All properties.
    Verbose,
}

/// Export options.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The amount of output.
    pub style: Style,
    /// Export only menus at and below this path; all if empty.
    pub under: &'a str,
    /// Of these menus, export only those at and below the paths of this comma-separated list; `!` excludes a
    /// path: `/ip/firewall,!/ip/firewall/nat`. All if empty.
    pub paths: &'a str,
    /// Whether to write secrets.
    pub sensitive: bool,
    /// The header; `None` for no header.
    pub header: Option<Header<'a>>,
}

/// The header line of an export.
#[derive(Clone, Copy, Debug)]
pub struct Header<'a> {
    /// The RouterOS version of the configuration language.
    pub version: &'a str,
    /// The wall clock time.
    pub clock: Clock,
}

/// Maximum line length, without the continuation backslash: `FULL` before any other value and within quotes;
/// `SHORT` before the value after `=` and before the end of the command.
const FULL: usize = 78;
const SHORT: usize = 77;
const INDENT: &str = "    ";

/// Writes the configuration.
pub fn export(store: &Store, options: &Options<'_>, out: &mut dyn Output) -> ControlFlow<()> {
    let mut exporter = Exporter::new(store.menus(), *options);
    exporter
        .write(store, &|_| true, usize::MAX, out)
        .map_continue(|_| ())
}

/// A resumable export. The configuration may change between two calls, as it may during an export of RouterOS.
/// The items of a menu are those present when the export reached the menu, each in a consistent state.
pub struct Exporter<'a> {
    options: Options<'a>,
    sequence: Sequence,
    /// The menu path written last.
    heading: String,
    begun: bool,
}

impl<'a> Exporter<'a> {
    /// Creates an export. Menus are written in the order of the store's list.
    pub fn new(menus: &'static [&'static Menu], options: Options<'a>) -> Self {
        let menus = menus
            .iter()
            .filter(|m| is_under(m.path, options.under) && is_listed(m.path, options.paths))
            .copied()
            .collect();
        Self {
            options,
            sequence: Sequence::new(menus),
            heading: String::new(),
            begun: false,
        }
    }

    /// Writes the commands of at most `count` items that `wanted` accepts. Returns true if more follow.
    pub fn write(
        &mut self,
        store: &Store,
        wanted: &dyn Fn(&Item) -> bool,
        count: usize,
        out: &mut dyn Output,
    ) -> ControlFlow<(), bool> {
        if !std::mem::replace(&mut self.begun, true)
            && let Some(Header { version, clock }) = self.options.header
        {
            let date = clock.date_time();
            out.write(&format!(
                "# {date} by RouterOS {version}\n# software id = \n#\n"
            ))?;
        }
        for _ in 0..count {
            let Some(item) = self.sequence.next(store, wanted) else {
                return ControlFlow::Continue(false);
            };
            self.item(store, &item, out)?;
        }
        ControlFlow::Continue(true)
    }

    fn item(&mut self, store: &Store, item: &Item, out: &mut dyn Output) -> ControlFlow<()> {
        let Some(words) = command(store, item, &self.options) else {
            return ControlFlow::Continue(());
        };
        let path = path_above(store, item.menu);
        if self.options.style == Style::Terse {
            return out.write(&format!("{path} {}\n", words.concat()));
        }
        if self.heading != path {
            out.write(&format!("{path}\n"))?;
            self.heading = path;
        }
        out.write(&fold(&words))
    }
}

/// True if the longest matching path of the list includes the menu.
fn is_listed(path: &str, list: &str) -> bool {
    let listed = list
        .split(',')
        .map(|entry| match entry.trim().strip_prefix('!') {
            Some(under) => (under, false),
            None => (entry.trim(), true),
        });
    let listed = listed.filter(|(under, _)| !under.is_empty());
    let only_left_out = listed.clone().all(|(_, wanted)| !wanted);
    listed
        .filter(|(under, _)| is_under(path, under))
        .max_by_key(|(under, _)| under.trim_end_matches('/').len())
        .map_or(only_left_out, |(_, wanted)| wanted)
}

/// True if a path equals `under` or is below it.
fn is_under(path: &str, under: &str) -> bool {
    let under = under.trim_end_matches('/');
    path.strip_prefix(under)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the path line for a menu. Items of a hidden menu are set through its view.
fn path_above(store: &Store, menu: &'static Menu) -> String {
    let mut views = store.menus().iter();
    let view = views.find(|m| m.shape == MenuShape::View && m.space == menu.space);
    view.filter(|_| menu.hidden)
        .map_or(menu.export_path(), |view| view.export_path())
}

/// Returns the command for an item on one line, without the menu path.
pub(crate) fn line(store: &Store, item: &Item, options: &Options<'_>) -> String {
    command(store, item, options).map_or_else(|| "set".to_owned(), |words| words.concat())
}

/// True if a full export contains a command for the item.
pub(crate) fn is_written(store: &Store, item: &Item) -> bool {
    if item.has_kept() || item.menu.passing.is_some_and(|passing| passing(item)) {
        return false;
    }
    let made = item.menu.grows() && item.builtin.is_none() && !item.is_port();
    let all = Options {
        sensitive: true,
        ..Options::default()
    };
    made || command(store, item, &all).is_some()
}

/// Sorts the items of a menu so that each one follows the items of the menu that it refers to; the order is
/// otherwise kept. Ordered menus are not sorted.
fn named_before_use<'a>(menu: &'static Menu, items: Vec<&'a Arc<Item>>) -> Vec<&'a Arc<Item>> {
    let own = |property: &Property| property.kind.spaces().iter().any(|s| menu.space == Some(s));
    if menu.shape == MenuShape::Ordered || !menu.properties().any(own) {
        return items;
    }
    let names = items.iter().enumerate();
    let places: HashMap<&str, usize> = names
        .filter_map(|(place, item)| Some((item.name()?, place)))
        .collect();
    let mut state = vec![Visit::New; items.len()];
    let mut order = Vec::with_capacity(items.len());
    let mut stack = Vec::new();
    for first in 0..items.len() {
        stack.push(first);
        while let Some(place) = stack.pop() {
            match state[place] {
                Visit::Done => {}
                Visit::Open => {
                    state[place] = Visit::Done;
                    order.push(items[place]);
                }
                Visit::New => {
                    state[place] = Visit::Open;
                    stack.push(place);
                    let named = references(items[place]).into_iter();
                    let named = named.filter(|(space, _)| menu.space == Some(space));
                    let places = named.filter_map(|(_, name)| places.get(name).copied());
                    stack.extend(places.filter(|place| state[*place] == Visit::New));
                }
            }
        }
    }
    order
}

/// State of an item in the depth-first search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    New,
    Open,
    Done,
}

/// Returns the words of the command for an item. Each word except the last ends with a space or `=`.
fn command(store: &Store, item: &Item, options: &Options<'_>) -> Option<Vec<String>> {
    let mut words = match (item.menu.shape, item.builtin) {
        (MenuShape::Settings, _) => vec!["set ".to_owned()],
        _ if item.is_port() => find("default-name", item.text("default-name")),
        (MenuShape::Fixed, builtin) if builtin.is_none() || !item.menu.follows.is_empty() => {
            let name = match item.name() {
                Some(name) => quote(name),
                // A hardware part without a name is referred to by its number.
                None => {
                    let mut all = store.items(item.menu.path);
                    all.position(|other| other.id == item.id)?.to_string()
                }
            };
            vec!["set ".to_owned(), format!("{name} ")]
        }
        (_, Some(place)) => pick(item, place)?,
        _ => vec!["add ".to_owned()],
    };
    let head = words.len();
    let baseline = store.baseline_of(item);
    let mut values: Vec<_> = item
        .menu
        .properties()
        .zip(item.values.iter().zip(&baseline))
        .collect();
    values.sort_by_key(|(property, _)| property.name);
    for (property, (value, default)) in values {
        let hidden =
            property.read_only || property.sealed || (property.sensitive && !options.sensitive);
        if hidden || (options.style != Style::Verbose && value == default) {
            continue;
        }
        push(property, value.as_ref(), &mut words);
    }
    // An item created by `add` is exported even if all its values are defaults.
    let made = item.menu.grows() && item.builtin.is_none() && !item.is_port();
    if words.len() == head && !made {
        return None;
    }
    if let Some(last) = words.last_mut() {
        last.truncate(last.trim_end_matches(' ').len());
    }
    Some(words)
}

/// Returns the beginning of the `set` command for a default item.
fn pick(item: &Item, place: usize) -> Option<Vec<String>> {
    let one = |word: String| vec!["set ".to_owned(), format!("{word} ")];
    Some(match item.menu.pick {
        ExportSelector::Find => find(item.menu.key?, first_name(item, place)?),
        ExportSelector::Default => find("default", "yes"),
        ExportSelector::Name => one(quote(first_name(item, place)?)),
        ExportSelector::Number => one(place.to_string()),
        ExportSelector::Id => one(item.id.to_string()),
    })
}

/// Returns the name that a default item has before the command runs.
fn first_name(item: &Item, place: usize) -> Option<&'static str> {
    let key = item.menu.key?;
    let values = item.menu.builtin.get(place)?.values;
    let (_, name) = values.iter().find(|(name, _)| *name == key)?;
    Some(name)
}

/// Returns the words of `set [ find name=value ] `, between which a line may be broken.
fn find(property: &str, value: &str) -> Vec<String> {
    vec![
        "set ".to_owned(),
        "[ ".to_owned(),
        "find ".to_owned(),
        format!("{property}="),
        format!("{} ", quote(value)),
        "] ".to_owned(),
    ]
}

fn push(property: &Property, value: Option<&Value>, words: &mut Vec<String>) {
    match value {
        None => words.push(format!("!{} ", property.name)),
        Some(_) if property.kind == Kind::Presence => words.push(format!("{} ", property.name)),
        Some(value) => {
            words.push(format!("{}=", property.name));
            words.push(format!("{} ", quote(&export_text(value, property))));
        }
    }
}

/// Returns the text of a value. A local IPv4 address with a prefix length of 32 is written without the length.
fn export_text(value: &Value, property: &Property) -> String {
    match value {
        Value::Prefix(net) if matches!(property.kind, Kind::Local(_)) && net.prefix_len() == 32 => {
            let text = net.to_string();
            if net.addr().is_ipv4() {
                net.addr().to_string()
            } else {
                text
            }
        }
        value => value.to_string(),
    }
}

/// Breaks a command into lines after a space or `=`, or within quotes if a text fills a line.
fn fold(words: &[String]) -> String {
    let mut out = String::new();
    let mut width = 0;
    for (index, word) in words.iter().enumerate() {
        let last = index + 1 == words.len();
        let limit = if last || word.ends_with('=') {
            SHORT
        } else {
            FULL
        };
        if width + word.len() <= limit {
            out.push_str(word);
            width += word.len();
        } else if word.starts_with('"') && INDENT.len() + word.len() > limit {
            width = fold_text(word, width, &mut out);
        } else {
            out.push_str("\\\n");
            out.push_str(INDENT);
            out.push_str(word);
            width = INDENT.len() + word.len();
        }
    }
    out.push('\n');
    out
}

/// Appends a quoted text that is longer than a line, starting at column `width`. Returns the new column.
fn fold_text(text: &str, mut width: usize, out: &mut String) -> usize {
    let mut rest = text;
    while !rest.is_empty() {
        // An escape (`\x` or `\XX`) is not broken.
        let unit = match rest.strip_prefix('\\') {
            Some(tail) if tail.len() >= 2 && tail.as_bytes()[..2].iter().all(is_code) => 3,
            Some(_) => 2.min(rest.len()),
            None => 1,
        };
        let (piece, tail) = rest.split_at(unit);
        if piece == "\\n" || width + unit > FULL {
            out.push_str("\\\n");
            out.push_str(INDENT);
            width = INDENT.len();
            // A space at the beginning of a continuation line would be lost: escape it.
            if piece == " " {
                out.push_str("\\_");
                width += 2;
                rest = tail;
                continue;
            }
        }
        out.push_str(piece);
        width += unit;
        rest = tail;
    }
    width
}

/// True for the digits of a byte escape. Lower case is excluded, because `\a` has another meaning.
const fn is_code(byte: &u8) -> bool {
    byte.is_ascii_digit() || (*byte >= b'A' && *byte <= b'F')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        let (mut word, mut quoted) = (String::new(), false);
        for c in text.chars() {
            word.push(c);
            quoted ^= c == '"';
            if !quoted && (c == ' ' || c == '=') {
                words.push(std::mem::take(&mut word));
            }
        }
        words.push(word);
        words
    }

    #[test]
    fn export_paths_select_the_menus() {
        let firewall = "/ip/firewall,!/ip/firewall/nat";

        assert!(is_listed("/ip/firewall/filter", firewall));
        assert!(!is_listed("/ip/firewall/nat", firewall));
        assert!(!is_listed("/ip/address", firewall));
        assert!(is_listed("/ip/address", "!/ip/firewall/"));
        assert!(is_listed("/ip/address", ""));
    }

    #[test]
    fn exports_wrap_lines_like_routeros() {
        let route = "add disabled=no dst-address=192.0.2.0/24 gateway=10.99.99.2 \
                     routing-table=main suppress-hw-offload=no";
        let port = "add comment=\"a guest network\" disabled=yes interface=ether5-slave-local \
                    name=ether2-slave-local";
        let long = format!("add comment=\"{}\" x=1", "word ".repeat(30));

        assert_eq!(
            fold(&words(route)),
            "add disabled=no dst-address=192.0.2.0/24 gateway=10.99.99.2 routing-table=\\\n    main suppress-hw-offload=no\n"
        );
        assert_eq!(fold(&words(port)).lines().next().map(str::len), Some(78));
        for line in fold(&words(&long)).lines() {
            assert!(line.len() <= 79, "{line}");
        }
        assert!(fold(&words(&long)).contains("\\\n    "));
    }
}
