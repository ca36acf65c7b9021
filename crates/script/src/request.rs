//! A command as another program sends it: a path and named values, not text.
//!
//! API and REST come in here. What a value holds is never read as language; beyond that a request
//! is what a command of the console is: the same menus, checks, transactions and policies.

use std::ops::ControlFlow;
use std::time::Duration;

use menu::{Flag, Kind, Menu, Position, Reason, Refusal, Row, RowFilter, json};

use crate::ast::{Argument, Command, Expr, Node, Target};
use crate::builtin;
use crate::machine::{self, Collected, Machine};
use crate::query::Query;
use crate::ready::{Loan, Ready};
use crate::seen::Seen;
use crate::session::Session;
use crate::site::Site;
use crate::spec;
use crate::tree::{Step, Tree};
use crate::value::Value;

/// A command with its values. Texts hold bytes that are not UTF-8 as [`menu::bytes`] does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The path with the command, such as `/ip/address/print`.
    pub path: String,
    /// Names and values; a flag has any value.
    pub arguments: Vec<(String, String)>,
    /// The words of a query, each without its question mark.
    pub query: Vec<String>,
}

/// How a request ended well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// It was done, and all rows were given.
    Nothing,
    /// It was a `print` and there were no rows.
    Empty,
    /// It was done, and this came of it.
    Ret(String),
}

/// Who takes the rows of a request, while the router is free for others.
pub trait Rows {
    /// Takes a row: names and values. A sink may be full for good: who asked has gone away.
    fn row(&mut self, fields: &[(&str, String)]) -> ControlFlow<()>;

