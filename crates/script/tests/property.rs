//! Properties of the parser and of configurations that hold for all inputs.

use std::ops::ControlFlow;

use menu::{Offline, Store};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use script::{Limits, Session};

/// A configuration that uses most of the language; mutated below.
const SEED: &str = r#"# a comment
/interface ethernet
set [ find default-name=ether1 ] name=wan comment="a \"quoted\" \$text\?"
/interface vlan
add interface=wan name=vlan10 vlan-id=10; add interface=wan vlan-id=20 disabled=yes
/ip address add address=10.0.0.1/24 \
    interface=vlan10 comment="x\
    y"
/ip route add gateway=10.0.0.254%vlan10,wan distance=3 check-gateway=ping
:local a {1;2;"k"=3}; :global f do={ :return ($1 + $b) }
:foreach k,v in=$a do={ :if (($v > 1) && !($k = "z")) do={ :put "$k $[:len $v] $($v * 2)" } else={ :put no } }
:do { :error "why" } on-error={ :log info caught }
:onerror e,x in={ :put [[:parse ":return (1 . \$a)"]] } do={ :put $e }
:put [:serialize to=json value=({a={1;2};"b"="x"}) options=(json.pretty,json.no-string-conversion)]
:put ([:deserialize from=json value="{\"a\":[1,{\"b\":null}]}"]->"a"->1)
:put [:deserialize from=dsv delimiter=";" options=dsv.array value="a;b\n1;\"2\""]
:put [:convert from=hex to=base64 transform=md5 "00ff"]; :retry command={ :error x } max=3 on-error={}
:put [:execute as-string script={ :put [:pick [:rndstr length=5] 1 3] }]; :put [:time { :delay 0s }]
:put [:grep script={ :put abc } pattern="b" as-array]; :set ($a->"k"->0) 5; :put (any $a)
:put ((10.0.0.1 + 5 & 255.255.0.0) in 10.0.0.0/8 || (1h / 7s > 2)); :put [:toarray "a,b" delimiter=","]
/system script add name=s source=":put \$1; :exit"; /system script run s; /environment print
/system scheduler add name=t start-time=startup interval=1h on-event=s
/ip address { print where interface~"^vlan" && !disabled; set [find] !comment }
:put [$f 1 b=2]; /export terse
"#;

/// Pieces that a text may repeat.
const PIECES: &[&str] = &[
    "(",
    "[",
    "{",
    "\r\n",
    "\u{e9}",
    "\"$(",
    "$[",
    "[:put ",
    "1+",
    "(1.",
    "->a",
    "($a->",
    ":if (1) do={",
    "/ip address {",
    "[x]\n",
    "[$f]\n",
    "x ",
    "x=1 ",
    "as-value ",
    "[/log print file=",
    "once]",
    "]",
    "}",
    ")",
    "\"",
    ";",
    "\n",
    "\\\n",
    "#\n",
    "\t",
    "..",
    "/",
    "$a ",
    "!",
    "-",
    ">",
    "a=\"\\n$b\" ",
    "find where a=1 b ",
    ",",
];

fn limited() -> Session {
    let mut session = Session::new("test");
    session.limits = Limits {
        steps: 2_000,
        bytes: 1 << 20,
        depth: 20,
    };
    session
}

/// Asks for the classes of a text: there is one for each character.
fn inspect(store: &mut Store, text: &str) {
    struct Classes(usize);
    impl script::Rows for Classes {
        fn row(&mut self, fields: &[(&str, String)]) -> ControlFlow<()> {
            let classes = fields.iter().find(|(name, _)| *name == "highlight");
            self.0 = classes.map_or(0, |(_, classes)| classes.split(',').count());
            ControlFlow::Continue(())
        }
    }
    let arguments = [("request", "highlight"), ("input", text)];
    let arguments = arguments.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let request = script::Request {
        path: "/console/inspect".to_owned(),
        arguments: arguments.to_vec(),
        ..script::Request::default()
    };
    let (mut live, mut classes) = (Offline, Classes(0));
    let mut site = script::ExclusiveSite::new(store, &mut live);
    let done = script::request_at(&mut site, &mut limited(), &request, &mut classes);
    if done.is_ok() && text.len() < 1000 {
        assert_eq!(classes.0, text.chars().count().max(1), "{text:?}");
    }
}

