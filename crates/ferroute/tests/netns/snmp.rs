//! Tests SNMP with net-snmp's commands: versions 1, 2c and 3, both families, walks, settings, traps.

use lab::Lab;

use crate::bridge::{THREE, start};
use crate::world::{Folder, Server, have, lab, output, run, until, works};

const CONFIG: &str = "/ip address add address=192.0.2.1/24 interface=ether1\n\
     /ipv6 address add address=2001:db8:2::1/64 interface=ether1 advertise=no\n\
     /system identity set name=agent\n\
     /interface ethernet set ether1 comment=\"to the hosts\"\n\
     /interface bridge add name=lan\n\
     /snmp set enabled=yes contact=noc location=\"in the lab\" engine-id-suffix=lab\n\
     /snmp community set [find default=yes] addresses=192.0.2.0/24,2001:db8:2::/64\n\
     /snmp community add name=writer write-access=yes\n\
     /snmp community add name=far addresses=198.51.100.0/24\n\
     /snmp community add name=signed security=authorized authentication-protocol=MD5 \
       authentication-password=authentication encryption-protocol=DES encryption-password=encryption\n\
     /snmp community add name=secret security=private authentication-protocol=SHA1 \
       authentication-password=authentication encryption-protocol=AES encryption-password=encryption\n";

/// Runs a net-snmp command with numeric OIDs. Returns its output.
fn says(lab: &Lab, command: &str) -> String {
    let (name, rest) = command.split_once(' ').expect("arguments");
    run(lab, "one", &format!("{name} -On -t 2 -r 2 {rest}"))
}

fn lines(said: &str) -> usize {
    said.lines().filter(|line| line.starts_with('.')).count()
}

#[test]
fn managers_of_all_versions_read_the_same() {
    let test = "managers_of_all_versions_read_the_same";
    let needs = ["snmpget", "snmpbulkwalk", "snmpwalk", "snmpset"];
    let Some(lab) = have(test, &needs).then(|| lab(test, &THREE)).flatten() else {
        return;
    };
    let router = start(&lab, CONFIG);
    let name = ".1.3.6.1.2.1.1.5.0";
    until("the agent answers", || {
        works(
            &lab,
            "one",
            &format!("snmpget -v2c -c public -t 1 192.0.2.1 {name}"),
        )
    });
    let md5 = "-v3 -u signed -a MD5 -A authentication";
    for asks in [
        "-v1 -c public 192.0.2.1",
        "-v2c -c public 192.0.2.1",
        "-v2c -c public udp6:[2001:db8:2::1]",
        "-v3 -u public -l noAuthNoPriv 192.0.2.1",
        &format!("{md5} -l authNoPriv 192.0.2.1"),
        &format!("{md5} -l authPriv -x DES -X encryption 192.0.2.1"),
        "-v3 -u secret -l authPriv -a SHA -A authentication -x AES -X encryption 192.0.2.1",
    ] {
        let said = says(&lab, &format!("snmpget {asks} {name}"));
        assert!(said.contains("STRING: \"agent\""), "{asks}: {said}");
    }
    for refused in [
        "-v2c -c far 192.0.2.1",
        "-v2c -c secret 192.0.2.1",
        "-v3 -u secret -l authNoPriv -a SHA -A authentication 192.0.2.1",
        "-v3 -u secret -l authPriv -a SHA -A wrongwrong -x AES -X encryption 192.0.2.1",
    ] {
        let ask = format!("snmpget -t 1 -r 0 {refused} {name}");
        assert!(!works(&lab, "one", &ask), "{refused}");
    }

    walks(&lab);
    assert!(router.stop().success());
}

