//! Features that all repeating commands share, shown with a tool that counts.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;

use menu::{Files, Live, Menu, Output, Reason, Row, Store, Value};
use script::{Done, Interrupt, Request, Rows, Session, Site, request_at};
use tool::{Align, Column, Form, Invocation, Look, Next, Router, RunningTool, Tool, Turn};

static COLUMNS: [Column; 2] = [
    Column::new("number", "NUMBER").at(6, Align::Right),
    Column::new("double", "DOUBLE").at(6, Align::Left),
];

/// The tool: it counts how often it is called.
struct Count(Form);

static LINES: Count = Count(Form::Lines(&COLUMNS));
static TABLE: Count = Count(Form::Table(&COLUMNS));
static PAGE: Count = Count(Form::Page);

struct Counting(i64, Duration);

impl Tool for Count {
    fn form(&self) -> Form {
        self.0
    }

    fn start(&self, given: &mut Invocation<'_>) -> Result<Box<dyn RunningTool>, Reason> {
        Ok(Box::new(Counting(0, given.interval)))
    }
}

impl RunningTool for Counting {
    fn look(&mut self, turn: &mut Turn<'_>) -> Result<Look, Reason> {
        self.0 += 1;
        let mut row = Row::default();
        row.set("number", Value::Number(self.0));
        row.set("double", Value::Number(self.0 * 2));
        Ok(Look {
            rows: Some(vec![row]),
            next: Next::At(turn.now + self.1),
        })
    }

    fn summary(&self) -> String {
        format!("{} in all\n", self.0)
    }

    fn value(&self) -> Option<Value> {
        Some(Value::Number(self.0))
    }

    fn stop(&mut self, turn: &mut Turn<'_>) {
        turn.router.log("test", "stopped");
    }
}

/// A router with that tool in place of another, with files and a log.
struct Counter {
    tool: &'static Count,
    files: Kept,
    stopped: usize,
}

#[derive(Default)]
struct Kept(BTreeMap<String, Vec<u8>>);

impl Files for Kept {
    fn read(&self, name: &str) -> Result<Vec<u8>, Reason> {
        self.0.get(name).cloned().ok_or(Reason::NoItem)
    }

    fn write(&mut self, name: &str, contents: &[u8]) -> Result<(), Reason> {
        self.0.insert(name.to_owned(), contents.to_vec());
        Ok(())
    }

    fn write_plain(&mut self, name: &str, contents: &[u8]) -> Result<(), Reason> {
        self.write(name, contents)
    }
}

impl Live for Counter {
    fn clock(&self) -> menu::Clock {
        menu::Clock::utc(0)
    }

    fn files(&mut self) -> Option<&mut dyn Files> {
        Some(&mut self.files)
    }

    fn log(&mut self, _: &str, _: &str) {
        self.stopped += 1;
    }
}

impl Router for Counter {
    fn tool(&self, _: &Menu, _: &str) -> Option<&'static dyn Tool> {
        Some(self.tool)
    }
}

/// A site whose clock advances only while a command waits. It stops a command that waits for longer than
/// permitted.
struct Clock {
    store: Store,
    router: Counter,
    now: Duration,
    waits: Vec<Duration>,
    most: usize,
}

impl Clock {
    fn new(tool: &'static Count) -> Self {
        Self {
            store: schema::store(),
            router: Counter {
                tool,
                files: Kept::default(),
                stopped: 0,
            },
            now: Duration::from_secs(1_000),
            waits: Vec::new(),
            most: 100,
        }
    }
}

