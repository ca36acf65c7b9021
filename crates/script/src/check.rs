//! `check`: what would become of a file, command by command, with all its errors.

use std::collections::BTreeMap;
use std::ops::Range;

use menu::{Cause, Effect, Id, Menu, Offline, Position, Reason, Refusal, Shape, Store, json};

use crate::ast::{Block, Command, Expr, Node, Statement, Target, What};
use crate::count;
use crate::items::older;
use crate::machine::{Machine, Scope, Stop};
use crate::made;
use crate::parser::Parser;
use crate::run::each_statement;
use crate::session::{Limits, Session};
use crate::site::Held;
use crate::source::Source;
use crate::suppose::suppose;
use crate::tree::Tree;

/// Characters of a command that cannot be read that are told.
const LONGEST: usize = 400;

/// Steps that one statement of a checked file may take.
const STEPS: u64 = 50_000;

/// A command that is accepted and does less than it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoEffect {
    /// Its line, from 1.
    pub line: u32,
    /// The command as written.
    pub command: String,
    /// The menu and the item; of what is no longer there at the end of the file, the menu alone.
    pub item: String,
    /// What of the command has no effect: properties, or the menu.
    pub what: String,
    /// What is missing for it, in users' words.
    pub missing: String,
}

/// A command that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The line of the error, from 1.
    pub line: u32,
    /// The byte in the line, from 1.
    pub column: u32,
    /// The command as written.
    pub command: String,
    /// Why.
    pub reason: String,
}

/// An item that a command makes besides, as older versions did by themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The command's line, from 1.
    pub line: u32,
    /// The item's menu and name.
    pub what: String,
}

/// What would become of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Commands in the file; a path on a line of its own is none.
    pub commands: usize,
    /// Those that are taken: `applied` and those without effect.
    pub accepted: usize,
    /// Those that do what they say.
    pub applied: usize,
    /// Those that are taken and do less than they say.
    pub no_effect: Vec<NoEffect>,
    /// Those that are refused.
    pub refused: Vec<Refused>,
    /// What is made though no command adds it.
    pub made: Vec<Made>,
    /// The line, from 1, of the command that an item comes from; of settings, of the last that changed them.
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

/// Says of each command of a file whether it would be applied. The store is a fresh one: it is
/// changed as the file says, and is of no further use.
pub fn check(store: &mut Store, text: &str) -> Report {
    let source = Source::of_file(text);
    let tree = Tree::of(store.menus());
    let statements = read_all(&source, &tree);
    let starts = count::commands(&source.text, &tree);
    let mut session = Session::new("check");
    session.imports = 1;
    let mut check = Check {
        source: &source,
        store,
        session,
        fates: starts.iter().map(|_| Fate::Applied).collect(),
        starts,
        supposed: BTreeMap::new(),
        scopes: None,
        open: false,
        made: Vec::new(),
        touched: Vec::new(),
    };
    let good = statements
        .iter()
        .filter_map(|next| next.as_ref().ok())
        .cloned()
        .collect();
    // A name that no port can have is refused where it is used.
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

/// What becomes of a command.
enum Fate {
    Applied,
    NoEffect(NoEffect),
    Refused(Refused),
}

struct Check<'a> {
    source: &'a Source,
    store: &'a mut Store,
    session: Session,
    /// Where the commands begin, in order.
    starts: Vec<usize>,
    /// What becomes of each of them.
    fates: Vec<Fate>,
    /// What refused commands would have made, by name, with the line.
    supposed: BTreeMap<String, u32>,
    /// The variables of the file's top.
    scopes: Option<Vec<Scope>>,
    /// Whether an error that a script raises is no fault of the file any more: it may come of a
    /// command that was passed over or refused, or stands behind the file's end.
    open: bool,
    /// What was made though no command adds it.
    made: Vec<Made>,
    /// What commands changed, each with its command's line and place in the text.
    touched: Vec<(u32, (usize, usize), Touched)>,
}

