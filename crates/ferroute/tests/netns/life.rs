//! Tests start and end of the router: refused starts, orderly stops, kills, and the state of the machine afterwards.

use std::env;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use lab::Lab;

use crate::drivers::devices;
use crate::world::{
    Folder, PACKET, Router, Start, XDP, binary, driver_works, have, lab, layout, run, text, until,
    works,
};

const PING: &str = "ping -q -c 3 -i 0.01 -W 10 203.0.113.1";

/// Adds addresses of the machine to the devices; the router has to restore them.
fn furnish(lab: &Lab) {
    run(lab, "router", "ip address add 10.9.8.7/24 dev ether1");
    run(
        lab,
        "router",
        "ip address add 2001:db8:9::7/64 dev ether2 nodad",
    );
}

/// Returns the processes in the router's namespace.
fn inhabitants(lab: &Lab) -> Vec<String> {
    let namespace = lab.namespace("router").expect("every layout has one");
    let inside = fs::metadata(namespace).expect("the lab is up");
    let same = |path: &str| {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(path).is_ok_and(|found| found.ino() == inside.ino())
    };
    let processes = fs::read_dir("/proc").expect("this is Linux");
    let numbers = processes.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    numbers
        .filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        .filter(|number| same(&format!("/proc/{number}/ns/net")))
        .filter_map(|number| fs::read_to_string(format!("/proc/{number}/comm")).ok())
        .filter(|name| name.trim() == "ferroute")
        .collect()
}

#[test]
fn an_orderly_stop_restores_the_machine_and_keeps_only_the_state() {
    let test = "an_orderly_stop_restores_the_machine_and_keeps_only_the_state";
    for driver in [PACKET, XDP] {
        let Some(lab) = have(test, &["ping"])
            .then(|| lab(test, layout("plain")))
            .flatten()
        else {
            return;
        };
        if !driver_works(test, &lab, driver) {
            continue;
        }
        furnish(&lab);
        let before = devices(&lab);
        let router = Router::start(&lab, &Start::with(driver, layout("plain").config));
        run(&lab, "client", PING);
        assert!(
            !run(&lab, "router", "ip -o address").contains("10.9.8.7"),
            "not taken over"
        );
        let control = router.control();
        assert!(control.exists());
        assert_eq!(router.status("Umask:"), "0077", "others read its files");

        let status = router.stop();

        assert!(status.success(), "{status}");
        assert_eq!(devices(&lab), before);
        assert!(!control.exists());
        assert_eq!(inhabitants(&lab), Vec::<String>::new());
    }
}

/// Sends router solicitations until an advertisement arrives. Prints the router lifetime of each advertisement, until
/// one with lifetime 0 or for half a minute.
const FAREWELL: &str = "import socket,struct,time\n\
                        s=socket.socket(socket.AF_INET6,socket.SOCK_RAW,socket.IPPROTO_ICMPV6)\n\
                        index=struct.pack('@I',socket.if_nametoindex('eth0'))\n\
                        group=lambda name: socket.inet_pton(socket.AF_INET6,name)\n\
                        s.setsockopt(41,socket.IPV6_JOIN_GROUP,group('ff02::1')+index)\n\
                        s.setsockopt(41,socket.IPV6_MULTICAST_HOPS,255)\n\
                        s.setsockopt(41,socket.IPV6_MULTICAST_IF,index)\n\
                        s.settimeout(.2);seen=None;end=time.time()+30\n\
                        while seen!=0 and time.time()<end:\n\
                        \x20try: m=s.recv(2000)\n\
                        \x20except TimeoutError:\n\
                        \x20\x20if seen is None: s.sendto(bytes([133,0,0,0,0,0,0,0]),('ff02::2',0))\n\
                        \x20\x20continue\n\
                        \x20if m[0]==134: seen=int.from_bytes(m[6:8],'big');print(seen,flush=True)\n";

#[test]
fn a_stopping_router_advertises_its_end_to_hosts() {
    let test = "a_stopping_router_advertises_its_end_to_hosts";
    let Some(lab) = have(test, &["python3"])
        .then(|| lab(test, layout("static")))
        .flatten()
    else {
        return;
    };
    let router = Router::start(&lab, &Start::with(PACKET, layout("static").config));
    let listens = ["python3", "-c", FAREWELL].map(str::to_owned);
    let mut listener = lab
        .command_line("client", &listens)
        .expect("a host of the layout");
    let mut listener = listener
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 is there");
    let heard = std::io::BufReader::new(listener.stdout.take().expect("it is piped"));
    let mut heard = std::io::BufRead::lines(heard).map_while(Result::ok);
    assert_eq!(heard.next().as_deref(), Some("1800"));

    let status = router.stop();

    assert!(status.success(), "{status}");
    assert_eq!(heard.last().as_deref(), Some("0"));
    assert!(listener.wait().is_ok_and(|status| status.success()));
}

