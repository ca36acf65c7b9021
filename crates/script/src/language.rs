//! The commands of the language itself.

use std::time::Duration;

use menu::{Reason, bytes};

use crate::ast::{Argument, Command, Expr, Node};
use crate::expr::no_code;
use crate::machine::{Machine, Result, Stop, Variable};
use crate::value::Value;

impl Machine<'_> {
    /// Runs a command of the language.
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
            "for" => self.count(command),
            "foreach" => self.each(command),
            "while" | "do" => self.repeat(name, command),
            "onerror" => self.handle(command),
            "retry" => self.retry(command),
            "return" => Err(Stop::Return(self.value_of(command, "value")?)),
            "break" => Err(Stop::Break),
            "continue" => Err(Stop::Continue),
            "error" => {
                let text = self.value_of(command, "message")?.to_string();
                Err(Reason::Script(text).at(command.at).into())
            }
            "delay" => self.delay(command),
            "environment" => self.environment(),
            "nothing" => Ok(Value::Nothing),
            "import" => self.import(command),
            "undo" | "redo" => self.back_and_forth(name),
            "password" => self.password(command),
            "find" => self.search(command),
            "pick" => self.pick(command),
            "toarray" if argument(command, "delimiter").is_some() => self.split(command),
            _ => {
                let value = self.value_of(command, "value")?;
                convert(name, value)
            }
        }
    }

    fn value_of(&mut self, command: &Command, name: &str) -> Result<Value> {
        match argument(command, name).and_then(|argument| argument.value.as_ref()) {
            Some(expr) => self.eval(expr),
            None => Ok(Value::Nothing),
        }
    }

    fn put(&mut self, command: &Command) -> Result<Value> {
        let mut text = self.value_of(command, "message")?.to_string();
        text.push('\n');
        self.print(&text)?;
        Ok(Value::Nothing)
    }

    fn define(&mut self, name: &str, command: &Command) -> Result<Value> {
        let code = argument(command, "do").and_then(|argument| argument.value.as_ref());
        let given = code.or_else(|| argument(command, "value").and_then(|a| a.value.as_ref()));
        let value = given.map(|expr| self.eval(expr)).transpose()?;
        let Some(target) = argument(command, "name").and_then(|a| a.value.as_ref()) else {
            return Ok(Value::Nothing);
        };
        match &target.node {
            Node::Variable(variable) | Node::Text(variable) => match name {
                "local" => self.declare(variable, Variable::Local(value.unwrap_or_default())),
                "global" => {
                    self.declare(variable, Variable::Global);
                    let slot = self.session.globals.entry(variable.clone()).or_default();
                    if let Some(value) = value {
                        *slot = value;
                    }
                }
                _ => self.assign(variable, value.unwrap_or_default()),
            },
            Node::Binary(crate::ast::Binary::Index, array, key) => {
                self.set_element(array, key, value.unwrap_or_default())?;
            }
            _ => return Err(Reason::Syntax.at(target.at).into()),
        }
        Ok(Value::Nothing)
    }

    /// `:set ($array->key) value`
    fn set_element(&mut self, array: &Expr, key: &Expr, value: Value) -> Result<()> {
        let mut elements = self.eval(array)?.to_array();
        let key = self.eval(key)?;
        self.charge(elements.len() * size_of::<Value>())?;
        match &key {
            Value::Num(number) => {
                let index = usize::try_from(*number).unwrap_or(usize::MAX);
                match elements.get_mut(index) {
                    Some(slot) => slot.1 = value,
                    None => elements.push((None, value)),
                }
            }
            key => Value::insert(&mut elements, key.to_string(), value),
        }
        match &array.node {
            Node::Variable(name) => self.assign(name, Value::Array(elements)),
            Node::Binary(crate::ast::Binary::Index, outer, key) => {
                self.deeper(|machine| machine.set_element(outer, key, Value::Array(elements)))?;
            }
            _ => return Err(Reason::Syntax.at(array.at).into()),
        }
        Ok(())
    }

    fn branch(&mut self, command: &Command) -> Result<Value> {
        let condition = self.value_of(command, "condition")?;
        let holds = condition.to_bool().unwrap_or(false);
        self.run(command, if holds { "do" } else { "else" })
    }

    /// Runs the code of an argument in its own scope.
    fn run(&mut self, command: &Command, name: &str) -> Result<Value> {
        let Some(argument) = argument(command, name) else {
            return Ok(Value::Nothing);
        };
        let code = match argument.value.as_ref() {
            Some(Expr {
                node: Node::Code(code),
                ..
            }) => code.clone(),
            Some(expr) => match self.eval(expr)? {
                Value::Code(code) => code,
                _ => return Err(Reason::ExpectedValue.at(expr.at).into()),
            },
            None => no_code(),
        };
        self.deeper(|machine| machine.block(&code))
    }

    /// One turn of a loop; whether it goes on.
    fn turn(&mut self, command: &Command, variables: &[(&str, Value)]) -> Result<bool> {
        self.scopes.push(Default::default());
        for (name, value) in variables {
            self.declare(name, Variable::Local(value.clone()));
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
            if matches!(value, Value::Nothing) {
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
        let values = self.value_of(command, "in")?.to_array();
        let names = variable_name(command);
        let (key_name, value_name) = match names.split_once(',') {
            Some((key, value)) => (Some(key), value),
            None => (None, names.as_str()),
        };
        for (index, (key, value)) in values.into_iter().enumerate() {
            let mut variables = vec![(value_name, value)];
            if let Some(name) = key_name {
                let number = i64::try_from(index).unwrap_or(i64::MAX);
                variables.push((name, key.map_or(Value::Num(number), Value::Str)));
            }
            if !self.turn(command, &variables)? {
                break;
            }
        }
        Ok(Value::Nothing)
    }

    fn repeat(&mut self, name: &str, command: &Command) -> Result<Value> {
        if name == "do" {
            return self.attempt(command);
        }
        loop {
            self.step()?;
            if !self
                .value_of(command, "condition")?
                .to_bool()
                .unwrap_or(false)
            {
                return Ok(Value::Nothing);
            }
            if !self.turn(command, &[])? {
                return Ok(Value::Nothing);
            }
        }
    }

    /// `:do {…} while=(…) on-error={…}`
    fn attempt(&mut self, command: &Command) -> Result<Value> {
        loop {
            self.step()?;
            let scopes = self.scopes.len();
            let result = self.run(command, "command");
            self.scopes.truncate(scopes);
            match result {
                Err(Stop::Refused(refusal))
                    if argument(command, "on-error").is_some() && is_handled(&refusal.reason) =>
                {
                    return self.run(command, "on-error");
                }
                Err(Stop::Break) => return Ok(Value::Nothing),
                Ok(_) | Err(Stop::Continue) => {}
                Err(stop) => return Err(stop),
            }
            let again = argument(command, "while").is_some()
                && self.value_of(command, "while")?.to_bool().unwrap_or(false);
            if !again {
                return Ok(Value::Nothing);
            }
        }
    }

    fn handle(&mut self, command: &Command) -> Result<Value> {
        let scopes = self.scopes.len();
        let result = self.run(command, "in");
        self.scopes.truncate(scopes);
        match result {
            Ok(_) => Ok(Value::Bool(false)),
            Err(Stop::Refused(refusal)) if is_handled(&refusal.reason) => {
                let text = Value::str(refusal.to_string());
                self.turn(command, &[(&variable_name(command), text)])?;
                Ok(Value::Bool(true))
            }
            Err(stop) => Err(stop),
        }
    }

    /// `:retry command={…} delay=… max=… on-error={…}`
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
                        return self.run(command, "on-error");
                    }
                    if turn == max {
                        return Err(refusal.into());
                    }
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

    fn environment(&mut self) -> Result<Value> {
        let lines: Vec<_> = self
            .session
            .globals
            .iter()
            .map(|(name, value)| format!("{name}={value}\n"))
            .collect();
        lines.iter().try_for_each(|line| self.print(line))?;
        Ok(Value::Nothing)
    }

    fn search(&mut self, command: &Command) -> Result<Value> {
        let (all, key) = (
            self.value_of(command, "in")?,
            self.value_of(command, "key")?,
        );
        let from = self.value_of(command, "from")?.to_num().unwrap_or(-1);
        // RouterOS: the search begins after `from`.
        let from = usize::try_from(from.saturating_add(1)).unwrap_or(0);
        let found = match &all {
            Value::Array(elements) => elements
                .iter()
                .skip(from)
                .position(|(_, value)| value.equals(&key)),
            text => {
                let text = bytes::to_bytes(&text.to_string());
                let key = bytes::to_bytes(&key.to_string());
                let rest = text.get(from..).unwrap_or_default();
                let whole = !key.is_empty() && key.len() <= rest.len();
                whole
                    .then(|| rest.windows(key.len()).position(|piece| piece == key))
                    .flatten()
            }
        };
        Ok(found
            .and_then(|at| i64::try_from(at + from).ok())
            .map_or(Value::Nil, Value::Num))
    }

    fn pick(&mut self, command: &Command) -> Result<Value> {
        let all = self.value_of(command, "counter")?;
        let begin = self
            .value_of(command, "begin")?
            .to_num()
            .unwrap_or(0)
            .max(0);
        let begin = usize::try_from(begin).unwrap_or(usize::MAX);
        let end = match self.value_of(command, "end")? {
            Value::Nothing | Value::Nil => begin.saturating_add(1),
            value => usize::try_from(value.to_num().unwrap_or(0).max(0)).unwrap_or(usize::MAX),
        };
        let limit = |len: usize| (begin.min(len), end.min(len).max(begin.min(len)));
        Ok(match all {
            Value::Array(elements) => {
                let (from, to) = limit(elements.len());
                let single = argument(command, "end").is_none();
                match &elements[from..to] {
                    [(_, value)] if single => value.clone(),
                    piece => Value::Array(piece.to_vec()),
                }
            }
            text => {
                let text = bytes::to_bytes(&text.to_string());
                let (from, to) = limit(text.len());
                Value::Str(bytes::from_bytes(&text[from..to]))
            }
        })
    }
}

