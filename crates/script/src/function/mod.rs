//! Built-in commands that return a value: strings, arrays, types, time and random numbers.

mod encode;
mod json;
mod rows;
mod serial;
mod text;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use menu::{Clock, Reason, time};

use crate::ast::{Command, Node};
use crate::evaluated_command::lend;
use crate::job::{Code, Entry, Job};
use crate::language::argument;
use crate::machine::{Machine, Result};
use crate::site::NameQuery;
use crate::value::{self, Value};

impl Machine<'_> {
    /// Runs a built-in command that returns a value.
    pub(crate) fn function(&mut self, name: &str, command: &Command) -> Result<Value> {
        match name {
            "find" => self.search(command),
            "pick" => self.pick(command),
            "range" => self.range(command),
            "grep" => self.grep(command),
            "tocrlf" | "tolf" => self.line_ends(name, command),
            "convert" => self.convert(command),
            "serialize" => self.serialize(command),
            "deserialize" => self.deserialize(command),
            "rndnum" => self.random_number(command),
            "rndstr" => self.random_text(command),
            "timestamp" => self.timestamp(command),
            "time" => self.measured(command),
            "jobname" => Ok(Value::str(self.job.as_str())),
            "execute" => self.execute(command),
            "parse" => {
                let text = self.value_of(command, "value")?.text();
                Ok(Value::Code(self.parsed(&text)?))
            }
            "resolve" => self.resolve(command),
            // `:beep` does nothing: there is no speaker.
            "beep" => Ok(Value::Nothing),
            "toarray" => self.array_of(command),
            _ => {
                let value = self.value_of(command, "value")?;
                Ok(typed(name, value))
            }
        }
    }

    /// Returns the text of an argument. A bare word is taken literally.
    pub(crate) fn text_of(&mut self, command: &Command, name: &str) -> Result<Option<Arc<str>>> {
        let Some(expr) = argument(command, name).and_then(|argument| argument.value.as_ref())
        else {
            return Ok(None);
        };
        match &expr.node {
            Node::Word(word) => Ok(Some(word.as_str().into())),
            _ => Ok(Some(self.eval(expr)?.text())),
        }
    }

    /// Returns the number given as an argument, or `default`.
    pub(crate) fn number_of(
        &mut self,
        command: &Command,
        name: &'static str,
        default: i64,
    ) -> Result<i64> {
        let value = self.value_of(command, name)?;
        if value.is_none() {
            return Ok(default);
        }
        value
            .to_num()
            .ok_or_else(|| invalid(name).at(command.at).into())
    }

    fn array_of(&mut self, command: &Command) -> Result<Value> {
        let value = self.value_of(command, "value")?;
        let delimiter = self.text_of(command, "delimiter")?;
        let delimiter = delimiter.filter(|text| !text.is_empty());
        // The array takes more memory than the string.
        self.charge(value.weight())?;
        Ok(match (&value, delimiter) {
            (Value::Array(_), _) => value,
            (_, Some(delimiter)) => Value::array(value.split(&delimiter)),
            (_, None) => Value::array(value.to_array()),
        })
    }

    fn random_number(&mut self, command: &Command) -> Result<Value> {
        let from = self.number_of(command, "from", 0)?;
        let to = self.number_of(command, "to", 0)?;
        if to < from {
            return Err(invalid("to").at(command.at).into());
        }
        Ok(Value::Num(self.random(from, to)))
    }

    /// Returns a random number between `from` and `to`, both inclusive.
    fn random(&mut self, from: i64, to: i64) -> i64 {
        let count = u128::from(to.abs_diff(from)) + 1;
        // Uses 64 more random bits than the range needs, so that the bias of the modulo is negligible.
        let wide = u128::from(self.site.random()) << 64 | u128::from(self.site.random());
        let step = u64::try_from(wide % count).unwrap_or(0);
        from.wrapping_add_unsigned(step)
    }

    fn random_text(&mut self, command: &Command) -> Result<Value> {
        const DEFAULT_CHARACTERS: &str =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        let length = self.number_of(command, "length", 16)?;
        let from = self.text_of(command, "from")?;
        let from: Vec<char> = from
            .as_deref()
            .unwrap_or(DEFAULT_CHARACTERS)
            .chars()
            .collect();
        let count = usize::try_from(length)
            .ok()
            .filter(|_| !from.is_empty())
            .ok_or_else(|| invalid("length").at(command.at))?;
        self.charge(count)?;
        let last = i64::try_from(from.len() - 1).unwrap_or(0);
        let mut text = String::with_capacity(count);
        for _ in 0..count {
            let index = usize::try_from(self.random(0, last)).unwrap_or(0);
            text.extend(from.get(index));
        }
        Ok(Value::str(text))
    }

    /// Returns the router's wall clock.
    pub(crate) fn clock(&mut self) -> Result<Clock> {
        Ok(lend(self.site, |_, live| live.clock())?)
    }

    fn timestamp(&mut self, command: &Command) -> Result<Value> {
        let clock = self.clock()?;
        let mut seconds = clock.unix_seconds;
        if argument(command, "use-tz").is_some() {
            seconds = seconds.saturating_add(clock.offset_seconds.into());
        }
        let nanos = seconds.saturating_mul(time::SECOND);
        Ok(Value::Time(nanos.saturating_add(clock.nanos.into())))
    }

    /// `:time {…}`: returns the run time of a command.
    fn measured(&mut self, command: &Command) -> Result<Value> {
        let begin = self.site.now();
        self.run(command, "command")?;
        let span = self.site.now().saturating_sub(begin);
        Ok(Value::Time(
            i64::try_from(span.as_nanos()).unwrap_or(i64::MAX),
        ))
    }

    /// `:execute {…}`: runs code as a background job, or in the foreground with `as-string`.
    fn execute(&mut self, command: &Command) -> Result<Value> {
        if argument(command, "as-string").is_some() {
            return self.captured(command, "script").map(Value::str);
        }
        let code = self.code_of(command, "script")?;
        if self.passes_over() {
            return Ok(Value::Nothing);
        }
        let entry = Entry {
            kind: "command",
            script: String::new(),
            owner: self.session.user.clone(),
            parent: self.parent,
            started: self.clock()?,
        };
        let mut session = self.session.scripting.session(&self.session.user);
        session.policies = self.session.policies;
        session.rights = self.session.rights.clone();
        session.is_script = self.session.is_script;
        let file = self.text_of(command, "file")?;
        let job = Job::new(session, entry, Code::Read(code));
        let mut job = job.map_err(|reason| reason.at(command.at))?;
        if let Some(file) = file {
            self.permit_builtin("import")?;
            job.write_to(&file);
        }
        let id = job.id();
        let spawned = self.site.spawn(job);
        spawned.map_err(|reason| reason.at(command.at))?;
        Ok(Value::Id(id))
    }

    fn resolve(&mut self, command: &Command) -> Result<Value> {
        let name = self.text_of(command, "domain-name")?.unwrap_or_default();
        let kind = self.text_of(command, "type")?;
        let server = self.server(command)?;
        let families: &[bool] = match kind.as_deref() {
            None | Some("any") => &[true, false],
            Some("any6") => &[false, true],
            Some("ipv4") => &[true],
            Some("ipv6") => &[false],
            Some(_) => return Err(Reason::no_match("type").at(command.at).into()),
        };
        if let Some(address) = value::address(&name) {
            return Ok(Value::Ip(address));
        }
        if self.passes_over() {
            return Ok(Value::Nothing);
        }
        let found = self.address_of(&name, server, families);
        Ok(Value::Ip(found.map_err(|reason| reason.at(command.at))?))
    }

    /// Returns the DNS server that `:resolve` is told to query.
    fn server(&mut self, command: &Command) -> Result<Option<SocketAddr>> {
        const DNS: i64 = 53;
        let Some(text) = self.text_of(command, "server")? else {
            return Ok(None);
        };
        let port = u16::try_from(self.number_of(command, "server-port", DNS)?);
        let port = port.map_err(|_| invalid("server-port").at(command.at))?;
        let address = value::address(&text);
        let address = address.ok_or_else(|| invalid("server").at(command.at))?;
        Ok(Some(SocketAddr::new(address, port)))
    }

    /// Resolves a name, or parses an address literal. Queries the given address families in order, `true` for
    /// IPv4, and returns the first address found.
    pub(crate) fn address_of(
        &mut self,
        name: &str,
        server: Option<SocketAddr>,
        families: &[bool],
    ) -> std::result::Result<IpAddr, Reason> {
        if let Some(address) = value::address(name) {
            return Ok(address);
        }
        if is_no_name(name) {
            let text = format!("{name} is neither an address nor a name");
            return Err(Reason::BadValue(text));
        }
        let interrupt = Arc::clone(&self.session.interrupt);
        let asked = NameQuery {
            name,
            server,
            families,
        };
        let found = self.site.resolve(&asked, &interrupt)?;
        let address = families
            .iter()
            .find_map(|v4| found.iter().find(|address| address.is_ipv4() == *v4));
        let missing = || Reason::failure("dns name does not exist");
        address.copied().ok_or_else(missing)
    }
}

