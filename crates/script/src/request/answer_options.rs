//! Arguments that control the answer of a request: fields, repetition.

use std::time::Duration;

use menu::{Kind, Reason, Refusal};

use super::Done;
use crate::machine::{self, Machine};

/// Options for the answer of a request, apart from the arguments of its command.
#[derive(Default)]
pub(super) struct AnswerOptions {
    wanted: Vec<String>,
    pub(super) once: bool,
    pub(super) count_only: bool,
    pub(super) follow: bool,
    pub(super) follow_only: bool,
    pub(super) interval: Option<Duration>,
    pub(super) duration: Option<Duration>,
}

impl AnswerOptions {
    /// Stores an argument if it is an option for the answer. Returns false otherwise.
    pub(super) fn take(&mut self, name: &str, text: &str) -> Result<bool, Refusal> {
        // JSON requests can set a flag to false.
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

    pub(super) fn wanted(&self) -> Vec<&str> {
        self.wanted.iter().map(String::as_str).collect()
    }
}

fn span(name: &str, text: &str) -> Result<Duration, Refusal> {
    let value = Kind::SPAN.parse(name, text).map_err(Reason::nowhere)?;
    let nanos = value.as_nanos().and_then(|nanos| u64::try_from(nanos).ok());
    Ok(Duration::from_nanos(nanos.unwrap_or(0)))
}

impl Machine<'_> {
    /// Repeats `turn` with the number of the repetition, until the options end the request.
    pub(super) fn sample(
        &mut self,
        interval: Duration,
        answer_options: &AnswerOptions,
        mut turn: impl FnMut(&mut Self, usize) -> machine::Result<usize>,
    ) -> machine::Result<Done> {
        let until = answer_options.duration.map(|span| self.site.now() + span);
        for section in 0.. {
            self.renew();
            turn(self, section)?;
            if answer_options.once || until.is_some_and(|until| self.site.now() + interval >= until)
            {
                break;
            }
            self.wait(interval)?;
        }
        Ok(Done::Nothing)
    }
}
