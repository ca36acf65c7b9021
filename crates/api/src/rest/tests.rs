use super::*;
use menu::{Offline, Store};
use proptest::prelude::*;
use script::{ExclusiveSite, Session, request_at};

#[derive(Default)]
struct Taken {
    status: u16,
    body: String,
}

impl Answer for Taken {
    fn begin(&mut self, status: u16) {
        assert_eq!(self.status, 0, "one status");
        self.status = status;
    }

    fn write(&mut self, piece: &str) -> ControlFlow<()> {
        self.body.push_str(piece);
        ControlFlow::Continue(())
    }
}

fn ask(store: &mut Store, method: &str, url: &str, body: &str) -> (u16, String) {
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let asked = HttpRequest {
        method,
        path,
        query,
        body: body.as_bytes(),
    };
    let mut taken = Taken::default();
    let mut session = Session::new("admin");
    let mut run = |request: &Request, rows: &mut dyn Rows| {
        request_at(
            &mut ExclusiveSite::new(store, &mut Offline),
            &mut session,
            request,
            rows,
        )
    };
    answer(schema::ALL, &asked, &mut run, &mut taken);
    (taken.status, taken.body)
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect(text)
}

#[test]
fn an_item_lives_from_put_to_delete() {
    let mut store = schema::store();

    let body = r#"{"name":"a b","comment":"x"}"#;
    let (status, made) = ask(&mut store, "PUT", "/interface/list", body);
    assert_eq!((status, json(&made)["name"].as_str()), (201, Some("a b")));
    let id = json(&made)[".id"].as_str().expect("an id").to_owned();

    let one = format!("/interface/list/{id}");
    let (status, changed) = ask(&mut store, "PATCH", &one, r#"{"comment":"y"}"#);
    assert_eq!(
        (status, json(&changed)["comment"].as_str()),
        (200, Some("y"))
    );
    let (status, named) = ask(&mut store, "GET", "/interface/list/a%20b", "");
    assert_eq!((status, json(&named)), (200, json(&changed)));
    let filtered = "/interface/list?name=a%20b&.proplist=comment";
    assert_eq!(
        ask(&mut store, "GET", filtered, ""),
        (200, r#"[{"comment":"y"}]"#.into())
    );

    assert_eq!(ask(&mut store, "DELETE", &one, ""), (204, String::new()));
    let gone = (404, r#"{"error":404,"message":"Not Found"}"#.to_owned());
    assert_eq!(ask(&mut store, "DELETE", &one, ""), gone);
    assert_eq!(ask(&mut store, "GET", &one, ""), gone);
    assert_eq!(ask(&mut store, "GET", filtered, ""), (200, "[]".to_owned()));
}

/// DNS providers for Kubernetes list their records by `type=A,AAAA,CNAME,TXT`.
#[test]
fn a_filter_with_several_values_matches_any_of_them() {
    let mut store = schema::store();
    for body in [
        r#"{"name":"one.example.net","type":"A","address":"192.0.2.10","comment":"cs"}"#,
        r#"{"name":"one.example.net","type":"TXT","text":"heritage=x","comment":"cs"}"#,
        r#"{"name":"two.example.net","type":"NXDOMAIN","comment":"cs"}"#,
        r#"{"name":"three.example.net","type":"A","address":"192.0.2.11","comment":"a,b"}"#,
    ] {
        assert_eq!(
            ask(&mut store, "PUT", "/ip/dns/static", body).0,
            201,
            "{body}"
        );
    }
    let mut names = |query: &str| {
        let url = format!("/ip/dns/static?{query}");
        let (status, text) = ask(&mut store, "GET", &url, "");
        assert_eq!(status, 200, "{text}");
        let rows = json(&text).as_array().cloned().unwrap_or_default();
        let names = rows.iter().filter_map(|row| row["name"].as_str());
        names.map(str::to_owned).collect::<Vec<_>>()
    };

    let two = ["one.example.net", "one.example.net"];
    assert_eq!(names("type=A,AAAA,CNAME,TXT,MX,SRV,NS&comment=cs"), two);
    assert_eq!(names("type=A%2CTXT&comment=cs"), two);
    assert_eq!(names("comment=a,b"), ["three.example.net"]);
    assert_eq!(names("type=MX,SRV"), [""; 0]);
}

#[test]
fn settings_are_one_object() {
    let mut store = schema::store();

    assert_eq!(
        ask(
            &mut store,
            "POST",
            "/system/identity/set",
            r#"{"name":"R1"}"#
        ),
        (200, "[]".to_owned())
    );
    assert_eq!(
        ask(&mut store, "GET", "/system/identity", ""),
        (200, r#"{"name":"R1"}"#.to_owned())
    );
    assert_eq!(
        ask(&mut store, "PATCH", "/system/identity", r#"{"name":"R2"}"#),
        (200, r#"{"name":"R2"}"#.to_owned())
    );
}

#[test]
fn a_command_returns_rows_or_its_result() {
    let mut store = schema::store();

    let (status, made) = ask(&mut store, "POST", "/interface/list/add", r#"{"name":"x"}"#);
    assert_eq!(status, 200);
    assert!(
        json(&made)["ret"]
            .as_str()
            .is_some_and(|id| id.starts_with('*'))
    );
    let body = r##"{".proplist":["name"],".query":["name=x","name=all","#|"]}"##;
    assert_eq!(
        ask(&mut store, "POST", "/interface/list/print", body),
        (200, r#"[{"name":"all"},{"name":"x"}]"#.to_owned())
    );
    assert_eq!(
        ask(
            &mut store,
            "POST",
            "/interface/list/print",
            r#"{"count-only":""}"#
        ),
        (200, r#"{"ret":"5"}"#.to_owned())
    );
}

#[test]
fn errors_are_objects_with_the_routers_message() {
    let mut store = schema::store();

    for (method, path, body, status, detail) in [
        (
            "GET",
            "/no/such",
            "",
            404,
            "no such command or directory (such)",
        ),
        (
            "GET",
            "/routing/bgp/peer",
            "",
            404,
            "no such command or directory (peer)",
        ),
        (
            // Without a router there are no files; the method is correct.
            "DELETE", "/file/x", "", 404, "",
        ),
        (
            "PUT",
            "/system/identity",
            "{}",
            406,
            "no such command or directory (add)",
        ),
        ("PUT", "/interface/list", "{}", 400, "missing =name="),
        ("PUT", "/interface/list", "[", 400, ""),
        (
            "PUT",
            "/ip/address",
            r#"{"x":"1"}"#,
            400,
            "unknown parameter x",
        ),
        (
            "PUT",
            "/ip/address",
            r#"{"address":"10.0.0.1/24","interface":"x"}"#,
            400,
            "input does not match any value of interface",
        ),
        ("POST", "/ip/address/fly", "", 404, "no such command"),
        (
            "POST",
            "/ip/address/remove",
            r#"{".id":"*7"}"#,
            404,
            "no such item",
        ),
        (
            "BREW",
            "/ip/address",
            "",
            406,
            "no such command or directory (BREW)",
        ),
    ] {
        let (found, text) = ask(&mut store, method, path, body);
        let error = json(&text);
        assert_eq!(
            (found, error["error"].as_u64()),
            (status, Some(status.into())),
            "{text}"
        );
        if !detail.is_empty() {
            assert_eq!(error["detail"].as_str(), Some(detail), "{method} {path}");
        }
    }
}

#[test]
fn a_long_list_is_chunked_and_stops_on_disconnect() {
    struct Deaf(usize);
    impl Answer for Deaf {
        fn begin(&mut self, status: u16) {
            assert_eq!(status, 200);
        }
        fn write(&mut self, piece: &str) -> ControlFlow<()> {
            self.0 += piece.len();
            ControlFlow::Break(())
        }
    }
    let mut given = 0;
    let mut run = |_: &Request, rows: &mut dyn Rows| {
        while rows.row(&[("name", "x".repeat(100))]).is_continue() {
            given += 1;
        }
        Err(Reason::Interrupted.nowhere())
    };
    let asked = HttpRequest {
        method: "GET",
        path: "/ip/route",
        query: "",
        body: b"",
    };
    let mut deaf = Deaf(0);

    answer(schema::ALL, &asked, &mut run, &mut deaf);

    assert!(given < 1_000, "{given}");
    assert!(deaf.0 >= BUFFERED_BYTES);
}

#[test]
fn slow_requests_are_closed() {
    let mut run = |_: &Request, _: &mut dyn Rows| Err(Reason::Interrupted.nowhere());
    let asked = HttpRequest {
        method: "POST",
        path: "/system/script/run",
        query: "",
        body: b"",
    };
    let mut taken = Taken::default();

    answer(schema::ALL, &asked, &mut run, &mut taken);

    let closed = r#"{"detail":"Session closed","error":400,"message":"Bad Request"}"#;
    assert_eq!((taken.status, taken.body.as_str()), (400, closed));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_response_is_json(
        method in prop::sample::select(&["GET", "PUT", "PATCH", "DELETE", "POST"][..]),
        path in "(/(ip|address|interface|list|system|identity|print|add|set|remove|\\*[0-9A-F]|.)){0,5}",
        query in "[a-z=&%.#|]{0,20}",
        body in "(\\{\"[a-z.]{1,8}\":(\"[a-z0-9*#|./]{0,8}\"|[0-9]{1,4}|\\[\\])\\})?|.{0,20}",
    ) {
        let mut store = schema::store();
        let (status, text) = ask(&mut store, method, &format!("{path}?{query}"), &body);
        if status == 204 {
            prop_assert!(text.is_empty());
        } else {
            prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{}", text);
        }
    }
}
