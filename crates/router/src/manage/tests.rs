//! Commands on the configuration as a whole.

mod files;
mod history;
mod items;
mod replacement;
mod transfer;

use menu::{Clock, Files as _};
use script::Session;

use crate::Instance;
use crate::drive::Setup;
use crate::store::{Durable, Key, OnDamage};

/// Creates a router without a disk, at some time of day.
pub(super) fn router() -> Instance {
    with(schema::store())
}

fn with(store: menu::Store) -> Instance {
    let (mut router, _) =
        Instance::new(&Setup::offline(Clock::utc(0)), store).expect("memory for a small pool");
    router.control().set_clock(Clock {
        unix_seconds: 1_795_287_477,
        ..Clock::utc(0)
    });
    router
}

fn run(router: &mut Instance, session: &mut Session, text: &str) -> String {
    let mut out = String::new();
    if let Err(refusal) = router.run(session, text, &mut out) {
        out.push_str(&refusal.to_string());
    }
    out
}

/// Runs a command like [`run`], in a new session.
pub(super) fn once(router: &mut Instance, text: &str) -> String {
    run(router, &mut Session::new("admin"), text)
}

pub(super) fn write(router: &mut Instance, name: &str, text: &str) {
    let files = &mut router.control().manage.files;
    files.write(name, text.as_bytes()).expect("there is room");
}

fn read(router: &mut Instance, name: &str) -> String {
    let files = &router.control().manage.files;
    let contents = files.read(name).expect("it was written");
    String::from_utf8(contents).expect("text")
}

const IDENTITY: &str = ":put [/system identity get name]";
const LISTS: &str = ":put [:len [/interface list find where !builtin]]";

/// Temporary state folder, removed with the value.
struct State(std::path::PathBuf);

impl State {
    fn new(name: &str) -> Self {
        let name = format!("ferroute-manage-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    /// Starts a router with this state; returns it with the messages of the start.
    fn start(&self) -> (Instance, Vec<String>) {
        let key = Key::new([7; 32], "a test");
        let mut durable = Durable::open(&self.0, &key, OnDamage::Refuse).expect("the folder");
        let mut store = schema::store();
        let said = match durable.load().expect("readable") {
            Some(kept) => {
                crate::store::take_up(&mut store, durable, &kept, Clock::utc(0)).expect("writable")
            }
            None => {
                durable.replace(&store.save()).expect("writable");
                store.set_journal(Box::new(durable));
                Vec::new()
            }
        };
        (with(store), said)
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
