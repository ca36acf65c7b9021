//! Commands as streams: runs any command, and passes its rows on as server-sent events (WHATWG HTML, 9.2).
//!
//! | event | data | when |
//! |---|---|---|
//! | message | array of rows | after each update of a repeating command; rows of one update have the same `.section` |
//! | `end` | `{"ret": …}`, or `{}` without a return value | the command has ended; last event |
//! | `refused` | `{"detail": …}` | the command was refused after its first rows; last event |
//!
//! A command that is refused before its first rows is answered by an error, as in REST.

use std::ops::ControlFlow;

use menu::json;
use script::{Done, Request, Rows};

use crate::body;
use crate::rest::{Answer, Fault, HttpRequest, RequestRunner, object};

/// Number of bytes after which an update is sent in several messages.
const MAX_MESSAGE_BYTES: usize = 64 << 10;

/// Answers a request: the path is a command, the body has its arguments. The answer ends with the command, or when
/// the client is gone.
pub fn answer(asked: &HttpRequest<'_>, run: &mut RequestRunner<'_>, out: &mut dyn Answer) {
    let fault = match streamed(asked, run, out) {
        Ok(()) => return,
        Err(fault) => fault,
    };
    out.begin(fault.status());
    let _ = out.write(&fault.body());
}

fn streamed(
    asked: &HttpRequest<'_>,
    run: &mut RequestRunner<'_>,
    out: &mut dyn Answer,
) -> Result<(), Fault> {
    let mut request = Request {
        path: body::unescape(asked.path),
        ..Request::default()
    };
    body::read(asked.body, &mut request).map_err(|why| Fault::new(400, why))?;
    let mut writer = EventWriter {
        out,
        rows: String::new(),
        begun: false,
    };
    let done = run(&request, &mut writer);
    if let (Err(refusal), false) = (&done, writer.begun) {
        return Err(Fault::of(refusal));
    }
    let last = match done {
        Ok(Done::Ret(value)) => event("end", "ret", &value),
        Ok(_) => String::from("event: end\ndata: {}\n\n"),
        Err(refusal) => event("refused", "detail", &refusal.to_string()),
    };
    if writer.flush().is_continue() {
        let _ = writer.send(&last);
    }
    Ok(())
}

/// Formats an event with one member.
fn event(name: &str, member: &str, value: &str) -> String {
    let mut text = format!("event: {name}\ndata: {{\"{member}\":");
    json::string(value, &mut text);
    text.push_str("}\n\n");
    text
}

/// Writes the rows of each update as an event.
struct EventWriter<'a> {
    out: &'a mut dyn Answer,
    /// Rows of the current update that were not sent yet, separated by commas.
    rows: String,
    begun: bool,
}

impl EventWriter<'_> {
    fn send(&mut self, text: &str) -> ControlFlow<()> {
        if !std::mem::replace(&mut self.begun, true) {
            self.out.begin(200);
        }
        self.out.write(text)
    }

    fn flush(&mut self) -> ControlFlow<()> {
        if self.rows.is_empty() {
            return ControlFlow::Continue(());
        }
        let text = format!("data: [{}]\n\n", std::mem::take(&mut self.rows));
        self.send(&text)
    }
}

impl Rows for EventWriter<'_> {
    fn row(&mut self, fields: &[(&str, String)]) -> ControlFlow<()> {
        if !self.rows.is_empty() {
            self.rows.push(',');
        }
        self.rows.push_str(&object(fields));
        match self.rows.len() < MAX_MESSAGE_BYTES {
            true => ControlFlow::Continue(()),
            false => self.flush(),
        }
    }

    fn rest(&mut self) -> ControlFlow<()> {
        self.flush()
    }
}

#[cfg(test)]
mod tests {
    use menu::{Reason, Refusal};

    use super::*;

    /// Collects an answer; accepts at most `room` pieces.
    struct Collected {
        status: u16,
        text: String,
        room: usize,
    }

    impl Answer for Collected {
        fn begin(&mut self, status: u16) {
            self.status = status;
        }

        fn write(&mut self, piece: &str) -> ControlFlow<()> {
            if self.room == 0 {
                return ControlFlow::Break(());
            }
            self.room -= 1;
            self.text.push_str(piece);
            ControlFlow::Continue(())
        }
    }

    /// Runs a command that `act` stands for.
    fn answered(
        room: usize,
        act: &mut dyn FnMut(&Request, &mut dyn Rows) -> Result<Done, Refusal>,
    ) -> (u16, String) {
        let mut collected = Collected {
            status: 0,
            text: String::new(),
            room,
        };
        let asked = HttpRequest {
            method: "POST",
            path: "/tool/ping",
            query: "",
            body: br#"{"address":"192.0.2.1"}"#,
        };
        answer(&asked, act, &mut collected);
        (collected.status, collected.text)
    }

    fn row(rows: &mut dyn Rows, value: &str) -> ControlFlow<()> {
        rows.row(&[("time", value.to_owned())])
    }

    #[test]
    fn each_update_is_an_event_and_the_end_is_one() {
        let said = answered(9, &mut |request, rows| {
            assert_eq!(request.path, "/tool/ping");
            let address = (String::from("address"), String::from("192.0.2.1"));
            assert_eq!(request.arguments, [address]);
            let _ = row(rows, "1\n");
            let _ = row(rows, "2");
            let _ = rows.rest();
            let _ = rows.rest();
            let _ = row(rows, "3");
            let _ = rows.rest();
            Ok(Done::Ret(String::from("3")))
        });
        let wanted = "data: [{\"time\":\"1\\n\"},{\"time\":\"2\"}]\n\ndata: [{\"time\":\"3\"}]\n\n\
            event: end\ndata: {\"ret\":\"3\"}\n\n";
        assert_eq!(said, (200, String::from(wanted)));
    }

    #[test]
    fn a_refusal_is_an_error_before_the_first_rows_and_an_event_behind_them() {
        let refused = || Err(Reason::failure("no route").nowhere());
        let (status, text) = answered(9, &mut |_, _| refused());
        assert_eq!(status, 400);
        assert!(text.contains("\"detail\":\"failure: no route\""), "{text}");
        let (status, text) = answered(9, &mut |_, rows| {
            let _ = row(rows, "1");
            let _ = rows.rest();
            refused()
        });
        assert_eq!(status, 200);
        let wanted = "event: refused\ndata: {\"detail\":\"failure: no route\"}\n\n";
        assert!(text.ends_with(wanted), "{text}");
    }

    #[test]
    fn a_command_learns_that_its_client_is_gone() {
        let mut sent = 0;
        answered(2, &mut |_, rows| {
            while row(rows, "1").is_continue() && rows.rest().is_continue() {
                sent += 1;
            }
            Err(Reason::Interrupted.nowhere())
        });
        assert_eq!(sent, 2);
    }

    #[test]
    fn a_large_update_is_sent_in_several_messages() {
        let (_, text) = answered(9, &mut |_, rows| {
            for _ in 0..100 {
                let _ = row(rows, &"x".repeat(1_000));
            }
            let _ = rows.rest();
            Ok(Done::Nothing)
        });
        assert_eq!(text.matches("data: [").count(), 2);
        assert_eq!(text.matches("time").count(), 100);
    }
}
