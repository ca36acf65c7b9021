//! Syntax highlighting of an input line.

use menu::Store;

use crate::invalid_values;
use crate::parser::Parser;
use crate::source::Source;
use crate::tree::Tree;

/// The class of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A menu of a path.
    Menu,
    /// A command.
    Command,
    /// The name of an argument or property.
    Argument,
    /// The name of a property in a condition.
    Property,
    /// A value.
    Value,
    /// A variable.
    Variable,
    /// An operator.
    Operator,
    /// A brace, bracket or parenthesis.
    Syntax,
    /// A comment.
    Comment,
    /// Text that cannot be parsed.
    Error,
}

/// A highlighted piece: start and end byte, and its class.
pub type Piece = (usize, usize, Class);

/// Returns the highlighted pieces of a text typed in the menu `path`, ordered and without overlap. Gaps are
/// white space. A value that its argument does not accept has class `Error`.
pub fn highlight(store: &Store, path: &str, text: &str) -> Vec<Piece> {
    let source = Source::new(text);
    let (pieces, wrong) = read(store, path, &source);
    // Of overlapping pieces keep the first, which is the longest of those with its start.
    let mut kept: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        if kept.last().is_none_or(|(_, end, _)| *end <= piece.0) {
            kept.push(piece);
        }
    }
    for (from, to) in wrong {
        kept.retain(|(start, end, _)| *end <= from || *start >= to);
        kept.push((from, to, Class::Error));
    }
    kept.sort_by_key(|(start, ..)| *start);
    for (from, to, _) in &mut kept {
        (*from, *to) = (source.original(*from), source.original(*to));
    }
    kept
}

/// Returns all pieces of a source, nested pieces after the enclosing ones. Values are not validated.
pub(crate) fn pieces(store: &Store, path: &str, source: &Source) -> Vec<Piece> {
    read(store, path, source).0
}

/// Returns the pieces of a text, and the byte ranges of values that are not accepted.
fn read(store: &Store, path: &str, source: &Source) -> (Vec<Piece>, Vec<(usize, usize)>) {
    let tree = Tree::of(store.menus());
    let node = tree.find(path).unwrap_or(0);
    let mut parser = Parser::new(source, &tree, node);
    parser.names.any = true;
    let failed = parser.program().err();
    let mut pieces = std::mem::take(&mut parser.classes);
    if let Some(refusal) = failed
        && let Some(from) = refusal.at.and_then(|at| offset(source, at.line, at.column))
        && from < source.text.len()
    {
        pieces.retain(|(_, end, _)| *end <= from);
        pieces.push((from, source.text.len(), Class::Error));
    }
    pieces.sort_by_key(|(start, end, _)| (*start, std::cmp::Reverse(*end)));
    let constants = std::mem::take(&mut parser.constants).into_iter();
    let wrong = constants.filter_map(|(from, to, parameter)| {
        let text = source.text.get(from..to)?;
        let ended = to < source.text.len();
        invalid_values::is_wrong(store, &parameter, text, ended).then_some((from, to))
    });
    (pieces, wrong.collect())
}

fn offset(source: &Source, line: u32, column: u32) -> Option<usize> {
    (0..=source.text.len()).find(|offset| {
        let at = source.position(*offset);
        (at.line, at.column) == (line, column)
    })
}
