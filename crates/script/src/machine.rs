//! The interpreter: runs statements in scopes, within limits on steps and memory.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use menu::{Id, Menu, Output, Policies, Position, Reason, Refusal};

use crate::ast::{Block, Command, Node, Statement, StatementKind, Target, UnknownWord};
use crate::builtin::Builtin;
use crate::builtin_functions::is_unimplemented;
use crate::check::ChangedItem;
use crate::group_commit;
use crate::job_limits::Reservation;
use crate::language::argument;
use crate::parser::Parser;
use crate::session::Session;
use crate::site::Site;
use crate::source::Source;
use crate::tree::Tree;
use crate::value::Value;

/// The reason why a run ends before its last statement.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// A refusal; an error handler may catch it.
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

/// The state of a script run.
pub(crate) struct Machine<'a> {
    pub(crate) site: &'a mut dyn Site,
    pub(crate) session: &'a mut Session,
    pub(crate) out: &'a mut dyn Output,
    /// The visible scopes, innermost last.
    pub(crate) scopes: Vec<Scope>,
    /// The scopes of the callers.
    callers: Vec<Vec<Scope>>,
    /// True for a check: nothing waits, and the router takes no action.
    pub(crate) checking: bool,
    /// True once a check has passed over a command. Later results of the script may differ from those on a
    /// router.
    pub(crate) passed_over: bool,
    /// Name of the running script, for `:jobname`.
    pub(crate) job: String,
    /// The job of this run.
    pub(crate) parent: Option<Id>,
    /// Text and line of the refused command, for error handlers.
    pub(crate) fault: Option<String>,
    /// In a check: the items that commands changed, by the position of the command.
    pub(crate) changed_items: Vec<(Position, ChangedItem)>,
    /// The policies that the current command needs.
    needed: Policies,
    /// The run's reservation in the memory budget of the user's jobs.
    pub(crate) share: Reservation,
    /// Warnings about configuration without effect that were already reported.
    pub(crate) lacking: Vec<String>,
    /// True if changes are stored in groups: see [`Machine::settle`].
    pub(crate) groups: bool,
    /// True if changes of this run are not stored yet.
    pub(crate) unsettled: bool,
    steps: u64,
    /// Bytes of values created since the last full count.
    bytes: usize,
    /// Bytes of intermediate values of unfinished expressions.
    held: usize,
    depth: usize,
}

/// The variables of a scope.
pub(crate) type Scope = BTreeMap<String, Variable>;

/// A variable in a scope: local, or a reference to the user's global variable of this name.
#[derive(Clone, Debug)]
pub(crate) enum Variable {
    Local(Value),
    Global,
}