    /// Hears that nothing follows for a while.
    fn rest(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Commands of the language that are also for programs: those that do something by themselves.
const FOR_PROGRAMS: [&str; 8] = [
    "beep", "execute", "import", "password", "ping", "redo", "resolve", "undo",
];

/// Words that `print` takes and that change nothing of what a program is given.
const PRINT_WORDS: [&str; 13] = [
    "active",
    "as-value",
    "brief",
    "comments",
    "detail",
    "oid",
    "show-ids",
    "stats",
    "stats-detail",
    "terse",
    "value-list",
    "without-paging",
    "all",
];

/// The pause between two samples of what is sampled.
const INTERVAL: Duration = Duration::from_secs(1);

/// Runs a request.
///
/// # Errors
/// The refusal. Rows may have been given before it.
pub fn request_at(
    site: &mut dyn Site,
    session: &mut Session,
    request: &Request,
    rows: &mut dyn Rows,
) -> Result<Done, Refusal> {
    let tree = Tree::new(site.menus());
    let target = target(&tree, &request.path)?;
    let _running = session.interrupter().running();
    let mut text = String::new();
    let done = Machine::new(site, session, &mut text).request(target, request, rows);
    match done {
        Ok(Done::Nothing) if !text.is_empty() => {
            Ok(Done::Ret(text.trim_end_matches('\n').to_owned()))
        }
        Ok(done) => Ok(done),
        Err(machine::Stop::Return(value)) => Ok(returned(&value)),
        Err(machine::Stop::Refused(refusal)) => Err(refusal),
        Err(machine::Stop::Break | machine::Stop::Continue | machine::Stop::Exit) => {
            Ok(Done::Nothing)
        }
    }
}

/// What a path with a command means. Every word is whole: programs do not abbreviate.
fn target(tree: &Tree, path: &str) -> Result<Target, Refusal> {
    let unknown = |text: &str| Reason::Unknown(text.to_owned()).nowhere();
    let Some(path) = path.strip_prefix('/') else {
        return Err(unknown("no such command prefix"));
    };
    let (menu, name) = path.rsplit_once('/').unwrap_or(("", path));
    let node = tree
        .find(menu)
        .ok_or_else(|| unknown("no such command prefix"))?;
    let name = if name == "getall" { "print" } else { name };
    let known = match tree.step(node, name) {
        Some(Step::Command(known)) if known == name => Some(known),
        _ => None,
    };
    let has_rows = tree.has(node, "print");
    match (known, known.and_then(|known| tree.has(node, known))) {
        (Some(known), Some(menu)) if name != "find" => return Ok(Target::Menu(menu, known)),
        (Some("export"), None) => return Ok(Target::Export(tree.nodes[node].path)),
        _ => {}
    }
    if let Some(menu) = has_rows.filter(|_| name == "listen") {
        return Ok(Target::Menu(menu, "listen"));
    }
    match builtin::find(name) {
        Some(builtin) if node == 0 && builtin.name == name && FOR_PROGRAMS.contains(&name) => {
            Ok(Target::Builtin(builtin))
        }
        // RouterOS: a path of which nothing is known has no prefix; in a menu it is the command
        // that is missing.
        _ if menu.is_empty() => Err(unknown("no such command prefix")),
        _ => Err(unknown("no such command")),
    }
}

fn returned(value: &Value) -> Done {
    match value {
        Value::Nothing | Value::Nil => Done::Nothing,
        value => Done::Ret(value.to_string()),
    }
}

/// What a request says of how it is answered, beside the arguments of its command.
#[derive(Default)]
struct Manner {
    wanted: Vec<String>,
    once: bool,
    count_only: bool,
    follow: bool,
    follow_only: bool,
    interval: Option<Duration>,
    duration: Option<Duration>,
}

impl Manner {
    /// Takes an argument if it is about the manner.
    fn take(&mut self, name: &str, text: &str) -> Result<bool, Refusal> {
        // In JSON a flag can be said to be off.
        let on = text != "false" && text != "no";
        match name {
            ".proplist" | "proplist" => {
                let names = text.split(',').map(str::trim);
                self.wanted = names.filter(|n| !n.is_empty()).map(str::to_owned).collect();
            }
            "once" => self.once = on,
            "count-only" => self.count_only = on,
            "follow" => self.follow = on,
            "follow-only" => self.follow_only = on,
            "interval" => self.interval = Some(span(name, text)?.max(Duration::from_millis(200))),
            "duration" => self.duration = Some(span(name, text)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn wanted(&self) -> Vec<&str> {
        self.wanted.iter().map(String::as_str).collect()
    }
}

fn span(name: &str, text: &str) -> Result<Duration, Refusal> {
    let value = Kind::SPAN.parse(name, text).map_err(Reason::nowhere)?;
    let nanos = value.as_nanos().and_then(|nanos| u64::try_from(nanos).ok());
    Ok(Duration::from_nanos(nanos.unwrap_or(0)))
}

impl Machine<'_> {
    fn request(
        &mut self,
        target: Target,
        request: &Request,
        rows: &mut dyn Rows,
    ) -> machine::Result<Done> {
        match target {
            Target::Menu(menu, "print" | "listen") => {
                self.request_rows(menu, target, request, rows)
            }
            Target::Menu(menu, "ping") if menu.path == crate::ping::MENU => {
                self.request_ping(target, &spec::of_menu(menu, "ping"), request, rows)
            }
            Target::Builtin(builtin) if builtin.name == "ping" => {
                self.request_ping(target, &spec::of_builtin(builtin), request, rows)
            }
            Target::Menu(menu, name) if menu.path == crate::terminal::MENU => {
                let command = command(target, request, &spec::of_menu(menu, name), false)?;
                let value = self.at_terminal(menu, name, &command)?;
                Ok(returned(&value))
            }
            Target::Menu(menu, name) if menu.commands.iter().any(|own| own.name == name) => {
                self.request_action(menu, name, request, rows)
            }
            Target::Menu(menu, name) => {
                let known = spec::of_menu(menu, name);
                let command = command(target, request, &known, menu.has_rows())?;
                let value = self.menu_command(menu, name, &command)?;
                Ok(returned(&value))
            }
            Target::Export(path) => {
                let command = command(target, request, &spec::export(), false)?;
                self.export(path, None, &command)
                    .map(|value| returned(&value))
            }
            Target::Builtin(builtin) => {
                let known = spec::of_builtin(builtin);
                let command = command(target, request, &known, false)?;
                self.command(&command).map(|value| returned(&value))
            }
        }
    }

    /// `ping`: a row for each request that is sent.
    fn request_ping(
        &mut self,
        target: Target,
        known: &[spec::Parameter],
        request: &Request,
        rows: &mut dyn Rows,
    ) -> machine::Result<Done> {
        let (mut manner, mut rest) = (Manner::default(), request.clone());
        let mut fault = None;
        rest.arguments.retain(|(name, text)| {
            // How often is its own business.
            let about = ["proplist", ".proplist"].contains(&name.as_str());
            let took = if about {
                manner.take(name, text)
            } else {
                Ok(false)
            };
            let keep = matches!(took, Ok(false)) && !["as-value", "once"].contains(&name.as_str());
            fault = fault.take().or(took.err());
            keep
        });
        if let Some(refusal) = fault {
            return Err(refusal.into());
        }
        let command = command(target, &rest, known, false)?;
        let wanted = manner.wanted();
        self.ping_for_rows(&command, |fields| {
            let mut fields: Vec<_> = fields.iter().map(|(n, v)| (*n, v.clone())).collect();
            fields.retain(|(name, _)| wanted.is_empty() || wanted.contains(name));
            taken(rows.row(&fields))?;
            taken(rows.rest())
        })?;
        Ok(Done::Nothing)
    }

    /// `print` and `listen`.
    fn request_rows(
        &mut self,
        menu: &'static Menu,
        target: Target,
        request: &Request,
        rows: &mut dyn Rows,
    ) -> machine::Result<Done> {
        self.permit(menu, "print")?;
        let mut manner = Manner::default();
        let bad = || Reason::BadValue(String::from("invalid query")).nowhere();
        let mut query = Query::read(menu, &request.query).ok_or_else(bad)?;
        let mut from = None;
        let mut whole = request.query.is_empty();
        for (name, text) in &request.arguments {
            let named = menu.property(name).is_some()
                || menu.flags.iter().any(|flag| flag.name == name.as_str());
            match name.as_str() {
                ".id" | "from" | "numbers" => from = Some(text.clone()),
                name if manner.take(name, text)? => {}
                name if named => {
                    whole = false;
                    query.also(menu, name);
                }
                name if PRINT_WORDS.contains(&name) => {}
                name => return Err(unknown_parameter(name).into()),
            }
        }
        let from = match from {
            Some(text) if menu.has_rows() => {
                let chosen = argument("from", text);
                let command = bare(target, vec![chosen]);
                let ready = self.ready(&command)?;
                Some(self.with(|loan| loan.selected(menu, &ready, "from"))?)
            }
            _ => None,
        };
        let listens = matches!(target, Target::Menu(_, "listen"));
        let hidden = !self.sees_secrets();
        query.with_filter(menu, hidden, |filter| {
            let test = |row: &Row| {
                let chosen = from.as_ref();
                chosen.is_none_or(|ids| row.id.is_some_and(|id| ids.contains(&id)))
                    && filter.test.is_none_or(|test| test(row))
            };
            let filter = RowFilter {
                equals: filter.equals.clone(),
                test: Some(&test),
                without_secrets: hidden,
            };
            let all = !listens && !manner.follow_only;
            match manner.interval {
                _ if listens || manner.follow || manner.follow_only => {
                    self.follow_for(menu, &filter, &manner, all, rows)
                }
                Some(interval) => self.sample(interval, &manner, |machine, section| {
                    machine.rows(menu, &filter, &manner, Some(section), rows)
                }),
                None if manner.count_only => self.count_for(menu, whole && from.is_none(), &filter),
                None => match self.rows(menu, &filter, &manner, None, rows)? {
                    0 => Ok(Done::Empty),
                    _ => Ok(Done::Nothing),
                },
            }
        })
    }

    /// Gives all rows; says how many.
    fn rows(
        &mut self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        manner: &Manner,
        section: Option<usize>,
        rows: &mut dyn Rows,
    ) -> machine::Result<usize> {
        let wanted = manner.wanted();
        let mut count = 0;
        self.each_slice(menu, filter, |_, slice| {
            count += slice.len();
            for row in slice {
                let mut fields = fields(menu, &row, &wanted);
                fields.extend(section.map(|number| (".section", number.to_string())));
                taken(rows.row(&fields))?;
            }
            Ok(())
        })?;
        Ok(count)
    }

    /// How many rows the filter accepts; the `whole` menu if that is every one.
    fn count_for(
        &mut self,
        menu: &'static Menu,
        whole: bool,
        filter: &RowFilter<'_>,
    ) -> machine::Result<Done> {
        let known = self.with(|loan| Ok(loan.live.count(menu).filter(|_| whole)))?;
        if let Some(count) = known {
            return Ok(Done::Ret(count.to_string()));
        }
        let mut count = 0;
        self.each_slice(menu, filter, |_, rows| {
            count += rows.len();
            Ok(())
        })?;
        Ok(Done::Ret(count.to_string()))
    }

    /// Gives rows as they change, until somebody breaks it off.
    fn follow_for(
        &mut self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        manner: &Manner,
        all: bool,
        rows: &mut dyn Rows,
    ) -> machine::Result<Done> {
        let wanted = manner.wanted();
        let until = manner.duration.map(|span| self.site.now() + span);
        let mut seen = Seen::new(menu, all);
        while until.is_none_or(|until| self.site.now() < until) {
            let gone = seen.look(self, filter, |_, fresh| {
                let mut fresh = fresh.iter();
                fresh.try_for_each(|row| taken(rows.row(&fields(menu, row, &wanted))))
            })?;
            for id in gone {
                let fields = [(".id", id.to_string()), (".dead", String::from("true"))];
                taken(rows.row(&fields))?;
            }
            taken(rows.rest())?;
            seen.wait(self)?;
        }
        Ok(Done::Nothing)
    }

    /// A command of the router's own; one that measures goes on until somebody breaks it off.
    fn request_action(
        &mut self,
        menu: &'static Menu,
        name: &'static str,
        request: &Request,
        rows: &mut dyn Rows,
    ) -> machine::Result<Done> {
        self.permit(menu, name)?;
        let known = spec::of_menu(menu, name);
        let own = |name: &str| known.iter().any(|parameter| parameter.name == name);
        let (mut manner, mut rest) = (Manner::default(), request.clone());
        let mut fault = None;
        rest.arguments.retain(|(name, text)| {
            if own(name) {
                return true;
            }
            let took = manner.take(name, text);
            let keep = matches!(took, Ok(false)) && name != "as-value";
            fault = fault.take().or(took.err());
            keep
        });
        if let Some(refusal) = fault {
            return Err(refusal.into());
        }
        let target = Target::Menu(menu, name);
        let command = command(target, &rest, &known, own("numbers"))?;
        let ready = self.ready(&command)?;
        // What takes `once` is a measurement that is repeated otherwise.
        let measures = name.starts_with("monitor") || own("once");
        let once = manner.once || ready.flag("once");
        if measures && !once {
            let interval = manner.interval.unwrap_or(INTERVAL);
            return self.sample(interval, &manner, |machine, section| {
                machine.act_for_rows(menu, name, (&ready, None), &manner, Some(section), rows)
            });
        }
        let section = measures.then_some(0);
        let made = self.labour(menu, name, &ready)?;
        let with = (&ready, made.as_deref());
        self.act_for_rows(menu, name, with, &manner, section, rows)?;
        Ok(Done::Nothing)
    }

    fn act_for_rows(
        &mut self,
        menu: &'static Menu,
        name: &'static str,
        with: (&Ready<'_>, Option<&[u8]>),
        manner: &Manner,
        section: Option<usize>,
        rows: &mut dyn Rows,
    ) -> machine::Result<usize> {
        let checking = self.checking;
        let mut said = Collected::new(usize::MAX);
        let run = |loan: &mut Loan<'_>| loan.act(menu, name, with, checking, &mut said);
        let (reply, scripts) = self.with(run)?;
        self.print(&said.text)?;
        for script in &scripts {
            self.run_script(menu.path, script)?;
        }
        let wanted = manner.wanted();
        for row in &reply.rows {
            let texts = row.cells.iter().map(|(name, value)| (*name, text(value)));
            let mut fields: Vec<_> = texts
                .filter(|(name, _)| wanted.is_empty() || wanted.contains(name))
                .collect();
            fields.extend(section.map(|number| (".section", number.to_string())));
            taken(rows.row(&fields))?;
        }
        Ok(reply.rows.len())
    }

    /// Does something again and again, with the number of the turn.
    fn sample(
        &mut self,
        interval: Duration,
        manner: &Manner,
        mut turn: impl FnMut(&mut Self, usize) -> machine::Result<usize>,
    ) -> machine::Result<Done> {
        let until = manner.duration.map(|span| self.site.now() + span);
        for section in 0.. {
            self.renew();
            turn(self, section)?;
            if manner.once || until.is_some_and(|until| self.site.now() + interval >= until) {
                break;
            }
            self.wait(interval)?;
        }
        Ok(Done::Nothing)
    }
}

/// A row's sink may be full for good.
fn taken(flow: ControlFlow<()>) -> machine::Result<()> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Reason::Interrupted.nowhere().into()),
    }
}

/// The fields of a row. RouterOS knows no letter for what has no effect, and programs stumble over
/// fields that they do not know: it is told to those that ask for it.
fn fields(menu: &'static Menu, row: &Row, wanted: &[&str]) -> Vec<(&'static str, String)> {
    let mut fields = json::fields(menu, row, wanted);
    if wanted.is_empty() {
        fields.retain(|(name, _)| *name != Flag::NO_EFFECT.name);
    }
    fields
}

fn text(value: &menu::Value) -> String {
    match value {
        menu::Value::Bool(value) => value.to_string(),
        value => format!("{value:#}"),
    }
}

fn unknown_parameter(name: &str) -> Refusal {
    Reason::Unknown(format!("unknown parameter {name}")).nowhere()
}

/// A request has no text in which something could stand.
const NOWHERE: Position = Position { line: 1, column: 1 };

fn bare(target: Target, arguments: Vec<Argument>) -> Command {
    Command {
        at: NOWHERE,
        target,
        arguments,
    }
}

fn argument(name: &str, text: String) -> Argument {
    Argument {
        at: NOWHERE,
        name: name.to_owned(),
        value: Some(Expr {
            at: NOWHERE,
            node: Node::Text(text),
        }),
        negated: false,
    }
}

/// The command that a request is, its arguments by the names that the command has for them.
fn command(
    target: Target,
    request: &Request,
    known: &[spec::Parameter],
    selects: bool,
) -> Result<Command, Refusal> {
    // A condition is language, which a request has none of.
    let has = |name: &str| name != "where" && known.iter().any(|known| known.name == name);
    let mut arguments = Vec::with_capacity(request.arguments.len());
    for (name, text) in &request.arguments {
        let (name, negated) = match name.strip_prefix('!') {
            Some(name) => (name, true),
            None => (name.as_str(), false),
        };
        let name = match name {
            ".id" | "numbers" | "number" if has("numbers") => "numbers",
            ".id" | "numbers" | "number" if has("number") => "number",
            // Settings are one, and need not be chosen.
            ".id" if !selects => continue,
            name if has(name) => name,
            name => return Err(unknown_parameter(name)),
        };
        let flag = known
            .iter()
            .any(|p| p.name == name && p.takes == builtin::Takes::Flag);
        let mut given = argument(name, text.clone());
        if flag {
            given.value = None;
        }
        given.negated = negated;
        arguments.push(given);
    }
    Ok(bare(target, arguments))
}
