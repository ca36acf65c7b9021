//! Files that wait or ask others run command by command; all others are one transaction.

use std::time::Duration;

use menu::{Menu, Offline, Reason, Store};
use script::{Interrupt, Session, Site};
use tool::Router;

/// A router whose clock advances only while a script waits.
struct Clock {
    store: Store,
    now: Duration,
}

impl Site for Clock {
    fn menus(&self) -> &'static [&'static Menu] {
        schema::ALL
    }

    fn lend(&mut self, run: &mut dyn FnMut(&mut Store, &mut dyn Router)) {
        run(&mut self.store, &mut Offline);
    }

    fn now(&self) -> Duration {
        self.now
    }

    fn wait(&mut self, until: Duration, _: &Interrupt) -> Result<(), Reason> {
        self.now = until;
        Ok(())
    }
}

/// Whether a bridge that a file adds remains when the file fails later, which means that the file was not one
/// transaction.
fn runs_command_by_command(before: &str, file: &str) -> bool {
    let mut clock = Clock {
        store: schema::store(),
        now: Duration::ZERO,
    };
    let (mut session, mut out) = (Session::new("admin"), String::new());
    let set_up = script::run_at(&mut clock, &mut session, before, &mut out);
    set_up.expect("the set-up runs");
    let file = format!("/interface/bridge/add name=kept\n{file}\n:error end");

    let done = script::import_at(&mut clock, &mut session, &file, &mut out);

    let refusal = done.expect_err("every file ends with an error");
    assert!(refusal.to_string().contains("end"), "{file}: {refusal}");
    clock.store.named("interface", "kept").is_some()
}

#[test]
fn waiting_commands_are_found_at_every_position() {
    for file in [
        ":delay 1ms",
        ":put [:delay 1ms]",
        ":if ([:len [:delay 1ms]] = 0) do={ :nothing }",
        ":local a ({ \"x\"=[:delay 1ms] })",
        ":put \"a $[:delay 1ms] b\"",
        ":local a (1 + [:tonum [:delay 1ms]])",
        ":local a { [:delay 1ms]; 2 }",
        ":do { :nothing } while=([:len [:delay 1ms]] > 0)",
        ":foreach i in=[:delay 1ms] do={ :nothing }",
        ":local f do={ [:delay 1ms] }",
        "/ip/address/add address=[:delay 1ms] interface=kept disabled=yes comment=x\n",
        ":local c [:parse \":nothing\"]",
    ] {
        // The address is refused for its value; only the remaining bridge matters.
        let file = format!(":do {{\n{file}\n}} on-error={{}}");
        assert!(runs_command_by_command("", &file), "{file}");
    }
}

#[test]
fn functions_in_global_variables_are_searched() {
    let wait = ":global Wait do={ :global Inner; $Inner }; :global Inner do={ :delay 1ms }";
    let quiet = ":global Quiet do={ :return 1 }";

    assert!(runs_command_by_command(wait, ":global Wait; $Wait"));
    assert!(runs_command_by_command(
        ":global All ({ \"f\"=[:parse \":delay 1ms\"] })",
        ":global All; [($All->\"f\")]"
    ));
    assert!(!runs_command_by_command(
        quiet,
        ":global Quiet; :put [$Quiet]"
    ));
}

#[test]
fn a_file_without_waiting_commands_is_a_transaction() {
    for file in [
        ":put [:len [/interface/bridge/find]]",
        ":foreach i in=[/interface/find] do={ :put [/interface/get $i name] }",
        ":for i from=1 to=3 do={ :put \"$[:tostr $i]\" }",
        ":do { :error x } on-error={ :put [:pick abc 1] }",
    ] {
        assert!(!runs_command_by_command("", file), "{file}");
    }
}