/// True if a text cannot be a domain name: the top-level domain is all digits (RFC 3696, 2), or the text
/// contains a colon.
fn is_no_name(text: &str) -> bool {
    let top = text.trim_end_matches('.').rsplit('.').next();
    let digits = top.is_none_or(|top| top.bytes().all(|byte| byte.is_ascii_digit()));
    digits || text.contains(':')
}

/// Refusal for an argument value that the command does not accept.
pub(crate) fn invalid(name: &str) -> Reason {
    Reason::BadValue(format!("invalid value for argument {name}"))
}

/// Converts a value to another type; returns nil if that is impossible.
fn typed(name: &str, value: Value) -> Value {
    let or_nil = |value: Option<Value>| value.unwrap_or(Value::Nil);
    match name {
        "len" => Value::Num(i64::try_from(value.len()).unwrap_or(i64::MAX)),
        "typeof" => Value::str(value.type_name()),
        "tostr" => Value::Str(value.text()),
        "tonum" => or_nil(value.to_num().map(Value::Num)),
        "tobool" => or_nil(value.to_bool().map(Value::Bool)),
        "totime" => or_nil(value.to_time().map(Value::Time)),
        "tonsec" => or_nil(value.to_time().map(Value::Num)),
        "toid" => match value {
            Value::Id(_) => value,
            Value::Num(number) => {
                or_nil(u64::try_from(number).ok().map(|n| Value::Id(menu::Id(n))))
            }
            value => or_nil(menu::Id::parse(&value.text()).map(Value::Id)),
        },
        "toip" => match value {
            Value::Num(number) => {
                let v4 = u32::try_from(number).map(std::net::Ipv4Addr::from);
                or_nil(v4.ok().map(|v4| Value::Ip(v4.into())))
            }
            value => or_nil(
                value::address(&value.text())
                    .filter(|a| a.is_ipv4())
                    .map(Value::Ip),
            ),
        },
        "toip6" => or_nil(
            value::address(&value.text())
                .filter(|a| a.is_ipv6())
                .map(Value::Ip),
        ),
        _ => Value::Nothing,
    }
}
