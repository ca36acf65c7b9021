//! Tests helpers of connection tracking between real programs: files, chats and calls with separate data connections.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use lab::Lab;

use super::{SERVER, hits};
use crate::world::{PACKET, Router, Server, Start, have, lab, layout};

const HELPER: &str = include_str!("helper.py");
/// The router's outside address.
const OUTSIDE: &str = "203.0.113.2";

/// Starts a lab with RouterOS's default firewall.
fn home(test: &str, arguments: &[&str]) -> Option<(Lab, Router)> {
    let lab = have(test, &["python3"])
        .then(|| lab(test, layout("static")))
        .flatten()?;
    let start = Start {
        arguments,
        ..Start::with(PACKET, layout("static").config)
    };
    let router = Router::start(&lab, &start);
    Some((lab, router))
}

fn python(lab: &Lab, host: &str, words: &[&str]) -> Command {
    let mut command = lab.command(host, "python3").expect("a host of the layout");
    command.args(["-c", HELPER]).args(words);
    command
}

fn serve(lab: &Lab, host: &str, words: &[&str]) -> Server {
    Server::begin(python(lab, host, words), "ready")
}

/// A client that keeps its connections until its input ends.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    said: BufReader<ChildStdout>,
}

impl Client {
    fn begin(lab: &Lab, host: &str, words: &[&str]) -> Self {
        let mut command = python(lab, host, words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("python3 is there");
        Self {
            input: child.stdin.take(),
            said: BufReader::new(child.stdout.take().expect("asked for above")),
            child,
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("it writes text");
        line.trim_end().to_owned()
    }

    fn end(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().expect("our child").success());
    }
}

/// Checks that files arrived in each mode of FTP, and the rows of their connections.
fn files_arrive(router: &Router, mut client: Client) {
    let mut sums = Vec::new();
    let wanted = loop {
        let line = client.line();
        let (mode, sum) = line.split_once(' ').expect("two words");
        if mode == "wanted" {
            break sum.to_owned();
        }
        sums.push((mode.to_owned(), sum.to_owned()));
    };
    assert!(sums.len() >= 2, "{sums:?}");
    for (mode, sum) in &sums {
        assert_eq!(*sum, wanted, "{mode}");
    }
    let mut rows = router.rows("/ip/firewall/connection/print where connection-type=ftp");
    rows.extend(router.rows("/ipv6/firewall/connection/print where connection-type=ftp"));
    let (control, data): (Vec<_>, Vec<_>) =
        rows.iter().partition(|row| row["uses-helper"] == "true");
    assert_eq!(control.len(), 1, "{rows:#?}");
    assert_ne!(control[0]["fasttrack"], "true", "{rows:#?}");
    // The connections of the last transfers still exist.
    assert!(!data.is_empty(), "{rows:#?}");
    assert!(
        data.iter().all(|row| row["expected"] == "true"),
        "{rows:#?}"
    );
    client.end();
    router.exec("/ip/firewall/connection/remove [find]");
}

fn files_pass(test: &str, arguments: &[&str]) {
    let Some((lab, router)) = home(test, arguments) else {
        return;
    };
    for menu in ["/ip", "/ipv6"] {
        router.exec(&format!(
            "{menu}/firewall/mangle/add chain=prerouting action=passthrough comment=data \
             connection-type=ftp connection-state=related"
        ));
    }
    let _server = serve(&lab, "server", &["ftp-serve"]);
    // Masqueraded.
    let client = Client::begin(&lab, "client", &["ftp", SERVER[0], "21"]);
    files_arrive(&router, client);
    // Eight uploads and eight downloads, each by its own connection.
    assert!(hits(&router, "/ip/firewall/mangle", "data") >= 16);

    // To a server in the LAN, by a port of the router's address.
    router.exec(
        "/ip/firewall/nat/add chain=dstnat action=dst-nat in-interface=ether1 protocol=tcp \
         dst-port=2121 to-addresses=192.168.88.10 to-ports=21",
    );
    let _inside = serve(&lab, "client", &["ftp-serve"]);
    let client = Client::begin(&lab, "server", &["ftp", OUTSIDE, "2121"]);
    files_arrive(&router, client);

    // Without NAT: the server connects to a client that the firewall protects from others.
    let client = Client::begin(&lab, "client", &["ftp", SERVER[1], "21"]);
    files_arrive(&router, client);
    assert!(hits(&router, "/ipv6/firewall/mangle", "data") >= 4);
}

#[test]
fn files_pass_in_every_mode_of_ftp() {
    files_pass("files_pass_in_every_mode_of_ftp", &[]);
}

#[test]
fn files_pass_in_every_mode_of_ftp_with_several_workers() {
    files_pass(
        "files_pass_in_every_mode_of_ftp_with_several_workers",
        &["--workers", "2"],
    );
}

#[test]
fn a_data_connection_is_accepted_only_with_its_helper() {
    let Some((lab, router)) = home("a_data_connection_is_accepted_only_with_its_helper", &[])
    else {
        return;
    };
    let _ftp = serve(&lab, "server", &["ftp-serve", "brief"]);
    let _tftp = serve(&lab, "server", &["tftp-serve"]);
    let active = || {
        let mut client = Client::begin(&lab, "client", &["ftp", SERVER[0], "21", OUTSIDE]);
        let said = client.line();
        client.end();
        said
    };
    let dropped = || {
        hits(
            &router,
            "/ip/firewall/filter",
            "defconf: drop all not coming from LAN",
        )
    };
    assert_eq!(active(), "226 Done.");
    let mut client = Client::begin(&lab, "client", &["tftp", SERVER[0]]);
    assert_eq!(client.line(), "True True");
    client.end();
    let before = dropped();

    router.exec("/ip/firewall/service-port/set ftp,tftp disabled=yes");

    assert_eq!(active(), "425 No data connection.");
    let mut client = Client::begin(&lab, "client", &["tftp", SERVER[0], "0.5"]);
    assert_eq!(client.line(), "nothing");
    client.end();
    assert!(dropped() >= before + 2, "{before}");
}

#[test]
fn a_file_offered_in_a_chat_is_fetched() {
    let Some((lab, router)) = home("a_file_offered_in_a_chat_is_fetched", &[]) else {
        return;
    };
    router.exec("/ip/firewall/service-port/set irc disabled=no");
    let _server = serve(&lab, "server", &["irc-serve"]);

    let mut client = Client::begin(&lab, "client", &["irc", SERVER[0]]);

    let said: Vec<_> = (0..5).map(|_| client.line()).collect();
    let wanted = said[4].strip_prefix("wanted ").expect("the last line");
    let fetched = format!("{OUTSIDE} {wanted}");
    assert_eq!(said[..4], [&fetched, "PONG", &fetched, "PONG"]);
    client.end();
}

#[test]
fn a_pptp_tunnel_follows_its_call() {
    let Some((lab, router)) = home("a_pptp_tunnel_follows_its_call", &[]) else {
        return;
    };
    let _server = serve(&lab, "server", &["pptp-serve"]);

    let mut client = Client::begin(&lab, "client", &["pptp", SERVER[0]]);

    // The client is called by its own call ID, and its tunnel comes from the router's address.
    assert_eq!(client.line(), format!("77 77 500 hello {OUTSIDE}"));
    let rows = router.rows("/ip/firewall/connection/print where connection-type=pptp");
    let (control, tunnel): (Vec<_>, Vec<_>) =
        rows.iter().partition(|row| row["uses-helper"] == "true");
    assert_eq!((control.len(), tunnel.len()), (1, 1), "{rows:#?}");
    assert_eq!(tunnel[0]["protocol"], "gre");
    assert_eq!(tunnel[0]["expected"], "true");
    client.end();
}

#[test]
fn a_sip_call_has_media_in_both_directions() {
    let signals = calls("a_sip_call_has_media_in_both_directions", "udp");

    if let Some(signals) = signals {
        let timeout = signals["timeout"].as_str().unwrap_or_default();
        assert!(timeout.starts_with("59m") || timeout == "1h", "{timeout}");
    }
}

#[test]
fn a_sip_call_over_tcp_has_media_in_both_directions() {
    calls("a_sip_call_over_tcp_has_media_in_both_directions", "tcp");
}

/// Tests a SIP call over this protocol. Returns the row of the signalling connection.
fn calls(test: &str, over: &str) -> Option<serde_json::Value> {
    let (lab, router) = home(test, &[])?;
    let _server = serve(&lab, "server", &["sip-serve", SERVER[0], over]);

    let mut client = Client::begin(&lab, "client", &["sip", SERVER[0], over]);

    // Both endpoints in the message are the router's address, and the stream comes from the other port.
    let first = format!("first {OUTSIDE} {OUTSIDE} {} 8000", SERVER[0]);
    assert_eq!(client.line(), first);
    assert_eq!(client.line(), format!("heard hello {OUTSIDE}"));
    let rows = router.rows("/ip/firewall/connection/print where connection-type=sip");
    let (mut signals, streams): (Vec<_>, Vec<_>) = rows
        .into_iter()
        .partition(|row| row["uses-helper"] == "true");
    assert_eq!((signals.len(), streams.len()), (1, 1), "{streams:#?}");
    assert_eq!(streams[0]["expected"], "true");
    assert_eq!(signals[0]["protocol"], over);
    client.end();
    signals.pop()
}

#[test]
fn an_rtsp_stream_reaches_its_client() {
    let Some((lab, router)) = home("an_rtsp_stream_reaches_its_client", &[]) else {
        return;
    };
    let _server = serve(&lab, "server", &["rtsp-serve"]);
    // RouterOS: this helper is disabled by default.
    let mut client = Client::begin(&lab, "client", &["rtsp", SERVER[0], "0.5"]);
    assert_eq!(client.line(), "nothing");
    client.end();

    router.exec("/ip/firewall/service-port/set rtsp disabled=no");
    let mut client = Client::begin(&lab, "client", &["rtsp", SERVER[0]]);

    let stream = format!("stream to {OUTSIDE} {} 6256 5000", SERVER[0]);
    assert_eq!(client.line(), stream);
    assert_eq!(client.line(), format!("heard report {OUTSIDE}"));
    client.end();
}
