//! Functions of libraries in use on real routers: pure ones, with their results.
//!
//! The files are not part of the project; without them the test says so and passes.

mod beside;

use menu::{Offline, Store};
use script::Session;

use beside::shared;

fn run(store: &mut Store, session: &mut Session, text: &str) -> String {
    let mut out = String::new();
    match script::run(store, &mut Offline, session, text, &mut out) {
        Ok(()) => out.trim_end_matches('\n').to_owned(),
        Err(refusal) => out + &refusal.to_string(),
    }
}

/// A call in brackets, and its result.
const CALLS: &[(&str, &str)] = &[
    ("$AlignRight abc 8", "     abc"),
    ("$CharacterMultiply ab 3", "ababab"),
    ("$CharacterReplace \"a.b.c\" \".\" \"--\"", "a--b--c"),
    ("$CleanFilePath \"//a//b/\"", "a/b"),
    ("$CleanName \"foo bar..baz\"", "foo-bar-baz"),
    ("$EitherOr \"\" x", "x"),
    ("$EitherOr 5 7", "5"),
    ("$EitherOr 0s 7s", "00:00:07"),
    ("$FormatLine key value 10", "key:      value"),
    (
        "$FormatMultiLines key \"a,b\" 10",
        "key:      a\n          b",
    ),
    ("$HexToNum \"*1F\"", "31"),
    ("$HumanReadableNum 123456 1000", "123k"),
    ("$HumanReadableNum 1536", "1.50ki"),
    ("$IfThenElse (1 = 1) yes no", "yes"),
    ("$MAX 3 5", "5"),
    ("$MIN 3 5", "3"),
    ("$ParseDate \"2026-11-22\"", "day=22;month=11;year=2026"),
    ("$ParseKeyValueStore \"a=1,b\"", "a=1;b=true"),
    ("$ParseKeyValueStore \"{\\\"x\\\": 5}\"", "x=5"),
    ("$ProtocolStrip \"https://x/y\"", "x/y"),
    ("$IsMacLocallyAdministered \"02:00:00:00:00:01\"", "true"),
    ("$IsMacLocallyAdministered \"00:00:00:00:00:01\"", "false"),
    ("$Grep \"a\\nbc\\nd\" b", "bc"),
    ("$NetMask4 20", "255.255.240.0"),
    ("$NetMask6 52", "ffff:ffff:ffff:f000::"),
    (
        "([$IPCalcReturn \"10.0.0.5/24\"]->\"network\")",
        "10.0.0.0/24",
    ),
    (
        "([$IPCalcReturn \"10.0.0.5/24\"]->\"hostmax\")",
        "10.0.0.254",
    ),
    (
        "([$IPCalcReturn \"2001:db8::5/64\"]->\"hostmin\")",
        "2001:db8::1",
    ),
    ("$InspectVarReturn 5", "-type-> num\n-value-> 5"),
    (
        "$InspectVarReturn {a=1}",
        "-type-> array\n  -key-> a\n    -type-> num\n    -value-> 1",
    ),
];

#[test]
fn library_functions_match_routeros() {
    let Some(folder) = shared("library_functions_match_routeros", "corpus/scripts") else {
        return;
    };
    let (mut store, mut session) = (schema::store(), Session::new("admin"));
    for library in ["global-functions", "ipcalc", "inspectvar"] {
        let file = folder.join(format!("eworm-de__routeros-scripts__{library}.rsc"));
        let text = std::fs::read(file).expect("the library is readable");
        // Function by function, because some need menus that do not exist here.
        for part in menu::bytes::from_bytes(&text).split("\n\n#") {
            run(&mut store, &mut session, &format!("#{part}"));
        }
    }
    let mut wrong = Vec::new();
    for (call, expected) in CALLS {
        let got = match call.strip_prefix('(') {
            Some(_) => run(&mut store, &mut session, &format!(":put {call}")),
            None => run(&mut store, &mut session, &format!(":put [{call}]")),
        };
        if got != *expected {
            wrong.push(format!("{call}\n  {got:?}\n  {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let older = ":put ([$VersionToNum \"7.22.1\"] < [$VersionToNum \"7.23beta1\"])";
    assert_eq!(run(&mut store, &mut session, older), "true");
}
