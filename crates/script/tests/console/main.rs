//! The output of the console, character by character.

mod changes;
mod router;
mod scripts;
mod shown;
mod taken;
mod words;

use menu::{Offline, Store};
use script::Session;
use tool::Router;

/// A router with three ports and its console session.
struct Console {
    store: Store,
    session: Session,
}

impl Console {
    fn new() -> Self {
        let mut store = schema::store();
        let mark = store.begin();
        for (last, port) in (1..).zip(["ether1", "ether2", "ether3"]) {
            store
                .ensure_port(port, Some([2, 0, 0, 0, 0, last]))
                .expect("is a port's name");
        }
        store.commit(mark).expect("nothing is journaled");
        Self {
            store,
            session: Session::new("admin"),
        }
    }

    /// Runs a line and returns its output, or the reason for the refusal.
    fn run(&mut self, line: &str) -> String {
        self.run_with(line, &mut Offline)
    }

    fn run_with(&mut self, line: &str, live: &mut dyn Router) -> String {
        let mut out = String::new();
        match script::run(&mut self.store, live, &mut self.session, line, &mut out) {
            Ok(()) => out,
            Err(refusal) => out + &refusal.to_string(),
        }
    }

    /// Runs lines that print nothing.
    fn quietly(&mut self, lines: &[&str]) {
        for line in lines {
            assert_eq!(self.run(line), "", "{line}");
        }
    }
}