#[test]
fn the_start_after_a_kill_cleans_up_everything() {
    let test = "the_start_after_a_kill_cleans_up_everything";
    let kills: u32 = env::var("FERROUTE_KILLS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(6);
    for driver in [PACKET, XDP] {
        let Some(lab) = have(test, &["ping"])
            .then(|| lab(test, layout("plain")))
            .flatten()
        else {
            return;
        };
        if !driver_works(test, &lab, driver) {
            continue;
        }
        furnish(&lab);
        let before = devices(&lab);
        let folder = Folder::new();
        let state = folder.file("state");
        let start = Start {
            state: Some(&state),
            ..Start::with(driver, layout("plain").config)
        };

        // The kills hit all phases of a start, from before it begins until long after it forwards. Steps of the golden
        // ratio spread the moments evenly.
        for kill in 0..kills {
            let moment = (f64::from(kill) * 0.618_034).fract() * 0.4;
            Router::spawn(&lab, &start).kill_after(Duration::from_secs_f64(moment));
        }
        let mut router = Router::start(&lab, &start);
        run(&lab, "client", PING);
        // The next router may start before the kernel has closed the devices of the killed one.
        router.begin_kill();
        let next = Router::start(&lab, &start);
        run(&lab, "client", PING);
        router.kill();

        assert!(next.stop().success());
        assert_eq!(devices(&lab), before);
    }
}

#[test]
fn a_router_restarts_although_its_devices_got_default_routes() {
    let test = "a_router_restarts_although_its_devices_got_default_routes";
    let Some(lab) = have(test, &["ping"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let folder = Folder::new();
    let (state, other) = (folder.file("state"), folder.file("other"));
    let start = Start {
        state: Some(&state),
        ..Start::with(PACKET, layout("plain").config)
    };
    assert!(Router::start(&lab, &start).stop().success());
    // The kernel adds such a route for a router advertisement.
    run(
        &lab,
        "router",
        "ip -6 route add default via fe80::99 dev ether1 proto ra",
    );
    assert!(Router::start(&lab, &start).stop().success());
    // A DHCP client of the machine adds such a route.
    run(&lab, "router", "ip route add default dev ether1");
    let router = Router::start(&lab, &start);
    run(&lab, "client", PING);
    assert!(router.stop().success());

    let stranger = Start {
        state: Some(&other),
        ..start
    };
    let ended = Router::try_start(&lab, &stranger).expect_err("it is the machine's");

    let said = "ether1 carries this machine's default route";
    assert!(ended.log.contains(said), "{}", ended.log);
}

#[test]
fn a_configuration_with_an_error_is_refused_with_its_position_and_not_applied() {
    let test = "a_configuration_with_an_error_is_refused_with_its_position_and_not_applied";
    let Some(lab) = lab(test, layout("plain")) else {
        return;
    };
    furnish(&lab);
    let before = devices(&lab);
    let config =
        "/ip address\nadd address=192.168.88.1/24 interface=ether2\nadd adress=1.2.3.4/24\n";

    let ended = Router::try_start(&lab, &Start::with(PACKET, config));

    let ended = ended.expect_err("the third line is wrong");
    assert_eq!(ended.status.code(), Some(1), "{}", ended.log);
    assert!(ended.log.contains("(line 3 column "), "{}", ended.log);
    assert_eq!(devices(&lab), before);

    let folder = Folder::new();
    fs::write(folder.file("bad.rsc"), config).expect("a folder of our own");
    let mut check = Command::new(binary());
    check
        .arg("check")
        .arg(folder.file("bad.rsc"))
        .stdin(Stdio::null());
    let output = check.output().expect("the binary under test exists");
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let place = ended
        .log
        .split_once("(line 3")
        .and_then(|(_, rest)| rest.split(')').next());
    let place = format!("(line 3{})", place.expect("asserted above"));
    assert!(said.contains(&place), "{said}");
}

#[test]
fn a_second_router_cannot_take_the_devices_of_the_first() {
    let test = "a_second_router_cannot_take_the_devices_of_the_first";
    let Some(lab) = have(test, &["ping"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let start = Start::with(PACKET, layout("plain").config);
    let first = Router::start(&lab, &start);
    run(&lab, "client", PING);

    for arguments in [[].as_slice(), &["--take"]] {
        let second = Start {
            arguments,
            ..start.clone()
        };
        let ended = Router::try_start(&lab, &second).expect_err("the first has them");

        let said = "another router uses ether1: process ";
        assert!(ended.log.contains(said), "{}", ended.log);
        run(&lab, "client", PING);
    }
    first.kill();
    // With its own state folder, the second router does not know the saved settings of the devices.
    let ended = Router::try_start(&lab, &start).expect_err("the first has not given them back");
    let said = "a killed router did not restore ether1; start once with";
    assert!(ended.log.contains(said), "{}", ended.log);
    let told = Start {
        arguments: &["--take"],
        ..start
    };
    let next = Router::start(&lab, &told);
    run(&lab, "client", PING);
    assert!(next.stop().success());
}

#[test]
fn an_invalid_port_name_is_refused_with_the_valid_names() {
    let test = "an_invalid_port_name_is_refused_with_the_valid_names";
    let Some(lab) = lab(test, layout("plain")) else {
        return;
    };
    furnish(&lab);
    let before = devices(&lab);
    let start = Start {
        ports: vec!["wan=packet:ether1".into()],
        ..Start::with(PACKET, "")
    };

    let ended = Router::try_start(&lab, &start).expect_err("no port is called wan");

    let said = "port wan: ports have RouterOS's default names, such as ether1";
    assert!(ended.log.contains(said), "{}", ended.log);
    assert_eq!(ended.status.code(), Some(1));
    assert_eq!(devices(&lab), before);
}

#[test]
fn a_device_may_be_given_by_an_alternative_name_but_only_once() {
    let test = "a_device_may_be_given_by_an_alternative_name_but_only_once";
    let Some(lab) = have(test, &["ping"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let name = "the-uplink-of-this-house";
    let line = format!("ip link property add dev ether1 altname {name}");
    run(&lab, "router", &line);
    let before = devices(&lab);
    let twice = Start {
        ports: vec![format!("ether1={name}"), "ether2=ether1".into()],
        ..Start::with(PACKET, layout("plain").config)
    };
    let ended = Router::try_start(&lab, &twice).expect_err("it is the same device");
    let said = "port ether2 (ether1): port ether1 has this device already, whose name is ether1";
    assert!(ended.log.contains(said), "{}", ended.log);
    assert_eq!(devices(&lab), before);

    let once = Start {
        ports: vec![format!("ether1={name}"), "ether2=ether2".into()],
        ..twice
    };
    let router = Router::start(&lab, &once);

    run(&lab, "client", PING);
    let said = format!("ether1: {name}, which is ether1, by packet");
    assert!(router.log().contains(&said), "{}", router.log());
    assert!(router.stop().success());
    assert_eq!(devices(&lab), before);
}

#[test]
fn the_device_of_the_default_route_is_taken_only_with_take() {
    let test = "the_device_of_the_default_route_is_taken_only_with_take";
    let Some(lab) = have(test, &["ping"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    furnish(&lab);
    run(
        &lab,
        "router",
        "ip route add default via 10.9.8.1 dev ether1",
    );
    let before = devices(&lab);
    let start = Start::with(PACKET, layout("plain").config);

    let ended = Router::try_start(&lab, &start).expect_err("it carries the default route");

    assert!(
        ended.log.contains("ether1") && ended.log.contains("--take"),
        "{}",
        ended.log
    );
    assert_eq!(devices(&lab), before);
    let router = Router::start(
        &lab,
        &Start {
            arguments: &["--take"],
            ..start
        },
    );
    run(&lab, "client", PING);
    assert!(router.stop().success());
    let routes = run(&lab, "router", "ip route");
    assert!(
        routes.contains("default via 10.9.8.1 dev ether1"),
        "{routes}"
    );
}

#[test]
fn a_change_at_the_console_takes_effect_on_packets() {
    let test = "a_change_at_the_console_takes_effect_on_packets";
    let Some(lab) = have(test, &["ping"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let router = Router::start(&lab, &Start::with(PACKET, layout("plain").config));
    let remote = "ping -q -c 1 -W 1 198.51.100.80";
    until("packets pass", || works(&lab, "client", remote));

    router.exec("/ip/route/add dst-address=198.51.100.80/32 blackhole");
    until("the blackhole swallows them", || {
        !works(&lab, "client", remote)
    });
    router.exec("/ip/route/remove [find dst-address=198.51.100.80/32]");

    until("packets pass again", || works(&lab, "client", remote));
}
