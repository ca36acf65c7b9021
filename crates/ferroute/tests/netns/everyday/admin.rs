//! Checks of administration: events, logins, files, export and import.

use std::io::Write as _;
use std::process::{Command, Stdio};

use super::Everyday;
use crate::world::{binary, text, until};

pub(super) fn scheduler_and_netwatch_ran(everyday: &Everyday) {
    let router = everyday.router();
    until("netwatch has found the internet", || {
        router.value("/tool/netwatch/print", "internet", "status") == "up"
    });
    until("the scheduler has run its event", || {
        router.number("/system/scheduler/print", "heartbeat", "run-count") > 0
    });
    let log = router.exec(":put [/log/print as-value]");
    for message in ["heartbeat", "the internet is there"] {
        assert!(log.contains(message), "{message}: {log}");
    }
}

/// Logs in by the binary API and prints the router's name.
const API: &str = r#"
import socket, sys
line = socket.create_connection((sys.argv[1], 8728), 30)
answer = line.makefile("rb")
def send(*words):
    line.sendall(b"".join(bytes([len(word)]) + word.encode() for word in words) + b"\0")
def words():
    while length := answer.read(1)[0]:
        yield answer.read(length).decode()
send("/login", "=name=operator", "=password=Let-me-in-1")
assert list(words()) == ["!done"]
send("/system/identity/print")
print(*words())
"#;

pub(super) fn console_api_rest_and_page_answer(everyday: &Everyday) {
    let name = everyday.router().exec(":put [/system/identity/get name]");
    assert_eq!(name.trim(), "ferroute");
    let argv = ["python3", "-c", API, "192.168.88.1"].map(str::to_owned);
    let mut client = { everyday.lab.command_line("client", &argv) }.expect("a host of the layout");
    let output = client.stdin(Stdio::null()).output().expect("it is a host");
    let (said, complaint) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(said.trim(), "!re =name=ferroute", "{complaint}");
    let rest = "curl -sS -m 30 -u operator:Let-me-in-1 http://192.168.88.1/rest/system/identity";
    let answer = everyday.run("client", rest);
    assert_eq!(answer.trim(), r#"{"name":"ferroute"}"#);
    let page = everyday.run("laptop", "curl -sS -m 30 http://192.168.88.1/");
    assert!(
        page.contains("<!doctype html>") || page.contains("<!DOCTYPE html>"),
        "{page}"
    );
}

/// Checks REST requests of monitoring and automation: a filter with a list, `find`, an upload and a download.
pub(super) fn rest_filters_finds_and_transfers_files(everyday: &Everyday) {
    let rest = |what: &str| {
        let line = format!("curl -sS -m 30 -u operator:Let-me-in-1 {what}");
        everyday.run("client", &line)
    };
    let url = "http://192.168.88.1/rest";
    let kinds = rest(&format!(
        "{url}/interface?type=bridge,loopback&.proplist=type"
    ));
    assert!(
        kinds.contains("bridge") && !kinds.contains("ether"),
        "{kinds}"
    );
    let found = rest(&format!("-X POST {url}/interface/bridge/find"));
    assert!(found.starts_with(r#"{"ret":"*"#), "{found}");
    let bytes = "application/octet-stream";
    let put = format!("-X PUT -H content-type:{bytes} --data-binary moved {url}/file/moved.txt");
    assert_eq!(rest(&put), "{}");
    assert_eq!(
        rest(&format!("-H accept:{bytes} {url}/file/moved.txt")),
        "moved"
    );
    everyday.router().exec("/file/remove moved.txt");
}

pub(super) fn readers_change_nothing_and_foreign_pages_are_refused(everyday: &Everyday) {
    let rest = |arguments: &str| {
        let json = "-H content-type:application/json";
        let line = format!("curl -sS -m 30 -u reader:Only-reads-1 {json} {arguments}");
        everyday.run("client", &line)
    };
    let profile = "http://192.168.88.1/rest/tool/profile";
    let looked = rest(&format!(r#"-d {{"once":""}} {profile}"#));
    assert!(looked.contains("total"), "{looked}");
    let foreign = rest(&format!(
        r#"-H Origin:http://evil.example -d {{"once":""}} {profile}"#
    ));
    assert!(foreign.contains("403"), "{foreign}");
    let menus = everyday.run("client", "curl -sS -m 30 http://192.168.88.1/schema.json");
    assert!(menus.contains("401"), "{menus}");
}

pub(super) fn export_is_accepted_again(everyday: &Everyday) {
    let exported = everyday.router().exec("/export show-sensitive");
    let mut check = Command::new(binary());
    check.args(["check", "-"]).stdin(Stdio::piped());
    let mut check = { check.stdout(Stdio::piped()).stderr(Stdio::piped()) }
        .spawn()
        .expect("the binary under test exists");
    let mut input = check.stdin.take().expect("it is piped");
    input.write_all(exported.as_bytes()).expect("it reads all");
    drop(input);
    let output = check.wait_with_output().expect("it ends");
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(said.contains(" 0 refused"), "{said}\n{exported}");
    assert!(
        exported.contains("admin-mac=02:00:00:00:02:01"),
        "{exported}"
    );
}
