//! `/terminal`: questions of scripts to the user, and drawing.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::time::Duration;

use menu::{Drawing, Editing, Menu, Offline, Output, Question, Reason, Store, Terminal, TextStyle};
use script::{Interrupt, Session, Site};

/// A router that is free while a script waits for an answer.
struct Router {
    store: Store,
}

impl Site for Router {
    fn menus(&self) -> &'static [&'static Menu] {
        schema::ALL
    }

    fn lend(&mut self, run: &mut dyn FnMut(&mut Store, &mut dyn tool::Router)) {
        run(&mut self.store, &mut Offline);
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn wait(&mut self, _: Duration, _: &Interrupt) -> Result<(), Reason> {
        Ok(())
    }
}

/// A terminal with prepared answers.
#[derive(Default)]
struct Desk {
    keys: VecDeque<u32>,
    lines: VecDeque<&'static str>,
    shown: String,
    spans: Vec<Option<Duration>>,
}

impl Output for Desk {
    fn write(&mut self, text: &str) -> ControlFlow<()> {
        self.shown.push_str(text);
        ControlFlow::Continue(())
    }

    fn terminal(&mut self) -> Option<&mut dyn Terminal> {
        Some(self)
    }
}

impl Terminal for Desk {
    fn key(&mut self, span: Option<Duration>) -> Option<u32> {
        self.spans.push(span);
        self.keys.pop_front()
    }

    fn edit(&mut self, editing: &Editing<'_>) -> Option<String> {
        self.shown.push_str(&format!(
            "[{}|{}|{}]",
            editing.title, editing.text, editing.note
        ));
        self.lines.pop_front().map(str::to_owned)
    }

    fn ask(&mut self, question: &Question<'_>) -> Option<String> {
        let stars = if question.hidden { "*" } else { "" };
        self.shown.push_str(question.prompt);
        self.shown.push_str(stars);
        let line = self.lines.pop_front()?;
        Some(format!("{}{line}", question.preinput))
    }

    fn draw(&mut self, drawing: Drawing) -> ControlFlow<()> {
        self.shown.push_str(&format!("<{drawing:?}>"));
        ControlFlow::Continue(())
    }
}

fn run(desk: &mut Desk, line: &str) -> Result<(), String> {
    let mut router = Router {
        store: schema::store(),
    };
    let done = script::run_at(&mut router, &mut Session::new("admin"), line, desk);
    done.map_err(|refusal| refusal.to_string())
}

#[test]
fn inkey_returns_key_codes_and_65535_on_timeout() {
    let mut desk = Desk {
        keys: [113, 60_929].into(),
        ..Desk::default()
    };
    let line = ":put [/terminal inkey]; :put [/terminal/inkey timeout=1500ms]; \
                :put [:typeof [/terminal inkey timeout=60]]; :put [/terminal inkey timeout=1s]";

    assert_eq!(run(&mut desk, line), Ok(()));

    assert_eq!(desk.shown, "113\n60929\nnum\n65535\n");
    let spans = [None, Some(1_500), Some(60_000), Some(1_000)];
    assert_eq!(desk.spans, spans.map(|ms| ms.map(Duration::from_millis)));
}

#[test]
fn ask_shows_a_prompt_and_initial_text() {
    let mut desk = Desk {
        lines: ["88.1", "secret", "y"].into(),
        ..Desk::default()
    };
    let line = ":put [/terminal/ask preinput=192.168. prompt=\"Which address?\"]; \
                :put [/terminal/ask value-name=password sensitive]; \
                :if ([/terminal/ask \"Go on?\"] = \"y\") do={:put yes}";

    assert_eq!(run(&mut desk, line), Ok(()));

    assert_eq!(
        desk.shown,
        "Which address?\nvalue: 192.168.88.1\npassword: *secret\nGo on?\nvalue: yes\n"
    );
}

