//! Tests the NTP client and server with chronyd.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use lab::Lab;

use crate::pair::{PAIR, PEER, ROUTER, start};
use crate::world::{Folder, Router, Server, have, lab, output, run, text, until};

/// Starts chronyd with these configuration lines; it does not change the machine's clock.
fn chronyd(lab: &Lab, folder: &Folder, lines: &str) -> Server {
    // Access to the folder permits control of chronyd.
    let own = fs::Permissions::from_mode(0o700);
    fs::set_permissions(folder.file(""), own).expect("a folder of our own");
    let file = folder.file("chrony.conf");
    let socket = folder.file("chronyd.sock");
    let lines = format!(
        "{lines}\nbindcmdaddress {}\npidfile {}\ncmdport 0\n",
        socket.display(),
        folder.file("pid").display()
    );
    fs::write(&file, lines).expect("a folder of our own");
    let line = format!("chronyd -x -d -u root -f {}", file.display());
    let argv: Vec<_> = ["sh", "-c", &format!("exec {line} 2>&1")]
        .map(str::to_owned)
        .into();
    let command = lab.command_line("peer", &argv);
    Server::begin(command.expect("a host of the layout"), "starting")
}

fn chronyc(lab: &Lab, folder: &Folder, command: &str) -> String {
    let socket = folder.file("chronyd.sock");
    let line = format!("chronyc -h {} {command}", socket.display());
    text(&output(lab, "peer", &line).stdout)
}

fn client(router: &Router, property: &str) -> String {
    let rows = router.rows("/system/ntp/client/print");
    rows[0][property].as_str().unwrap_or_default().to_owned()
}

#[test]
fn the_router_takes_the_time_from_chronyd_and_not_from_the_machine() {
    let test = "the_router_takes_the_time_from_chronyd_and_not_from_the_machine";
    let Some(lab) = have(test, &["chronyd", "chronyc"])
        .then(|| lab(test, &PAIR))
        .flatten()
    else {
        return;
    };
    let folder = Folder::new();
    let keys = folder.file("keys");
    fs::write(&keys, "7 MD5 secret\n").expect("a folder of our own");
    let served = format!("local stratum 3\nallow\nmanual\nkeyfile {}", keys.display());
    let _server = chronyd(&lab, &folder, &served);
    // One hour earlier or later, so that the date is the same.
    let hour = run(&lab, "peer", "date -u +%H")
        .trim()
        .parse()
        .unwrap_or(0_u32);
    let other = if hour == 0 { 1 } else { hour - 1 };
    let minutes = run(&lab, "peer", "date -u +%M:%S");
    let set = chronyc(
        &lab,
        &folder,
        &format!("settime {other:02}:{}", minutes.trim()),
    );
    assert!(set.contains("200 OK"), "{set}");
    let router = start(
        &lab,
        &format!(
            "/system ntp key add key-id=7 key-val=secret\n\
             /system ntp client set enabled=yes\n\
             /system ntp client servers add address={PEER} auth-key=7\n"
        ),
    );

    until("the router is synchronized", || {
        client(&router, "status") == "synchronized"
    });
    assert_eq!(client(&router, "synced-server"), PEER);
    assert_eq!(client(&router, "synced-stratum"), "3");
    // RouterOS: programs get numbers, the console shows units.
    for (property, unit) in [("system-offset", " ms"), ("freq-drift", " PPM")] {
        let told = client(&router, property);
        assert!(told.parse::<f64>().is_ok(), "{property}: {told}");
        let shown = router.exec("/system/ntp/client/print without-paging");
        let line = shown
            .lines()
            .find(|line| line.contains(&format!("{property}: ")));
        assert!(line.is_some_and(|line| line.ends_with(unit)), "{shown}");
    }
    let log = router.exec("/log/print without-paging");
    assert!(log.contains("ntp change time by"), "{log}");
    let shown = router.value("/system/clock/print", "", "time");
    // The hour may have turned since.
    let is_late = |time: &str| time.get(..2).is_some_and(|minute| minute >= "50");
    let has_turned = is_late(&minutes) && !is_late(shown.get(3..).unwrap_or_default());
    let expected = (other + u32::from(has_turned)) % 24;
    assert!(
        shown.starts_with(&format!("{expected:02}:")),
        "{shown} is not about {expected}:{minutes}"
    );
}

#[test]
fn chronyd_takes_the_time_of_the_router() {
    let test = "chronyd_takes_the_time_of_the_router";
    let Some(lab) = have(test, &["chronyd", "chronyc"])
        .then(|| lab(test, &PAIR))
        .flatten()
    else {
        return;
    };
    let router = start(
        &lab,
        "/system ntp server set enabled=yes use-local-clock=yes local-clock-stratum=4\n",
    );
    let folder = Folder::new();
    let asked = format!(
        "server {ROUTER} iburst minpoll 0 maxpoll 0\nserver 2001:db8:2::11 iburst minpoll 0 maxpoll 0"
    );
    let _client = chronyd(&lab, &folder, &asked);

    until("chronyd believes the router", || {
        let tracking = chronyc(&lab, &folder, "-n tracking");
        tracking.contains("Stratum         : 5") && tracking.contains("Leap status     : Normal")
    });
    until("chronyd reaches both addresses", || {
        let sources = chronyc(&lab, &folder, "-n -c sources");
        let reached = sources
            .lines()
            .filter(|line| line.split(',').nth(5).is_some_and(|reach| reach != "0"));
        reached.count() == 2
    });
    let drops = router.exec("/tool/drop/print without-paging");
    assert!(!drops.contains("ntp-"), "{drops}");
}
