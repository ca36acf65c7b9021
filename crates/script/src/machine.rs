//! The interpreter: statements in scopes, within limits.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use menu::{Id, Menu, Output, Policies, Position, Reason, Refusal};

use crate::ast::{Bad, Block, Command, Node, Statement, Target, What};
use crate::bounds::Share;
use crate::builtin::Builtin;
use crate::check::Touched;
use crate::known::is_known_only;
use crate::language::argument;
use crate::parser::Parser;
use crate::session::Session;
use crate::settle;
use crate::site::Site;
use crate::source::Source;
use crate::tree::Tree;
use crate::value::Value;

/// What ends a run before its last statement.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// A refusal, unless something handles it.
    Refused(Refusal),
    /// `:return`
    Return(Value),
    /// `:break`
    Break,
    /// `:continue`
    Continue,
    /// `:exit`
    Exit,
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

pub(crate) type Result<T> = std::result::Result<T, Stop>;

/// A run of a script.
pub(crate) struct Machine<'a> {
    pub(crate) site: &'a mut dyn Site,
    pub(crate) session: &'a mut Session,
    pub(crate) out: &'a mut dyn Output,
    /// The variables that are seen, innermost last.
    pub(crate) scopes: Vec<Scope>,
    /// Those of the callers, who wait.
    callers: Vec<Vec<Scope>>,
    /// Whether nothing is to be waited for: a configuration is checked.
    pub(crate) checking: bool,
    /// Whether a command was passed over because a configuration is checked: what a script finds
    /// from then on need not be what it would find on a router.
    pub(crate) passed_over: bool,
    /// The script that runs, as `:jobname` gives it.
    pub(crate) job: String,
    /// The job that runs it.
    pub(crate) parent: Option<Id>,
    /// The command that refused, for handlers of the error.
    pub(crate) fault: Option<String>,
    /// Where a configuration is checked: the items that commands changed, by the commands' places.
    pub(crate) touched: Vec<(Position, Touched)>,
    /// What the command that runs needs, as long as it runs.
    needed: Policies,
    /// What it takes of the memory of its user's jobs.
    pub(crate) share: Share,
    /// What was said of what has no effect.
    pub(crate) lacking: Vec<String>,
    /// Whether changes are stored in groups: see [`Machine::settle`].
    pub(crate) groups: bool,
    /// Whether changes of this run wait to be stored.
    pub(crate) unsettled: bool,
    steps: u64,
    /// Bytes of values that were made since all were weighed.
    bytes: usize,
    /// Bytes of values that expressions hold which are not finished.
    held: usize,
    depth: usize,
}

/// The variables of a scope.
pub(crate) type Scope = BTreeMap<String, Variable>;

/// A variable of a scope: its own, or the user's.
#[derive(Clone, Debug)]
pub(crate) enum Variable {
    Local(Value),
    Global,
}

/// Steps that a script gets back for each second in which it does nothing.
const STEPS_A_SECOND: u64 = 1_000_000;

impl<'a> Machine<'a> {
    pub(crate) fn new(
        site: &'a mut dyn Site,
        session: &'a mut Session,
        out: &'a mut dyn Output,
    ) -> Self {
        let declared = session.declared.iter();
        let outermost = declared.map(|name| (name.clone(), Variable::Global));
        let scopes = vec![outermost.collect()];
        Self {
            site,
            session,
            out,
            scopes,
            callers: Vec::new(),
            checking: false,
            passed_over: false,
            job: String::new(),
            parent: None,
            fault: None,
            touched: Vec::new(),
            lacking: Vec::new(),
            groups: false,
            unsettled: false,
            needed: Policies::NONE,
            share: Share::default(),
            steps: 0,
            bytes: 0,
            held: 0,
            depth: 0,
        }
    }

    /// Runs the statements of the text's top, in one scope.
    pub(crate) fn program(&mut self, block: &Block) -> std::result::Result<Value, Refusal> {
        let mut last = Value::Nothing;
        for statement in &block.statements {
            match self.statement(statement) {
                Ok(value) => last = value,
                Err(stop) => return finish(stop).map(|()| Value::Nothing),
            }
        }
        Ok(last)
    }

    /// Runs statements in a scope of their own; the value is that of the last.
    pub(crate) fn block(&mut self, block: &Block) -> Result<Value> {
        self.scopes.push(Scope::new());
        let result = self.statements(block);
        self.scopes.pop();
        result
    }