fn exercise(text: &str) {
    let mut store = schema::store();
    let mut out = String::new();
    let _ = script::run(&mut store, &mut Offline, &mut limited(), text, &mut out);
    let _ = script::import(&mut store, &mut Offline, &mut limited(), text, &mut out);
    let report = script::check(&mut schema::store(), text);
    assert_eq!(report.commands, report.accepted + report.refused.len());
    let _ = script::parse_text(store.menus(), text);
    let _ = script::highlight(&store, "/ip", text);
    inspect(&mut store, text);
    let _ = script::complete(&store, &limited(), text, text.len() / 2);
    let _ = script::complete(&store, &limited(), text, text.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_mutated_text_is_refused_or_run_but_never_panics(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 1..12)
    ) {
        let mut bytes = SEED.as_bytes().to_vec();
        for (place, byte, how) in edits {
            let at = place.index(bytes.len().max(1));
            match how {
                _ if bytes.is_empty() => bytes.push(byte),
                0 => bytes[at] = byte,
                1 => bytes.insert(at, b"{}[]()\"$\\;=/: \n"[usize::from(byte) % 15]),
                2 => drop(bytes.remove(at)),
                _ => bytes.truncate(at.max(1)),
            }
        }
        exercise(&menu::bytes::from_bytes(&bytes));
    }

    #[test]
    fn any_bytes_are_refused_or_run_but_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        exercise(&menu::bytes::from_bytes(&bytes));
    }

    #[test]
    fn an_export_makes_the_configuration_again(commands in prop::collection::vec(command(), 1..40)) {
        let mut store = schema::store();
        let mut session = limited();
        for command in &commands {
            let mut out = String::new();
            let text = format!("/interface ethernet\n{command}");
            // Some commands conflict with others; those are refused and change nothing.
            let _ = script::import(&mut store, &mut Offline, &mut session, &text, &mut out);
        }
        let exported = export(&store, "/export");

        let mut copy = schema::store();
        let mut out = String::new();
        let result = script::import(&mut copy, &mut Offline, &mut limited(), &exported, &mut out);

        prop_assert_eq!(result.map_err(|r| format!("{r} {:?}\n{exported}", r.at)), Ok(()));
        prop_assert_eq!(export(&copy, "/export"), exported);
        prop_assert_eq!(values(&copy), values(&store));
    }

    #[test]
    fn a_saved_configuration_loads_unchanged(commands in prop::collection::vec(command(), 1..30)) {
        let mut store = schema::store();
        for command in &commands {
            let mut out = String::new();
            let _ = script::import(&mut store, &mut Offline, &mut limited(), command, &mut out);
        }

        let saved = store.save();
        let mut copy = schema::store();
        let lost = copy.load(&saved);

        prop_assert_eq!(lost, Vec::<String>::new());
        prop_assert_eq!(copy.save(), saved);
        prop_assert_eq!(export(&copy, "/export verbose"), export(&store, "/export verbose"));
    }
}

/// Undoes and redoes each command.
fn undone(commands: &[String]) -> Result<(), TestCaseError> {
    let mut store = schema::store();
    let mut before = export(&store, "/export verbose");
    for command in commands {
        let revision = store.revision();
        let mut out = String::new();
        let _ = script::import(&mut store, &mut Offline, &mut limited(), command, &mut out);
        let after = export(&store, "/export verbose");
        if store.revision() == revision {
            prop_assert_eq!(&after, &before);
            continue;
        }
        store.undo(menu::By::default()).expect("it was committed");
        prop_assert_eq!(export(&store, "/export verbose"), before);
        store.redo(menu::By::default()).expect("it was undone");
        prop_assert_eq!(export(&store, "/export verbose"), &*after);
        before = after;
    }
    Ok(())
}

/// One case takes as long as eight others, so only an eighth of the number of cases is run. Not with
/// `proptest!`, where `PROPTEST_CASES` overrides the setting of a test.
#[test]
fn an_undone_transaction_restores_the_previous_state() {
    let config = ProptestConfig::default();
    let mut runner = TestRunner::new(ProptestConfig {
        cases: (config.cases / 8).max(150),
        failure_persistence: None,
        ..config
    });

    let result = runner.run(&prop::collection::vec(command(), 1..20), |commands| {
        undone(&commands)
    });

    if let Err(error) = result {
        panic!("{error}\n{runner}");
    }
}

