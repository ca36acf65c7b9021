use super::*;
use crate::pager::RecordingWire;

/// A shell that echoes and knows three words. Another session is in safe mode at first.
#[derive(Default)]
struct Echo {
    asked: bool,
    told: bool,
}

impl Shell for Echo {
    fn prompt(&self) -> String {
        String::from("[admin@test] > ")
    }

    fn continuation(&self, line: &str) -> Option<String> {
        (line.matches('{').count() > line.matches('}').count()).then(|| String::from("{... "))
    }

    fn execute(&mut self, line: &str, page: &mut Page<'_>) -> Outcome {
        let text = match line {
            "long" => "row\n".repeat(100),
            line => format!("<{line}>"),
        };
        let _ = page.write(text.as_bytes());
        if line == "quit" {
            Outcome::Quit
        } else {
            Outcome::Continue
        }
    }

    fn question(&self, line: &str) -> Option<String> {
        (line == "reset").then(|| String::from("Sure? [y/N]: "))
    }

    fn safe_mode(&mut self) -> SafeModeReply {
        if std::mem::replace(&mut self.asked, true) {
            return SafeModeReply::Done(String::from("[Safe Mode released]"));
        }
        SafeModeReply::Ask(String::from("Whose? [u/r/d]: "))
    }

    fn take_over(&mut self, key: char) -> String {
        format!("[{key}]")
    }

    fn notice(&mut self) -> Option<String> {
        (!std::mem::replace(&mut self.told, true)).then(|| String::from("[released by another]"))
    }

    fn echoes(&mut self) -> Option<String> {
        Some(String::from("echo: it rains"))
    }

    fn complete(&self, line: &str, cursor: usize) -> (usize, Vec<Candidate>) {
        let from = line[..cursor].rfind(' ').map_or(0, |gap| gap + 1);
        let words = ["address", "add", "print", "yes"].into_iter();
        let found = words
            .filter(|w| w.starts_with(&line[from..cursor]))
            .map(|w| Candidate {
                text: w.to_owned(),
                suffix: " ",
                inserts: w != "print",
                help: match w {
                    "yes" => String::new(),
                    w => format!("about {w}"),
                },
            });
        (from, found.collect())
    }

    fn highlight(&self, _: &str) -> Vec<Span> {
        Vec::new()
    }
}

fn console() -> Console<Echo> {
    let settings = Settings {
        columns: 80,
        rows: 24,
        colours: false,
        paging: true,
        dumb: false,
    };
    let shell = Echo {
        told: true,
        ..Echo::default()
    };
    Console::new(shell, settings, History::default())
}

fn typed(console: &mut Console<Echo>, text: &str) -> (Outcome, String) {
    let mut wire = RecordingWire::new(text.as_bytes());
    let outcome = console.input(&mut wire);
    (outcome, wire.text())
}

#[test]
fn a_line_is_run_and_the_prompt_comes_back() {
    let (outcome, out) = typed(&mut console(), "hello\r");

    assert_eq!(outcome, Outcome::Continue);
    assert!(out.contains("<hello>\r\n"), "{out:?}");
    assert!(out.contains("[admin@test] > "), "{out:?}");
}

#[test]
fn a_too_long_line_is_refused_and_not_truncated() {
    let mut console = console();
    let line = "x".repeat(LINE_BYTES + 1);

    let (outcome, shown) = typed(&mut console, &format!("{line}\r"));

    assert_eq!(outcome, Outcome::Continue);
    assert!(shown.contains("line is too long: the limit is 65536 bytes"));
    assert!(!shown.contains("<x"), "nothing of it is run");
    let (_, shown) = typed(&mut console, "next\r");
    assert!(shown.contains("<next>\r\n"), "{shown}");
}

#[test]
fn input_after_a_page_prompt_is_the_next_line() {
    for answer in ["q", "\x03", "xd", "\x1b[6~ q"] {
        let (_, out) = typed(&mut console(), &format!("long\r{answer}next\r"));

        assert!(out.contains("-- [Q quit|D dump|down]"), "{out:?}");
        assert!(out.contains("<next>\r\n"), "{answer:?}: {out:?}");
    }
}

#[test]
fn input_after_a_help_page_is_kept() {
    let mut console = console();
    console.settings.rows = 3;

    let (_, out) = typed(&mut console, "?qprint\r");

    assert!(out.contains("-- [Q quit|D dump|down]"), "{out:?}");
    assert!(out.contains("<print>\r\n"), "{out:?}");
}

#[test]
fn keys_read_together_are_drawn_once() {
    let mut console = console();

    let (_, out) = typed(&mut console, "zzz\x1b[B\t");

    assert_eq!(out.matches("zzz").count(), 1, "{out:?}");
}

#[test]
fn an_open_bracket_continues_on_the_next_line() {
    let mut console = console();

    let (_, first) = typed(&mut console, "{ one\r");
    let (_, second) = typed(&mut console, "two }\r");

    assert!(first.ends_with("\r\n{... "), "{first:?}");
    assert!(second.contains("<{ one\r\ntwo }>"), "{second:?}");
}

#[test]
fn tab_completes_as_far_as_it_can_and_lists_the_rest() {
    let mut console = console();

    typed(&mut console, "a\t");
    assert_eq!(console.editor.text(), "add");
    let (_, listed) = typed(&mut console, "\t");
    assert!(listed.contains("address  add\r\n"), "{listed:?}");
    typed(&mut console, "r\t");
    assert_eq!(console.editor.text(), "address ");
}