    fn statements(&mut self, block: &Block) -> Result<Value> {
        let mut last = Value::Nothing;
        for statement in &block.statements {
            let value = self.statement(statement)?;
            // What stands behind the last semicolon is no command.
            if !matches!(statement.what, What::Empty(_)) {
                last = value;
            }
        }
        Ok(last)
    }

    /// Calls code with arguments: it sees no variable of its caller.
    pub(crate) fn call(&mut self, code: &Arc<Block>, arguments: Scope) -> Result<Value> {
        match self.apart(arguments, |machine| machine.block(code)) {
            Err(Stop::Return(value)) => Ok(value),
            other => other,
        }
    }

    /// Runs something that sees these variables alone.
    pub(crate) fn apart<T>(
        &mut self,
        scope: Scope,
        inner: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.deeper(|machine| {
            let outer = std::mem::replace(&mut machine.scopes, vec![scope]);
            machine.callers.push(outer);
            let result = inner(machine);
            machine.scopes = machine.callers.pop().unwrap_or_default();
            result
        })
    }

    pub(crate) fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= self.session.limits.depth {
            return Err(Reason::Limit("nesting").nowhere().into());
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Reads a text as code.
    pub(crate) fn parsed(&mut self, text: &str) -> Result<Arc<Block>> {
        // What is read takes more than its text.
        self.charge(text.len().saturating_mul(16))?;
        let tree = Tree::of(self.site.menus());
        let source = Source::new(text);
        Ok(Arc::new(Parser::new(&source, &tree, 0).program()?))
    }

    /// The code of an argument, in braces or as a text.
    pub(crate) fn code_of(&mut self, command: &Command, name: &str) -> Result<Arc<Block>> {
        let Some(expr) = argument(command, name).and_then(|argument| argument.value.as_ref())
        else {
            return Ok(Arc::default());
        };
        let value = match &expr.node {
            Node::Word(word) => Value::str(word.as_str()),
            _ => self.eval(expr)?,
        };
        match value.code() {
            Some(code) => Ok(Arc::clone(code)),
            None => self.parsed(&value.text()),
        }
    }

    /// Runs something apart from the variables here, with its output elsewhere.
    pub(crate) fn printing_to<T>(
        &mut self,
        out: &mut dyn Output,
        inner: impl FnOnce(&mut Machine<'_>) -> Result<T>,
    ) -> Result<T> {
        let held = self.weight();
        let mut machine = Machine {
            site: &mut *self.site,
            session: &mut *self.session,
            out,
            scopes: vec![Scope::new()],
            callers: Vec::new(),
            checking: self.checking,
            passed_over: self.passed_over,
            job: self.job.clone(),
            parent: self.parent,
            fault: None,
            touched: Vec::new(),
            lacking: Vec::new(),
            groups: self.groups,
            unsettled: self.unsettled,
            needed: Policies::NONE,
            share: std::mem::take(&mut self.share),
            steps: self.steps,
            bytes: self.bytes,
            held,
            depth: self.depth,
        };
        let result = machine.deeper(inner);
        (self.steps, self.bytes) = (machine.steps, machine.bytes);
        self.share = std::mem::take(&mut machine.share);
        self.passed_over = machine.passed_over;
        self.unsettled = machine.unsettled;
        self.fault = machine.fault;
        let touched = std::mem::take(&mut machine.touched);
        self.touched.extend(touched);
        result
    }

    /// Runs something while an expression holds values of so many bytes.
    pub(crate) fn holding<T>(
        &mut self,
        bytes: usize,
        inner: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.held += bytes;
        let result = inner(self);
        self.held -= bytes;
        result
    }

    pub(crate) fn statement(&mut self, statement: &Statement) -> Result<Value> {
        self.step()?;
        let result = match &statement.what {
            What::Enter(place) => {
                // At the console a path on a line of its own changes the menu.
                if self.depth == 0 && self.scopes.len() == 1 {
                    self.session.path.clone_from(&place.path);
                    return self.print_entered(&place.path, statement.at);
                }
                Ok(Value::Nothing)
            }
            What::Empty(_) => Ok(Value::Nothing),
            What::Run(command) => self.command(command),
            What::Scope(_, block) => self.deeper(|machine| machine.block(block)),
            What::Call(expr) => self.eval(expr),
            // Code that stands where a command could is run: `[[:parse "…"]]`.
            What::Value(expr) => match self.eval(expr) {
                Ok(value) => match value.code() {
                    Some(code) => self.call(code, Scope::new()),
                    None => Ok(value),
                },
                stop => stop,
            },
            What::Bad(bad) => Err(refused_word(bad)),
        };
        result.map_err(|stop| located(stop, statement.at))
    }

    /// Prints the menu that was entered, if that is all that there is to do in it.
    fn print_entered(&mut self, path: &str, at: Position) -> Result<Value> {
        let mut menus = self.site.menus().iter();
        let Some(menu) = menus.find(|menu| menu.path == path && menu.prints_itself) else {
            return Ok(Value::Nothing);
        };
        let print = Command {
            at,
            target: Target::Menu(menu, "print"),
            arguments: Vec::new(),
        };
        self.command(&print).map_err(|stop| located(stop, at))
    }

    /// Refuses what the session's user may not do: the one place that all commands come by.
    pub(crate) fn permit(&mut self, menu: &Menu, name: &str) -> Result<()> {
        self.demand(Policies::needed(menu, name))
    }

    /// Refuses the command unless the user has these policies, as long as it runs.
    pub(crate) fn demand(&mut self, needed: Policies) -> Result<()> {
        self.needed = self.needed | needed;
        if self.session.may().contains(self.needed) {
            return Ok(());
        }
        Err(Reason::Denied.nowhere().into())
    }

    /// What the command that runs needs.
    pub(crate) const fn needed(&self) -> Policies {
        self.needed
    }

    /// As [`Machine::permit`], for the commands of the language that do something to the router.
    pub(crate) fn permit_builtin(&mut self, name: &str) -> Result<()> {
        let needed = match name {
            "undo" | "redo" | "import" => Policies::WRITE,
            "password" => Policies::PASSWORD,
            // What runs beside all sessions takes a place, a thread and memory of the router.
            "execute" => Policies::READ,
            _ => Policies::NONE,
        };
        self.demand(needed)
    }

    /// Whether the session's user is shown secrets.
    pub(crate) fn sees_secrets(&self) -> bool {
        self.session.may().contains(Policies::SENSITIVE)
    }

    pub(crate) fn command(&mut self, command: &Command) -> Result<Value> {
        // One within another has needs of its own.
        let outer = std::mem::replace(&mut self.needed, Policies::NONE);
        let result = self.command_itself(command);
        self.needed = outer;
        result
    }

    fn command_itself(&mut self, command: &Command) -> Result<Value> {
        if settle::acts_outside(command) {
            self.settle()?;
        }
        let result = match command.target {
            Target::Menu(menu, name) if menu.path == crate::terminal::MENU => {
                self.at_terminal(menu, name, command)
            }
            Target::Menu(menu, name) => self.menu_command(menu, name, command),
            Target::Export(path) => self.export(path, None, command),
            Target::Builtin(builtin) if is_known_only(builtin) => {
                let reason = Reason::BadCommand(builtin.name.to_owned());
                return Err(reason.at(command.at).into());
            }
            Target::Builtin(builtin) => match self.stands_for(builtin) {
                Some(menu) => self.menu_command(menu, builtin.name, command),
                None => self.builtin(builtin.name, command),
            },
        };
        if let (Err(Stop::Refused(refusal)), Target::Menu(menu, name), None) =
            (&result, command.target, &self.fault)
        {
            let argument = refusal
                .reason
                .argument()
                .map(|argument| format!(" ({argument})"));
            let argument = argument.unwrap_or_default();
            let line = command.at.line;
            self.fault = Some(format!("{}/{name}{argument}; line {line}", menu.path));
        }
        result.map_err(|stop| located(stop, command.at))
    }

    /// The menu whose command a command of the language is.
    pub(crate) fn stands_for(&self, builtin: &Builtin) -> Option<&'static Menu> {
        let path = builtin.of?;
        let mut menus = self.site.menus().iter().copied();
        menus.find(|menu| menu.path == path)
    }

    /// The text of a refusal with the command and line that it came from.
    pub(crate) fn explained(&mut self, refusal: &Refusal) -> String {
        match self.fault.take() {
            Some(fault) if !refusal.reason.is_located() => format!("{refusal} ({fault})"),
            _ => refusal.to_string(),
        }
    }

    /// As [`Self::explained`], with line and column for the log: nobody sees the script beside it.
    pub(crate) fn explained_with_place(&mut self, refusal: &Refusal) -> String {
        let fault = self.fault.take();
        match (fault, refusal.at) {
            (fault, Some(at)) if !refusal.reason.is_located() => match fault {
                Some(fault) => {
                    let command = fault.split(';').next().unwrap_or_default();
                    let Position { line, column } = at;
                    format!("{refusal} ({command}; line {line} column {column})")
                }
                None => format!("{refusal} {at}"),
            },
            _ => refusal.to_string(),
        }
    }

    /// Counts a step, and stops what takes too many.
    pub(crate) fn step(&mut self) -> Result<()> {
        self.steps += 1;
        if self.steps > self.session.limits.steps {
            return Err(Reason::Limit("steps").nowhere().into());
        }
        if self.session.interrupt.is_on() {
            return Err(Reason::Interrupted.nowhere().into());
        }
        Ok(())
    }

    /// Begins to count anew, for what goes on for as long as it is wanted.
    pub(crate) fn renew(&mut self) {
        self.steps = 0;
        self.bytes = 0;
    }

    /// Counts bytes that a value takes, and stops what keeps too many.
    ///
    /// All values are weighed when as many as are allowed have been made since the last time: what
    /// a loop makes and forgets is no matter.
    pub(crate) fn charge(&mut self, bytes: usize) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        let limit = self.session.limits.bytes;
        if self.bytes <= limit && self.share.covers(self.bytes) {
            return Ok(());
        }
        if bytes <= limit / 2 {
            self.bytes = self.weight();
            if self.bytes <= limit / 2 && self.share.is_ample_for(self.bytes) {
                return Ok(());
            }
        }
        Err(Reason::Limit("memory").nowhere().into())
    }

