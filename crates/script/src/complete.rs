//! Completion and help at the cursor of an input line.

use std::borrow::Cow;
use std::collections::BTreeSet;

use menu::{Effect, Kind, Menu, MenuShape, Property, Store, Value};

use crate::builtin::{self, ArgumentKind};
use crate::parser::{Expected, Parser};
use crate::session::Session;
use crate::source::Source;
use crate::spec::Parameter;
use crate::tree::Tree;

/// Maximum number of candidates of one kind.
const MAX_CANDIDATES: usize = 200;

/// Maximum number of items that are searched for the names they use.
const MAX_SEARCHED_ITEMS: usize = 10_000;

/// The kind of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A menu.
    Menu,
    /// A command.
    Command,
    /// An argument or property, with a value.
    Argument,
    /// An argument without a value, or one that a condition follows, such as `where`.
    Flag,
    /// A value.
    Value,
    /// A variable.
    Variable,
    /// A description of the expected value; has no text to insert.
    Hint,
}

/// A completion candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The complete word.
    pub text: String,
    /// Byte offset in the line where the word begins.
    pub start: usize,
    /// The kind of word.
    pub subject: Subject,
    /// One-line help.
    pub help: String,
}

/// Returns the candidates at byte `cursor` of a line that is typed in the session's current menu.
pub fn complete(store: &Store, session: &Session, line: &str, cursor: usize) -> Vec<Candidate> {
    let cut = (0..=cursor.min(line.len()))
        .rev()
        .find(|at| line.is_char_boundary(*at))
        .unwrap_or(0);
    let source = Source::new(&line[..cut]);
    let typed = source.text.as_str();
    let tree = Tree::of(store.menus());
    let node = tree.find(&session.path).unwrap_or(0);
    let mut parser = Parser::new(&source, &tree, node);
    parser.names.any = true;
    let _ = parser.program();
    let node = parser.node;
    let mut found = Candidates {
        typed,
        list: Vec::new(),
    };
    match parser.expected.take() {
        Some(Expected::Word(start, node)) => found.words(&tree, start, node),
        Some(Expected::Argument(start, parameters, given)) => {
            found.arguments(store, start, &parameters, &given);
        }
        Some(Expected::Value(start, parameter)) => found.values(store, start, &parameter),
        Some(Expected::Condition(start, menu)) => found.condition(start, menu),
        Some(Expected::Variable(start)) => {
            for name in session.variables() {
                found.push(start, name, Subject::Variable, "");
            }
        }
        None if typed.trim().is_empty() => found.words(&tree, typed.len(), node),
        None => {}
    }
    for candidate in &mut found.list {
        candidate.start = source.original(candidate.start);
    }
    found.list
}

/// Appends "(no effect yet)" to the help of a property or command that is stored without effect.
fn marked(help: &'static str, idle: bool) -> Cow<'static, str> {
    match idle {
        true => Cow::Owned(format!("{help} (no effect yet)").trim_start().to_owned()),
        false => Cow::Borrowed(help),
    }
}

struct Candidates<'a> {
    typed: &'a str,
    list: Vec<Candidate>,
}