impl Site for Clock {
    fn menus(&self) -> &'static [&'static Menu] {
        schema::ALL
    }

    fn lend(&mut self, run: &mut dyn FnMut(&mut Store, &mut dyn Router)) {
        run(&mut self.store, &mut self.router);
    }

    fn now(&self) -> Duration {
        self.now
    }

    fn wait(&mut self, until: Duration, interrupt: &Interrupt) -> Result<(), Reason> {
        self.waits.push(until.saturating_sub(self.now));
        self.now = until;
        if self.waits.len() == self.most {
            assert!(interrupt.stop(), "a command runs");
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

const MONITOR: &str = "/interface monitor-traffic aggregate";

/// The output of a line, followed by the reason for which it ended, if any.
fn shown(site: &mut Clock, line: &str) -> String {
    let mut screen = Screen::default();
    let mut session = Session::new("admin");
    let result = script::run_at(site, &mut session, line, &mut screen);
    let text = screen.0.borrow().clone();
    match result {
        Ok(()) => text,
        Err(refusal) => format!("{text}{refusal}\n"),
    }
}

#[test]
fn streamed_rows_follow_their_headings_and_end_with_a_summary() {
    let mut site = Clock::new(&LINES);

    assert_eq!(
        shown(&mut site, ":put [/ping 192.0.2.1 count=2]"),
        "NUMBER DOUBLE\n     1 2\n     2 4\n2 in all\n2\n"
    );
    let long = shown(&mut site, "/ping 192.0.2.1 count=21");
    assert!(long.contains("\n    20 40\n20 in all\nNUMBER DOUBLE\n    21 42\n21 in all\n"));
    assert_eq!(site.router.stopped, 2);
    assert_eq!(
        shown(&mut site, ":put [/ping 192.0.2.1 count=2 as-value]"),
        "double=2;number=1;double=4;number=2\n"
    );
}

#[test]
fn a_key_stops_a_running_tool() {
    for tool in [&LINES, &TABLE, &PAGE] {
        let mut site = Clock::new(tool);
        site.most = 3;

        let text = shown(&mut site, MONITOR);

        assert!(text.ends_with("interrupted\n"), "{text}");
        let pages = text.matches("<again>").count();
        assert_eq!(
            pages,
            if matches!(tool.0, Form::Lines(_)) {
                0
            } else {
                3
            }
        );
        assert!(text.contains("3 in all\ninterrupted"), "{text}");
        assert_eq!((site.router.stopped, site.waits.len()), (1, 3));
        assert!(
            site.waits
                .iter()
                .all(|span| *span == Duration::from_secs(1))
        );
    }
}

#[test]
fn a_monitored_table_is_redrawn_at_its_interval() {
    let mut site = Clock::new(&TABLE);

    let page = |number, double| format!("NUMBER  DOUBLE\n     {number}       {double}\n");
    assert_eq!(
        shown(&mut site, &format!("{MONITOR} once")),
        format!("Columns: NUMBER, DOUBLE\n{}1 in all\n", page(1, 2))
    );
    let frozen = shown(
        &mut site,
        &format!("{MONITOR} duration=4s freeze-frame-interval=3s"),
    );
    assert_eq!(
        frozen,
        format!(
            "<again>\nColumns: NUMBER, DOUBLE\n{}<again>\nColumns: NUMBER, DOUBLE\n{}5 in all\n",
            page(1, 2),
            page(4, 8)
        )
    );
}

#[test]
fn output_can_be_filtered_run_as_code_or_written_to_a_file() {
    let mut site = Clock::new(&PAGE);

    assert_eq!(
        shown(&mut site, &format!("{MONITOR} once proplist=double")),
        "  double: 2\n1 in all\n"
    );
    assert_eq!(
        shown(
            &mut site,
            &format!("{MONITOR} duration=2s interval=2s do={{:put \"seen $number\"}}")
        ),
        "<again>\n  number: 1\n  double: 2\nseen 1\n<again>\n  number: 2\n  double: 4\nseen 2\n2 in all\n"
    );
    site.most = site.waits.len() + 2;
    assert_eq!(
        shown(&mut site, &format!("{MONITOR} file=seen")),
        "interrupted\n"
    );
    site.most = 1_000;
    assert_eq!(
        shown(&mut site, &format!("{MONITOR} file=seen append once")),
        ""
    );
    let written = String::from_utf8_lossy(&site.router.files.0["seen.txt"]).into_owned();
    assert_eq!(
        written,
        "  number: 1\n  double: 2\n  number: 2\n  double: 4\n2 in all\n  number: 1\n  double: 2\n1 in all\n"
    );
    assert_eq!(
        shown(
            &mut site,
            &format!(":put ([{MONITOR} as-value]->\"double\")")
        ),
        "2\n"
    );
}

#[test]
fn a_route_is_checked_until_it_is_stopped() {
    let mut site = Clock::new(&PAGE);
    let check = "/ip/route/check 192.0.2.1";

    let long = shown(&mut site, &format!("{check} duration=4s"));
    assert_eq!(long.matches("number: 4").count(), 1, "{long}");
    let once = shown(&mut site, &format!("{check} once"));
    assert!(once.contains("number: 1"), "{once}");
    assert!(!once.contains("number: 2"), "{once}");
    let given = [("dst-ip", "192.0.2.1"), ("duration", "2s")];
    let (_, rows) = asked(&mut site, "/ip/route/check", &given);
    assert_eq!(rows.len(), 3, "{rows:?}");
}

#[test]
fn a_command_with_once_runs_as_a_loop_step() {
    let mut site = Clock::new(&PAGE);
    let mut session = Session::new("admin");
    session.limits.steps = 1_000;
    let mut run = |line: &str| {
        let done = script::run_at(&mut site, &mut session, line, &mut Screen::default());
        done.map_err(|refusal| refusal.reason)
    };

    let endless = format!(":while (true) do={{ {MONITOR} once }}");
    assert_eq!(run(&endless), Err(Reason::Limit("steps")));
    assert_eq!(
        run(&format!("{MONITOR} duration=90s do={{ :put $number }}")),
        Ok(())
    );
}

#[test]
fn the_value_of_a_running_command_is_bounded() {
    let mut site = Clock::new(&LINES);
    site.most = usize::MAX;

    let text = shown(&mut site, ":local all [/ping 192.0.2.1 as-value]");

    assert!(text.contains("memory"), "{text}");
    assert_eq!(site.router.stopped, 1);
}

/// The rows that a program receives.
#[derive(Default)]
struct Taken(Vec<String>);

impl Rows for Taken {
    fn row(&mut self, fields: &[(&str, String)]) -> ControlFlow<()> {
        let fields = fields.iter().map(|(name, value)| format!("{name}={value}"));
        self.0.push(fields.collect::<Vec<_>>().join(" "));
        ControlFlow::Continue(())
    }
}

fn asked(
    site: &mut Clock,
    path: &str,
    arguments: &[(&str, &str)],
) -> (Result<Done, String>, Vec<String>) {
    let arguments = arguments.iter();
    let request = Request {
        path: path.to_owned(),
        arguments: arguments
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
            .collect(),
        ..Request::default()
    };
    let (mut taken, mut session) = (Taken::default(), Session::new("admin"));
    let done = request_at(site, &mut session, &request, &mut taken);
    (done.map_err(|refusal| refusal.to_string()), taken.0)
}

#[test]
fn programs_get_rows_in_numbered_sections() {
    let path = "/interface/monitor-traffic";
    let all = ("interface", "aggregate");
    for tool in [&LINES, &TABLE, &PAGE] {
        let mut site = Clock::new(tool);
        assert_eq!(
            asked(&mut site, path, &[all, ("once", "")]),
            (
                Ok(Done::Nothing),
                vec!["number=1 double=2 .section=0".to_owned()]
            )
        );
        let (done, rows) = asked(
            &mut site,
            path,
            &[
                all,
                ("duration", "2s"),
                ("interval", "1s"),
                (".proplist", "double"),
            ],
        );
        let expected = [
            "double=2 .section=0",
            "double=4 .section=1",
            "double=6 .section=2",
        ];
        assert_eq!(
            (done, &rows[..]),
            (Ok(Done::Nothing), &expected.map(str::to_owned)[..])
        );
        assert_eq!(site.router.stopped, 2);
    }
    let mut site = Clock::new(&LINES);
    site.most = 2;
    let (done, rows) = asked(&mut site, "/ping", &[("address", "192.0.2.1")]);
    assert_eq!((done, rows.len()), (Err("interrupted".to_owned()), 2));
    assert_eq!(site.router.stopped, 1);
    let (done, rows) = asked(&mut site, path, &[all, ("file", "x")]);
    assert_eq!(
        (done, rows.len()),
        (Err("unknown parameter file".to_owned()), 0)
    );
}

#[test]
fn a_check_does_not_run_tools() {
    let mut site = Clock::new(&PAGE);
    let report = script::check(
        &mut site.store,
        "/tool traceroute 192.0.2.1\n/ping 1.2.3.4 size=1\n",
    );
    let refused: Vec<_> = report
        .refused
        .iter()
        .map(|r| r.reason.to_string())
        .collect();
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(refused[0].contains("size"), "{refused:?}");
}
