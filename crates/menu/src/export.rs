//! The configuration as commands that make it again, in the layout of RouterOS v7.

mod sequence;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::export::sequence::Sequence;
use crate::store::references;
use crate::{Clock, Item, Kind, Menu, Output, Pick, Property, Shape, Store, Value, quote};

/// How much is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Style {
    /// What differs from the defaults.
    #[default]
    Compact,
    /// The same, each command on one line with its path.
    Terse,
    /// Every property.
    Verbose,
}

/// What is exported and how.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// How much.
    pub style: Style,
    /// Only menus at and below this path; all if empty.
    pub under: &'a str,
    /// Of these, only menus at and below the paths of this list, those behind `!` left out:
    /// `/ip/firewall,!/ip/firewall/nat`; all if empty.
    pub paths: &'a str,
    /// Whether secrets are written.
    pub sensitive: bool,
    /// What the header says; no header if none.
    pub header: Option<Header<'a>>,
}

/// The first line of an export.
#[derive(Clone, Copy, Debug)]
pub struct Header<'a> {
    /// The version of the configuration language.
    pub version: &'a str,
    /// The time of day.
    pub clock: Clock,
}

/// Longest line before a value that is not the last, before what follows `=` or ends the command,
/// and within quotes; each without the backslash that follows.
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

/// An export that goes on: between two pieces of it the configuration may be others'. RouterOS's is
/// no picture of one moment either. A menu's items are those of when its turn came, each as a whole.
pub struct Exporter<'a> {
    options: Options<'a>,
    sequence: Sequence,
    /// The path that stands above the last commands.
    heading: String,
    begun: bool,
}

impl<'a> Exporter<'a> {
    /// Nothing is written yet. The menus are written in the order of their list.
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

    /// Writes the commands of no more than so many items, of those that are wanted. Says whether
    /// there are more.
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

/// Whether the longest path of a list that a menu is at or below wants it.
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

/// Whether a menu's path is the given one or below it.
fn is_under(path: &str, under: &str) -> bool {
    let under = under.trim_end_matches('/');
    path.strip_prefix(under)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The path that stands above a menu's commands. What the console hides is set through the view that shows it.
fn path_above(store: &Store, menu: &'static Menu) -> String {
    let mut views = store.menus().iter();
    let view = views.find(|m| m.shape == Shape::View && m.space == menu.space);
    view.filter(|_| menu.hidden)
        .map_or(menu.export_path(), |view| view.export_path())
}

/// The command that makes the item in one line, without its menu.
pub(crate) fn line(store: &Store, item: &Item, options: &Options<'_>) -> String {
    command(store, item, options).map_or_else(|| "set".to_owned(), |words| words.concat())
}

/// Whether a whole export has a command for the item.
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

/// The items of a menu in an order in which each comes after those of the menu that it refers to,
/// and otherwise as they were. The order of an ordered menu is not for us to change.
fn named_before_use<'a>(menu: &'static Menu, items: Vec<&'a Arc<Item>>) -> Vec<&'a Arc<Item>> {
    let own = |property: &Property| property.kind.spaces().iter().any(|s| menu.space == Some(s));
    if menu.shape == Shape::Ordered || !menu.properties().any(own) {
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

/// How far an item is, while those that it refers to are looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    New,
    Open,
    Done,
}

/// The command that makes the item, as words; each ends with a space or `=` but the last.
fn command(store: &Store, item: &Item, options: &Options<'_>) -> Option<Vec<String>> {
    let mut words = match (item.menu.shape, item.builtin) {
        (Shape::Settings, _) => vec!["set ".to_owned()],
        _ if item.is_port() => find("default-name", item.text("default-name")),
        (Shape::Fixed, builtin) if builtin.is_none() || !item.menu.follows.is_empty() => {
            let name = match item.name() {
                Some(name) => quote(name),
                // A part of the machine without a name goes by its number.
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
    // What is made by `add` is written even if all its values are defaults.
    let made = item.menu.grows() && item.builtin.is_none() && !item.is_port();
    if words.len() == head && !made {
        return None;
    }
    if let Some(last) = words.last_mut() {
        last.truncate(last.trim_end_matches(' ').len());
    }
    Some(words)
}

/// The beginning of the command that changes an item that exists from the start.
fn pick(item: &Item, place: usize) -> Option<Vec<String>> {
    let one = |word: String| vec!["set ".to_owned(), format!("{word} ")];
    Some(match item.menu.pick {
        Pick::Find => find(item.menu.key?, first_name(item, place)?),
        Pick::Default => find("default", "yes"),
        Pick::Name => one(quote(first_name(item, place)?)),
        Pick::Number => one(place.to_string()),
        Pick::Id => one(item.id.to_string()),
    })
}

/// The name that an item which exists from the start has before the command is run.
fn first_name(item: &Item, place: usize) -> Option<&'static str> {
    let key = item.menu.key?;
    let values = item.menu.builtin.get(place)?.values;
    let (_, name) = values.iter().find(|(name, _)| *name == key)?;
    Some(name)
}

/// `set [ find name=value ] ` as words that a line may break between.
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

/// The text of a value; a router's own IPv4 address of full length goes without it.
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

/// The command in lines: broken after a space or `=`, or within quotes where a text fills a line.
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

/// Appends a quoted text that is longer than a line, from column `width`; gives the new column.
fn fold_text(text: &str, mut width: usize, out: &mut String) -> usize {
    let mut rest = text;
    while !rest.is_empty() {
        // An escape is not broken: `\x` or `\XX`.
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
            // A space at the beginning of a line would be lost.
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

/// Digits of a byte's code: upper case, so that `\a` is not taken for one.
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
    fn a_list_of_paths_says_which_menus_are_written() {
        let firewall = "/ip/firewall,!/ip/firewall/nat";

        assert!(is_listed("/ip/firewall/filter", firewall));
        assert!(!is_listed("/ip/firewall/nat", firewall));
        assert!(!is_listed("/ip/address", firewall));
        assert!(is_listed("/ip/address", "!/ip/firewall/"));
        assert!(is_listed("/ip/address", ""));
    }

    #[test]
    fn lines_break_where_the_router_breaks_them() {
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