impl Candidates<'_> {
    /// Adds a candidate if its text begins with the typed part.
    fn push(&mut self, start: usize, text: &str, subject: Subject, help: &str) {
        let typed_start = self.typed.get(start..).unwrap_or_default();
        if text.starts_with(typed_start) {
            let (text, help) = (text.to_owned(), help.to_owned());
            self.list.push(Candidate {
                text,
                start,
                subject,
                help,
            });
        }
    }

    fn words(&mut self, tree: &Tree, start: usize, node: usize) {
        let colon = self.typed.as_bytes().get(start.wrapping_sub(1)) == Some(&b':');
        for (name, place) in tree.offered(node) {
            let help = marked(tree.help(place), tree.is_idle(place));
            self.push(start, name, Subject::Menu, &help);
        }
        for (name, help) in tree.commands(node) {
            let idle = tree.menu(node).is_some_and(|menu| menu.is_idle(name));
            self.push(start, name, Subject::Command, &marked(help, idle));
        }
        if node == 0 {
            // RouterOS: these commands are known at the root without a colon; all others need one.
            let of_root = ["beep", "import", "password", "quit", "redo", "undo"];
            let all = colon || !self.typed.contains('/');
            for builtin in builtin::offered() {
                if all || builtin.of.is_some() || of_root.contains(&builtin.name) {
                    self.push(start, builtin.name, Subject::Command, builtin.help);
                }
            }
        }
    }

    fn arguments(
        &mut self,
        store: &Store,
        start: usize,
        parameters: &[Parameter],
        given: &[String],
    ) {
        let typed_start = self.typed.get(start..).unwrap_or_default();
        let open = |p: &&Parameter| {
            !p.older && (typed_start == p.name || given.iter().all(|name| name != p.name))
        };
        for parameter in parameters.iter().filter(open) {
            let subject = match parameter.takes {
                ArgumentKind::Flag => Subject::Flag,
                _ if parameter.name == "where" => Subject::Flag,
                _ => Subject::Argument,
            };
            let property = parameter.property.filter(|property| !property.read_only);
            let idle = property.is_some_and(|property| property.effect == Effect::None);
            let help = marked(parameter.help, idle);
            self.push(start, parameter.name, subject, &help);
        }
        // The first unnamed parameter also takes a bare value here.
        if let Some(first) = parameters.iter().filter(open).find(|p| p.unnamed) {
            self.values(store, start, first);
        }
    }

    fn values(&mut self, store: &Store, start: usize, parameter: &Parameter) {
        // In a list, complete the last element.
        let typed = self.typed.get(start..).unwrap_or_default();
        let last = typed.rfind(',').map_or(0, |comma| comma + 1);
        let start = start + last + usize::from(typed[last..].starts_with('!'));
        match (parameter.names, parameter.property) {
            (Some(menu), None) => return self.named(store, start, parameter, menu),
            (Some(menu), Some(property)) => self.shared(store, start, menu, property),
            (None, _) => {}
        }
        let Some(kind) = parameter.kind() else {
            return;
        };
        for word in kind.words() {
            self.push(start, word, Subject::Value, "");
        }
        if let Some(space) = kind.space() {
            let typed_start = self.typed.get(start..).unwrap_or_default();
            for name in store.names_from(space, typed_start).take(MAX_CANDIDATES) {
                self.push(start, name, Subject::Value, space);
            }
        }
        if !matches!(
            kind,
            Kind::Presence | Kind::Bool | Kind::Words(_) | Kind::Reference(_)
        ) {
            let text = String::from("<value>");
            let help = kind.describe();
            self.list.push(Candidate {
                text,
                start,
                subject: Subject::Hint,
                help,
            });
        }
    }

    /// Offers the names of a menu's properties, or of its items.
    fn named(&mut self, store: &Store, start: usize, parameter: &Parameter, menu: &'static Menu) {
        if !matches!(parameter.name, "destination" | "number" | "numbers") {
            for property in menu.properties() {
                self.push(start, property.name, Subject::Value, property.help);
            }
            return;
        }
        let Some(space) = menu.space else { return };
        let typed_start = self.typed.get(start..).unwrap_or_default();
        let names = store.names_from(space, typed_start);
        let own = names.filter(|name| store.by_name(menu, name).is_some());
        for name in own.take(MAX_CANDIDATES) {
            self.push(start, name, Subject::Value, space);
        }
    }

    /// Offers the predefined names of a shared name space, and the names that other items use.
    fn shared(
        &mut self,
        store: &Store,
        start: usize,
        menu: &'static Menu,
        property: &'static Property,
    ) {
        let Some(shared) = property.shared else {
            return;
        };
        let beside = menu.path.rfind('/').map_or("", |at| &menu.path[..at]);
        let mut names: BTreeSet<_> = shared.words.iter().map(ToString::to_string).collect();
        for (name, property) in shared.used {
            let path = match *name {
                "" => menu.path.to_owned(),
                name => format!("{beside}/{name}"),
            };
            for item in store.items(&path).take(MAX_SEARCHED_ITEMS) {
                let value = match item.get(property) {
                    Some(Value::Not(value)) => &**value,
                    Some(value) => value,
                    None => continue,
                };
                names.insert(value.to_string());
            }
        }
        for name in names
            .iter()
            .filter(|name| !name.is_empty())
            .take(MAX_CANDIDATES)
        {
            self.push(start, name, Subject::Value, "");
        }
    }

    fn condition(&mut self, start: usize, menu: &'static Menu) {
        for property in menu.properties() {
            self.push(start, property.name, Subject::Argument, property.help);
        }
        for flag in menu
            .flags
            .iter()
            .filter(|flag| menu.property(flag.name).is_none())
        {
            self.push(start, flag.name, Subject::Argument, "");
        }
        debug_assert!(
            menu.shape != MenuShape::Settings,
            "settings have no rows to choose from"
        );
    }
}