#[test]
fn the_screen_is_drawn_on() {
    let mut desk = Desk::default();
    let line = ":put 1; /terminal cuu; /terminal/cuu count=2; /terminal el; \
                /terminal style error; /terminal style style=none";

    assert_eq!(run(&mut desk, line), Ok(()));

    let style = |style: TextStyle| format!("<{:?}>", Drawing::Style(style));
    let (error, plain) = (style(TextStyle::Error), style(TextStyle::Plain));
    assert_eq!(
        desk.shown,
        format!("1\n<Up(1)><Up(2)><EraseLine>{error}{plain}")
    );
    let unknown = run(&mut desk, "/terminal style loud");
    let text = "input does not match any value of style";
    assert_eq!(unknown, Err(String::from(text)));
}

#[test]
fn without_a_terminal_ask_fails_and_nothing_is_drawn() {
    let (mut session, mut out) = (Session::new("admin"), String::new());
    let mut run = |line: &str| {
        let mut store = schema::store();
        let done = script::run(&mut store, &mut Offline, &mut session, line, &mut out);
        done.map_err(|refusal| refusal.to_string())
    };

    let refused = String::from("failure: there is no terminal to read from");
    assert_eq!(run("/terminal inkey timeout=1s"), Err(refused.clone()));
    assert_eq!(run("/terminal ask prompt=why"), Err(refused));
    let inside = ":execute as-string script={/terminal ask}";
    assert!(run(inside).is_err());
    assert_eq!(run("/terminal cuu; /terminal style error; :put a"), Ok(()));
    assert_eq!(out, "a\n");
}

#[test]
fn warnings_about_items_without_effect_appear_at_the_console_only() {
    let line = "/ip hotspot user add name=a disabled=yes; \
                /ip hotspot user set a comment=b; :put still";
    let mut desk = Desk::default();
    assert_eq!(run(&mut desk, line), Ok(()));
    assert_eq!(desk.shown, "still\n");

    for line in [
        "/ip hotspot user add name=a",
        "/ip hotspot user add name=a disabled=yes; /ip hotspot user enable a",
        ":foreach n in=(\"a\",\"b\") do={ /ip hotspot user add name=$n }",
    ] {
        let mut desk = Desk::default();
        assert_eq!(run(&mut desk, line), Ok(()));
        assert_eq!(
            desk.shown, "ip hotspot user has no effect here yet\n",
            "{line}"
        );

        let (mut store, mut out) = (schema::store(), String::new());
        let mut session = Session::new("admin");
        let done = script::run(&mut store, &mut Offline, &mut session, line, &mut out);
        assert_eq!((done, out.as_str()), (Ok(()), ""), "{line}");
    }
}

#[test]
fn edit_opens_a_property_and_keeps_a_refused_text() {
    let mut router = Router {
        store: schema::store(),
    };
    let mut run = |line: &str, lines: &[&'static str]| {
        let mut desk = Desk {
            lines: lines.iter().copied().collect(),
            ..Desk::default()
        };
        let done = script::run_at(&mut router, &mut Session::new("admin"), line, &mut desk);
        (done.err().map(|refusal| refusal.to_string()), desk.shown)
    };
    run("/system/script/add name=a source=\":put 1\"", &[]);

    let (failed, shown) = run("/system/script edit 0 source", &[":put 2\n:put 3"]);
    assert_eq!(
        (failed, shown.as_str()),
        (None, "[/system/script/source|:put 1|]")
    );
    let (_, source) = run(":put [/system/script/get a source]", &[]);
    assert_eq!(source, ":put 2\n:put 3\n");
    let (_, left) = run("/system/script edit a value-name=source", &[]);
    assert!(left.starts_with("[/system/script/source|:put 2"), "{left}");

    let (failed, shown) = run("/ip/dns/edit servers", &["x", "1.1.1.1"]);
    assert_eq!(failed, None);
    assert!(
        shown.contains("|x|input does not match any value of servers]"),
        "{shown}"
    );
    assert_eq!(run(":put [/ip/dns/get servers]", &[]).1, "1.1.1.1\n");
    let (failed, _) = run("/user/edit admin password", &[]);
    assert!(failed.is_some_and(|text| text.contains("is hidden")));
}
