//! `/tool/e-mail/send`: builds a mail from the settings, the arguments and files, and queues it.

use menu::{Policies, Reason, Reply, Value};

use super::CommandContext;
use crate::feature::mail::{Letter, MAIL, Tls};

impl CommandContext<'_> {
    pub(super) fn send_mail(&mut self) -> Result<Reply, Reason> {
        let settings = self.store.settings(MAIL).ok_or(Reason::NoItem)?;
        let mut letter = Letter::of(settings);
        self.needed("to")?;
        self.protect_stored_password(&letter)?;
        if let Some(host) = self.text("server") {
            letter.server.host = host;
        }
        let port = self.argument("port").and_then(Value::as_number);
        if let Some(port) = port.and_then(|port| u16::try_from(port).ok()) {
            letter.server.port = port;
        }
        if let Some(word) = self.text("tls") {
            letter.server.tls = Tls::of(&word);
        }
        if let Some(word) = self.text("certificate-verification") {
            letter.server.check = word;
        }
        let before = letter.server.user.take().unwrap_or_default();
        let user = self.text("user").unwrap_or(before.0);
        let password = self.text("password").unwrap_or(before.1);
        letter.server.user = Some((user, password)).filter(|(user, _)| !user.is_empty());
        if let Some(from) = self.text("from") {
            letter.from = from;
        }
        (letter.to, letter.copies) = (self.list("to"), self.list("cc"));
        letter.subject = self.text("subject").unwrap_or_default();
        letter.body = self.text("body").unwrap_or_default();
        for name in self.list("file") {
            let bytes = self.read(&name, "")?;
            letter.files.push((name, bytes));
        }
        self.control.features.mails.send(letter)?;
        Ok(Reply::default())
    }

    /// Refuses to give the stored password to another server, or by a weaker connection, than the settings say.
    ///
    /// # Errors
    /// The caller lacks the policy `sensitive`, and so may not read the password.
    fn protect_stored_password(&self, stored: &Letter) -> Result<(), Reason> {
        let redirects = ["server", "port", "tls", "certificate-verification"];
        let redirect = redirects
            .into_iter()
            .find(|name| self.argument(name).is_some());
        let has_password = (stored.server.user.as_ref()).is_some_and(|(_, word)| !word.is_empty());
        let readable = self.caller.policies.contains(Policies::SENSITIVE);
        match redirect {
            Some(name) if has_password && !readable && self.argument("password").is_none() => {
                Err(Reason::failure(format!(
                    "{name}= would give the stored password to another server: this needs the policy sensitive, \
                     or user= and password="
                )))
            }
            _ => Ok(()),
        }
    }

    /// Returns the non-empty values of an argument.
    fn list(&self, name: &str) -> Vec<String> {
        let values = self.argument(name).map(Value::as_list).unwrap_or_default();
        let values = values.iter().map(ToString::to_string);
        values.filter(|value| !value.is_empty()).collect()
    }
}