    /// The bytes of all values that are kept.
    fn weight(&self) -> usize {
        let scopes = self.callers.iter().flatten().chain(&self.scopes);
        let variables = scopes.flatten().map(|(name, variable)| match variable {
            Variable::Local(value) => name.len() + value.weight(),
            Variable::Global => name.len(),
        });
        variables.sum::<usize>() + self.held
    }

    /// Whether a command is to be passed over, as a configuration is checked, though its answer
    /// may be what the script goes on from.
    pub(crate) fn passes_over(&mut self) -> bool {
        self.passed_over |= self.checking;
        self.checking
    }

    /// Lets time pass, with the router free for others.
    pub(crate) fn wait(&mut self, span: Duration) -> Result<()> {
        self.settle()?;
        if self.checking || span.is_zero() {
            return self.step();
        }
        if self.out.flush().is_break() {
            return Err(Reason::Interrupted.nowhere().into());
        }
        let until = self.site.now().saturating_add(span);
        let interrupt = Arc::clone(&self.session.interrupt);
        self.site
            .wait(until, &interrupt)
            .map_err(|reason| reason.nowhere())?;
        self.rested(span);
        self.step()
    }

    /// Gives back steps for time in which nothing was done.
    pub(crate) fn rested(&mut self, span: Duration) {
        let seconds = u64::try_from(span.as_millis() / 1_000).unwrap_or(u64::MAX);
        let rested = seconds.saturating_mul(STEPS_A_SECOND);
        self.steps = self.steps.saturating_sub(rested);
    }