fn walks(lab: &Lab) {
    // A walk by single requests and one by bulk requests give the same result.
    let one_by_one = says(lab, "snmpwalk -v2c -c public 192.0.2.1 .1.3");
    let in_bulk = says(lab, "snmpbulkwalk -v2c -Cr30 -c public 192.0.2.1 .1.3");
    assert_eq!(lines(&one_by_one), lines(&in_bulk));
    for (oid, value) in [
        (".1.3.6.1.2.1.1.1.0", "STRING: \"RouterOS "),
        (".1.3.6.1.2.1.1.2.0", "OID: .1.3.6.1.4.1.14988.1"),
        (".1.3.6.1.2.1.1.4.0", "\"noc\""),
        (".1.3.6.1.2.1.1.6.0", "\"in the lab\""),
        (".1.3.6.1.2.1.4.20.1.1.192.0.2.1", "IpAddress: 192.0.2.1"),
        (".1.3.6.1.2.1.25.2.3.1.3.65536", "\"main memory\""),
        (".1.3.6.1.2.1.25.3.3.1.2.1", "INTEGER: "),
        (".1.3.6.1.4.1.14988.1.1.4.4.0", "STRING: \"7."),
    ] {
        let line = in_bulk
            .lines()
            .find(|line| line.starts_with(&format!("{oid} ")));
        assert!(
            line.is_some_and(|line| line.contains(value)),
            "{oid}: {line:?}"
        );
    }
    // The interface has the same index in all tables, its comment, and growing counters.
    let row = |text: &str| {
        let line = in_bulk.lines().find(|line| line.contains(text));
        let oid = line.and_then(|line| line.split(' ').next());
        oid.and_then(|oid| oid.rsplit('.').next())
            .map(str::to_owned)
    };
    let index = row("STRING: \"ether1\"").expect("the port");
    assert_eq!(row("\"to the hosts\""), Some(index.clone()));
    let column = |oid: &str| format!("{oid}.{index}");
    let counted = |oid: &str| -> u64 {
        let said = says(
            lab,
            &format!("snmpget -v2c -c public 192.0.2.1 {}", column(oid)),
        );
        let value = said
            .trim()
            .rsplit(' ')
            .next()
            .and_then(|value| value.parse().ok());
        value.unwrap_or_else(|| panic!("{said}"))
    };
    let octets = ".1.3.6.1.2.1.31.1.1.1.6";
    let before = counted(octets);
    run(lab, "one", "ping -q -c 5 -i 0.1 -s 1000 192.0.2.1");
    assert!(counted(octets) >= before + 5_000);
}

/// Requested OIDs, and a part of the expected answer.
const TOLD: &[(&str, &str)] = &[
    (
        ".1.3.6.1.4.1.14988.1.1.6.1",
        ".14988.1.1.6.1.0 = Gauge32: 1",
    ),
    (".1.3.6.1.4.1.14988.1.1.2.1.1.2", "STRING: \"q1\""),
    (".1.3.6.1.4.1.14988.1.1.2.1.1.3", "IpAddress: 192.0.2.50"),
    (".1.3.6.1.4.1.14988.1.1.2.1.1.8", "Counter64: 0"),
    (".1.3.6.1.4.1.14988.1.1.2.2.1.2", "STRING: \"t1\""),
    (".1.3.6.1.4.1.14988.1.1.2.2.1.7", "Counter64: 0"),
    (
        ".1.3.6.1.2.1.4.22.1.2",
        ".192.0.2.77 = Hex-STRING: 02 00 00 00 00 77",
    ),
    (".1.3.6.1.2.1.4.22.1.4", "INTEGER: 4"),
    (".1.3.6.1.2.1.4.24.3", "Gauge32: "),
    (
        ".1.3.6.1.2.1.4.24.4.1.1",
        ".198.51.100.0.255.255.255.0.0.192.0.2.77 = IpAddress: 198.51.100.0",
    ),
    (".1.3.6.1.2.1.6.9", "Gauge32: "),
    (".1.3.6.1.2.1.7.1", "Counter32: "),
    (".1.3.6.1.2.1.17.1.1", "Hex-STRING: "),
    (".1.3.6.1.2.1.17.1.4.1.2", "INTEGER: "),
    (".1.3.6.1.2.1.17.2.1", "INTEGER: 3"),
    (".1.3.6.1.2.1.17.4.3.1.1", "Hex-STRING: "),
    (".1.0.8802.1.1.2.1.3.7.1.3", "STRING: \"ether1\""),
    (".1.3.6.1.2.1.25.3.2.1.2", "OID: .1.3.6.1.2.1.25.3.1.3"),
];

