//! Built-in commands for variables and control flow: conditions, loops, error handling.

use std::time::Duration;

use menu::Reason;

use crate::ast::{Argument, Binary, Command, Expr, Node};
use crate::expr::no_code;
use crate::machine::{Machine, Result, Stop};
use crate::value::Value;

impl Machine<'_> {
    /// Runs a built-in command.
    pub(crate) fn builtin(&mut self, name: &str, command: &Command) -> Result<Value> {
        let missing: Vec<_> = crate::builtin::find(name)
            .into_iter()
            .flat_map(|builtin| builtin.parameters)
            .filter(|p| p.required && argument(command, p.name).is_none())
            .map(|p| p.name)
            .collect();
        if !missing.is_empty() {
            return Err(Reason::Missing(missing).at(command.at).into());
        }
        self.permit_builtin(name)?;
        match name {
            "put" => self.put(command),
            "local" | "global" | "set" => self.define(name, command),
            "if" => self.branch(command),
            "for" => self.with_handler(command, Self::count),
            "foreach" => self.with_handler(command, Self::each),
            "while" => self.repeat(command),
            "do" => self.attempt(command),
            "onerror" => self.handle(command),
            "retry" => self.retry(command),
            "return" => Err(Stop::Return(self.value_of(command, "value")?)),
            "break" => Err(Stop::Break),
            "continue" => Err(Stop::Continue),
            "exit" | "quit" => Err(Stop::Exit),
            "error" => {
                let text = self.value_of(command, "message")?.to_string();
                Err(Reason::Script(text).at(command.at).into())
            }
            "delay" => self.delay(command),
            "nothing" => Ok(Value::Nothing),
            "import" => self.import(command),
            "undo" | "redo" => self.back_and_forth(name, command),
            "password" => self.password(command),
            _ => self.function(name, command),
        }
    }

    /// Evaluates an argument; `Nothing` if it is not given.
    pub(crate) fn value_of(&mut self, command: &Command, name: &str) -> Result<Value> {
        match argument(command, name).and_then(|argument| argument.value.as_ref()) {
            Some(expr) => self.eval(expr),
            None => Ok(Value::Nothing),
        }
    }

    /// RouterOS: `:put` returns the text that it prints.
    fn put(&mut self, command: &Command) -> Result<Value> {
        let value = self.value_of(command, "message")?;
        let text = value.to_string();
        self.print(&format!("{text}\n"))?;
        Ok(Value::str(text))
    }

    fn define(&mut self, name: &str, command: &Command) -> Result<Value> {
        let value = self.given_value(command)?;
        let Some(target) = argument(command, "name").and_then(|a| a.value.as_ref()) else {
            return Ok(Value::Nil);
        };
        match &target.node {
            Node::Variable(variable) | Node::Text(variable) | Node::Word(variable) => match name {
                "local" => self.declare(variable, value.unwrap_or_default()),
                "global" => self.declare_global(variable, value)?,
                _ => match value {
                    Some(value) => self.change_variable(variable, |slot| *slot = value)?,
                    None => self.clear(variable),
                },
            },
            Node::Binary(Binary::Index, ..) if name == "set" => {
                self.set_element(target, value.unwrap_or_default())?;
            }
            _ => return Err(Reason::Syntax.at(target.at).into()),
        }
        Ok(Value::Nil)
    }

    /// Returns the value assigned to a variable. Code becomes a function.
    fn given_value(&mut self, command: &Command) -> Result<Option<Value>> {
        if let Some(code) = argument(command, "do").and_then(|argument| argument.value.as_ref()) {
            return Ok(Some(match self.eval(code)? {
                Value::Code(code) => Value::function(code),
                other => other,
            }));
        }
        let given = argument(command, "value").and_then(|argument| argument.value.as_ref());
        given.map(|expr| self.eval(expr)).transpose()
    }

    /// Assigns an array element: `:set ($array->key->key) value`.
    fn set_element(&mut self, target: &Expr, value: Value) -> Result<()> {
        let mut keys = Vec::new();
        let mut at = target;
        while let Node::Binary(Binary::Index, array, key) = &at.node {
            let key = self.eval(key)?;
            keys.push(key);
            at = array;
        }
        let Node::Variable(name) = &at.node else {
            return Err(Reason::Syntax.at(at.at).into());
        };
        // The assigned value may be nested itself: check the total depth.
        if value.depth() + keys.len() > Value::NESTED {
            return Err(Reason::Limit("nesting").at(target.at).into());
        }
        self.charge(value.weight() + keys.len() * size_of::<Value>())?;
        self.change_variable(name, |slot| {
            let mut place = Some(slot);
            for key in keys.iter().rev() {
                place = place.and_then(|place| place.element_mut(key));
            }
            if let Some(place) = place {
                *place = value;
            }
        })
    }

    /// Evaluates the condition of a command.
    fn holds(&mut self, command: &Command, name: &str) -> Result<bool> {
        let condition = self.value_of(command, name)?;
        condition.truth().ok_or_else(|| {
            let text = "conditional not boolean".to_owned();
            Reason::Script(text).at(command.at).into()
        })
    }

    fn branch(&mut self, command: &Command) -> Result<Value> {
        let holds = self.holds(command, "condition")?;
        self.run(command, if holds { "do" } else { "else" })
    }

    /// Runs the code of an argument in a new scope.
    pub(crate) fn run(&mut self, command: &Command, name: &str) -> Result<Value> {
        let Some(argument) = argument(command, name) else {
            return Ok(Value::Nothing);
        };
        let code = match argument.value.as_ref() {
            Some(Expr {
                node: Node::Code(code),
                ..
            }) => code.clone(),
            Some(expr) => match self.eval(expr)?.code() {
                Some(code) => code.clone(),
                None => return Err(Reason::ExpectedValue.at(expr.at).into()),
            },
            None => no_code(),
        };
        self.deeper(|machine| machine.block(&code))
    }

    /// Runs a loop. Its `on-error` code handles refusals inside the loop.
    fn with_handler(
        &mut self,
        command: &Command,
        inner: fn(&mut Self, &Command) -> Result<Value>,
    ) -> Result<Value> {
        let scopes = self.scopes.len();
        let result = inner(self, command);
        self.scopes.truncate(scopes);
        match result {
            Err(Stop::Refused(refusal))
                if argument(command, "on-error").is_some() && is_handled(&refusal.reason) =>
            {
                self.fault = None;
                self.run(command, "on-error")
            }
            other => other,
        }
    }

    /// Runs one iteration of a loop. Returns false if the loop ends.
    fn turn(&mut self, command: &Command, variables: &[(&str, Value)]) -> Result<bool> {
        self.scopes.push(Default::default());
        for (name, value) in variables {
            self.declare(name, value.clone());
        }
        let result = self.run(command, "do");
        self.scopes.pop();
        match result {
            Ok(_) | Err(Stop::Continue) => Ok(true),
            Err(Stop::Break) => Ok(false),
            Err(stop) => Err(stop),
        }
    }

    fn count(&mut self, command: &Command) -> Result<Value> {
        let mut number = |name: &str| -> Result<Option<i64>> {
            let value = self.value_of(command, name)?;
            if value.is_none() {
                return Ok(None);
            }
            let wrong = || Reason::Script(format!("invalid value for argument {name}"));
            Ok(Some(
                value
                    .to_num()
                    .ok_or_else(|| Stop::from(wrong().at(command.at)))?,
            ))
        };
        let (from, to) = (number("from")?.unwrap_or(0), number("to")?.unwrap_or(0));
        let step = number("step")?.unwrap_or(if from <= to { 1 } else { -1 });
        let name = variable_name(command);
        let mut at = from;
        while step != 0 && if step > 0 { at <= to } else { at >= to } {
            if !self.turn(command, &[(&name, Value::Num(at))])? {
                break;
            }
            let Some(next) = at.checked_add(step) else {
                break;
            };
            at = next;
        }
        Ok(Value::Nothing)
    }

    fn each(&mut self, command: &Command) -> Result<Value> {
        let values = self.value_of(command, "in")?;
        let weight = values.weight();
        self.holding(weight, |machine| machine.each_of(command, values))
    }

    fn each_of(&mut self, command: &Command, values: Value) -> Result<Value> {
        let names = variable_name(command);
        let (key_name, value_name) = match names.split_once(',') {
            Some((key, value)) => (Some(key), value),
            None => (None, names.as_str()),
        };
        for (index, (key, value)) in values.to_array().into_iter().enumerate() {
            let mut variables = vec![(value_name, value)];
            if let Some(name) = key_name {
                let number = i64::try_from(index).unwrap_or(i64::MAX);
                variables.push((name, key.map_or(Value::Num(number), Value::str)));
            }
            if !self.turn(command, &variables)? {
                break;
            }
        }
        Ok(Value::Nothing)
    }

    fn repeat(&mut self, command: &Command) -> Result<Value> {
        loop {
            self.step()?;
            if !self.holds(command, "condition")? || !self.turn(command, &[])? {
                return Ok(Value::Nothing);
            }
        }
    }

    /// Runs `:do {…} while=(…) on-error={…}`.
    fn attempt(&mut self, command: &Command) -> Result<Value> {
        loop {
            self.step()?;
            let scopes = self.scopes.len();
            let result = self.run(command, "command");
            self.scopes.truncate(scopes);
            let value = match result {
                Err(Stop::Refused(refusal))
                    if argument(command, "on-error").is_some() && is_handled(&refusal.reason) =>
                {
                    self.fault = None;
                    return self.run(command, "on-error");
                }
                Err(Stop::Break) if argument(command, "while").is_some() => {
                    return Ok(Value::Nothing);
                }
                Err(Stop::Continue) if argument(command, "while").is_some() => Value::Nothing,
                other => other?,
            };
            if argument(command, "while").is_none() || !self.holds(command, "while")? {
                return Ok(value);
            }
        }
    }

    /// Runs `:onerror e in={…} do={…}`. RouterOS: returns whether an error occurred.
    fn handle(&mut self, command: &Command) -> Result<Value> {
        let scopes = self.scopes.len();
        self.fault = None;
        let result = self.run(command, "in");
        self.scopes.truncate(scopes);
        match result {
            Ok(_) => Ok(Value::Bool(false)),
            Err(Stop::Refused(refusal)) if is_handled(&refusal.reason) => {
                let text = self.explained(&refusal);
                let names = variable_name(command);
                let mut names = names.split(',');
                let error = names.next().unwrap_or_default();
                let attributes = names.next().unwrap_or("");
                let variables = [
                    (attributes, Value::array(Vec::new())),
                    (error, Value::str(text)),
                ];
                self.scopes.push(Default::default());
                for (name, value) in variables {
                    self.declare(name, value);
                }
                let result = self.run(command, "do");
                self.scopes.pop();
                result.map(|_| Value::Bool(true))
            }
            Err(stop) => Err(stop),
        }
    }

    /// Runs `:retry command={…} delay=… max=… on-error={…}`.
    fn retry(&mut self, command: &Command) -> Result<Value> {
        let max = self.value_of(command, "max")?.to_num().unwrap_or(1).max(1);
        let delay = self.value_of(command, "delay")?.to_time().unwrap_or(0);
        for turn in 1..=max {
            self.step()?;
            let scopes = self.scopes.len();
            let result = self.run(command, "command");
            self.scopes.truncate(scopes);
            match result {
                Err(Stop::Refused(refusal)) if is_handled(&refusal.reason) => {
                    if turn == max && argument(command, "on-error").is_some() {
                        self.fault = None;
                        return self.run(command, "on-error");
                    }
                    if turn == max {
                        return Err(refusal.into());
                    }
                    self.fault = None;
                }
                other => return other,
            }
            self.wait(span(delay))?;
        }
        Ok(Value::Nothing)
    }

    fn delay(&mut self, command: &Command) -> Result<Value> {
        let nanos = self.value_of(command, "delay-time")?.to_time();
        let Some(nanos) = nanos.filter(|nanos| *nanos >= 0) else {
            let text = "invalid time value for argument delay-time".to_owned();
            return Err(Reason::BadValue(text).at(command.at).into());
        };
        self.wait(span(nanos))?;
        Ok(Value::Nothing)
    }
}

/// Returns the argument with this name.
pub(crate) fn argument<'c>(command: &'c Command, name: &str) -> Option<&'c Argument> {
    command
        .arguments
        .iter()
        .find(|argument| argument.name == name)
}

/// Converts nanoseconds to a duration; negative values become zero.
fn span(nanos: i64) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
}

fn variable_name(command: &Command) -> String {
    let target = ["counter", "error"]
        .iter()
        .find_map(|name| argument(command, name));
    match target
        .and_then(|argument| argument.value.as_ref())
        .map(|expr| &expr.node)
    {
        Some(Node::Variable(name) | Node::Text(name) | Node::Word(name)) => name.clone(),
        _ => String::new(),
    }
}

/// True if a script may handle the refusal. Limits, interruption by the user and storage failures cannot be
/// handled.
pub(crate) const fn is_handled(reason: &Reason) -> bool {
    !matches!(
        reason,
        Reason::Limit(_) | Reason::Interrupted | Reason::Storage(_)
    )
}
