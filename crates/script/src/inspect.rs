//! `/console/inspect`: answers queries of editors about the language: children of a path, completion, syntax
//! highlighting and help.

use menu::{Menu, Row, Store, Value};

use crate::builtin::{self, Builtin};
use crate::complete::{Subject, complete};
use crate::highlight::pieces;
use crate::session::Session;
use crate::source::Source;
use crate::spec::{self, Parameter};
use crate::syntax_classes::tint;
use crate::tree::Tree;

/// Maximum length in bytes of the inspected text.
const MAX_TEXT_BYTES: usize = 32 << 10;

/// A child of a path.
struct Child {
    name: &'static str,
    /// `dir`, `cmd` or `arg`.
    kind: &'static str,
    help: &'static str,
}

/// The target of a path: a node of the menu tree, a command, or an argument of a command.
enum PathTarget {
    Node(usize),
    Command(&'static Menu, &'static str),
    Builtin(&'static Builtin),
    Argument(Box<Parameter>),
}

impl PathTarget {
    /// Returns the arguments of a command.
    fn parameters(&self) -> Vec<Parameter> {
        match self {
            Self::Command(menu, name) => spec::of_menu_shown(menu, name),
            Self::Builtin(builtin) => spec::of_builtin(builtin),
            Self::Node(_) | Self::Argument(_) => Vec::new(),
        }
    }
}

/// Returns the rows that answer one request. Commas, slashes or spaces separate the words of `path`.
pub(crate) fn inspect(store: &Store, request: &str, path: &str, input: &str) -> Vec<Row> {
    let tree = Tree::of(store.menus());
    let words: Vec<_> = path
        .split([',', '/', ' '])
        .filter(|word| !word.is_empty())
        .collect();
    let cut = (0..=input.len().min(MAX_TEXT_BYTES)).rev();
    let cut = cut.into_iter().find(|at| input.is_char_boundary(*at));
    let input = &input[..cut.unwrap_or(0)];
    let Some(place) = place(&tree, &words) else {
        return Vec::new();
    };
    match request {
        "self" => vec![own(&place, words.last().copied().unwrap_or_default())],
        "child" => children(&tree, &place).iter().map(child).collect(),
        "syntax" => match &place {
            PathTarget::Argument(argument) => explanation(argument).into_iter().collect(),
            _ => children(&tree, &place).iter().map(syntax).collect(),
        },
        "completion" => completion(store, &words, input),
        "highlight" => vec![colours(store, &words, input)],
        _ => Vec::new(),
    }
}

fn command_or_node(tree: &Tree, words: &[&str]) -> Option<PathTarget> {
    if let Some(node) = tree.find(&words.join("/")) {
        return Some(PathTarget::Node(node));
    }
    let (name, before) = words.split_last()?;
    let node = tree.find(&before.join("/"))?;
    let mut commands = tree.commands(node).iter();
    if let Some((known, _)) = commands.find(|(known, _)| known == name)
        && let Some(menu) = tree.has(node, known)
    {
        return Some(PathTarget::Command(menu, known));
    }
    let builtin = builtin::offered().find(|builtin| builtin.name == *name);
    builtin.filter(|_| node == 0).map(PathTarget::Builtin)
}

/// Resolves a path from the root.
fn place(tree: &Tree, words: &[&str]) -> Option<PathTarget> {
    if let Some(place) = command_or_node(tree, words) {
        return Some(place);
    }
    let (name, before) = words.split_last()?;
    let parameters = command_or_node(tree, before)?.parameters();
    let mut named = parameters.into_iter().filter(|known| known.name == *name);
    named
        .next()
        .map(|argument| PathTarget::Argument(Box::new(argument)))
}

fn children(tree: &Tree, place: &PathTarget) -> Vec<Child> {
    let argument = |parameter: Parameter| Child {
        name: parameter.name,
        kind: "arg",
        help: parameter.help,
    };
    match place {
        PathTarget::Command(..) | PathTarget::Builtin(_) | PathTarget::Argument(_) => {
            place.parameters().into_iter().map(argument).collect()
        }
        PathTarget::Node(node) => {
            let mut all: Vec<_> = tree
                .offered(*node)
                .map(|(name, node)| Child {
                    name,
                    kind: "dir",
                    help: tree.help(node),
                })
                .collect();
            let command = |name: &'static str, help: &'static str| Child {
                name,
                kind: "cmd",
                help,
            };
            let own = tree.commands(*node).iter();
            all.extend(own.map(|(name, help)| command(name, help)));
            if *node == 0 {
                for builtin in builtin::offered() {
                    if all.iter().all(|known| known.name != builtin.name) {
                        all.push(command(builtin.name, builtin.help));
                    }
                }
            }
            all.sort_by_key(|child| child.name);
            all
        }
    }
}

fn row(cells: &[(&'static str, &str)]) -> Row {
    let mut row = Row::default();
    for (name, text) in cells {
        row.set(name, Value::text(*text));
    }
    row
}

fn own(place: &PathTarget, name: &str) -> Row {
    let kind = match place {
        PathTarget::Node(_) => "dir",
        PathTarget::Command(..) | PathTarget::Builtin(_) => "cmd",
        PathTarget::Argument(_) => "arg",
    };
    row(&[("type", "self"), ("name", name), ("node-type", kind)])
}

fn child(child: &Child) -> Row {
    row(&[
        ("type", "child"),
        ("name", child.name),
        ("node-type", child.kind),
    ])
}

fn syntax(child: &Child) -> Row {
    let kind = if child.kind == "arg" {
        "explanation"
    } else {
        "definition"
    };
    syntax_row(child.name, kind, child.help)
}

/// Returns a row that explains the values of an argument; `None` for an argument without a value.
fn explanation(argument: &Parameter) -> Option<Row> {
    let text = argument.kind().map(|kind| kind.describe());
    let text = text.filter(|text| !text.is_empty())?;
    Some(syntax_row(argument.name, "explanation", &text))
}

fn syntax_row(symbol: &str, kind: &str, text: &str) -> Row {
    row(&[
        ("type", "syntax"),
        ("symbol", symbol),
        ("symbol-type", kind),
        ("nested", "0"),
        ("nonorm", "false"),
        ("text", text),
    ])
}

/// Returns the completion candidates at the end of the text.
fn completion(store: &Store, words: &[&str], input: &str) -> Vec<Row> {
    let mut session = Session::new("");
    session.path = format!("/{}", words.join("/"));
    let found = complete(store, &session, input, input.len());
    let candidate = |candidate: &crate::Candidate| {
        let style = match candidate.subject {
            Subject::Menu => "dir",
            Subject::Command => "cmd",
            Subject::Argument | Subject::Flag => "arg",
            Subject::Variable => "variable-global",
            Subject::Value | Subject::Hint => "none",
        };
        let show = candidate.subject != Subject::Hint;
        row(&[
            ("type", "completion"),
            ("completion", &candidate.text),
            ("offset", &candidate.start.to_string()),
            ("preference", if show { "96" } else { "0" }),
            ("show", if show { "true" } else { "false" }),
            ("style", style),
            ("text", &candidate.help),
        ])
    };
    found.iter().map(candidate).collect()
}

/// Returns the class of each character of the text, separated by commas.
fn colours(store: &Store, words: &[&str], input: &str) -> Row {
    let path = format!("/{}", words.join("/"));
    let source = Source::new(input);
    let tint = tint(&source.text, &pieces(store, &path, &source));
    let mut classes = Vec::with_capacity(tint.len());
    for (at, c) in source.text.char_indices() {
        // A removed carriage return gets the class of the newline after it.
        let stood = source.original(at + c.len_utf8()) - source.original(at);
        let characters = stood - c.len_utf8() + 1;
        classes.extend(std::iter::repeat_n(tint[at], characters));
    }
    row(&[("type", "highlight"), ("highlight", &classes.join(","))])
}
