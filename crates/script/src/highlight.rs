//! What the pieces of a line are, for colours.

use menu::Store;

use crate::parser::Parser;
use crate::source::Source;
use crate::tree::Tree;
use crate::wrong;

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A word of a path.
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
    /// What is not understood.
    Error,
}

/// A piece of a text: from byte, to byte, and what it is.
pub type Piece = (usize, usize, Class);

/// The pieces of a text that is being typed at a menu's path, in order and without overlap. What
/// lies between them is space. A value that its argument does not take is an error.
pub fn highlight(store: &Store, path: &str, text: &str) -> Vec<Piece> {
    let source = Source::new(text);
    let (pieces, wrong) = read(store, path, &source);
    // Later pieces were read again as something else: the last reading counts.
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

/// All pieces of a source's text, those within others behind them, whatever the values are.
pub(crate) fn pieces(store: &Store, path: &str, source: &Source) -> Vec<Piece> {
    read(store, path, source).0
}

/// The pieces of a text, and where values stand that are not taken.
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
        wrong::is_wrong(store, &parameter, text, ended).then_some((from, to))
    });
    (pieces, wrong.collect())
}

fn offset(source: &Source, line: u32, column: u32) -> Option<usize> {
    (0..=source.text.len()).find(|offset| {
        let at = source.position(*offset);
        (at.line, at.column) == (line, column)
    })
}
