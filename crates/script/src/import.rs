//! `/import`, `/undo` and `/redo`.

use std::ops::{ControlFlow, Range};

use menu::{
    By, Mark, MenuShape, Output, Policies, Reason, Refusal, Rights, Store, bytes, describe,
};
use tool::Router;

use crate::ast::{Block, Command};
use crate::check::{ParsedStatement, read_all};
use crate::evaluated_command::{EvaluatedCommand, lend};
use crate::expected_items::suppose;
use crate::items::{no_effect, older_versions};
use crate::language::argument;
use crate::machine::{CollectedOutput, Machine, Result, finish};
use crate::parser::Parser;
use crate::session::Session;
use crate::site::{ExclusiveSite, InTransaction, Site};
use crate::source::Source;
use crate::tree::Tree;
use crate::value::Value;
use crate::waiting_commands::Waits;

/// Maximum depth of files that import each other.
const MAX_IMPORT_DEPTH: usize = 10;

/// Number of errors of a file that the refusal lists for API programs, which do not see the printed output.
const MAX_LISTED_ERRORS: usize = 20;

/// Maximum length in bytes of each listed error.
const MAX_ERROR_BYTES: usize = 200;

/// Options of an import.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    /// Print each statement before running it.
    verbose: bool,
    /// Undo all changes at the end.
    dry_run: bool,
    /// Refuse a file that cannot run as one transaction.
    atomic: bool,
    /// The first line to run, from 1.
    from_line: u32,
}

/// A parsed file to be imported.
struct Script<'a> {
    source: &'a Source,
    block: &'a Block,
    /// For a dry run: all statements, including unreadable ones.
    rehearsed: Option<&'a [ParsedStatement]>,
    options: Options,
}

/// The reason why a file did not run to its end.
pub(crate) struct ImportFailure {
    pub(crate) refusal: Refusal,
    /// True if the statements before the failure stay applied: the file did not run as one transaction.
    stays: bool,
}

impl ImportFailure {
    const fn undone(refusal: Refusal) -> Self {
        let stays = false;
        Self { refusal, stays }
    }

    /// Returns the refusal with its position, and says whether anything of the file was applied.
    fn told(self) -> Refusal {
        let became = match self.stays {
            true => {
                "the commands before it were applied, because the file waits or queries other hosts"
            }
            false => "nothing of the file was applied",
        };
        let refusal = with_place(self.refusal);
        if refusal.reason == Reason::Interrupted {
            return refusal;
        }
        let at = refusal.at;
        Refusal {
            reason: Reason::Script(format!("{refusal}; {became}")),
            at,
        }
    }
}