#[test]
fn a_question_mark_shows_help() {
    let (_, out) = typed(&mut console(), "p?");

    assert!(out.contains("print -- about print\r\n"), "{out:?}");
    let (_, out) = typed(&mut console(), "y?");
    assert!(out.contains("\nyes\r\n"), "{out:?}");
}

#[test]
fn ctrl_c_discards_the_line_and_ctrl_d_logs_out() {
    let mut console = console();

    typed(&mut console, "{ abc\r def\x03");
    assert_eq!(console.editor.text(), "");
    assert_eq!(typed(&mut console, "\x04").0, Outcome::Quit);
}

#[test]
fn a_dangerous_command_runs_after_confirmation() {
    let mut console = console();

    let (_, asked) = typed(&mut console, "reset\r");
    assert!(asked.ends_with("Sure? [y/N]: "), "{asked:?}");
    let (_, no) = typed(&mut console, "\r");
    assert!(no.contains("action cancelled\r\n"), "{no:?}");
    let (_, yes) = typed(&mut console, "reset\ry");
    assert!(yes.contains("Sure? [y/N]: y\r\n<reset>"), "{yes:?}");
}

#[test]
fn ctrl_x_asks_if_another_user_is_in_safe_mode() {
    let mut console = console();
    typed(&mut console, "abc");

    let (_, asked) = typed(&mut console, "\x18");
    assert!(asked.ends_with("\r\nWhose? [u/r/d]: "), "{asked:?}");
    let (_, taken) = typed(&mut console, "u");
    assert!(taken.contains("u\r\n[u]\r\n"), "{taken:?}");
    let (_, released) = typed(&mut console, "\x1bOS");
    assert!(
        released.contains("\r\n[Safe Mode released]\r\n"),
        "{released:?}"
    );
    assert_eq!(console.editor.text(), "abc", "the line being edited stays");
}

#[test]
fn changes_of_others_are_shown_at_the_next_key() {
    let mut console = console();
    console.shell.told = false;

    let (_, first) = typed(&mut console, "a");
    let (_, second) = typed(&mut console, "b");

    assert!(first.contains("[released by another]\r\n"), "{first:?}");
    assert!(!second.contains("[released by another]"), "{second:?}");
}

#[test]
fn the_history_can_be_browsed_and_searched() {
    let mut console = console();
    typed(&mut console, "first\rsecond\r");

    typed(&mut console, "\x1b[A\x1b[A");
    assert_eq!(console.editor.text(), "first");
    typed(&mut console, "\x03\x12eco\x1b[C");
    assert_eq!(console.editor.text(), "second");
}

#[test]
fn a_terminal_without_colours_gets_each_character_once() {
    let mut console = console();
    let mut wire = RecordingWire::new(b"");

    console.begin(&mut wire.sent);
    for byte in b"/ip address" {
        wire.keys.push_back(*byte);
        console.input(&mut wire);
    }
    wire.keys.extend(b"\r\n");
    console.input(&mut wire);

    assert_eq!(
        wire.text(),
        "[admin@test] > /ip address\r\n</ip address>\r\n[admin@test] > "
    );
}

#[test]
fn a_dumb_terminal_sees_no_sequence() {
    let settings = Settings {
        dumb: true,
        ..console().settings
    };
    let mut console = Console::new(Echo::default(), settings, History::default());
    let mut wire = RecordingWire::new(b"");
    console.begin(&mut wire.sent);

    for keys in ["abc", "\x7f\x7f\x1b[D", "x\r"] {
        wire.keys.extend(keys.as_bytes());
        console.input(&mut wire);
    }

    assert!(!wire.text().contains('\x1b'), "{:?}", wire.text());
    assert!(wire.text().contains("<xa>"), "{:?}", wire.text());
}

#[test]
fn value_descriptions_are_not_inserted_into_the_line() {
    let (_, out) = typed(&mut console(), "pri\t?\r");

    assert!(out.contains("print -- about print"), "{out:?}");
    assert!(out.contains("<pri>\r\n"), "{out:?}");
}

#[test]
fn a_pasted_script_with_tabs_is_plain_text() {
    let (_, out) = typed(&mut console(), "#\tadd\t?\r{\r\t\tadd\r}\r");

    assert!(out.contains("<# add ?>\r\n"), "{out:?}");
    assert!(out.contains("<{\r\n  add\r\n}>\r\n"), "{out:?}");
    assert!(!out.contains("--"), "{out:?}");
}

#[test]
fn log_messages_appear_between_lines_of_interactive_sessions() {
    let heard = |colours| {
        let mut console = console();
        console.settings.colours = colours;
        let _ = typed(&mut console, "add");
        let mut out = Vec::new();
        console.hear(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    };

    assert!(heard(true).contains("echo: it rains\r\n"));
    assert!(
        heard(true).ends_with("add"),
        "what was typed is there again"
    );
    assert_eq!(heard(false), "", "a program would take it for an answer");
}

#[test]
fn a_question_is_not_interrupted() {
    let mut console = console();
    console.settings.colours = true;
    let (_, out) = typed(&mut console, "reset\r");
    assert!(out.ends_with("Sure? [y/N]: "), "{out:?}");

    let mut out = Vec::new();
    console.hear(&mut out);

    assert!(out.is_empty());
}
