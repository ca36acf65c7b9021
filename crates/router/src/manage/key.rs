//! `/user/ssh-keys/import`: imports a public key from a file.

use menu::{Reason, Reply, Value, bytes};

use super::CommandContext;

impl CommandContext<'_> {
    /// Imports the first key of a file in `authorized_keys` format, and removes the file.
    pub(super) fn import_key(&mut self) -> Result<Reply, Reason> {
        let (file, user) = (self.needed("public-key-file")?, self.needed("user")?);
        let text = bytes::from_bytes(&self.read(&file, ".pub")?);
        let lines = text.lines().map(str::trim);
        let key = lines
            .into_iter()
            .find(|line| !line.is_empty() && !line.starts_with('#'));
        let key = key.unwrap_or_default();
        let key = match self.text("info") {
            Some(info) => {
                let bare: Vec<_> = key.split_ascii_whitespace().take(2).collect();
                format!("{} {info}", bare.join(" "))
            }
            None => key.to_owned(),
        };
        let given = [
            ("user", Some(Value::Reference(user.as_str().into()))),
            ("key", Some(Value::text(key))),
        ];
        if self.store.named("user", &user).is_none() {
            return Err(Reason::no_match("user"));
        }
        let mark = self.store.begin();
        if let Err(reason) = self.store.add(self.call.menu, &given, None) {
            self.store.rollback(mark);
            return Err(reason);
        }
        let by = self.by("ssh key imported");
        let changes = self.store.commit_by(mark, by)?;
        self.control.follow(self.store, changes);
        // A file that cannot be removed stays.
        let _ = self.control.manage.files.remove(&file);
        Ok(Reply::default())
    }
}
