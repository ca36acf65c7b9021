//! `:parse`: parses a text as RouterOS does, without running it.

use menu::{Menu, Reason, Refusal};

use crate::parser::Parser;
use crate::source::Source;
use crate::tree::Tree;
use crate::{ast::Block, intermediate};

/// Returns the intermediate form that `:put [:parse …]` prints.
///
/// # Errors
///
/// Refuses the texts that RouterOS's parser refuses, with the position.
pub fn parse_text(menus: &'static [&'static Menu], text: &str) -> Result<String, Refusal> {
    let block = parse_block(menus, text)?;
    intermediate::program(&block).ok_or(Reason::Limit("memory").nowhere())
}

/// True if the whole text can be parsed. A text with a syntax error is not run at all.
pub fn is_readable(menus: &'static [&'static Menu], text: &str) -> bool {
    let source = Source::new(text);
    Parser::new(&source, &Tree::of(menus), 0).program().is_ok()
}

/// Parses a text in `exact` mode.
fn parse_block(menus: &'static [&'static Menu], text: &str) -> Result<Block, Refusal> {
    let source = Source::new(text);
    let tree = Tree::of_main_package(menus);
    let mut parser = Parser::new(&source, &tree, 0);
    parser.exact = true;
    parser.program()
}