impl Machine<'_> {
    /// `/import`: runs a file as one transaction, unless it contains commands that wait.
    pub(crate) fn import(&mut self, command: &Command) -> Result<Value> {
        let ready = self.ready(command)?;
        let options = options(&ready)?;
        let name = ready.text("file-name").or_else(|| ready.text("file"));
        let name = name.ok_or_else(|| Reason::Missing(vec!["file-name"]).at(command.at))?;
        if self.session.imports >= MAX_IMPORT_DEPTH {
            return Err(Reason::Limit("nesting").nowhere().into());
        }
        // A check has no access to other files.
        if self.passes_over() {
            return Ok(Value::Nothing);
        }
        let is_script = self.session.is_script;
        let (text, owner) = self.with(|access| {
            let (name, text) = read(access.live, &name)?;
            let owner = match is_script {
                true => access.live.rights_of_file(access.store, &name),
                false => Ok(Rights::FULL),
            };
            Ok((text, owner.map_err(Reason::nowhere)?))
        })?;
        let outermost = self.session.imports == 0;
        let shared = self.session.rights.and(&owner);
        let caller = std::mem::replace(&mut self.session.rights, shared);
        let done = import_with(self.site, self.session, &text, self.out, options);
        self.session.rights = caller;
        done.map_err(|failed| match outermost && !options.dry_run {
            true => failed.told(),
            // A nested import or dry run needs no remark about the applied commands.
            false => with_place(failed.refusal),
        })?;
        self.print("\nScript file loaded and executed successfully\n")?;
        Ok(Value::Nothing)
    }

    /// Converts the items that a file of an older RouterOS version added, as one transaction.
    fn upgrade(&mut self) -> std::result::Result<(), Refusal> {
        let done = self.with(|access| {
            access.change(|access| older_versions::upgrade(access.store).map(|()| Value::Nothing))
        });
        done.map(drop).or_else(finish)
    }

    /// `/undo` and `/redo`. With `revision` they are refused if another transaction is next: another user may
    /// have changed the configuration since the caller looked.
    pub(crate) fn back_and_forth(&mut self, name: &str, command: &Command) -> Result<Value> {
        let meant = match argument(command, "revision") {
            Some(_) => Some(self.value_of(command, "revision")?.text()),
            None => None,
        };
        if self.checking {
            return Ok(Value::Nothing);
        }
        self.with(|access| {
            let policies = access.policies;
            let next = match name {
                "undo" => access.store.next_undo(),
                _ => access.store.next_redo(),
            };
            if let (Some(meant), Some(next)) = (&meant, next)
                && **meant != *next.revision.to_string()
            {
                let text = format!(
                    "the last change is a different one: {} by {}",
                    next.action(),
                    next.by.user
                );
                return Err(Reason::failure(text).nowhere());
            }
            let (user, store) = (access.caller.user, &mut *access.store);
            let by = By::user(user, access.live.clock());
            let permitted = match name {
                "undo" => store.permit_undo(user, policies),
                _ => store.permit_redo(user, policies),
            };
            permitted.map_err(Reason::nowhere)?;
            let done = match name {
                "undo" => store.undo(by),
                _ => store.redo(by),
            };
            if let Some(changes) = done.map_err(Reason::nowhere)? {
                access.live.changed(access.store, &changes);
            }
            Ok(Value::Nothing)
        })
    }
}

fn options(ready: &EvaluatedCommand<'_>) -> std::result::Result<Options, Refusal> {
    let is = |name: &str| ready.text(name).is_some_and(|text| text != "no");
    let from_line = ready.text("from-line").map_or(Ok(1), |text| text.parse());
    let options = Options {
        verbose: is("verbose"),
        dry_run: is("dry-run"),
        atomic: is("atomic"),
        from_line: from_line.map_err(|_| {
            let text = "invalid value for argument from-line".to_owned();
            Reason::BadValue(text).nowhere()
        })?,
    };
    // RouterOS: `dry-run` and `from-line` require `verbose`.
    if (options.dry_run || options.from_line > 1) && !options.verbose {
        return Err(Reason::failure("only possible with verbose=yes").nowhere());
    }
    Ok(options)
}

/// Reads a file by its name, with or without the ending `.rsc`. Returns the full name and the text.
fn read(live: &mut dyn Router, name: &str) -> std::result::Result<(String, String), Refusal> {
    let files = live.files().ok_or_else(|| Reason::NoItem.nowhere())?;
    for name in [name.to_owned(), format!("{name}.rsc")] {
        match files.read(&name) {
            Ok(contents) => return Ok((name, bytes::from_bytes(&contents))),
            Err(Reason::Denied) => return Err(Reason::Denied.nowhere()),
            Err(_) => {}
        }
    }
    let missing = "Cannot open import file, file does not exist".to_owned();
    Err(Reason::Script(missing).nowhere())
}

/// Parses a file that another file imports; `None` if it cannot be read or parsed.
fn readable(site: &mut dyn Site, name: &str) -> Option<Block> {
    let (_, text) = lend(site, |_, live| read(live, name)).ok()?.ok()?;
    let tree = Tree::of(site.menus());
    Parser::new(&Source::of_file(&text), &tree, 0)
        .program()
        .ok()
}

