//! Man pages and shell completions, from the command line's own declaration.

use std::fs;
use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::cli::{Cli, Docs, DocsKind};

/// Writes what is asked for.
pub(crate) fn run(docs: &Docs) -> Result<(), String> {
    let dir = &docs.out;
    fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    match docs.kind {
        DocsKind::Man => clap_mangen::generate_to(Cli::command(), dir)
            .map_err(|error| format!("{}: {error}", dir.display())),
        DocsKind::Completions => completions(dir),
    }
}

fn completions(dir: &Path) -> Result<(), String> {
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut Cli::command(), "ferroute", dir)
            .map_err(|error| format!("{}: {error}", dir.display()))?;
    }
    Ok(())
}
