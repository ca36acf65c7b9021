//! `check`: reports for each command of a file whether an import would apply it, and lists every error of the
//! file.

use std::collections::BTreeMap;
use std::ops::Range;

use menu::{Cause, Effect, Id, Menu, MenuShape, Offline, Position, Reason, Refusal, Store, json};

use crate::ast::{Block, Command, Expr, Node, Statement, StatementKind, Target};
use crate::command_count;
use crate::expected_items::suppose;
use crate::implicit_items;
use crate::items::older_versions;
use crate::machine::{Machine, Scope, Stop};
use crate::parser::Parser;
use crate::run::each_statement;
use crate::session::{Limits, Session};
use crate::site::ExclusiveSite;
use crate::source::Source;
use crate::tree::Tree;

/// Maximum length, in characters, of the text that a report quotes for an unreadable command.
const MAX_QUOTED_CHARS: usize = 400;

/// Steps that one statement of a checked file may take.
const MAX_STATEMENT_STEPS: u64 = 50_000;

/// An accepted command whose menu or properties have no effect in ferroute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoEffect {
    /// Line of the command, from 1.
    pub line: u32,
    /// The command as written.
    pub command: String,
    /// The menu path and the title of the item; only the path if the item no longer exists at the end of the
    /// file.
    pub item: String,
    /// The properties or the menu without effect, separated by commas.
    pub what: String,
    /// The feature that ferroute lacks, in users' words.
    pub missing: String,
}

/// A command that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The line of the error, from 1.
    pub line: u32,
    /// The column in bytes, from 1.
    pub column: u32,
    /// The command as written.
    pub command: String,
    /// The text of the refusal.
    pub reason: String,
}

/// An item that the import adds although no command adds it, because older RouterOS versions created it
/// automatically.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImplicitItem {
    /// Line of the command that caused the addition, from 1.
    pub line: u32,
    /// The item's menu and name.
    pub what: String,
}

/// The result of checking a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Number of commands in the file. A line with only a path is not a command.
    pub commands: usize,
    /// Number of accepted commands: `applied` plus the commands in `no_effect`.
    pub accepted: usize,
    /// Number of commands with full effect.
    pub applied: usize,
    /// Accepted commands of which some properties, or the menu, have no effect.
    pub no_effect: Vec<NoEffect>,
    /// Refused commands.
    pub refused: Vec<Refused>,
    /// Items that the import adds although no command adds them.
    pub made: Vec<ImplicitItem>,
    /// The line, from 1, of the command that added an item. For settings: of the last command that changed
    /// them.
    pub lines: BTreeMap<(&'static str, Id), u32>,
}

impl Report {
    /// The report on a file as one JSON object.
    pub fn to_json(&self, file: &str) -> String {
        let mut out = String::from("{\"file\":");
        json::string(file, &mut out);
        out.push_str(&format!(
            ",\"commands\":{},\"accepted\":{},\"applied\":{},\"no_effect\":[",
            self.commands, self.accepted, self.applied
        ));
        for (index, item) in self.no_effect.iter().enumerate() {
            out.push_str(if index > 0 { ",{" } else { "{" });
            out.push_str(&format!("\"line\":{},\"command\":", item.line));
            json::string(&item.command, &mut out);
            out.push_str(",\"item\":");
            json::string(&item.item, &mut out);
            out.push_str(",\"what\":");
            json::string(&item.what, &mut out);
            out.push_str(",\"missing\":");
            json::string(&item.missing, &mut out);
            out.push('}');
        }
        out.push_str("],\"refused\":[");
        for (index, item) in self.refused.iter().enumerate() {
            out.push_str(if index > 0 { ",{" } else { "{" });
            out.push_str(&format!(
                "\"line\":{},\"column\":{},\"command\":",
                item.line, item.column
            ));
            json::string(&item.command, &mut out);
            out.push_str(",\"reason\":");
            json::string(&item.reason, &mut out);
            out.push('}');
        }
        out.push_str("],\"made\":[");
        for (index, item) in self.made.iter().enumerate() {
            out.push_str(if index > 0 { ",{" } else { "{" });
            out.push_str(&format!("\"line\":{},\"what\":", item.line));
            json::string(&item.what, &mut out);
            out.push('}');
        }
        out.push_str("]}");
        out
    }
}