/// Adds the position to the text of a refusal: the user does not see the line.
fn with_place(refusal: Refusal) -> Refusal {
    let stays = matches!(
        refusal.reason,
        Reason::Interrupted | Reason::Limit(_) | Reason::Storage(_)
    );
    match refusal.at {
        Some(at) if !stays && !refusal.reason.is_located() => {
            Reason::Script(format!("{} {at}", refusal.reason)).at(at)
        }
        _ => refusal,
    }
}

/// Runs the text of a file.
pub(crate) fn import_with(
    site: &mut dyn Site,
    session: &mut Session,
    text: &str,
    out: &mut dyn Output,
    options: Options,
) -> std::result::Result<(), ImportFailure> {
    let source = Source::of_file(text);
    let tree = Tree::of(site.menus());
    let rehearsed = options.dry_run.then(|| read_all(&source, &tree));
    let block = match &rehearsed {
        Some(all) => Block {
            statements: all.iter().flatten().cloned().collect(),
        },
        None => {
            let read = Parser::new(&source, &tree, 0).program();
            read.map_err(ImportFailure::undone)?
        }
    };
    let script = Script {
        source: &source,
        block: &block,
        rehearsed: rehearsed.as_deref(),
        options,
    };
    let waits = !options.dry_run && {
        let globals = session.globals.clone();
        let mut file = |name: &str| readable(site, name);
        Waits::new(&globals, &mut file).in_block(&block)
    };
    if waits && options.atomic {
        let text = "the file waits or queries other hosts: it can not be one transaction";
        return Err(ImportFailure::undone(Reason::failure(text).nowhere()));
    }
    let path = std::mem::replace(&mut session.path, "/".to_owned());
    session.imports += 1;
    let _running = session.interrupt.running();
    let result = if waits {
        let mut machine = Machine::new(site, session, out);
        machine.in_groups(|machine| {
            script.play(machine)?;
            machine.upgrade()
        })
    } else {
        script.as_transaction(site, session, out)
    };
    session.imports -= 1;
    session.path = path;
    result.map_err(|refusal| ImportFailure {
        refusal,
        stays: waits,
    })
}

