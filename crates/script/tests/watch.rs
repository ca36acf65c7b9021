//! Commands that run until they are stopped: `print follow`, `interval`, monitors.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;

use menu::{Menu, Offline, Output, Reason, Store};
use script::{Interrupt, Request, Rows, Session, Site, request_at};
use tool::Router;

/// A router whose clock advances only while a command waits. Each wait makes the next of the prepared changes.
struct Busy {
    store: Store,
    now: Duration,
    waits: Vec<Duration>,
    happens: VecDeque<&'static str>,
    /// Duration of each access to the configuration.
    access: Duration,
}

impl Busy {
    fn new(happens: &[&'static str]) -> Self {
        Self {
            store: schema::store(),
            now: Duration::from_secs(1_000),
            waits: Vec::new(),
            happens: happens.iter().copied().collect(),
            access: Duration::ZERO,
        }
    }

    fn do_now(&mut self, line: &str) {
        let (mut session, mut out) = (Session::new("other"), String::new());
        let done = script::run(&mut self.store, &mut Offline, &mut session, line, &mut out);
        done.expect("a good command");
    }
}

impl Site for Busy {
    fn menus(&self) -> &'static [&'static Menu] {
        schema::ALL
    }

    fn lend(&mut self, run: &mut dyn FnMut(&mut Store, &mut dyn Router)) {
        run(&mut self.store, &mut Offline);
        self.now += self.access;
    }

    fn now(&self) -> Duration {
        self.now
    }

    fn wait(&mut self, until: Duration, interrupt: &Interrupt) -> Result<(), Reason> {
        self.waits.push(until.saturating_sub(self.now));
        self.now = until;
        assert!(interrupt.is_watched(), "Q would not end it");
        match self.happens.pop_front() {
            Some(line) => self.do_now(line),
            None => assert!(interrupt.stop(), "a command runs"),
        }
        Ok(())
    }
}

/// A terminal that records each repaint.
#[derive(Clone, Default)]
struct Screen(Rc<RefCell<String>>);

impl Output for Screen {
    fn write(&mut self, text: &str) -> ControlFlow<()> {
        self.0.borrow_mut().push_str(text);
        ControlFlow::Continue(())
    }

    fn repaint(&mut self) -> ControlFlow<()> {
        self.write("<again>\n")
    }
}

fn shown(site: &mut Busy, line: &str) -> (Option<Reason>, String) {
    let mut screen = Screen::default();
    let mut session = Session::new("admin");
    let result = script::run_at(site, &mut session, line, &mut screen);
    let text = screen.0.borrow().clone();
    (result.err().map(|refusal| refusal.reason), text)
}

const ADDS: &[&str] = &[
    "/interface list add name=a",
    "/interface list set a comment=changed",
    "/interface list remove a",
    "/interface list add name=b",
];

#[test]
fn follow_prints_new_and_changed_rows() {
    let mut site = Busy::new(ADDS);

    let (ended, text) = shown(&mut site, "/interface list print follow terse");

    assert_eq!(ended, Some(Reason::Interrupted));
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 4 + 4, "{text}");
    assert!(lines[4].contains("name=a") && !lines[4].contains("changed"));
    assert!(lines[5].contains("name=a") && lines[5].contains("changed"));
    assert!(
        lines[4].starts_with(" 4") && lines[5].starts_with(" 4"),
        "{text}"
    );
    assert_eq!(lines[6], " 4 removed");
    assert!(lines[7].starts_with(" 5") && lines[7].contains("name=b"));
    assert!(
        site.waits
            .iter()
            .all(|span| *span == Duration::from_millis(100))
    );
}

#[test]
fn a_followed_row_shows_a_new_flag() {
    let mut site = Busy::new(&[
        "/ip pool add name=a ranges=10.0.0.1",
        "/ip address set 0 disabled=yes",
    ]);
    site.do_now("/interface bridge add name=br");
    site.do_now("/ip address add address=192.0.2.1/24 interface=br");

    let (_, text) = shown(&mut site, "/ip address print follow");

    assert!(text.contains("X - DISABLED"), "{text}");
    let last = text.lines().last().unwrap_or_default();
    assert!(last.starts_with("0 X"), "{text}");
}