/// Checks a file command by command. `store` must hold the factory-fresh configuration; `check` runs the file
/// against it, so the caller must discard it afterwards.
pub fn check(store: &mut Store, text: &str) -> Report {
    let source = Source::of_file(text);
    let tree = Tree::of(store.menus());
    let statements = read_all(&source, &tree);
    let starts = command_count::commands(&source.text, &tree);
    let mut session = Session::new("check");
    session.imports = 1;
    let mut check = Check {
        source: &source,
        store,
        session,
        fates: starts.iter().map(|_| CommandOutcome::Applied).collect(),
        starts,
        supposed: BTreeMap::new(),
        scopes: None,
        open: false,
        made: Vec::new(),
        changed_items: Vec::new(),
    };
    let good = statements
        .iter()
        .filter_map(|next| next.as_ref().ok())
        .cloned()
        .collect();
    // References to ports that the board cannot have are refused at the command that uses them.
    let _ = suppose(check.store, &Block { statements: good });
    for (index, next) in statements.iter().enumerate() {
        match next {
            Ok(statement) => {
                check.statement(statement);
                let after = statements.get(index + 1..).unwrap_or_default();
                check.nowhere(statement, after);
            }
            Err((refusal, span)) => check.unreadable(refusal, span.clone()),
        }
    }
    check.upgrade();
    check.report()
}

/// The outcome of one command.
enum CommandOutcome {
    Applied,
    NoEffect(NoEffect),
    Refused(Refused),
}

struct Check<'a> {
    source: &'a Source,
    store: &'a mut Store,
    session: Session,
    /// Byte offsets of the commands in the text, ascending.
    starts: Vec<usize>,
    /// The outcome of each command, parallel to `starts`.
    fates: Vec<CommandOutcome>,
    /// Placeholders for items that refused commands would have added: line of the command, by item name.
    supposed: BTreeMap<String, u32>,
    /// Variables declared at the top level of the file, carried from statement to statement.
    scopes: Option<Vec<Scope>>,
    /// True once a command was passed over or refused. Later script errors may be consequences of that command,
    /// so they are not reported as faults of the file.
    open: bool,
    /// Items that the import added although no command adds them.
    made: Vec<ImplicitItem>,
    /// Changed items, each with the line and the byte span of the command that changed it.
    changed_items: Vec<(u32, (usize, usize), ChangedItem)>,
}