fn export(store: &Store, command: &str) -> String {
    let mut out = String::new();
    let style = if command.ends_with("verbose") {
        menu::export::Style::Verbose
    } else {
        menu::export::Style::Compact
    };
    let options = menu::export::Options {
        style,
        ..menu::export::Options::default()
    };
    let _ = menu::export::export(store, &options, &mut out);
    out
}

/// All values of all items, whatever their ids.
fn values(store: &Store) -> Vec<String> {
    let mut all = Vec::new();
    // Ports always exist; an export contains only ports with changed settings.
    for menu in store
        .menus()
        .iter()
        .filter(|menu| menu.shape != menu::MenuShape::Fixed)
    {
        for item in store.items(menu.path) {
            let values: Vec<_> = item
                .values()
                .map(|(p, v)| format!("{}={v}", p.name))
                .collect();
            all.push(format!("{} {}", menu.path, values.join(" ")));
        }
    }
    all.sort();
    all
}

/// Commands that usually succeed together.
fn command() -> impl Strategy<Value = String> {
    let port = (1..5_u8).prop_map(|n| format!("ether{n}"));
    let name = "[a-z][a-z0-9 .-]{0,8}";
    let text = prop_oneof!["[ -~]{0,70}", "[a-z]{0,9}", "\\PC{0,6}"];
    let quoted = text.prop_map(|text| menu::quote_always(&text));
    prop_oneof![
        (port.clone(), quoted.clone(), any::<bool>()).prop_map(|(port, text, off)| format!(
            "/interface ethernet set [ find default-name={port} ] comment={text} disabled={off}"
        )),
        (port.clone(), name).prop_map(|(port, name)| format!(
            "/interface ethernet set [ find default-name={port} ] name=\"{name}\""
        )),
        (port.clone(), 1..4_096_u16, name).prop_map(|(port, vlan, name)| format!(
            "/interface vlan add interface={port} vlan-id={vlan} name=\"{name}\""
        )),
        (port.clone(), any::<u32>(), 1..33_u8, quoted.clone()).prop_map(|(port, a, length, text)| format!(
            "/ip address add interface={port} address={}/{length} comment={text}",
            std::net::Ipv4Addr::from(a)
        )),
        (port.clone(), any::<u128>(), 1..129_u8).prop_map(|(port, a, length)| format!(
            "/ipv6 address add interface={port} address={}/{length} advertise=no",
            std::net::Ipv6Addr::from(a)
        )),
        (any::<u32>(), 0..33_u8, any::<u32>(), port, 1..256_u16).prop_map(
            |(dst, length, gateway, port, distance)| format!(
                "/ip route add dst-address={}/{length} gateway={}%{port},{port} distance={distance} routing-mark=m{distance}",
                std::net::Ipv4Addr::from(dst),
                std::net::Ipv4Addr::from(gateway)
            )
        ),
        (name, quoted.clone()).prop_map(|(name, text)| format!(
            "/interface list add name=\"{name}\" comment={text} include=static,dynamic"
        )),
        (any::<u32>(), 0..33_u8, 0..3_u8).prop_map(|(a, length, place)| format!(
            "/routing rule add src-address={}/{length} table=main place-before={place}",
            std::net::Ipv4Addr::from(a)
        )),
        (0..3_u8).prop_map(|n| format!("/interface vlan remove {n}")),
        quoted.prop_map(|text| format!("/system identity set name={text}")),
        (0..1_000_u32).prop_map(|n| format!("/ip settings set arp-timeout={n}s rp-filter=loose max-neighbor-entries={n}")),
        Just("/ipv6 nd set [ find interface=all ] ra-interval=20s-60s ra-lifetime=none".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn deeply_nested_and_long_texts_are_parsed_or_refused(
        piece in prop::sample::select(PIECES),
        tail in prop::sample::select(PIECES),
        times in 1..600_usize,
    ) {
        let text = piece.repeat(times) + &tail.repeat(times.min(50));
        let store = schema::store();
        let form = script::parse_text(store.menus(), &text).unwrap_or_default();
        prop_assert!(form.len() <= 64 << 20);
        exercise(&text);
    }
}
