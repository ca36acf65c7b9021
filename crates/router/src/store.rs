//! The configuration on disk: a redb database in the state folder, one transaction of it for each
//! of the store's, synced before the command is acknowledged.
//!
//! Items are kept as strings, by menu path and id, so that a later version reads what it knows and
//! names what it does not.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use menu::{Changes, Journal, Saved, SavedItem};
use redb::{Database, ReadableDatabase as _, ReadableTable as _, TableDefinition};

/// By menu path and id: position, built-in number, then names and values (see `encode`).
const ITEMS: TableDefinition<'_, (&str, u64), &[u8]> = TableDefinition::new("items");
/// `revision`, and `last-id` followed by a menu's path.
const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");
const REVISION: &str = "revision";
const LAST_ID: &str = "last-id";
/// The database's file in the state folder.
const FILE: &str = "configuration.redb";

/// The configuration's file, held open by one router at a time.
pub struct Durable {
    database: Database,
}

impl Durable {
    /// Opens the configuration in this folder, and makes both if they are not there.
    ///
    /// # Errors
    /// What is wrong, with the file's name; among it that another router has it open.
    pub fn open(folder: &Path) -> Result<Self, String> {
        let path = folder.join(FILE);
        let failed = |error: String| format!("{}: {error}", path.display());
        // There are secrets in a configuration: the folder is for its owner alone.
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|error| failed(error.to_string()))?;
        let database = Database::create(&path).map_err(|error| match error {
            redb::DatabaseError::DatabaseAlreadyOpen => {
                failed(String::from("another router is using it"))
            }
            error => failed(error.to_string()),
        })?;
        Ok(Self { database })
    }

    /// What was kept; none if nothing ever was.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn load(&self) -> Result<Option<Saved>, String> {
        self.read().map_err(|error| error.to_string())
    }

    fn read(&self) -> Result<Option<Saved>, redb::Error> {
        let transaction = self.database.begin_read()?;
        let numbers = match transaction.open_table(NUMBERS) {
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
            numbers => numbers?,
        };
        let mut saved = Saved::default();
        for number in numbers.iter()? {
            let (name, value) = number?;
            match name.value().strip_prefix(LAST_ID) {
                Some(path) => saved.last_ids.push((path.to_owned(), value.value())),
                None => saved.revision = value.value(),
            }
        }
        for item in transaction.open_table(ITEMS)?.iter()? {
            let (key, bytes) = item?;
            let (path, id) = key.value();
            let item = decode(path, id, bytes.value())
                .ok_or_else(|| redb::Error::Corrupted(format!("item {path} *{id:X}")))?;
            saved.items.push(item);
        }
        Ok(Some(saved))
    }

    /// Keeps a whole configuration in place of what was kept.
    ///
    /// # Errors
    /// When it cannot be written; what was kept then stays.
    pub fn replace(&mut self, saved: &Saved) -> Result<(), String> {
        self.write_all(saved).map_err(|error| error.to_string())
    }

    fn write_all(&self, saved: &Saved) -> Result<(), redb::Error> {
        let transaction = self.database.begin_write()?;
        transaction.delete_table(ITEMS)?;
        transaction.delete_table(NUMBERS)?;
        {
            let mut items = transaction.open_table(ITEMS)?;
            for item in &saved.items {
                items.insert((item.path.as_str(), item.id), encode(item).as_slice())?;
            }
            let mut numbers = transaction.open_table(NUMBERS)?;
            numbers.insert(REVISION, saved.revision)?;
            for (path, last) in &saved.last_ids {
                numbers.insert(format!("{LAST_ID}{path}").as_str(), *last)?;
            }
        }
        Ok(transaction.commit()?)
    }

    fn write(&self, changes: &Changes) -> Result<(), redb::Error> {
        // A commit is synced to disk before it returns (redb's default durability).
        let transaction = self.database.begin_write()?;
        {
            let mut items = transaction.open_table(ITEMS)?;
            let mut numbers = transaction.open_table(NUMBERS)?;
            numbers.insert(REVISION, changes.revision)?;
            for change in &changes.list {
                match SavedItem::after(change) {
                    Ok(item) => {
                        items.insert((item.path.as_str(), item.id), encode(&item).as_slice())?;
                    }
                    Err((path, id)) => {
                        items.remove((path, id))?;
                    }
                }
                // What exists from the start is numbered by the schema.
                let builtin = change
                    .after
                    .as_ref()
                    .is_some_and(|item| item.builtin.is_some());
                if builtin {
                    continue;
                }
                // An id is never used twice, so the highest one is kept even when its item goes.
                let counter = format!("{LAST_ID}{}", change.menu.path);
                let last = numbers
                    .get(counter.as_str())?
                    .map_or(0, |last| last.value());
                if change.id.0 > last {
                    numbers.insert(counter.as_str(), change.id.0)?;
                }
            }
        }
        Ok(transaction.commit()?)
    }
}

