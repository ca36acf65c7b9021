//! Tests `/tool/graphing` and `/tool/profile` against what the client sent and what Linux counts.

use std::fs;

use crate::page::{ROUTER, page_answers};
use crate::world::{Folder, PACKET, Router, Server, Start, have, lab, layout, output, text, until};

const CONFIG: &str = "/user set admin password=Sesamesesame1\n/ip service set www disabled=no\n\
    /queue simple add name=lan target=192.168.88.0/24 max-limit=800M/800M\n\
    /tool graphing set store-every=5min page-refresh=60\n\
    /tool graphing interface add interface=ether2 allow-address=192.168.88.0/24\n\
    /tool graphing queue add simple-queue=lan allow-address=10.99.0.0/16 allow-target=yes\n\
    /tool graphing resource add allow-address=10.99.0.0/16\n";

/// Returns the figure behind a label such as `Max In: ` in bits per second.
fn bits(page: &str, label: &str) -> f64 {
    let behind = page.split(label).nth(1).unwrap_or_default();
    let figure = behind.split(';').next().unwrap_or_default();
    let units = [("Gb", 1e9), ("Mb", 1e6), ("kb", 1e3), ("b", 1.0)];
    let found = units.iter().find_map(|(unit, scale)| {
        let number: f64 = figure.strip_suffix(unit)?.parse().ok()?;
        Some(number * scale)
    });
    found.unwrap_or_else(|| panic!("no figure {label} in {page}"))
}

#[test]
fn graphs_show_what_was_sent_to_allowed_clients_and_survive_a_stop() {
    let test = "graphs_show_what_was_sent_to_allowed_clients_and_survive_a_stop";
    let Some(lab) = have(test, &["curl", "ping"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let config = format!("{}\n{CONFIG}", layout("plain").config);
    let folder = Folder::new();
    let state = folder.file("state");
    let start = Start {
        state: Some(&state),
        ..Start::with(PACKET, &config)
    };
    let page = |path: &str| {
        let line = format!("curl -s http://{ROUTER}/graphs{path}");
        text(&output(&lab, "client", &line).stdout)
    };
    let router = Router::start(&lab, &start);
    page_answers(&lab);
    // At most 50 frames of 1,042 bytes a second, 416.8 kbit/s in each direction; fewer where the kernel's timers are
    // coarse.
    let line = "ping -i 0.02 -s 1000 203.0.113.1";
    let ping = Server::start(&lab, "client", line, "bytes from");
    for path in ["/iface/ether2/", "/queue/lan/"] {
        until("the graph has its rate", || {
            let shown = page(path);
            let [received, sent] =
                ["Current In: ", "Current Out: "].map(|label| bits(&shown, label));
            // The pages that this test reads are sent, too.
            (200e3..430e3).contains(&received) && sent >= 200e3
        });
    }
    let index = page("/");
    assert!(index.contains("/graphs/iface/ether2/") && index.contains("/graphs/queue/lan/"));
    assert!(
        !index.contains("ether1") && !index.contains("cpu"),
        "{index}"
    );
    assert!(index.contains("content=\"60\""), "{index}");
    for refused in ["/cpu/", "/iface/ether1/", "/iface/none/", "/x/"] {
        assert!(page(refused).contains("404"), "{refused}");
    }
    let picture = page("/iface/ether2/recent.svg");
    assert!(
        picture.starts_with("<svg") && picture.contains("polygon"),
        "{picture}"
    );

    let daily = || {
        let shown = page("/queue/lan/");
        // The last time in the title of the picture, before its figures.
        let daily = shown.split("Daily").last().unwrap_or_default().to_owned();
        bits(&daily, "Max In: ")
    };
    until("a minute has passed", || daily() > 1e3);
    drop(ping);
    let before = daily();
    // An orderly stop stores the minutes that wait for `store-every`.
    assert!(router.stop().success());
    let router = Router::start(&lab, &start);
    page_answers(&lab);
    assert!(daily() >= before * 0.9, "{} after {before}", daily());
    assert!(router.stop().success());
}

#[test]
fn a_profile_tells_interfaces_threads_and_other_processes_apart() {
    let test = "a_profile_tells_interfaces_threads_and_other_processes_apart";
    let Some(lab) = have(test, &["ping"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let rule = "/ip firewall filter add chain=forward action=passthrough comment=all";
    let config = format!("{}\n{rule}\n", layout("plain").config);
    let router = Router::start(&lab, &Start::with(PACKET, &config));
    let ping = Server::start(&lab, "client", "ping -i 0.002 203.0.113.1", "bytes from");
    // The last line of an update that begins with this name, behind the name.
    let line = |arguments: &str, name: &str| {
        let shown = router.exec(&format!("/tool/profile duration=2s {arguments}"));
        let mut lines = shown.lines().rev();
        lines.find_map(|line| line.trim_start().strip_prefix(name).map(str::to_owned))
    };
    for name in ["ether1", "ether2"] {
        until("the interface has its share and error", || {
            let line = line("by=interface", name).unwrap_or_default();
            line.matches('%').count() == 2
        });
    }
    until("the rule has its share", || {
        line("by=rule", "ip/firewall/filter 0").is_some()
    });
    drop(ping);

    // Another process that takes a processor is no work of the router.
    let folder = Folder::new();
    let script = folder.file("spin.sh");
    fs::write(&script, "echo spins; while :; do :; done\n").expect("a folder of our own");
    let spin = Server::start(&lab, "client", &format!("sh {}", script.display()), "spins");
    let percent = |line: String| -> f64 {
        let usage = line.trim().split('%').next().unwrap_or_default().to_owned();
        usage.parse().unwrap_or(0.0)
    };
    let cores = fs::read_to_string("/proc/stat").expect("Linux");
    let cores = cores.lines().filter(|line| line.starts_with("cpu")).count() - 1;
    let wanted = 50.0 / cores as f64;
    until("the other process has its share", || {
        line("", "other-processes").is_some_and(|line| percent(line) > wanted)
    });
    drop(spin);
    let refused = text(&router.command("/tool/profile by=user duration=1s").stderr);
    assert!(refused.contains("by"), "{refused}");
    assert!(router.stop().success());
}
