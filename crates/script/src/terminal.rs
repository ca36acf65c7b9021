//! `/terminal`: lets scripts read from and draw on the user's terminal.
//!
//! Other tasks may use the router while a script waits for a key or a line. Without a terminal (jobs, single
//! commands over SSH, API and REST) a command that reads is refused, and a command that only draws does
//! nothing.

use menu::{Drawing, Menu, Question, Reason, TextStyle};

use crate::ast::Command;
use crate::evaluated_command::EvaluatedCommand;
use crate::follow::span;
use crate::machine::{Machine, Result};
use crate::value::Value;

/// Path of the menu.
pub(crate) const MENU: &str = "/terminal";

/// RouterOS: the result of `inkey` after a timeout.
const NO_KEY: i64 = 65_535;

/// Style names of RouterOS scripts and `/console/inspect`.
const STYLES: [(&str, TextStyle); 17] = [
    ("none", TextStyle::Plain),
    ("dir", TextStyle::Menu),
    ("path", TextStyle::Menu),
    ("cmd", TextStyle::Command),
    ("arg", TextStyle::Argument),
    ("varname", TextStyle::Variable),
    ("varname-local", TextStyle::Variable),
    ("varname-global", TextStyle::Variable),
    ("variable-global", TextStyle::Variable),
    ("escaped", TextStyle::Operator),
    ("syntax-meta", TextStyle::Operator),
    ("syntax-val", TextStyle::Operator),
    ("syntax-old", TextStyle::Operator),
    ("comment", TextStyle::Comment),
    ("syntax-noterm", TextStyle::Error),
    ("ambiguous", TextStyle::Error),
    ("error", TextStyle::Error),
];

impl Machine<'_> {
    /// Runs a command of the menu.
    pub(crate) fn at_terminal(
        &mut self,
        menu: &'static Menu,
        name: &str,
        command: &Command,
    ) -> Result<Value> {
        self.permit(menu, name)?;
        let ready = self.ready(command)?;
        match name {
            "inkey" => self.key(&ready),
            "ask" => self.ask(&ready),
            _ => {
                let drawing = drawing(name, &ready)?;
                match self.out.terminal().map(|terminal| terminal.draw(drawing)) {
                    Some(flow) if flow.is_break() => Err(Reason::Interrupted.nowhere().into()),
                    _ => Ok(Value::Nothing),
                }
            }
        }
    }

    fn key(&mut self, ready: &EvaluatedCommand<'_>) -> Result<Value> {
        let span = span(ready, "timeout")?;
        let began = self.site.now();
        let key = match (self.passes_over(), self.out.terminal()) {
            (true, _) => None,
            (false, Some(terminal)) => terminal.key(span),
            (false, None) => return Err(nobody().nowhere().into()),
        };
        self.rested(self.site.now().saturating_sub(began));
        self.step()?;
        Ok(Value::Num(key.map_or(NO_KEY, i64::from)))
    }

    fn ask(&mut self, ready: &EvaluatedCommand<'_>) -> Result<Value> {
        let text = |name: &str| ready.text(name).unwrap_or_default();
        let (told, preinput) = (text("prompt"), text("preinput"));
        let name = ready.text("value-name");
        let prompt = format!("{}: ", name.as_deref().unwrap_or("value"));
        if self.passes_over() {
            return Ok(Value::str(preinput));
        }
        if self.out.terminal().is_none() {
            return Err(nobody().nowhere().into());
        }
        if !told.is_empty() {
            self.print(&format!("{told}\n"))?;
        }
        let question = Question {
            prompt: &prompt,
            preinput: &preinput,
            hidden: ready.flag("sensitive"),
        };
        let began = self.site.now();
        let line = self.out.terminal().and_then(|t| t.ask(&question));
        self.rested(self.site.now().saturating_sub(began));
        self.step()?;
        match line {
            Some(line) => {
                self.charge(line.len())?;
                Ok(Value::str(line))
            }
            None => Err(Reason::Interrupted.nowhere().into()),
        }
    }
}

pub(crate) fn nobody() -> Reason {
    Reason::failure("there is no terminal to read from")
}

fn drawing(name: &str, ready: &EvaluatedCommand<'_>) -> Result<Drawing> {
    Ok(match name {
        "cuu" => {
            let count = ready.text("count").map_or(Ok(1), |text| text.parse());
            let wrong = || Reason::BadValue("invalid value for argument count".to_owned());
            Drawing::Up(count.map_err(|_| wrong().nowhere())?)
        }
        "el" => Drawing::EraseLine,
        _ => {
            let text = ready.text("style").unwrap_or_default();
            let found = STYLES.iter().find(|(word, _)| *word == text);
            let style = found.ok_or_else(|| Reason::no_match("style").nowhere())?;
            Drawing::Style(style.1)
        }
    })
}