    /// Lets time pass until then on the site's clock, or until there is news. Says whether it is
    /// not yet then.
    pub(crate) fn wait_for_news(&mut self, until: Duration) -> Result<bool> {
        self.settle()?;
        self.step()?;
        if self.site.now() >= until {
            return Ok(false);
        }
        if self.out.flush().is_break() {
            return Err(Reason::Interrupted.nowhere().into());
        }
        let interrupt = Arc::clone(&self.session.interrupt);
        self.site
            .wait_for_news(until, &interrupt)
            .map_err(|reason| reason.nowhere())?;
        self.step()?;
        Ok(true)
    }

    /// Prints text.
    pub(crate) fn print(&mut self, text: &str) -> Result<()> {
        self.settle()?;
        if self.out.write(text).is_break() {
            return Err(Reason::Interrupted.nowhere().into());
        }
        Ok(())
    }

    /// Takes a remark beside the output of a command.
    pub(crate) fn remark(&mut self, line: &str) -> Result<()> {
        self.settle()?;
        match self.out.remark(line).is_break() {
            true => Err(Reason::Interrupted.nowhere().into()),
            false => Ok(()),
        }
    }

    /// The value of a variable; nothing, if none is declared.
    pub(crate) fn variable(&self, name: &str) -> Value {
        match self.scopes.iter().rev().find_map(|scope| scope.get(name)) {
            Some(Variable::Local(value)) => value.clone(),
            Some(Variable::Global) => self.session.globals.get(name).unwrap_or_default(),
            None => Value::Nothing,
        }
    }