#[test]
fn follow_only_omits_existing_rows() {
    let (_, text) = shown(
        &mut Busy::new(ADDS),
        "/interface list print follow-only terse where name=b",
    );

    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn print_with_an_interval_is_redrawn() {
    let mut site = Busy::new(&["/system identity set name=x"]);

    let (ended, text) = shown(&mut site, "/system identity print interval=2s");

    assert_eq!(ended, Some(Reason::Interrupted));
    assert_eq!(text, "<again>\n  name: ferroute\n<again>\n  name: x\n");
    assert_eq!(site.waits, [Duration::from_secs(2); 2]);
    let (refused, _) = shown(&mut site, "/system identity print interval=10ms");
    assert!(matches!(refused, Some(Reason::BadValue(_))), "{refused:?}");
}

#[test]
fn rows_are_printed_in_the_requested_order() {
    let mut site = Busy::new(&[]);
    for name in ["list10", "list9", "alpha"] {
        site.do_now(&format!("/interface list add name={name}"));
    }

    let line = "/interface list print terse order-by=name where !builtin";
    let (_, text) = shown(&mut site, line);

    let names: Vec<_> = text
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("name="))
        .collect();
    assert_eq!(names, ["alpha", "list9", "list10"], "{text}");
}

#[test]
fn rows_are_grouped_by_value() {
    let mut site = Busy::new(&[]);
    for (list, address) in [("b", "10.0.0.1"), ("a", "10.0.0.2"), ("b", "10.0.0.3")] {
        site.do_now(&format!(
            "/ip firewall address-list add list={list} address={address}"
        ));
    }

    let print = "/ip firewall address-list print group-by=list proplist=address";
    let (ended, text) = shown(&mut site, print);

    assert_eq!(ended, None);
    let lines: Vec<_> = text.lines().skip(2).map(str::trim).collect();
    let expected = [
        "list: a",
        "0 10.0.0.2",
        "list: b",
        "1 10.0.0.1",
        "2 10.0.0.3",
    ];
    assert_eq!(lines, expected, "{text}");
    let value = "/ip firewall address-list; :put [:len ([print as-value group-by=list]->\"b\")]";
    assert_eq!(shown(&mut site, value), (None, String::from("2\n")));
    let (refused, _) = shown(&mut site, "/ip firewall address-list print group-by=no");
    assert!(matches!(refused, Some(Reason::BadValue(_))), "{refused:?}");
}

#[test]
fn on_event_code_runs_for_each_followed_row() {
    let mut site = Busy::new(ADDS);

    let line = "/interface list print follow-only terse timestamp \
                on-event={:put \"$[:len $\".id\"] is $name\"} where name=b";
    let (_, text) = shown(&mut site, line);

    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert_eq!(lines[0], "1970-01-01 00:00:00");
    assert!(lines[1].contains("name=b"), "{text}");
    assert!(lines[2].ends_with(" is b"), "{text}");
    let (refused, _) = shown(&mut site, "/interface list print on-event={:put 1}");
    assert!(matches!(refused, Some(Reason::Failure(_))), "{refused:?}");
}

/// The names in the rows that a program receives.
struct Names(Vec<String>);

impl Rows for Names {
    fn row(&mut self, fields: &[(&str, String)]) -> ControlFlow<()> {
        let name = fields.iter().find(|(name, _)| *name == "name");
        self.0.extend(name.map(|(_, value)| value.clone()));
        ControlFlow::Continue(())
    }
}

#[test]
fn a_program_that_listens_to_a_slow_router_gets_the_changes_of_the_whole_duration() {
    let mut happens = vec!["/system identity print"; 100];
    happens[0] = "/interface list add name=late";
    let mut site = Busy::new(&happens);
    site.access = Duration::from_millis(400);
    let request = Request {
        path: "/interface/list/listen".to_owned(),
        arguments: vec![("duration".to_owned(), "3s".to_owned())],
        ..Request::default()
    };
    let (mut session, mut names) = (Session::new("admin"), Names(Vec::new()));

    let done = request_at(&mut site, &mut session, &request, &mut names);

    assert!(done.is_ok(), "{done:?}");
    assert_eq!(names.0, ["late"]);
}
