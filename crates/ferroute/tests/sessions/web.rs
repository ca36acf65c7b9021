//! Tests the web page and REST: logins, requests of foreign pages in a user's browser, commands of users without write
//! access.

use std::io::{Read as _, Write as _};

use crate::running::Router;

/// The host name of the router in a browser's requests.
const HOST: &str = "router.example";
/// Users and passwords of HTTP Basic: joe and rita, whose password is `secret`.
const JOE: &str = "Authorization: Basic am9lOnNlY3JldA==";
const RITA: &str = "Authorization: Basic cml0YTpzZWNyZXQ=";
/// Header that only the router's own page can send.
const PAGE: &str = "X-Ferroute: page";
const JSON: &str = "Content-Type: application/json";

/// Starts a router with the users `joe`, who has all rights, and `rita`, who may only read.
fn router(name: &str) -> Router {
    let router = Router::start(name);
    router.exec("/user add name=joe group=full password=secret");
    router.exec("/user add name=rita group=read password=secret");
    router
}

/// An HTTP response.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    /// Returns the cookie that the response sets, as a request header.
    fn cookie(&self) -> String {
        let mut lines = self.head.lines();
        let line = lines.find_map(|line| line.strip_prefix("set-cookie: "));
        let cookie = line.and_then(|line| line.split(';').next());
        format!("Cookie: {}", cookie.expect("a cookie"))
    }
}