impl Script<'_> {
    /// Runs the statements one by one.
    fn play(&self, machine: &mut Machine<'_>) -> std::result::Result<(), Refusal> {
        let from = self.options.from_line;
        let statements = self.block.statements.iter();
        for statement in statements.filter(|statement| statement.at.line >= from) {
            if self.options.verbose {
                let (from, to) = statement.span;
                self.show(statement.at.line, from..to, machine)?;
            }
            if let Err(stop) = machine.statement(statement) {
                return finish(stop);
            }
        }
        Ok(())
    }

    /// Dry run on the current configuration. The file may be a whole configuration that replaces the current
    /// one: if it conflicts, it also runs on an empty router with the same ports, and the better outcome is
    /// reported.
    fn rehearse(
        &self,
        all: &[ParsedStatement],
        store: &mut Store,
        live: &mut dyn Router,
        session: &mut Session,
        out: &mut dyn Output,
    ) -> std::result::Result<(), Refusal> {
        let mut here = CollectedOutput::new(out.width());
        let mut outcome = self.rehearse_on(all, store, live, session, &mut here)?;
        if outcome.errors > 0 && is_whole(self.source) {
            let mut empty = empty_like(store)?;
            let mut there = CollectedOutput::new(out.width());
            "/".clone_into(&mut session.path);
            let other = self.rehearse_on(all, &mut empty, live, session, &mut there)?;
            if other.errors < outcome.errors {
                (outcome, here) = (other, there);
                // They would be those of an empty router.
                outcome.changes.clear();
            }
        }
        let _ = out.write(&here.text);
        // Changed items may have secrets.
        if outcome.errors == 0 && session.may().contains(Policies::SENSITIVE) {
            let _ = out.write(&outcome.changes);
        }
        outcome.result(session.is_program())
    }

    /// Runs all statements on a store in spite of errors, then rolls back. RouterOS: prints each error, and the
    /// number of errors at the end.
    fn rehearse_on(
        &self,
        all: &[ParsedStatement],
        store: &mut Store,
        live: &mut dyn Router,
        session: &mut Session,
        out: &mut dyn Output,
    ) -> std::result::Result<Outcome, Refusal> {
        let mark = store.begin();
        let supposed = suppose(store, self.block).map_err(Refusal::from);
        let outcome = supposed.and_then(|()| {
            let mut site = ExclusiveSite::new(store, live);
            let mut machine = Machine::new(&mut site, session, out);
            machine.checking = true;
            self.each_rehearsed(all, &mut machine)
        });
        let outcome = outcome.map(|outcome| match outcome.errors {
            0 => rehearse_upgrade(store, out),
            _ => outcome,
        });
        let outcome = outcome.map(|outcome| Outcome {
            changes: changes_of(store, mark),
            ..outcome
        });
        store.rollback(mark);
        outcome
    }

    fn each_rehearsed(
        &self,
        all: &[ParsedStatement],
        machine: &mut Machine<'_>,
    ) -> std::result::Result<Outcome, Refusal> {
        let mut outcome = Outcome::default();
        for next in all {
            let (line, span) = match next {
                Ok(statement) => (statement.at.line, statement.span.0..statement.span.1),
                Err((_, span)) => (self.source.position(span.start).line, span.clone()),
            };
            if line < self.options.from_line {
                continue;
            }
            self.show(line, span, machine)?;
            let done = match next {
                Ok(statement) => machine.statement(statement).map(drop).or_else(finish),
                Err((refusal, _)) => Err(refusal.clone()),
            };
            match done.map_err(with_place) {
                Ok(()) => {}
                Err(refusal) if refusal.reason == Reason::Interrupted => return Err(refusal),
                Err(refusal) => {
                    outcome.count(&refusal);
                    write(machine, &format!("{refusal}\n"))?;
                }
            }
        }
        Ok(outcome)
    }

    /// Prints a statement before it runs.
    fn show(
        &self,
        line: u32,
        span: Range<usize>,
        machine: &mut Machine<'_>,
    ) -> std::result::Result<(), Refusal> {
        let text = self.source.text.get(span).unwrap_or_default().trim();
        write(machine, &format!("#line {line}\n{text}\n"))
    }

    /// Runs the file as one transaction, while all others only read. Its output is written afterwards.
    fn as_transaction(
        &self,
        site: &mut dyn Site,
        session: &mut Session,
        out: &mut dyn Output,
    ) -> std::result::Result<(), Refusal> {
        let mut text = CollectedOutput::new(out.width());
        let done = match self.rehearsed {
            Some(all) => lend(site, |store, live| {
                self.rehearse(all, store, live, session, &mut text)
            })
            .and_then(|done| done),
            None => {
                site.reserve();
                let done = self.transact(site, session, &mut text);
                site.release();
                done
            }
        };
        let mut flow = out.write(&text.text);
        for line in &text.remarks {
            if flow.is_continue() {
                flow = out.remark(line);
            }
        }
        done.and(match flow {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Reason::Interrupted.nowhere()),
        })
    }

    /// Runs the statements in a transaction at a reserved site, and commits it.
    fn transact(
        &self,
        site: &mut dyn Site,
        session: &mut Session,
        out: &mut dyn Output,
    ) -> std::result::Result<(), Refusal> {
        let mark = lend(site, |store, _| {
            let mark = store.begin();
            match suppose(store, self.block) {
                Ok(()) => Ok(mark),
                Err(reason) => {
                    store.rollback(mark);
                    Err(Refusal::from(reason))
                }
            }
        })??;
        let mut within = InTransaction(site);
        let mut machine = Machine::new(&mut within, session, out);
        let played = self.play(&mut machine);
        let commit = lend(site, |store, live| {
            if let Err(refusal) = played.and_then(|()| older_versions::upgrade(store)) {
                store.rollback(mark);
                return Err(refusal);
            }
            let by = By::user(session.caller().user, live.clock());
            store.start_commit(mark, by).map_err(Refusal::from)
        })??;
        let Some(mut commit) = commit else {
            return Ok(());
        };
        site.let_read(&mut || commit.store());
        let changes = lend(site, |store, _| store.end_commit(commit))?.map_err(Refusal::from)?;
        lend(site, |store, live| {
            live.changed(store, &changes);
            if let Some((topics, text)) = no_effect::of_file(store, &changes) {
                live.log(topics, &text);
                // Ignore the error: the user may be disconnected.
                let _ = out.remark(&text);
            }
        })
    }
}

