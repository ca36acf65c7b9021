//! `/tool/e-mail/send`: a mail is made of the settings, the arguments and files, and waits to be sent.

use menu::{Reason, Reply, Value};

use super::Desk;
use crate::feature::mail::{Letter, MAIL, Tls};

impl Desk<'_> {
    pub(super) fn send_mail(&mut self) -> Result<Reply, Reason> {
        let settings = self.store.settings(MAIL).ok_or(Reason::NoItem)?;
        let mut letter = Letter::of(settings);
        self.needed("to")?;
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

    /// The values of an argument, without those that are empty.
    fn list(&self, name: &str) -> Vec<String> {
        let values = self.argument(name).map(Value::as_list).unwrap_or_default();
        let values = values.iter().map(ToString::to_string);
        values.filter(|value| !value.is_empty()).collect()
    }
}
