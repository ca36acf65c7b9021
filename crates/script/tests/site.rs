//! Sharing of the router between scripts: each command has exclusive access only while it runs.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use menu::{Menu, Offline, Output, Reason, Store};
use script::{Interrupt, Session, Site};
use tool::Router;

/// A router that records each access and its duration. Its clock advances only while a script waits.
struct Noted {
    store: Store,
    lent: Rc<Cell<bool>>,
    times: usize,
    now: Duration,
}

impl Site for Noted {
    fn menus(&self) -> &'static [&'static Menu] {
        schema::ALL
    }

    fn lend(&mut self, run: &mut dyn FnMut(&mut Store, &mut dyn Router)) {
        assert!(!self.lent.replace(true), "lent twice");
        self.times += 1;
        run(&mut self.store, &mut Offline);
        self.lent.set(false);
    }

    fn now(&self) -> Duration {
        self.now
    }

    fn wait(&mut self, until: Duration, _: &Interrupt) -> Result<(), Reason> {
        assert!(!self.lent.get(), "waits with the router in its hands");
        self.now = until;
        Ok(())
    }
}

/// An output that must not be written to while the router is in use.
struct Reader {
    lent: Rc<Cell<bool>>,
    text: Rc<RefCell<String>>,
    stop: Option<Arc<Interrupt>>,
}

impl Output for Reader {
    fn write(&mut self, text: &str) -> ControlFlow<()> {
        assert!(!self.lent.get(), "{text} goes out with the router held");
        self.text.borrow_mut().push_str(text);
        if let Some(stop) = &self.stop {
            stop.stop();
        }
        ControlFlow::Continue(())
    }
}

fn noted() -> (Noted, Reader) {
    let lent = Rc::new(Cell::new(false));
    let site = Noted {
        store: schema::store(),
        lent: Rc::clone(&lent),
        times: 0,
        now: Duration::from_secs(1_000),
    };
    let text = Rc::default();
    let stop = None;
    (site, Reader { lent, text, stop })
}

#[test]
fn the_router_is_unlocked_between_commands_and_while_a_script_waits_or_prints() {
    let (mut site, mut reader) = noted();
    let script = "\
        :for i from=1 to=20 do={ /ip route add dst-address=(10.0.0.0 + $i) gateway=10.0.0.1 }\n\
        :delay 10s\n\
        /ip route print\n\
        /ip route export terse\n\
        :foreach r in=[/ip route find] do={ :delay 500ms; :put [/ip route get $r dst-address] }\n";

    let mut session = Session::new("admin");
    let done = script::run_at(&mut site, &mut session, script, &mut reader);

    assert_eq!(done, Ok(()));
    assert!(site.times > 40, "each command for itself: {}", site.times);
    assert_eq!(site.now, Duration::from_secs(1_020));
    assert!(reader.text.borrow().contains("10.0.0.20"));
}

#[test]
fn a_long_print_releases_the_router_often_and_prints_every_row_once() {
    let (mut site, mut reader) = noted();
    let mut session = Session::new("admin");
    let many =
        ":for i from=1 to=1700 do={ /ip route add dst-address=(10.0.0.0 + $i) gateway=10.0.0.1 }";
    script::run_at(&mut site, &mut session, many, &mut reader).expect("good commands");
    site.times = 0;

    let print = "/ip route print proplist=dst-address without-paging";
    script::run_at(&mut site, &mut session, print, &mut reader).expect("a good command");

    assert!(site.times >= 4, "{}", site.times);
    let text = reader.text.borrow();
    let rows: Vec<_> = text.lines().filter(|line| line.contains("10.0.")).collect();
    assert_eq!(rows.len(), 1_700);
    assert!(
        rows[1_699].trim_start().starts_with("1699"),
        "{}",
        rows[1_699]
    );
}

#[test]
fn an_interrupt_ends_a_loop_and_not_the_session() {
    let (mut site, mut reader) = noted();
    let mut session = Session::new("admin");
    reader.stop = Some(session.interrupter());

    let forever = ":do { :while (true) do={ :put 1 } } on-error={ :put handled }";
    let stopped = script::run_at(&mut site, &mut session, forever, &mut reader);

    assert_eq!(stopped.map_err(|r| r.reason), Err(Reason::Interrupted));
    assert_eq!(
        *reader.text.borrow(),
        "1\n",
        "errors of others are not handled"
    );
    reader.stop = None;
    let next = script::run_at(&mut site, &mut session, ":put 2", &mut reader);
    assert_eq!(next, Ok(()));
}
