//! Commands and rows of `/file`.

use std::ops::ControlFlow;

use menu::{Changes, Clock, Id, Reason, Reply, Row, RowFilter, Store, Value, bytes};

use super::{CommandContext, one};
use crate::drive::Control;
use crate::feature::concerns;
use crate::files::Entry;

const DISK: &str = "/disk";
/// Type of memory disks.
const TMPFS: &str = "tmpfs";

/// Maximum bytes that one `read` returns.
const CHUNK: usize = 32_768;

impl Control {
    /// Mounts the configured memory disks, if a change concerns them.
    pub(crate) fn mount_disks(&mut self, store: &Store, changes: Option<&Changes>) {
        if !concerns(&[DISK], changes) {
            return;
        }
        let items = store.items(DISK);
        let items = items.filter(|item| item.text("type") == TMPFS && !item.is("disabled"));
        let disks = items.map(|item| {
            let bytes = item.number("tmpfs-max-size");
            let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok());
            (item.text("slot").to_owned(), bytes)
        });
        let disks: Vec<_> = disks.collect();
        self.manage.files.mount(&disks, &self.clock);
    }

    /// Produces the rows of `/file`.
    pub(crate) fn file_rows(
        &self,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let files = &self.manage.files;
        let name = filter.equals.iter().find(|(name, _)| *name == "name");
        let named = |entry: &Entry| name.is_none_or(|(_, v)| v.as_str() == Some(&entry.name));
        for entry in files.list().into_iter().filter(named) {
            let row = self.file_row(&entry);
            if filter.accepts(&row) {
                each(row)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn file_row(&self, entry: &Entry) -> Row {
        let clock = Clock {
            unix_seconds: entry.modified,
            nanos: 0,
            ..self.clock.now()
        };
        let mut row = Row {
            id: Some(Id(entry.id())),
            cells: Vec::new(),
        };
        row.set("name", Value::text(entry.name.as_str()));
        let kind = match self.manage.files.is_disk(&entry.name) {
            true => "disk".to_owned(),
            false => entry.kind(),
        };
        row.set("type", Value::text(kind));
        if !entry.folder {
            let size = i64::try_from(entry.bytes).unwrap_or(i64::MAX);
            row.set("size", Value::Number(size));
        }
        row.set("last-modified", Value::text(clock.date_time()));
        row.set("creation-time", Value::text(clock.date_time()));
        if let Some(text) = self.manage.files.shown(entry) {
            row.set("contents", Value::text(text));
        }
        row
    }
}

impl CommandContext<'_> {
    pub(super) fn file(&mut self, command: &str) -> Result<Reply, Reason> {
        // Within a transaction, disks that it added are already mounted.
        if self.store.is_open() {
            self.control.mount_disks(self.store, None);
        }
        match command {
            "add" => self.add_file(),
            "copy" => self.copy_file(),
            "read" => self.read_file(),
            "remove" => {
                let names = self.named()?;
                let files = &mut self.control.manage.files;
                names.iter().try_for_each(|name| files.may_change(name))?;
                names.iter().try_for_each(|name| files.remove(name))?;
                Ok(Reply::default())
            }
            _ => self.set_file(),
        }
    }

    /// Returns the files of the command in reverse order: contents of a folder precede the folder.
    fn named(&self) -> Result<Vec<String>, Reason> {
        let list = self.control.manage.files.list();
        let mut names = Vec::new();
        for id in self.call.items {
            let entry = list.iter().find(|entry| entry.id() == id.0);
            names.push(entry.ok_or(Reason::NoItem)?.name.clone());
        }
        names.sort_by(|a, b| b.cmp(a));
        Ok(names)
    }

    /// RouterOS: a new file without an ending is a text file.
    fn add_file(&mut self) -> Result<Reply, Reason> {
        let name = self.needed("name")?;
        if self.control.manage.files.entry(&name).is_some() {
            return Err(Reason::failure("file already exists"));
        }
        if self.text("type").as_deref() == Some("directory") {
            self.control.manage.files.make_folder(&name)?;
            return Ok(self.made(&name));
        }
        let contents = self.text("contents").unwrap_or_default();
        self.write(&name, &bytes::to_bytes(&contents))?;
        Ok(self.made(&name))
    }

    /// Returns the row of an existing file.
    fn made(&self, name: &str) -> Reply {
        Reply {
            made: self.control.manage.files.entry(name).map(|e| Id(e.id())),
            ..Reply::default()
        }
    }

    fn copy_file(&mut self) -> Result<Reply, Reason> {
        let to = self.needed("name")?;
        let [from] = &self.named()?[..] else {
            return Err(Reason::failure("one file can be copied"));
        };
        if self.control.manage.files.entry(&to).is_some() {
            return Err(Reason::failure("file already exists"));
        }
        let contents = menu::Files::read(&self.control.manage.files, from)?;
        self.write(&to, &contents)?;
        Ok(Reply::default())
    }

    fn set_file(&mut self) -> Result<Reply, Reason> {
        let names = self.named()?;
        let (contents, new) = (self.text("contents"), self.text("name"));
        if new.is_some() && names.len() > 1 {
            return Err(Reason::failure("one file can have this name"));
        }
        let files = &self.control.manage.files;
        names.iter().try_for_each(|name| files.may_change(name))?;
        for name in &names {
            if let Some(contents) = &contents {
                self.write(name, &bytes::to_bytes(contents))?;
            }
            if let Some(new) = new.as_ref().filter(|new| *new != name) {
                self.control.manage.files.rename(name, new)?;
            }
        }
        Ok(Reply::default())
    }

    fn read_file(&mut self) -> Result<Reply, Reason> {
        let name = self.needed("file")?;
        let number = |name: &str, default: usize| {
            let number = self.argument(name).and_then(Value::as_number);
            number.map_or(default, |n| usize::try_from(n).unwrap_or(default))
        };
        let (from, len) = (number("offset", 0), number("chunk-size", CHUNK).min(CHUNK));
        let contents = menu::Files::read(&self.control.manage.files, &name)?;
        let from = from.min(contents.len());
        let piece = &contents[from..(from + len).min(contents.len())];
        let mut row = Row::default();
        row.set("data", Value::text(bytes::from_bytes(piece)));
        Ok(one(row))
    }
}