impl Check<'_> {
    fn report(mut self) -> Report {
        let mut lines = BTreeMap::new();
        for (line, _, (menu, id)) in &self.touched {
            let first = lines.entry((menu.path, *id)).or_insert(*line);
            if menu.shape == Shape::Settings {
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
                Fate::Applied => report.applied += 1,
                Fate::NoEffect(note) => report.no_effect.push(note),
                Fate::Refused(refused) => report.refused.push(refused),
            }
        }
        report.accepted = report.applied + report.no_effect.len();
        report
    }

    /// Converts the items of a file from an older version, as the import does after its last command. A refusal is
    /// noted at the last command.
    fn upgrade(&mut self) {
        if let Err(refusal) = older::upgrade(self.store) {
            let start = self.starts.last().copied().unwrap_or_default();
            let rest = self.source.text.get(start..).unwrap_or_default();
            let line: String = rest.chars().take(LONGEST).collect();
            let line = line.lines().next().unwrap_or_default().trim().to_owned();
            let at = self.source.position(start);
            self.refuse(start, at, line, &refusal);
        }
    }

    /// The command that a place belongs to. What precedes all of them becomes one by itself, so
    /// that nothing is lost.
    fn owner(&mut self, at: usize) -> &mut Fate {
        let after = self.starts.partition_point(|start| *start <= at);
        if after == 0 {
            self.starts.insert(0, at);
            self.fates.insert(0, Fate::Applied);
        }
        &mut self.fates[after.saturating_sub(1)]
    }

    /// Refuses the commands of a statement that cannot be read: the first has the error's place.
    fn unreadable(&mut self, refusal: &Refusal, span: Range<usize>) {
        let within = |start: &&usize| span.contains(*start);
        let mut starts: Vec<_> = self.starts.iter().filter(within).copied().collect();
        if starts.is_empty() {
            starts.push(span.start);
        }
        for (index, start) in starts.into_iter().enumerate() {
            let rest = self.source.text.get(start..).unwrap_or_default();
            // A line may be as long as the file, and each of its commands be refused.
            let line: String = rest.chars().take(LONGEST).collect();
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
            if let What::Bad(bad) = &command.what {
                if !bad.enters {
                    self.suppose(&self.text(command), command.at.line);
                }
                refused.insert(command.at, Reason::BadCommand(bad.name.clone()).at(bad.at));
            }
        }
        // What stands in the braces of a word that is not known is never reached.
        each_statement(&all, &mut |outer| {
            let What::Bad(bad) = &outer.what else { return };
            for code in &bad.code {
                each_statement(code, &mut |inner| {
                    let why = Reason::BadCommand(bad.name.clone()).at(bad.at);
                    refused.entry(inner.at).or_insert(why);
                });
            }
        });
        if refused.is_empty() && !commands.is_empty() {
            let unmade = made::unmade(self.store, &commands);
            refused = self.run(statement, &commands);
            let made = made::made(self.store, unmade);
            self.made
                .extend(made.map(|(line, what)| Made { line, what }));
        }
        for command in &commands {
            match refused.get(&command.at) {
                Some(refusal) => {
                    let at = match &command.what {
                        // The menu may be named lines above: the place is the command's.
                        What::Bad(bad) if bad.at.line != command.at.line => command.at,
                        _ => refusal.at.unwrap_or(command.at),
                    };
                    self.suppose_made(command);
                    self.refuse(command.span.0, at, self.text(command), refusal);
                }
                None => self.note(command),
            }
        }
    }

    /// Refuses a path that leads nowhere where no command follows that would be refused for it: the
    /// file would not be run, so it counts as one.
    fn nowhere(&mut self, statement: &Statement, after: &[Read]) {
        let What::Bad(bad) = &statement.what else {
            return;
        };
        let mut next = after.iter().flatten().map(|next| &next.what);
        let next = next.find(|what| !matches!(what, What::Empty(_)));
        let follows = matches!(next, Some(What::Bad(next)) if next.at == bad.at);
        if !bad.enters || follows {
            return;
        }
        let start = statement.span.0;
        if let Err(place) = self.starts.binary_search(&start) {
            self.starts.insert(place, start);
            self.fates.insert(place, Fate::Applied);
        }
        let refusal = Reason::BadCommand(bad.name.clone()).at(bad.at);
        self.refuse(start, bad.at, self.text(statement), &refusal);
    }

    /// Runs a statement without consequences outside the store; gives what was refused by the
    /// place of the command.
    fn run(
        &mut self,
        statement: &Statement,
        commands: &[Statement],
    ) -> BTreeMap<Position, Refusal> {
        let mut out = Sink;
        let mut live = Offline;
        self.session.limits = Limits {
            steps: STEPS,
            ..Limits::default()
        };
        let mut site = Held::new(self.store, &mut live);
        let mut machine = Machine::new(&mut site, &mut self.session, &mut out);
        machine.checking = true;
        // As when a file is run, what one statement declares is seen by those below it.
        if let Some(scopes) = self.scopes.take() {
            machine.scopes = scopes;
        }
        let done = machine.statement(statement);
        machine.scopes.truncate(1);
        self.scopes = Some(std::mem::take(&mut machine.scopes));
        self.open |= machine.passed_over;
        let touched = std::mem::take(&mut machine.touched);
        self.keep_touched(touched, commands);
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
            // A check has fewer steps than a file that is run.
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

    /// Refuses the command that a byte belongs to; the first reason stays.
    fn refuse(&mut self, start: usize, at: Position, command: String, refusal: &Refusal) {
        self.open = true;
        let fate = self.owner(start);
        if !matches!(fate, Fate::Refused(_)) {
            *fate = Fate::Refused(Refused {
                line: at.line,
                column: at.column,
                command,
                reason: refusal.to_string(),
            });
        }
    }

    /// Notes a command that is accepted and has properties without effect.
    fn note(&mut self, statement: &Statement) {
        let What::Run(command) = &statement.what else {
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
            (statement.at.line, statement.span),
            (menu, &what.join(", "), &missing.join(", ")),
        );
    }

    /// Counts a command as one without effect, unless it is refused: the path of what it is about,
    /// what of it has none, and what is missing.
    fn lacks(
        &mut self,
        (line, span): (u32, (usize, usize)),
        (item, what, missing): (&str, &str, &str),
    ) {
        let command = self.text_of(span);
        match self.owner(span.0) {
            Fate::Refused(_) => {}
            Fate::NoEffect(note) => {
                also(&mut note.what, what);
                also(&mut note.missing, missing);
            }
            fate @ Fate::Applied => {
                *fate = Fate::NoEffect(NoEffect {
                    line,
                    command,
                    item: item.to_owned(),
                    what: what.to_owned(),
                    missing: missing.to_owned(),
                });
            }
        }
    }

    /// Keeps which items the commands of a statement changed.
    fn keep_touched(&mut self, touched: Vec<(Position, Touched)>, commands: &[Statement]) {
        for (at, touched) in touched {
            if let Some(command) = command_at(commands, at) {
                self.touched.push((command.at.line, command.span, touched));
            }
        }
    }

    /// Looks at the items that commands changed as the whole file leaves them: what they stand on
    /// may come later. What values of theirs do nothing was said of the commands that give them.
    fn note_items(&mut self) {
        for (line, span, (menu, id)) in std::mem::take(&mut self.touched) {
            let Some(item) = self.store.item(menu.path, id).cloned() else {
                continue;
            };
            let name = format!("{} {}", self.store.shown_path(menu), item.title());
            let name = name.trim_end();
            let what = match self.store.lack(&item) {
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
                self.lacks((line, span), (name, &what, &missing));
            }
            if let Fate::NoEffect(note) = self.owner(span.0)
                && !note.item.contains(' ')
            {
                name.clone_into(&mut note.item);
            }
        }
    }

    /// An interface that a command would have made that cannot be read is supposed to exist: what
    /// refers to it is not refused as well.
    fn suppose(&mut self, text: &str, line: u32) {
        let Some(name) = text.split(" name=").nth(1).map(value_at) else {
            return;
        };
        let hidden = self
            .store
            .menus()
            .iter()
            .find(|menu| menu.hidden && menu.shape == Shape::Fixed);
        let Some(space) = hidden.and_then(|menu| menu.space) else {
            return;
        };
        if name.is_empty() || self.store.named(space, &name).is_some() {
            return;
        }
        self.store.suppose(space, &name);
        self.supposed.insert(name, line);
    }

    /// So is what a command would have made that was refused.
    fn suppose_made(&mut self, statement: &Statement) {
        let What::Run(command) = &statement.what else {
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

    fn text_of(&self, (from, to): (usize, usize)) -> String {
        let text = self.source.text.get(from..to).unwrap_or_default();
        let lines: Vec<_> = text
            .split("\\\n")
            .map(|line| line.trim_start_matches(' '))
            .collect();
        lines.concat().trim().to_owned()
    }
}

/// The menu and the id of an item that a command changed.
pub(crate) type Touched = (&'static Menu, Id);

/// The command that a place is in.
fn command_at(commands: &[Statement], at: Position) -> Option<&Statement> {
    commands.iter().rev().find(|command| command.at <= at)
}

/// Adds to a list in words what it does not have.
fn also(list: &mut String, more: &str) {
    if !list.split(", ").any(|there| there == more) {
        list.push_str(", ");
        list.push_str(more);
    }
}

/// A statement of a file, or why it cannot be read, and where it stands.
pub(crate) type Read = Result<Statement, (Refusal, Range<usize>)>;

/// All statements of a file, also behind those that cannot be read.
pub(crate) fn read_all(source: &Source, tree: &Tree) -> Vec<Read> {
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

/// Goes past a statement that cannot be read. One that opened braces is left as a whole, any other
/// ends with its line.
fn skip(text: &str, tree: &Tree, parser: &mut Parser<'_>, start: usize) {
    let stopped = parser.at;
    let read = text.get(start..stopped);
    if read.is_some_and(|read| read.contains('{')) {
        parser.at = count::end(text, tree, start).max(stopped);
    } else {
        parser.skip_line();
    }
}

/// A statement that counts as a command: neither a path alone nor a mere scope.
fn is_command(statement: &Statement) -> bool {
    match &statement.what {
        What::Empty(_) | What::Enter(_) | What::Scope(..) => false,
        What::Bad(bad) => !bad.enters,
        What::Run(_) | What::Call(_) | What::Value(_) => true,
    }
}

/// The properties of a command that are kept and do nothing; those with their default say nothing.
fn inert(command: &Command) -> Vec<String> {
    let Target::Menu(menu, name) = command.target else {
        return Vec::new();
    };
    if menu.is_idle(name) {
        // Of a menu that does nothing, not of the many that it has, one thing is said.
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
        // A value that became nothing says what is so anyway.
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

/// The value at the beginning of a text: in quotes, or up to a space.
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

/// Takes what a checked file prints, and forgets it.
struct Sink;

impl menu::Output for Sink {
    fn write(&mut self, _text: &str) -> std::ops::ControlFlow<()> {
        std::ops::ControlFlow::Continue(())
    }
}
