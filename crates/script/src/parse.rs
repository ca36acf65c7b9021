//! `:parse`: a text as RouterOS's parser sees it, without running anything.

use menu::{Menu, Reason, Refusal};

use crate::parser::Parser;
use crate::source::Source;
use crate::tree::Tree;
use crate::{ast::Block, il};

/// The form between text and run that `:put [:parse …]` shows.
///
/// # Errors
///
/// Refuses what RouterOS's parser refuses, with the place.
pub fn parse_text(menus: &'static [&'static Menu], text: &str) -> Result<String, Refusal> {
    let block = parse_block(menus, text)?;
    il::program(&block).ok_or(Reason::Limit("memory").nowhere())
}

/// Whether a text can be run: nothing of it is run otherwise.
pub fn is_readable(menus: &'static [&'static Menu], text: &str) -> bool {
    let source = Source::new(text);
    Parser::new(&source, &Tree::of(menus), 0).program().is_ok()
}

/// The statements that `:parse` makes of a text.
fn parse_block(menus: &'static [&'static Menu], text: &str) -> Result<Block, Refusal> {
    let source = Source::new(text);
    let tree = Tree::of_main_package(menus);
    let mut parser = Parser::new(&source, &tree, 0);
    parser.exact = true;
    parser.program()
}
