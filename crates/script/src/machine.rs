//! The interpreter: statements in scopes, within limits.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use menu::{Menu, Output, Policies, Position, Reason, Refusal};

use crate::ast::{Bad, Block, Command, Statement, Target, What};
use crate::known::is_known_only;
use crate::session::Session;
use crate::site::Site;
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
    pub(crate) scopes: Vec<BTreeMap<String, Variable>>,
    /// Whether nothing is to be waited for: a configuration is checked.
    pub(crate) checking: bool,
    steps: u64,
    bytes: usize,
    depth: usize,
}

/// A variable of a scope: its own, or the session's.
#[derive(Clone, Debug)]
pub(crate) enum Variable {
    Local(Value),
    Global,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(
        site: &'a mut dyn Site,
        session: &'a mut Session,
        out: &'a mut dyn Output,
    ) -> Self {
        let scopes = vec![BTreeMap::new()];
        Self {
            site,
            session,
            out,
            scopes,
            checking: false,
            steps: 0,
            bytes: 0,
            depth: 0,
        }
    }

    /// Runs the statements of the text's top, in one scope.
    pub(crate) fn program(&mut self, block: &Block) -> std::result::Result<(), Refusal> {
        for statement in &block.statements {
            match self.statement(statement) {
                Ok(_) => {}
                Err(stop) => return finish(stop),
            }
        }
        Ok(())
    }

    /// Runs one statement of the text's top.
    pub(crate) fn top(&mut self, statement: &Statement) -> std::result::Result<(), Refusal> {
        self.statement(statement).map(drop).or_else(finish)
    }

    /// Runs statements in a scope of their own; the value is that of the last.
    pub(crate) fn block(&mut self, block: &Block) -> Result<Value> {
        self.scopes.push(BTreeMap::new());
        let result = self.statements(block);
        self.scopes.pop();
        result
    }

    fn statements(&mut self, block: &Block) -> Result<Value> {
        let mut last = Value::Nothing;
        for statement in &block.statements {
            last = self.statement(statement)?;
        }
        Ok(last)
    }

    /// Calls code with arguments in scopes of its own: it sees no variable of its caller.
    pub(crate) fn call(
        &mut self,
        code: &Arc<Block>,
        arguments: BTreeMap<String, Variable>,
    ) -> Result<Value> {
        let outer = std::mem::replace(&mut self.scopes, vec![arguments]);
        let result = self.deeper(|machine| machine.block(code));
        self.scopes = outer;
        match result {
            Err(Stop::Return(value)) => Ok(value),
            other => other,
        }
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

    pub(crate) fn statement(&mut self, statement: &Statement) -> Result<Value> {
        self.step()?;
        let result = match &statement.what {
            What::Enter(place) => {
                // At the console a path on a line of its own changes the menu.
                if self.depth == 0 && self.scopes.len() == 1 {
                    self.session.path.clone_from(&place.path);
                }
                Ok(Value::Nothing)
            }
            What::Empty(_) => Ok(Value::Nothing),
            What::Run(command) => self.command(command),
            What::Scope(_, block) => self.deeper(|machine| machine.block(block)),
            What::Call(expr) | What::Value(expr) => self.eval(expr),
            What::Bad(bad) => Err(refused_word(bad)),
        };
        result.map_err(|stop| located(stop, statement.at))
    }

    /// Refuses what the session's user may not do: the one place that all commands come by.
    pub(crate) fn permit(&self, menu: &Menu, name: &str) -> Result<()> {
        let needed = Policies::needed(menu, name);
        if self.session.policies.contains(needed) {
            return Ok(());
        }
        Err(Reason::Denied.nowhere().into())
    }

    /// As [`Machine::permit`], for the commands of the language that do something to the router.
    pub(crate) fn permit_builtin(&self, name: &str) -> Result<()> {
        let needed = match name {
            "undo" | "redo" | "import" => Policies::WRITE,
            "password" => Policies::PASSWORD,
            _ => Policies::NONE,
        };
        if self.session.policies.contains(needed) {
            return Ok(());
        }
        Err(Reason::Denied.nowhere().into())
    }

    /// Whether the session's user is shown secrets.
    pub(crate) fn sees_secrets(&self) -> bool {
        self.session.policies.contains(Policies::SENSITIVE)
    }

    fn command(&mut self, command: &Command) -> Result<Value> {
        let result = match command.target {
            Target::Menu(menu, name) => self.menu_command(menu, name, command),
            Target::Export(path) => self.export(path, None, command),
            Target::Builtin(builtin) if is_known_only(builtin) => {
                Err(Reason::BadCommand(builtin.name.to_owned())
                    .at(command.at)
                    .into())
            }
            Target::Builtin(builtin) => self.builtin(builtin.name, command),
        };
        result.map_err(|stop| located(stop, command.at))
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

    /// Counts bytes that a value takes, and stops what takes too many.
    pub(crate) fn charge(&mut self, bytes: usize) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.session.limits.bytes {
            return Err(Reason::Limit("memory").nowhere().into());
        }
        Ok(())
    }

    /// Lets time pass, with the router free for others.
    pub(crate) fn wait(&mut self, span: Duration) -> Result<()> {
        if self.checking {
            return Ok(());
        }
        if self.out.flush().is_break() {
            return Err(Reason::Interrupted.nowhere().into());
        }
        let until = self.site.now().saturating_add(span);
        let interrupt = Arc::clone(&self.session.interrupt);
        self.site
            .wait(until, &interrupt)
            .map_err(|reason| reason.nowhere())?;
        self.step()
    }

    /// Prints text.
    pub(crate) fn print(&mut self, text: &str) -> Result<()> {
        if self.out.write(text).is_break() {
            return Err(Reason::Interrupted.nowhere().into());
        }
        Ok(())
    }

    /// The value of a variable.
    pub(crate) fn variable(&self, name: &str) -> Value {
        match self.scopes.iter().rev().find_map(|scope| scope.get(name)) {
            Some(Variable::Local(value)) => value.clone(),
            Some(Variable::Global) | None => {
                self.session.globals.get(name).cloned().unwrap_or_default()
            }
        }
    }

    /// Sets a variable where it was declared.
    pub(crate) fn assign(&mut self, name: &str, value: Value) {
        let scope = self
            .scopes
            .iter_mut()
            .rev()
            .find_map(|scope| scope.get_mut(name));
        match scope {
            Some(Variable::Local(slot)) => *slot = value,
            Some(Variable::Global) | None => {
                self.session.globals.insert(name.to_owned(), value);
            }
        }
    }

    /// Declares a variable in the innermost scope.
    pub(crate) fn declare(&mut self, name: &str, variable: Variable) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), variable);
        }
    }
}

/// What a run ends with when something stopped it.
pub(crate) fn finish(stop: Stop) -> std::result::Result<(), Refusal> {
    match stop {
        Stop::Refused(refusal) => Err(refusal),
        Stop::Return(_) | Stop::Break | Stop::Continue => Ok(()),
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
    width: usize,
}

/// The most output that is collected.
const COLLECTED: usize = 64 << 20;

impl Collected {
    /// None yet, for a reader of this width.
    pub(crate) const fn new(width: usize) -> Self {
        Self {
            text: String::new(),
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

    fn width(&self) -> usize {
        self.width
    }
}