    /// Changes the value of a variable where it was declared.
    ///
    /// RouterOS: positional parameters are declared in every function, whether the caller passes them or not.
    /// `:set` of any other variable that is not declared changes nothing, and is no error.
    pub(crate) fn change_variable(
        &mut self,
        name: &str,
        change: impl FnOnce(&mut Value),
    ) -> Result<()> {
        let mut scopes = self.scopes.iter_mut().rev();
        match scopes.find_map(|scope| scope.get_mut(name)) {
            Some(Variable::Local(slot)) => change(slot),
            Some(Variable::Global) => {
                let done = self.session.globals.change(name, change);
                done.map_err(|reason| reason.nowhere())?;
            }
            None if is_positional(name) => {
                let mut value = Value::Nothing;
                change(&mut value);
                if let Some(parameters) = self.scopes.first_mut() {
                    parameters.insert(name.to_owned(), Variable::Local(value));
                }
            }
            None => {}
        }
        Ok(())
    }

    /// Takes the value from a variable; one of the user is gone.
    pub(crate) fn clear(&mut self, name: &str) {
        let mut scopes = self.scopes.iter_mut().rev();
        match scopes.find_map(|scope| scope.get_mut(name)) {
            Some(Variable::Local(slot)) => *slot = Value::Nothing,
            Some(Variable::Global) => _ = self.session.globals.remove(name),
            None => {}
        }
    }

    /// Declares a variable in the innermost scope.
    pub(crate) fn declare(&mut self, name: &str, value: Value) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), Variable::Local(value));
        }
    }

    /// Declares a variable of the user in the innermost scope; at the top it is seen by later
    /// commands of the session, too.
    pub(crate) fn declare_global(&mut self, name: &str, value: Option<Value>) -> Result<()> {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), Variable::Global);
        }
        if self.callers.is_empty() && self.scopes.len() == 1 {
            self.session.declared.insert(name.to_owned());
        }
        let done = match value {
            Some(value) => self.session.globals.set(name, value),
            None => self.session.globals.declare(name),
        };
        done.map_err(|reason| reason.nowhere().into())
    }
}

/// Whether a variable's name is that of a positional parameter: `1`, `2` …
fn is_positional(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
}

/// What a run ends with when something stopped it.
pub(crate) fn finish(stop: Stop) -> std::result::Result<(), Refusal> {
    match stop {
        Stop::Refused(refusal) => Err(refusal),
        Stop::Return(_) | Stop::Break | Stop::Continue | Stop::Exit => Ok(()),
    }
}

fn refused_word(bad: &Bad) -> Stop {
    Reason::BadCommand(bad.name.clone()).at(bad.at).into()
}

fn located(stop: Stop, at: Position) -> Stop {
    match stop {
        Stop::Refused(refusal) => Stop::Refused(refusal.or_at(at)),
        other => other,
    }
}

/// Output that waits until the router is free for others again; it ends at the limit.
pub(crate) struct Collected {
    pub(crate) text: String,
    pub(crate) remarks: Vec<String>,
    width: usize,
}

/// The most output that is collected, in bytes.
const COLLECTED: usize = 64 << 20;
/// The most remarks that are collected; others are lost.
const REMARKS: usize = 1_000;

impl Collected {
    /// None yet, for a reader of this width.
    pub(crate) const fn new(width: usize) -> Self {
        Self {
            text: String::new(),
            remarks: Vec::new(),
            width,
        }
    }
}

impl Output for Collected {
    fn write(&mut self, text: &str) -> ControlFlow<()> {
        if self.text.len() + text.len() > COLLECTED {
            return ControlFlow::Break(());
        }
        self.text.push_str(text);
        ControlFlow::Continue(())
    }

    fn remark(&mut self, line: &str) -> ControlFlow<()> {
        if self.remarks.len() < REMARKS {
            self.remarks.push(line.to_owned());
        }
        ControlFlow::Continue(())
    }

    fn width(&self) -> usize {
        self.width
    }
}