/// Steps that a script regains for each second of waiting.
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
            changed_items: Vec::new(),
            lacking: Vec::new(),
            groups: false,
            unsettled: false,
            needed: Policies::NONE,
            share: Reservation::default(),
            steps: 0,
            bytes: 0,
            held: 0,
            depth: 0,
        }
    }

    /// Runs top-level statements in one scope.
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

    /// Runs statements in a new scope. Returns the value of the last one.
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
            // The empty statement after the last semicolon has no value.
            if !matches!(statement.what, StatementKind::Empty(_)) {
                last = value;
            }
        }
        Ok(last)
    }

    /// Calls code with arguments. It does not see the caller's variables.
    pub(crate) fn call(&mut self, code: &Arc<Block>, arguments: Scope) -> Result<Value> {
        match self.apart(arguments, |machine| machine.block(code)) {
            Err(Stop::Return(value)) => Ok(value),
            other => other,
        }
    }

    /// Runs `inner` with `scope` as the only visible scope.
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

    /// Parses a text.
    pub(crate) fn parsed(&mut self, text: &str) -> Result<Arc<Block>> {
        // The parsed form takes more memory than the text.
        self.charge(text.len().saturating_mul(16))?;
        let tree = Tree::of(self.site.menus());
        let source = Source::new(text);
        Ok(Arc::new(Parser::new(&source, &tree, 0).program()?))
    }

    /// Returns the code of an argument, given in braces or as a text.
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

    /// Runs `inner` with other output and without the caller's variables.
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
            changed_items: Vec::new(),
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
        let changed_items = std::mem::take(&mut machine.changed_items);
        self.changed_items.extend(changed_items);
        result
    }

    /// Runs `inner` while an unfinished expression holds values of `bytes` bytes.
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
            StatementKind::Enter(place) => {
                // In the console, a path on a line of its own changes the menu.
                if self.depth == 0 && self.scopes.len() == 1 {
                    self.session.path.clone_from(&place.path);
                    return self.print_entered(&place.path, statement.at);
                }
                Ok(Value::Nothing)
            }
            StatementKind::Empty(_) => Ok(Value::Nothing),
            StatementKind::Run(command) => self.command(command),
            StatementKind::Scope(_, block) => self.deeper(|machine| machine.block(block)),
            StatementKind::Call(expr) => self.eval(expr),
            // Code in the position of a command is run: `[[:parse "…"]]`.
            StatementKind::Value(expr) => match self.eval(expr) {
                Ok(value) => match value.code() {
                    Some(code) => self.call(code, Scope::new()),
                    None => Ok(value),
                },
                stop => stop,
            },
            StatementKind::UnknownWord(bad) => Err(refused_word(bad)),
        };
        result.map_err(|stop| located(stop, statement.at))
    }

    /// Prints the menu that was entered, if its only use is `print`.
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

    /// Refuses a menu command that the session's user may not run. All menu commands pass this check.
    pub(crate) fn permit(&mut self, menu: &Menu, name: &str) -> Result<()> {
        self.demand(Policies::needed(menu, name))
    }

    /// Adds policies to those that the current command needs, and refuses the command if the user lacks any.
    pub(crate) fn demand(&mut self, needed: Policies) -> Result<()> {
        self.needed = self.needed | needed;
        if self.session.may().contains(self.needed) {
            return Ok(());
        }
        Err(Reason::Denied.nowhere().into())
    }

    /// The policies that the current command needs.
    pub(crate) const fn needed(&self) -> Policies {
        self.needed
    }

    /// Refuses a built-in command that acts on the router if the session's user may not run it.
    pub(crate) fn permit_builtin(&mut self, name: &str) -> Result<()> {
        let needed = match name {
            "undo" | "redo" | "import" => Policies::WRITE,
            "password" => Policies::PASSWORD,
            // A background job takes a job slot, a thread and memory.
            "execute" => Policies::READ,
            _ => Policies::NONE,
        };
        self.demand(needed)
    }

    /// True if the session's user may see secrets.
    pub(crate) fn sees_secrets(&self) -> bool {
        self.session.may().contains(Policies::SENSITIVE)
    }

    pub(crate) fn command(&mut self, command: &Command) -> Result<Value> {
        // A nested command has policies of its own.
        let outer = std::mem::replace(&mut self.needed, Policies::NONE);
        let result = self.command_itself(command);
        self.needed = outer;
        result
    }

    fn command_itself(&mut self, command: &Command) -> Result<Value> {
        if group_commit::acts_outside(command) {
            self.settle()?;
        }
        let result = match command.target {
            Target::Menu(menu, name) if menu.path == crate::terminal::MENU => {
                self.at_terminal(menu, name, command)
            }
            Target::Menu(menu, name) => self.menu_command(menu, name, command),
            Target::Export(path) => self.export(path, None, command),
            Target::Builtin(builtin) if is_unimplemented(builtin) => {
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

    /// Returns the menu that has the built-in command as its own command.
    pub(crate) fn stands_for(&self, builtin: &Builtin) -> Option<&'static Menu> {
        let path = builtin.of?;
        let mut menus = self.site.menus().iter().copied();
        menus.find(|menu| menu.path == path)
    }

    /// Returns the text of a refusal with the command and line that caused it.
    pub(crate) fn explained(&mut self, refusal: &Refusal) -> String {
        match self.fault.take() {
            Some(fault) if !refusal.reason.is_located() => format!("{refusal} ({fault})"),
            _ => refusal.to_string(),
        }
    }

    /// Returns the text of a refusal with command, line and column, for the log, where the script is not
    /// visible.
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

    /// Counts a step.
    ///
    /// # Errors
    /// The run exceeds its step limit, or was interrupted.
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

    /// Resets the counters, for commands that run until they are interrupted.
    pub(crate) fn renew(&mut self) {
        self.steps = 0;
        self.bytes = 0;
    }

    /// Counts the bytes of a new value.
    ///
    /// When the bytes counted since the last full count reach the limit, counts the values that are still
    /// alive, so that a loop may create and drop any number of values.
    ///
    /// # Errors
    /// The values that are alive exceed the limit of the run or the budget of the user.
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

    /// Returns the bytes of all values that are alive.
    fn weight(&self) -> usize {
        let scopes = self.callers.iter().flatten().chain(&self.scopes);
        let variables = scopes.flatten().map(|(name, variable)| match variable {
            Variable::Local(value) => name.len() + value.weight(),
            Variable::Global => name.len(),
        });
        variables.sum::<usize>() + self.held
    }

    /// In a check, records that a command is passed over, so that later results of the script may differ from
    /// those on a router. Returns true in a check.
    pub(crate) fn passes_over(&mut self) -> bool {
        self.passed_over |= self.checking;
        self.checking
    }

    /// Waits for a duration. Other tasks may use the router meanwhile.
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

    /// Credits steps for waiting time.
    pub(crate) fn rested(&mut self, span: Duration) {
        let seconds = u64::try_from(span.as_millis() / 1_000).unwrap_or(u64::MAX);
        let rested = seconds.saturating_mul(STEPS_A_SECOND);
        self.steps = self.steps.saturating_sub(rested);
    }

    /// Waits until a time on the site's clock or until news arrives. Returns false if the time has come.
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

    /// Writes a remark beside the output of a command.
    pub(crate) fn remark(&mut self, line: &str) -> Result<()> {
        self.settle()?;
        match self.out.remark(line).is_break() {
            true => Err(Reason::Interrupted.nowhere().into()),
            false => Ok(()),
        }
    }

    /// Returns the value of a variable; `Nothing` if it is not declared.
    pub(crate) fn variable(&self, name: &str) -> Value {
        match self.scopes.iter().rev().find_map(|scope| scope.get(name)) {
            Some(Variable::Local(value)) => value.clone(),
            Some(Variable::Global) => self.session.globals.get(name).unwrap_or_default(),
            None => Value::Nothing,
        }
    }

    /// Changes the value of a variable in the scope that declares it.
    ///
    /// RouterOS: functions declare positional parameters implicitly, whether the caller passes them or not.
    /// `:set` of any other undeclared variable changes nothing and raises no error.
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

    /// Unsets a local variable, or removes a global variable.
    pub(crate) fn clear(&mut self, name: &str) {
        let mut scopes = self.scopes.iter_mut().rev();
        match scopes.find_map(|scope| scope.get_mut(name)) {
            Some(Variable::Local(slot)) => *slot = Value::Nothing,
            Some(Variable::Global) => _ = self.session.globals.remove(name),
            None => {}
        }
    }

    /// Declares a local variable in the innermost scope.
    pub(crate) fn declare(&mut self, name: &str, value: Value) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), Variable::Local(value));
        }
    }

    /// Declares a global variable in the innermost scope. At the top level, later commands of the session see
    /// it too.
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