impl Machine<'_> {
    /// `:toarray delimiter=… value`
    fn split(&mut self, command: &Command) -> Result<Value> {
        let text = self.value_of(command, "value")?.to_string();
        let delimiter = self.value_of(command, "delimiter")?.to_string();
        if delimiter.is_empty() {
            return Ok(Value::Array(Value::str(text).to_array()));
        }
        let mut pieces = Vec::new();
        for piece in text.split(delimiter.as_str()) {
            self.charge(piece.len() + 2 * size_of::<Value>())?;
            pieces.push((None, Value::of_word(piece)));
        }
        Ok(Value::Array(pieces))
    }
}

/// The argument of this name.
pub(crate) fn argument<'c>(command: &'c Command, name: &str) -> Option<&'c Argument> {
    command
        .arguments
        .iter()
        .find(|argument| argument.name == name)
}

/// A span of nanoseconds; none that is negative.
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

/// Whether a script may handle a refusal: limits and the user's will are above it.
const fn is_handled(reason: &Reason) -> bool {
    !matches!(
        reason,
        Reason::Limit(_) | Reason::Interrupted | Reason::Storage(_)
    )
}

fn convert(name: &str, value: Value) -> Result<Value> {
    let or_nothing = |value: Option<Value>| value.unwrap_or(Value::Nil);
    Ok(match name {
        "len" => Value::Num(i64::try_from(value.len()).unwrap_or(i64::MAX)),
        "typeof" => Value::str(value.type_name()),
        "tostr" => Value::Str(value.to_string()),
        "tonum" => or_nothing(value.to_num().map(Value::Num)),
        "tobool" => or_nothing(value.to_bool().map(Value::Bool)),
        "totime" => or_nothing(value.to_time().map(Value::Time)),
        "toarray" => Value::Array(value.to_array()),
        "toid" => match value {
            Value::Num(number) => {
                or_nothing(u64::try_from(number).ok().map(|n| Value::Id(menu::Id(n))))
            }
            value => or_nothing(menu::Id::parse(&value.to_string()).map(Value::Id)),
        },
        "toip" | "toip6" => match value {
            Value::Num(number) if name == "toip" => u32::try_from(number).map_or(Value::Nil, |n| {
                Value::Ip(std::net::Ipv4Addr::from(n).into())
            }),
            value => match Value::of_word(&value.to_string()) {
                Value::Ip(ip) if ip.is_ipv4() == (name == "toip") => Value::Ip(ip),
                _ => Value::Nil,
            },
        },
        _ => Value::Nothing,
    })
}