/// Sends a request with these header lines, on a new connection.
fn ask(router: &Router, request: &str, lines: &[&str], body: &str) -> Answer {
    let mut stream = router.reach(router.address, 80);
    let mut head = format!("{request} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n");
    for line in lines {
        head.push_str(line);
        head.push_str("\r\n");
    }
    let length = body.len();
    write!(stream, "{head}Content-Length: {length}\r\n\r\n{body}").expect("the router listens");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    Answer {
        status: status.expect("a status"),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

/// Logs in to the page.
fn log_in(router: &Router, user: &str) -> Answer {
    let claim = format!("{{\"user\":\"{user}\",\"password\":\"secret\"}}");
    ask(router, "POST /session", &[PAGE, JSON], &claim)
}

/// Returns the status of `GET /session` for a cookie.
fn who(router: &Router, cookie: &str) -> u16 {
    ask(router, "GET /session", &[PAGE, cookie], "").status
}

#[test]
fn a_reader_with_endless_page_logins_locks_nobody_out() {
    let router = router("places");
    let first = log_in(&router, "joe").cookie();
    let sessions: Vec<_> = (0..70).map(|_| log_in(&router, "rita")).collect();
    assert!(sessions.iter().all(|session| session.status == 200));

    let cookies: Vec<_> = sessions.iter().map(Answer::cookie).collect();
    let open = cookies.iter().map(|cookie| who(&router, cookie));
    let open: Vec<_> = open.map(|status| status == 200).collect();

    assert!(open[54..].iter().all(|is| *is), "the newest stay: {open:?}");
    assert!(
        !open[..54].iter().any(|is| *is),
        "the oldest give way: {open:?}"
    );
    assert_eq!(log_in(&router, "joe").status, 200);
    assert_eq!(who(&router, &first), 200, "sessions of others stay");
}

#[test]
fn page_sessions_begin_only_on_the_page_and_menus_need_a_login() {
    let router = router("menus");
    let claim = r#"{"user":"joe","password":"secret"}"#;
    assert_eq!(ask(&router, "POST /session", &[JSON], claim).status, 403);
    assert_eq!(ask(&router, "GET /schema.json", &[PAGE], "").status, 401);

    let cookie = log_in(&router, "joe").cookie();

    let menus = ask(&router, "GET /schema.json", &[PAGE, &cookie], "");
    assert_eq!(menus.status, 200);
    assert!(menus.body.contains("\"menus\""));
    assert_eq!(ask(&router, "GET /schema.json", &[&cookie], "").status, 401);
    assert_eq!(ask(&router, "GET /schema.json", &[RITA], "").status, 200);
    for request in [
        "GET /",
        "GET /none",
        "GET /session",
        "GET /rest/system/identity",
    ] {
        let answer = ask(&router, request, &[JOE], "");
        let is_told = answer.head.contains("x-content-type-options: nosniff");
        assert!(is_told, "{request}: {}", answer.head);
    }
}

#[test]
fn a_foreign_page_cannot_use_the_password_stored_in_a_browser() {
    let router = router("foreign");
    let rename = "POST /rest/system/identity/set";
    let body = r#"{"name":"theirs"}"#;
    for (line, status) in [
        ("Origin: http://evil.example", 403),
        ("Origin: null", 403),
        ("Sec-Fetch-Site: cross-site", 403),
        ("Sec-Fetch-Site: same-site", 403),
    ] {
        let answer = ask(&router, rename, &[JOE, JSON, line], body);
        assert_eq!(answer.status, status, "{line}: {}", answer.body);
        let read = ask(&router, "GET /rest/system/identity", &[JOE, line], "");
        assert_eq!(read.status, status, "{line}: {}", read.body);
    }
    for kind in ["text/plain", "application/x-www-form-urlencoded"] {
        let kind = format!("Content-Type: {kind}");
        let answer = ask(&router, rename, &[JOE, &kind], body);
        assert_eq!(answer.status, 415, "{}", answer.body);
        assert!(
            answer
                .body
                .contains("expected Content-Type: application/json"),
            "{}",
            answer.body
        );
    }
    assert_eq!(router.name(), "ferroute");

    let own = format!("Origin: http://{HOST}");
    let lines = [JOE, JSON, &own, "Sec-Fetch-Site: same-origin"];
    assert_eq!(
        ask(&router, rename, &lines, r#"{"name":"ours"}"#).status,
        200
    );
    assert_eq!(router.name(), "ours");
    // Some programs send no content type, such as Python's requests with a text body.
    assert_eq!(
        ask(&router, rename, &[JOE], r#"{"name":"scripted"}"#).status,
        200
    );
    assert_eq!(router.name(), "scripted");
}

/// Read-only commands by REST, with their values.
const LOOKS: [(&str, &str); 4] = [
    (
        "/tool/trace",
        r#"{"in-interface":"lo","src-address":"127.0.0.1","dst-address":"127.0.0.1","dst-port":"80"}"#,
    ),
    ("/tool/profile", r#"{"once":""}"#),
    ("/tool/torch", r#"{"interface":"lo","once":""}"#),
    (
        "/tool/calculate",
        r#"{"calculator":"rates","values":"frame=1518"}"#,
    ),
];

#[test]
fn a_reader_can_read_by_rest_and_page_and_change_nothing() {
    let router = router("looks");
    let cookie = log_in(&router, "rita").cookie();
    for lines in [&[RITA, JSON][..], &[PAGE, &cookie, JSON]] {
        for (command, values) in LOOKS {
            let answer = ask(&router, &format!("POST /rest{command}"), lines, values);
            assert_eq!(answer.status, 200, "{command}: {}", answer.body);
        }
        let wake = r#"{"mac":"02:00:00:00:00:01"}"#;
        let denied = ask(&router, "POST /rest/tool/wol", lines, wake);
        assert!(
            denied.body.contains("not enough permissions"),
            "{}",
            denied.body
        );
    }
    let line = r#"{"script":"/tool/profile duration=1s","as-string":""}"#;
    let terminal = ask(&router, "POST /rest/execute", &[PAGE, &cookie, JSON], line);
    assert!(terminal.body.contains("ret"), "{}", terminal.body);
}

#[test]
fn menus_about_the_machine_answer_as_on_a_virtual_router() {
    let router = router("machine");
    let row = |menu: &str| ask(&router, &format!("GET /rest{menu}"), &[JOE], "").body;
    let license = row("/system/license");
    assert!(
        license.contains("\"level\":\"free\"") && license.contains("\"system-id\":\""),
        "{license}"
    );
    let mode = row("/system/device-mode");
    assert!(
        mode.contains("\"mode\":\"advanced\"") && mode.contains("\"container\":\"false\""),
        "{mode}"
    );
    let resource = row("/system/resource");
    for name in ["write-sect-since-reboot", "write-sect-total"] {
        assert!(resource.contains(&format!("\"{name}\":\"")), "{resource}");
    }
    assert!(
        row("/system/health").contains("\n[]\r\n"),
        "{}",
        row("/system/health")
    );
}

#[test]
fn reading_a_file_returns_its_bytes() {
    let router = router("bytes");
    let add = r#"{"name":"u.txt","contents":"Tam\u00e1s\u0000"}"#;
    assert_eq!(
        ask(&router, "PUT /rest/file", &[JOE, JSON], add).status,
        201
    );
    let read = |offset: u32| {
        let body = format!("{{\"file\":\"u.txt\",\"offset\":\"{offset}\",\"chunk-size\":\"9\"}}");
        ask(&router, "POST /rest/file/read", &[JOE, JSON], &body).body
    };
    assert!(
        read(0).contains("[{\"data\":\"Tam\u{e1}s\\u0000\"}]"),
        "{}",
        read(0)
    );
    // A part that begins within a character is returned as bytes, each as the character with its number.
    assert!(
        read(4).contains("[{\"data\":\"\u{a1}s\\u0000\"}]"),
        "{}",
        read(4)
    );
}

#[test]
fn undo_reverts_only_the_change_that_was_shown() {
    let router = router("meant");
    let rename = "POST /rest/system/identity/set";
    ask(&router, rename, &[JOE, JSON], r#"{"name":"one"}"#);
    let history = "GET /rest/system/history?.proplist=.id,action,by,undoable";
    let shown = ask(&router, history, &[JOE], "");
    assert!(shown.body.contains("\"by\":\"joe\""), "{}", shown.body);
    let revision = router.exec(":put [/system/configuration get revision]");
    router.exec("/system identity set name=two");

    let body = format!("{{\"revision\":\"{}\"}}", revision.trim());
    let refused = ask(&router, "POST /rest/undo", &[JOE, JSON], &body);

    assert_eq!(refused.status, 400, "{}", refused.body);
    let said = "the last change is a different one: system identity changed by admin";
    assert!(refused.body.contains(said), "{}", refused.body);
    assert_eq!(router.name(), "two");
    assert_eq!(
        ask(&router, "POST /rest/undo", &[JOE, JSON], "{}").status,
        200
    );
    assert_eq!(
        ask(&router, "POST /rest/undo", &[JOE, JSON], &body).status,
        200
    );
    assert_eq!(router.name(), "ferroute");
}