impl Journal for Durable {
    fn commit(&mut self, changes: &Changes) -> Result<(), String> {
        self.write(changes).map_err(|error| error.to_string())
    }
}

/// `position`, `builtin + 1` or 0, then each name and value: lengths in four bytes, little endian.
fn encode(item: &SavedItem) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(&item.position.to_le_bytes());
    out.extend_from_slice(&item.builtin.map_or(0, |number| number + 1).to_le_bytes());
    for text in item.values.iter().flat_map(|(name, value)| [name, value]) {
        out.extend_from_slice(&(text.len() as u32).to_le_bytes());
        out.extend_from_slice(text.as_bytes());
    }
    out
}

fn decode(path: &str, id: u64, bytes: &[u8]) -> Option<SavedItem> {
    let (position, rest) = bytes.split_first_chunk()?;
    let (builtin, mut rest) = rest.split_first_chunk()?;
    let mut texts = Vec::new();
    while !rest.is_empty() {
        let (len, behind) = rest.split_first_chunk()?;
        let (text, behind) = behind.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        texts.push(String::from_utf8(text.to_vec()).ok()?);
        rest = behind;
    }
    let mut texts = texts.into_iter();
    let mut values = Vec::new();
    while let Some(name) = texts.next() {
        values.push((name, texts.next()?));
    }
    Some(SavedItem {
        path: path.to_owned(),
        id,
        position: u64::from_le_bytes(*position),
        builtin: u64::from_le_bytes(*builtin).checked_sub(1),
        values,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use menu::Store;

    fn folder() -> std::path::PathBuf {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = format!("ferroute-store-{}-{number}", std::process::id());
        std::env::temp_dir().join(folder)
    }

    fn add_list(store: &mut Store, name: &str) -> menu::Id {
        let menu = store
            .menu("/interface/list")
            .expect("the menu of interface lists");
        let mark = store.begin();
        let id = store
            .add(menu, &[("name", Some(menu::Value::text(name)))], None)
            .expect("a new name");
        store.commit(mark).expect("a commit");
        id
    }

    #[test]
    fn what_was_committed_is_there_after_a_restart() {
        let folder = folder();
        let mut store = schema::store();
        store.set_journal(Box::new(Durable::open(&folder).expect("a new folder")));
        add_list(&mut store, "LAN");
        let wan = add_list(&mut store, "WAN");
        let menu = store.menu("/interface/list").expect("the menu");
        let mark = store.begin();
        store.remove(menu, wan).expect("it is there");
        store.commit(mark).expect("a commit");
        let kept = store.revision();
        drop(store);

        let durable = Durable::open(&folder).expect("the same folder");
        let saved = durable
            .load()
            .expect("readable")
            .expect("something was kept");
        let mut again = schema::store();
        let lost = again.load(&saved);
        again.set_journal(Box::new(durable));

        assert_eq!(lost, Vec::<String>::new());
        assert_eq!(again.revision(), kept);
        let names: Vec<_> = again
            .items("/interface/list")
            .filter_map(|i| i.name())
            .collect();
        assert!(
            names.contains(&"LAN") && !names.contains(&"WAN"),
            "{names:?}"
        );
        assert!(
            add_list(&mut again, "DMZ").0 > wan.0,
            "an id is never used twice"
        );
        drop(again);
        let _ = std::fs::remove_dir_all(&folder);
    }

    #[test]
    fn two_routers_cannot_share_a_folder() {
        let folder = folder();
        let first = Durable::open(&folder).expect("a new folder");

        let second = Durable::open(&folder).err();

        assert!(second.is_some_and(|error| error.contains("another router")));
        drop(first);
        let _ = std::fs::remove_dir_all(&folder);
    }

    #[test]
    fn damaged_items_are_noticed() {
        let item = SavedItem {
            path: String::from("/x"),
            id: 1,
            position: 2,
            builtin: Some(0),
            values: vec![(String::from("a"), String::from("b"))],
        };
        let bytes = encode(&item);

        assert_eq!(decode("/x", 1, &bytes), Some(item));
        for len in 0..bytes.len() {
            assert!(
                decode("/x", 1, &bytes[..len]).is_none_or(|i| i.values.is_empty()),
                "{len}"
            );
        }
    }
}