/// Returns the difference that the open transaction has made, as commands with `+` and `-` under a heading.
fn changes_of(store: &Store, mark: Mark) -> String {
    let list = store.changes_since(mark);
    let mut text = format!("#changes: {}\n", list.len());
    for line in describe::diff(store, &list) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Converts the items of a file from an older version, as the import does after its last statement.
fn rehearse_upgrade(store: &mut Store, out: &mut dyn Output) -> Outcome {
    let mut outcome = Outcome::default();
    if let Err(refusal) = older_versions::upgrade(store).map_err(with_place) {
        outcome.count(&refusal);
        let _ = out.write(&format!("{refusal}\n"));
    }
    outcome
}

/// The result of a dry run.
#[derive(Debug, Default)]
struct Outcome {
    errors: usize,
    /// What the statements change, as commands.
    changes: String,
    /// The first errors, for API programs, which do not see the printed output.
    told: String,
}

impl Outcome {
    fn count(&mut self, refusal: &Refusal) {
        self.errors += 1;
        if self.errors <= MAX_LISTED_ERRORS {
            self.told.push('\n');
            self.told.push_str(&bounded(refusal.to_string()));
        }
    }

    fn result(self, is_program: bool) -> std::result::Result<(), Refusal> {
        if self.errors == 0 {
            return Ok(());
        }
        let mut text = format!("found {} error(s) in import file", self.errors);
        if is_program {
            text.push_str(&self.told);
        }
        Err(Reason::Script(text).nowhere())
    }
}

/// True if the first line marks the file as an export of a RouterOS router.
fn is_whole(source: &Source) -> bool {
    let first = source.text.lines().next().unwrap_or_default();
    first.starts_with('#') && first.contains(" by RouterOS ")
}

/// Returns a factory-fresh store with the ports of another store.
fn empty_like(store: &Store) -> std::result::Result<Store, Refusal> {
    let mut empty = Store::new(store.menus());
    let mark = empty.begin();
    let fixed = store
        .menus()
        .iter()
        .filter(|menu| menu.shape == MenuShape::Fixed);
    for menu in fixed {
        let names = store.items(menu.path).map(|item| item.text("default-name"));
        for name in names.filter(|name| store.port_kind(name).is_some()) {
            empty.ensure_port(name, None).map_err(Reason::nowhere)?;
        }
    }
    empty.commit(mark).map_err(Reason::nowhere)?;
    Ok(empty)
}

/// Truncates a message to the maximum length of a listed error.
fn bounded(mut text: String) -> String {
    if text.len() > MAX_ERROR_BYTES {
        text.truncate(text.floor_char_boundary(MAX_ERROR_BYTES));
        text.push('…');
    }
    text
}

fn write(machine: &mut Machine<'_>, text: &str) -> std::result::Result<(), Refusal> {
    machine.settle().or_else(finish)?;
    match machine.out.write(text) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Reason::Interrupted.nowhere()),
    }
}
