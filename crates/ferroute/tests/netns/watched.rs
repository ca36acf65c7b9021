//! What tells others how the router is: metrics, health, and logs that go elsewhere.

use std::fs;

use lab::Lab;

use crate::pair::{PAIR, PEER, ROUTER, start};
use crate::world::{Folder, Server, have, lab, shell, until};

/// A lab with these programs, if this machine can have one.
fn world(test: &str, programs: &[&str]) -> Option<Lab> {
    have(test, programs).then(|| lab(test, &PAIR)).flatten()
}

#[test]
fn prometheus_reads_what_is_counted_and_only_users_do() {
    let test = "prometheus_reads_what_is_counted_and_only_users_do";
    let Some(lab) = world(test, &["curl"]) else {
        return;
    };
    let _router = start(
        &lab,
        "/user add name=prom group=read password=prom\n\
         /ip firewall filter add chain=input action=accept comment=all\n\
         /ip service set www disabled=no\n",
    );
    let get = |path: &str, more: &str| {
        let ask = format!("curl -s -m 5 -w '%{{http_code}}' {more} http://{ROUTER}{path} || true");
        shell(&lab, "peer", &ask)
    };
    until("the router is ready", || get("/readyz", "") == "ok\n200");
    assert_eq!(get("/healthz", ""), "ok\n200");
    assert!(get("/metrics", "").ends_with("401"));

    let page = get("/metrics", "-u prom:prom");
    assert!(page.ends_with("200"), "{page}");
    let value = |row: &str| {
        let line = page.lines().find(|line| line.starts_with(row));
        let line = line.unwrap_or_else(|| panic!("no {row} in {page}"));
        line.rsplit(' ')
            .next()
            .and_then(|value| value.parse::<u64>().ok())
    };
    let received = "ferroute_interface_receive_packets_total{interface=\"ether1\"}";
    assert!(value(received).is_some_and(|packets| packets > 5));
    assert!(value("ferroute_rule_packets_total{table=\"ip/firewall/filter\"") > Some(5));
    assert!(value("ferroute_connections{family=\"ipv4\"}") > Some(0));
}

#[test]
fn logs_go_to_a_server_by_tcp_and_wait_for_one_that_is_away() {
    let test = "logs_go_to_a_server_by_tcp_and_wait_for_one_that_is_away";
    let Some(lab) = world(test, &["python3"]) else {
        return;
    };
    let folder = Folder::new();
    let file = folder.file("lines");
    let router = start(
        &lab,
        &format!(
            "/system logging action add name=far target=remote remote={PEER} remote-port=6514 \
             remote-protocol=tcp remote-log-format=syslog\n\
             /system logging add topics=script action=far\n"
        ),
    );
    router.exec("/log/info \"said before it is there\"");
    let program = format!(
        "import socket,sys\ns=socket.create_server((\"{PEER}\",6514))\nprint(\"listening\",flush=True)\n\
         c,_=s.accept()\nf=open(\"{}\",\"wb\",buffering=0)\n\
         while True:\n d=c.recv(999)\n if not d: break\n f.write(d)",
        file.display()
    );
    let argv = ["python3".to_owned(), "-c".to_owned(), program];
    let command = lab.command_line("peer", &argv);
    let _server = Server::begin(command.expect("a host of the layout"), "listening");

    router.exec("/log/warning \"said after\"");
    let lines = || fs::read_to_string(&file).unwrap_or_default();
    until("both entries have come", || lines().lines().count() == 2);
    let lines = lines();
    assert!(lines.contains("said before it is there\n"), "{lines}");
    assert!(
        lines.starts_with("<29>") || lines.starts_with("<30>"),
        "{lines}"
    );
}