/// True for names of positional parameters: `1`, `2` …
fn is_positional(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
}

/// Converts the reason for the end of a run into the result of the run.
pub(crate) fn finish(stop: Stop) -> std::result::Result<(), Refusal> {
    match stop {
        Stop::Refused(refusal) => Err(refusal),
        Stop::Return(_) | Stop::Break | Stop::Continue | Stop::Exit => Ok(()),
    }
}

fn refused_word(bad: &UnknownWord) -> Stop {
    Reason::BadCommand(bad.name.clone()).at(bad.at).into()
}

fn located(stop: Stop, at: Position) -> Stop {
    match stop {
        Stop::Refused(refusal) => Stop::Refused(refusal.or_at(at)),
        other => other,
    }
}

/// Collects output until the router is released. Output beyond the limit ends the command.
pub(crate) struct CollectedOutput {
    pub(crate) text: String,
    pub(crate) remarks: Vec<String>,
    width: usize,
}

/// Maximum bytes of collected output.
const MAX_COLLECTED_BYTES: usize = 64 << 20;
/// Maximum number of collected remarks; further remarks are dropped.
const MAX_REMARKS: usize = 1_000;

impl CollectedOutput {
    /// Creates an empty collector for a terminal of this width in columns.
    pub(crate) const fn new(width: usize) -> Self {
        Self {
            text: String::new(),
            remarks: Vec::new(),
            width,
        }
    }
}

impl Output for CollectedOutput {
    fn write(&mut self, text: &str) -> ControlFlow<()> {
        if self.text.len() + text.len() > MAX_COLLECTED_BYTES {
            return ControlFlow::Break(());
        }
        self.text.push_str(text);
        ControlFlow::Continue(())
    }

    fn remark(&mut self, line: &str) -> ControlFlow<()> {
        if self.remarks.len() < MAX_REMARKS {
            self.remarks.push(line.to_owned());
        }
        ControlFlow::Continue(())
    }

    fn width(&self) -> usize {
        self.width
    }
}