impl Check<'_> {
    fn report(mut self) -> Report {
        let mut lines = BTreeMap::new();
        for (line, _, (menu, id)) in &self.changed_items {
            let first = lines.entry((menu.path, *id)).or_insert(*line);
            if menu.shape == MenuShape::Settings {
                *first = *line;
            }
        }
        self.note_items();
        let mut report = Report {
            commands: self.fates.len(),
            made: self.made,
            lines,
            ..Report::default()
        };
        for fate in self.fates {
            match fate {
                CommandOutcome::Applied => report.applied += 1,
                CommandOutcome::NoEffect(note) => report.no_effect.push(note),
                CommandOutcome::Refused(refused) => report.refused.push(refused),
            }
        }
        report.accepted = report.applied + report.no_effect.len();
        report
    }

    /// Converts the items of a file from an older version, as the import does after its last command. A refusal is
    /// noted at the last command.
    fn upgrade(&mut self) {
        if let Err(refusal) = older_versions::upgrade(self.store) {
            let start = self.starts.last().copied().unwrap_or_default();
            let rest = self.source.text.get(start..).unwrap_or_default();
            let line: String = rest.chars().take(MAX_QUOTED_CHARS).collect();
            let line = line.lines().next().unwrap_or_default().trim().to_owned();
            let at = self.source.position(start);
            self.refuse(start, at, line, &refusal);
        }
    }

    /// Returns the outcome of the command that contains byte offset `at`. An offset before the first command
    /// gets a new entry, so that its error is reported.
    fn owner(&mut self, at: usize) -> &mut CommandOutcome {
        let after = self.starts.partition_point(|start| *start <= at);
        if after == 0 {
            self.starts.insert(0, at);
            self.fates.insert(0, CommandOutcome::Applied);
        }
        &mut self.fates[after.saturating_sub(1)]
    }

    /// Refuses all commands in the span of an unreadable statement. The first command is reported at the
    /// position of the error.
    fn unreadable(&mut self, refusal: &Refusal, span: Range<usize>) {
        let within = |start: &&usize| span.contains(*start);
        let mut starts: Vec<_> = self.starts.iter().filter(within).copied().collect();
        if starts.is_empty() {
            starts.push(span.start);
        }
        for (index, start) in starts.into_iter().enumerate() {
            let rest = self.source.text.get(start..).unwrap_or_default();
            // Quote a limited part: a line may be as long as the file, and each command in it is quoted.
            let line: String = rest.chars().take(MAX_QUOTED_CHARS).collect();
            let line = line.lines().next().unwrap_or_default().trim().to_owned();
            let place = refusal.at.filter(|_| index == 0);
            let at = place.unwrap_or_else(|| self.source.position(start));
            self.suppose(&line, at.line);
            self.refuse(start, at, line, refusal);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        let mut commands = Vec::new();
        let all = Block {
            statements: vec![statement.clone()],
        };
        each_statement(&all, &mut |inner| {
            if is_command(inner) {
                commands.push(inner.clone());
            }
        });
        let mut refused = BTreeMap::new();
        for command in &commands {
            if let StatementKind::UnknownWord(bad) = &command.what {
                if !bad.enters {
                    self.suppose(&self.text(command), command.at.line);
                }
                refused.insert(command.at, Reason::BadCommand(bad.name.clone()).at(bad.at));
            }
        }
        // Code in braces after an unknown word never runs, so its commands are refused as well.
        each_statement(&all, &mut |outer| {
            let StatementKind::UnknownWord(bad) = &outer.what else {
                return;
            };
            for code in &bad.code {
                each_statement(code, &mut |inner| {
                    let why = Reason::BadCommand(bad.name.clone()).at(bad.at);
                    refused.entry(inner.at).or_insert(why);
                });
            }
        });
        if refused.is_empty() && !commands.is_empty() {
            let unmade = implicit_items::unmade(self.store, &commands);
            refused = self.run(statement, &commands);
            let made = implicit_items::made(self.store, unmade);
            self.made
                .extend(made.map(|(line, what)| ImplicitItem { line, what }));
        }
        for command in &commands {
            match refused.get(&command.at) {
                Some(refusal) => {
                    let at = match &command.what {
                        // The unknown menu may have been entered lines above: report the line of this command.
                        StatementKind::UnknownWord(bad) if bad.at.line != command.at.line => {
                            command.at
                        }
                        _ => refusal.at.unwrap_or(command.at),
                    };
                    self.suppose_made(command);
                    self.refuse(command.span.0, at, self.text(command), refusal);
                }
                None => self.note(command),
            }
        }
    }

    /// Refuses a path that leads to no menu, unless the next command is refused for that path anyway. The
    /// import would stop at the path, so the path counts as a command.
    fn nowhere(&mut self, statement: &Statement, after: &[ParsedStatement]) {
        let StatementKind::UnknownWord(bad) = &statement.what else {
            return;
        };
        let mut next = after.iter().flatten().map(|next| &next.what);
        let next = next.find(|what| !matches!(what, StatementKind::Empty(_)));
        let follows = matches!(next, Some(StatementKind::UnknownWord(next)) if next.at == bad.at);
        if !bad.enters || follows {
            return;
        }
        let start = statement.span.0;
        if let Err(place) = self.starts.binary_search(&start) {
            self.starts.insert(place, start);
            self.fates.insert(place, CommandOutcome::Applied);
        }
        let refusal = Reason::BadCommand(bad.name.clone()).at(bad.at);
        self.refuse(start, bad.at, self.text(statement), &refusal);
    }

    /// Runs a statement against the store only: no output, no live actions. Returns the refusals by the
    /// position of the refused command.
    fn run(
        &mut self,
        statement: &Statement,
        commands: &[Statement],
    ) -> BTreeMap<Position, Refusal> {
        let mut out = DiscardOutput;
        let mut live = Offline;
        self.session.limits = Limits {
            steps: MAX_STATEMENT_STEPS,
            ..Limits::default()
        };
        let mut site = ExclusiveSite::new(self.store, &mut live);
        let mut machine = Machine::new(&mut site, &mut self.session, &mut out);
        machine.checking = true;
        // As in an import, later statements see the variables that earlier statements declared.
        if let Some(scopes) = self.scopes.take() {
            machine.scopes = scopes;
        }
        let done = machine.statement(statement);
        machine.scopes.truncate(1);
        self.scopes = Some(std::mem::take(&mut machine.scopes));
        self.open |= machine.passed_over;
        let changed_items = std::mem::take(&mut machine.changed_items);
        self.keep_changed_items(changed_items, commands);
        let refusal = match done {
            Ok(_) => return BTreeMap::new(),
            Err(Stop::Refused(refusal)) => refusal,
            Err(Stop::Return(_) | Stop::Break | Stop::Continue | Stop::Exit) => {
                self.open = true;
                return BTreeMap::new();
            }
        };
        let excused = match refusal.reason {
            Reason::Script(_) => self.open,
            // A check has a lower step limit than an import, so reaching the limit is no fault of the file.
            Reason::Limit(what) => what == "steps" || self.open,
            _ => false,
        };
        if excused {
            return BTreeMap::new();
        }
        let at = refusal.at.unwrap_or(statement.at);
        let command = command_at(commands, at);
        BTreeMap::from([(command.map_or(statement.at, |command| command.at), refusal)])
    }

    /// Records that the command at byte offset `start` is refused. The first reason for a command is kept.
    fn refuse(&mut self, start: usize, at: Position, command: String, refusal: &Refusal) {
        self.open = true;
        let fate = self.owner(start);
        if !matches!(fate, CommandOutcome::Refused(_)) {
            *fate = CommandOutcome::Refused(Refused {
                line: at.line,
                column: at.column,
                command,
                reason: refusal.to_string(),
            });
        }
    }

    /// Records which properties of an accepted command have no effect.
    fn note(&mut self, statement: &Statement) {
        let StatementKind::Run(command) = &statement.what else {
            return;
        };
        let mut what = inert(command);
        let mut missing = match command.target {
            Target::Menu(menu, _) if menu.effect == Effect::None && !what.is_empty() => {
                vec![self.store.area(menu).to_owned()]
            }
            _ => what.clone(),
        };
        for argument in &command.arguments {
            let Some(Expr {
                node: Node::Word(word) | Node::Text(word),
                ..
            }) = &argument.value
            else {
                continue;
            };
            if let Some(line) = self.supposed.get(word) {
                what.push(format!("{}={word} (refused in line {line})", argument.name));
                missing.push(format!("{word} (refused in line {line})"));
            }
        }
        if what.is_empty() {
            return;
        }
        let menu = match command.target {
            Target::Menu(menu, _) => self.store.shown_path(menu),
            _ => "",
        };
        self.lacks(
            statement.at.line,
            statement.span,
            menu,
            &what.join(", "),
            &missing.join(", "),
        );
    }

    /// Records that parts of a command have no effect, unless the command is refused. `item` is the path of the
    /// changed item, `what` the parts without effect, `missing` the lacking feature.
    fn lacks(&mut self, line: u32, span: (usize, usize), item: &str, what: &str, missing: &str) {
        let command = self.text_of(span);
        match self.owner(span.0) {
            CommandOutcome::Refused(_) => {}
            CommandOutcome::NoEffect(note) => {
                also(&mut note.what, what);
                also(&mut note.missing, missing);
            }
            fate @ CommandOutcome::Applied => {
                *fate = CommandOutcome::NoEffect(NoEffect {
                    line,
                    command,
                    item: item.to_owned(),
                    what: what.to_owned(),
                    missing: missing.to_owned(),
                });
            }
        }
    }

    /// Remembers which items the commands of a statement changed, for `note_items`.
    fn keep_changed_items(
        &mut self,
        changed_items: Vec<(Position, ChangedItem)>,
        commands: &[Statement],
    ) {
        for (at, item) in changed_items {
            if let Some(command) = command_at(commands, at) {
                self.changed_items
                    .push((command.at.line, command.span, item));
            }
        }
    }

    /// Reports changed items that lack something to work, in their state at the end of the file: a later
    /// command may have added it. Properties without effect were already reported for the commands that set
    /// them.
    fn note_items(&mut self) {
        for (line, span, (menu, id)) in std::mem::take(&mut self.changed_items) {
            let Some(item) = self.store.item(menu.path, id).cloned() else {
                continue;
            };
            let name = format!("{} {}", self.store.shown_path(menu), item.title());
            let name = name.trim_end();
            let what = match self.store.no_effect_reason(&item) {
                Some(lack) => match &lack.cause {
                    Cause::Named(property, name) => {
                        Some((format!("{property}={name}"), lack.to_string()))
                    }
                    Cause::Item(what) => Some(((*what).to_owned(), (*what).to_owned())),
                    Cause::Menu | Cause::Values(_) => None,
                },
                None => None,
            };
            if let Some((what, missing)) = what {
                self.lacks(line, span, name, &what, &missing);
            }
            if let CommandOutcome::NoEffect(note) = self.owner(span.0)
                && !note.item.contains(' ')
            {
                name.clone_into(&mut note.item);
            }
        }
    }

    /// Adds a placeholder for the interface that an unreadable `add` command names, so that references to the
    /// interface are not refused too.
    fn suppose(&mut self, text: &str, line: u32) {
        let Some(name) = text.split(" name=").nth(1).map(value_at) else {
            return;
        };
        let hidden = self
            .store
            .menus()
            .iter()
            .find(|menu| menu.hidden && menu.shape == MenuShape::Fixed);
        let Some(space) = hidden.and_then(|menu| menu.space) else {
            return;
        };
        if name.is_empty() || self.store.named(space, &name).is_some() {
            return;
        }
        self.store.suppose(space, &name);
        self.supposed.insert(name, line);
    }

    /// Adds a placeholder for the item that a refused `add` command names.
    fn suppose_made(&mut self, statement: &Statement) {
        let StatementKind::Run(command) = &statement.what else {
            return;
        };
        let Target::Menu(menu, "add") = command.target else {
            return;
        };
        let key = command.arguments.iter().find(|a| menu.key == Some(&a.name));
        if let Some(Expr {
            node: Node::Word(name) | Node::Text(name),
            ..
        }) = key.and_then(|argument| argument.value.as_ref())
        {
            self.store.suppose_item(menu, name);
            self.supposed.insert(name.clone(), statement.at.line);
        }
    }

    fn text(&self, statement: &Statement) -> String {
        self.text_of(statement.span)
    }

    fn text_of(&self, span: (usize, usize)) -> String {
        let text = self.source.text.get(span.0..span.1).unwrap_or_default();
        let lines: Vec<_> = text
            .split("\\\n")
            .map(|line| line.trim_start_matches(' '))
            .collect();
        lines.concat().trim().to_owned()
    }
}