/// Tests the tables that monitoring systems read from a router besides its interfaces. OIDs and types are those of
/// recorded walks of RouterOS devices.
#[test]
fn managers_read_leases_queues_neighbours_routes_and_hosts() {
    let test = "managers_read_leases_queues_neighbours_routes_and_hosts";
    let needs = ["snmpget", "snmpwalk", "snmpbulkwalk"];
    let Some(lab) = have(test, &needs).then(|| lab(test, &THREE)).flatten() else {
        return;
    };
    let more = "/interface bridge port add bridge=lan interface=ether2\n\
         /queue simple add name=q1 target=192.0.2.50/32 max-limit=1M/1M\n\
         /queue tree add name=t1 parent=global packet-mark=m max-limit=1M\n\
         /ip dhcp-server lease add address=192.0.2.50 mac-address=02:00:00:00:00:50\n\
         /ip arp add address=192.0.2.77 mac-address=02:00:00:00:00:77 interface=ether1\n\
         /ip route add dst-address=198.51.100.0/24 gateway=192.0.2.77\n";
    let router = start(&lab, &[CONFIG, more].concat());
    let walk = |oid: &str| says(&lab, &format!("snmpwalk -v2c -c public 192.0.2.1 {oid}"));
    until("the agent answers", || {
        works(
            &lab,
            "one",
            "snmpget -v2c -c public -t 1 192.0.2.1 .1.3.6.1.2.1.1.5.0",
        )
    });
    for (oid, shown) in TOLD {
        let said = walk(oid);
        assert!(said.contains(shown), "{oid}: {said}");
    }
    // A new item appears in the next answer.
    router.exec("/queue simple add name=q2 target=192.0.2.51/32 max-limit=1M/1M");
    until("the second queue is told", || {
        walk(TOLD[1].0).contains("\"q2\"")
    });
    assert!(router.stop().success());
}

#[test]
fn a_manager_sets_names_and_receives_traps() {
    let test = "a_manager_sets_names_and_receives_traps";
    let needs = ["snmpget", "snmpset", "snmptrapd"];
    let Some(lab) = have(test, &needs).then(|| lab(test, &THREE)).flatten() else {
        return;
    };
    let router = start(&lab, CONFIG);
    let name = ".1.3.6.1.2.1.1.5.0";
    until("the agent answers", || {
        works(
            &lab,
            "one",
            &format!("snmpget -v2c -c public -t 1 192.0.2.1 {name}"),
        )
    });
    let set = |community: &str| format!("snmpset -v2c -c {community} 192.0.2.1 {name} s renamed");
    assert!(!works(&lab, "one", &set("public")));
    assert!(works(&lab, "one", &set("writer")));
    until("the name is the new one", || {
        router.exec("/system/identity/print").contains("renamed")
    });

    let folder = Folder::new();
    let log = folder.file("traps");
    let listens = format!(
        "snmptrapd -f -n -On --disableAuthorization=yes -Lo -Lf {} udp:192.0.2.11:162",
        log.display()
    );
    let hears = Server::start(&lab, "one", &listens, "NET-SNMP version");
    router.exec(
        "/snmp/set trap-target=192.0.2.11 trap-version=2 trap-generators=interfaces trap-interfaces=all",
    );
    let heard = |text: &str| {
        std::fs::read_to_string(&log)
            .unwrap_or_default()
            .contains(text)
    };
    until("a trap is heard", || {
        router.exec("/snmp/send-trap oid=1.3.6.1.4.1.14988.1.1.99 type=string value=hello");
        heard("hello")
    });
    output(&lab, "three", "ip link set eth0 down");
    // linkDown (RFC 3418)
    until("a link is told of", || heard(".1.3.6.1.6.3.1.1.5.3"));
    drop(hears);
    assert!(router.stop().success());
}

/// Measures walks with many interfaces, in an optimised build: `cargo test --release -- --ignored walks_of`.
#[test]
#[ignore = "measures"]
fn walks_of_ten_thousand_interfaces_are_quick() {
    const EACH: usize = 3_333;
    let test = "walks_of_ten_thousand_interfaces_are_quick";
    let Some(lab) = have(test, &["snmpbulkwalk"])
        .then(|| lab(test, &THREE))
        .flatten()
    else {
        return;
    };
    let mut config = CONFIG.to_owned();
    for port in 1..=3 {
        config += "/interface vlan\n";
        for id in 1..=EACH {
            config += &format!("add name=v{port}-{id} interface=ether{port} vlan-id={id}\n");
        }
    }
    let begun = std::time::Instant::now();
    let router = start(&lab, &config);
    println!("start: {:?}", begun.elapsed());
    let walk = |how: &str, oid: &str| {
        let (begun, ticks) = (std::time::Instant::now(), router.ticks());
        let said = says(
            &lab,
            &format!("snmpbulkwalk -v2c {how} -c public 192.0.2.1 {oid}"),
        );
        let (took, count) = (begun.elapsed(), lines(&said));
        println!(
            "{oid} {how}: {count} values in {took:?}, {} ticks",
            router.ticks() - ticks
        );
        count
    };
    for how in ["-Cr10", "-Cr50"] {
        assert!(walk(how, ".1.3.6.1.2.1.2.2.1.2") > 3 * EACH);
        assert!(walk(how, ".1.3.6.1.2.1.2.2.1.10") > 3 * EACH);
        assert!(walk(how, ".1.3.6.1.2.1.2.2") > 21 * 3 * EACH);
    }
    assert!(router.stop().success());
}
