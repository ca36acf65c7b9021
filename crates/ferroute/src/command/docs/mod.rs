//! Documents generated from declarations: man pages and shell completions from the command line, reference and
//! coverage report from the menus.

mod coverage;
mod reference;

use std::fs;
use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::cli::output;
use crate::cli::{Cli, Docs, DocsKind};
use coverage::Coverage;

/// Writes the requested documents.
pub(crate) fn run(docs: &Docs) -> Result<(), String> {
    if let (true, Some(tree)) = (docs.coverage, &docs.tree) {
        let text = fs::read_to_string(tree).map_err(at(tree))?;
        let coverage = Coverage::of(&text).map_err(at(tree))?;
        let text = match docs.json {
            true => coverage.json(),
            false => coverage.text(),
        };
        output::text(text)?;
        return Ok(());
    }
    let Some(kind) = docs.kind else { return Ok(()) };
    let dir = &docs.out;
    fs::create_dir_all(dir).map_err(at(dir))?;
    match kind {
        DocsKind::Man => clap_mangen::generate_to(Cli::command(), dir).map_err(at(dir)),
        DocsKind::Completions => completions(dir),
        DocsKind::Reference => reference::write(dir),
    }
}

/// Prepends a file name to an error.
fn at<E: std::fmt::Display>(path: &Path) -> impl Fn(E) -> String {
    move |error| format!("{}: {error}", path.display())
}

fn completions(dir: &Path) -> Result<(), String> {
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut Cli::command(), "ferroute", dir).map_err(at(dir))?;
    }
    Ok(())
}