/// The menu and the id of an item that a command changed.
pub(crate) type ChangedItem = (&'static Menu, Id);

/// Returns the last command that begins at or before a position.
fn command_at(commands: &[Statement], at: Position) -> Option<&Statement> {
    commands.iter().rev().find(|command| command.at <= at)
}

/// Appends `more` to a comma-separated list unless the list contains it.
fn also(list: &mut String, more: &str) {
    if !list.split(", ").any(|there| there == more) {
        list.push_str(", ");
        list.push_str(more);
    }
}

/// A statement of a file, or the refusal and the byte span of an unreadable one.
pub(crate) type ParsedStatement = Result<Statement, (Refusal, Range<usize>)>;

/// Parses all statements of a file. Parsing resumes after an unreadable statement.
pub(crate) fn read_all(source: &Source, tree: &Tree) -> Vec<ParsedStatement> {
    let mut parser = Parser::new(source, tree, 0);
    let mut statements = Vec::new();
    while let Some((start, next)) = parser.next() {
        statements.push(next.map_err(|refusal| {
            skip(&source.text, tree, &mut parser, start);
            (refusal, start..parser.at)
        }));
    }
    statements
}

/// Advances the parser past an unreadable statement: to the end of the statement if it opened braces, otherwise
/// to the end of the line.
fn skip(text: &str, tree: &Tree, parser: &mut Parser<'_>, start: usize) {
    let stopped = parser.at;
    let read = text.get(start..stopped);
    if read.is_some_and(|read| read.contains('{')) {
        parser.at = command_count::end(text, tree, start).max(stopped);
    } else {
        parser.skip_line();
    }
}

/// True for statements that count as commands. A bare path and a bare scope do not count.
fn is_command(statement: &Statement) -> bool {
    match &statement.what {
        StatementKind::Empty(_) | StatementKind::Enter(_) | StatementKind::Scope(..) => false,
        StatementKind::UnknownWord(bad) => !bad.enters,
        StatementKind::Run(_) | StatementKind::Call(_) | StatementKind::Value(_) => true,
    }
}

/// Returns the properties of a command that are stored without effect. Properties set to their default are left
/// out.
fn inert(command: &Command) -> Vec<String> {
    let Target::Menu(menu, name) = command.target else {
        return Vec::new();
    };
    if menu.is_idle(name) {
        // A menu without any effect is reported once, not property by property.
        let whole = menu.effect == Effect::None;
        return vec![if whole { menu.path } else { name }.to_owned()];
    }
    if !matches!(name, "add" | "set") {
        return Vec::new();
    }
    let has_none = |argument: &&crate::ast::Argument| {
        let property = menu.property(&argument.name);
        let word = match &argument.value {
            Some(Expr {
                node: Node::Word(word) | Node::Text(word),
                ..
            }) => Some(word.as_str()),
            _ => None,
        };
        let mut old = menu.old.iter().filter(|old| old.name == argument.name);
        let old = old.find(|old| old.value.is_none_or(|value| Some(value) == word));
        // An obsolete property that was converted to nothing describes the only behaviour there is.
        let old = old.is_some_and(|old| old.becomes.is_empty() && old.value.is_none());
        let property = property.is_some_and(|p| {
            let idle = p.inert_for.zip(word);
            p.effect == Effect::None && (p.default.is_none() || p.default != word)
                || idle.is_some_and(|(idle, word)| idle(word))
        });
        !argument.negated && (property || old)
    };
    command
        .arguments
        .iter()
        .filter(has_none)
        .map(|argument| argument.name.clone())
        .collect()
}

/// Returns the value at the beginning of `text`: quoted, or up to a space, `;` or `}`.
fn value_at(text: &str) -> String {
    match text.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next().unwrap_or_default().to_owned(),
        None => text
            .split([' ', ';', '}'])
            .next()
            .unwrap_or_default()
            .to_owned(),
    }
}

/// Discards the output of a checked file.
struct DiscardOutput;

impl menu::Output for DiscardOutput {
    fn write(&mut self, _text: &str) -> std::ops::ControlFlow<()> {
        std::ops::ControlFlow::Continue(())
    }
}
