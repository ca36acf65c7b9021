//! The language from a user's view: the output of scripts, and the scope of variables.

use menu::{Offline, Policies, Store};
use script::{Limits, Session};

/// A session at a router without ports.
struct Console {
    store: Store,
    session: Session,
}

impl Console {
    fn new() -> Self {
        let mut session = Session::new("admin");
        session.limits = Limits {
            steps: 200_000,
            bytes: 8 << 20,
            ..Limits::default()
        };
        Self {
            store: schema::store(),
            session,
        }
    }

    /// Runs a text. Returns its output and the reason for a refusal, without the last line end.
    fn run(&mut self, text: &str) -> String {
        let mut out = String::new();
        let done = script::run(
            &mut self.store,
            &mut Offline,
            &mut self.session,
            text,
            &mut out,
        );
        if let Err(refusal) = done {
            out.push_str(&refusal.to_string());
        }
        out.trim_end_matches('\n').to_owned()
    }
}

/// Checks what each text prints in a session of its own.
fn all(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(Console::new().run(text), *expected, "{text}");
    }
}

#[test]
fn values_get_types_from_their_form() {
    all(&[
        (":put [:typeof 5]", "num"),
        (":put [:typeof 0x1f]", "num"),
        (":put [:typeof \"5\"]", "str"),
        (":put [:typeof 1d2h]", "time"),
        (":put [:typeof 10.0.0.1]", "ip"),
        (":put [:typeof 10.0.0.0/8]", "ip-prefix"),
        (":put [:typeof 2001:db8::1]", "ip6"),
        (":put [:typeof *1F]", "id"),
        (":put [:typeof true]", "bool"),
        (":put [:typeof {1;2}]", "array"),
        (":put [:typeof []]", "nil"),
        (":put [:typeof [:nothing]]", "nothing"),
        (":put [:typeof [:find \"abc\" \"x\"]]", "nil"),
        (":local a; :put [:typeof $a]", "nothing"),
        (":put [:typeof [:parse \":put 1\"]]", "code"),
        (":local f do={ :put 1 }; :put [:typeof $f]", "array"),
        (":put [:typeof (>[:put 1])]", "op"),
        (":put [:typeof [:tonum abc]]", "nil"),
        (":put [:typeof [:put x]]", "x\nstr"),
    ]);
}

#[test]
fn variables_are_visible_in_their_scope() {
    all(&[
        (":local a 1; { :local a 2; :put $a }; :put $a", "2\n1"),
        (":local a 1; { :set a 2 }; :put $a", "2"),
        (":local f do={ :put \"<$a>\" }; :local a 1; $f", "<>"),
        (":local f do={ :return ($1 + $x) }; :put [$f 2 x=3]", "5"),
        (":global a 1; :local f do={ :put \"<$a>\" }; $f", "<>"),
        (
            ":global a 1; :local f do={ :global a; :put \"<$a>\" }; $f",
            "<1>",
        ),
        (":local \"my var\" 5; :put $\"my var\"", "5"),
        (":local f do={ :put $0 }; $f", "$f"),
        (
            ":global fac do={ :global fac; :if ($1 < 2) do={ :return 1 }; :return ($1 * [$fac ($1 - 1)]) }; :put [$fac 10]",
            "3628800",
        ),
        (
            ":local a {x=1}; :local b $a; :set ($b->\"x\") 2; :put \"$($a->\"x\") $($b->\"x\")\"",
            "1 2",
        ),
    ]);
}

#[test]
fn globals_belong_to_the_user_and_are_declared_per_session() {
    let mut first = Console::new();
    assert_eq!(first.run(":global a 5; :global f do={ :return 7 }"), "");
    assert_eq!(first.run(":put $a; :put [$f]"), "5\n7");

    let mut second = Console::new();
    second.session = first.session.scripting.session("admin");
    assert_eq!(second.run(":put [:typeof $a]"), "nothing");
    assert_eq!(second.run(":global a; :put $a; :set a 6"), "5");
    assert_eq!(first.run(":put $a"), "6");
    assert_eq!(first.run(":set a; :global a; :put [:typeof $a]"), "nothing");

    let mut other = Console::new();
    other.session = first.session.scripting.session("guest");
    assert_eq!(other.run(":global f; :put [:typeof $f]"), "nothing");
}

#[test]
fn arrays_are_read_changed_and_joined() {
    all(&[
        (":put ({a=1;b=2}->\"b\")", "2"),
        (":put ({1;2;3}->1)", "2"),
        (":put [:typeof ({a=1}->\"x\")]", "nothing"),
        (":put [:typeof ({a=1}->\"x\"->\"y\")]", "nothing"),
        (":local a {z=1;b=2;9}; :put $a", "9;b=2;z=1"),
        (
            ":local a ({}); :set ($a->\"k\"->\"l\") 5; :put ($a->\"k\"->\"l\")",
            "5",
        ),
        (":put ({1;2;3} , 5)", "1;2;3;5"),
        (":put [:len {1;2;{3;4}}]", "3"),
        (":local a {1;2}; :set ($a->0) 7; :put $a", "7;2"),
        (":put [:pick {1;2;3;4} 1 3]", "2;3"),
        (":put [:find {\"a\";\"b\"} \"b\"]", "1"),
        (
            ":foreach k,v in={a=1;b=2;7} do={ :put \"$k:$v\" }",
            "0:7\na:1\nb:2",
        ),
        (":put [:toarray \"a,b\"]", "a;b"),
        (":put [:len [:toarray delimiter=\".\" \"1.2.3\"]]", "3"),
        (":put [:range 1 4]", "1;2;3;4"),
        (":put (3 in {1;2;3})", "true"),
    ]);
}

#[test]
fn loops_conditions_and_errors_follow_the_manual() {
    all(&[
        (":for i from=3 to=1 do={ :put $i }", "3\n2\n1"),
        (":for i from=0 to=10 step=5 do={ :put $i }", "0\n5\n10"),
        (
            ":local i 0; :while ($i < 2) do={ :set i ($i + 1); :put $i }",
            "1\n2",
        ),
        (
            ":local i 0; :do { :set i ($i + 1) } while=($i < 3); :put $i",
            "3",
        ),
        (
            ":foreach i in={1;2;3} do={ :if ($i = 2) do={ :continue }; :put $i }",
            "1\n3",
        ),
        (
            ":foreach i in={1;2;3} do={ :if ($i = 2) do={ :break }; :put $i }",
            "1",
        ),
        (":if (1 = 2) do={ :put a } else={ :put b }", "b"),
        (":if (\"abc\") do={ }", "conditional not boolean"),
        (":do { :error x } on-error={ :put caught }", "caught"),
        (
            ":onerror e in={ :error failure } do={ :put \"Critical $e\" }",
            "Critical failure",
        ),
        (":put [:onerror e in={ :error x } do={ }]", "true"),
        (":put [:onerror e in={ :nothing } do={ }]", "false"),
        (
            ":onerror e in={ /ip route get 99 } do={ :put $e }",
            "no such item (/ip/route/get; line 1)",
        ),
        (
            ":onerror e in={\n\n/ip route\nget 99 } do={ :put $e }",
            "no such item (/ip/route/get; line 4)",
        ),
        (
            ":local n 0; :retry command={ :set n ($n + 1); :if ($n < 3) do={ :error x } } max=5 delay=0s; :put $n",
            "3",
        ),
        (
            ":onerror e in={ :retry command={ :error abc } max=2 delay=0s } do={ :put \"got $e\" }",
            "got abc",
        ),
        (":put 1; :error stop; :put 2", "1\nstop"),
        (":local f do={ :exit; :put 1 }; :put 0; $f; :put 2", "0"),
        (
            ":local f do={ :onerror e in={ :return 5 } do={ } }; :put [$f]",
            "5",
        ),
        (":put (1 / 0)", "division by zero"),
    ]);
}

#[test]
fn built_in_functions_follow_the_manual() {
    all(&[
        (":put [ :len \"length=8\"; ]", "8"),
        (":put [:pick \"abcde\" 1 3]", "bc"),
        (":put [:pick \"abcde\" 2]", "c"),
        (":put [:find \"abc\" \"a\" -1]", "0"),
        (":put [:find \"aab\" \"a\" 0]", "1"),
        (":put [:tostr {1;2}]", "1;2"),
        (":put [:tonum \"0x10\"]", "16"),
        (":put [:toip 10.1]", "10.0.0.1"),
        (":put [:totime \"1d2h\"]", "1d02:00:00"),
        (":put [:tonsec 1s]", "1000000000"),
        (":put [:tobool yes]", "true"),
        (":put [:toid 31]", "*1F"),
        (":put [:convert 001 to=hex]", "31"),
        (":put [:convert transform=lc \"AAA\"]", "aaa"),
        (":put [:convert \"a b\" to=url]", "a%20b"),
        (
            ":put [:convert [:convert \"x\\FF\" to=base64] from=base64 to=hex]",
            "78ff",
        ),
        (
            ":put [:serialize to=json value=({\"a\"=1;\"b\"={1;2}})]",
            "{\"a\":1,\"b\":[1,2]}",
        ),
        (
            ":put [:serialize to=json value=\"12\" options=json.no-string-conversion]",
            "\"12\"",
        ),
        (
            ":put [:serialize to=json value={\"n\"=\"1\"} options=(json.pretty,json.no-string-conversion)]",
            "{\n    \"n\": \"1\"\n}",
        ),
        (
            ":put ([:deserialize from=json value=\"{\\\"a\\\":{\\\"b\\\":[7,8]}}\"]->\"a\"->\"b\"->1)",
            "8",
        ),
        (
            ":onerror e in={ [:deserialize from=json value=\"{invalid}\"] } do={ :put caught }",
            "caught",
        ),
        (
            ":put ([:deserialize from=dsv \"a;b;c\\n1;2;3\\n4;5;6\" delimiter=\";\" options=dsv.array]->1->\"b\")",
            "5",
        ),
        (":put [:len [:rndstr length=33 from=\"ab\"]]", "33"),
        (
            ":local n [:rndnum from=5 to=7]; :put ($n >= 5 && $n <= 7)",
            "true",
        ),
        (":put [:tolf \"a\\r\\nb\"]", "a\nb"),
        (":put [:len [:tocrlf \"a\\nb\"]]", "4"),
        (
            ":local f [:parse \":return (\\$1 * 2)\"]; :put [$f 21]",
            "42",
        ),
        (":put [[:parse \":return 5\"]]", "5"),
        (
            ":put [:execute as-string script={ :put 7; :put 8 }]",
            "7\n8",
        ),
        (
            ":put [:grep script={ :put abc; :put xyz; :put abd } pattern=\"^ab\"]",
            "abc\nabd",
        ),
        (":put [:jobname]", ""),
        (":put (any \"\"); :put (any 5)", "false\ntrue"),
        (":put ($x + 1)", "1"),
        (":put [:resolve 10.0.0.1]", "10.0.0.1"),
        (
            ":put [:resolve 300.1.1.1]",
            "300.1.1.1 is neither an address nor a name",
        ),
        (
            "/ping 300.1.1.1 count=1",
            "300.1.1.1 is neither an address nor a name",
        ),
    ]);
}

#[test]
fn ip_addresses_and_times_support_arithmetic() {
    all(&[
        (":put (192.168.88.77 & 255.255.255.0)", "192.168.88.0"),
        (":put (~0.0.0.255)", "255.255.255.0"),
        (":put (10.0.0.1 + 255)", "10.0.1.0"),
        (":put (192.168.88.77 >> 24)", "0.0.0.192"),
        (":put (1.1.1.1/32 in 1.0.0.0/8)", "true"),
        (":put (1h + 30m)", "01:30:00"),
        (":put (\"ether1\" ~ \"^ether[0-9]\")", "true"),
        (":put (\"a\" . 1 . true)", "a1true"),
        (":put (5 > 3 && !(2 > 3))", "true"),
        (":put (1 << 4 | 1)", "17"),
        (":put (10 - 3 - 2)", "5"),
        (":put (-5 % 3)", "-2"),
    ]);
}

#[test]
fn a_script_keeps_bounded_memory_however_long_it_runs() {
    let mut console = Console::new();
    // A hundred times the permitted memory, allocated and released.
    let forgets = ":local a \"0123456789\"; :for i from=1 to=10 do={ :set a ($a . $a) }; \
                   :for i from=1 to=20000 do={ :local b ($a . $i) }; :put done";
    assert_eq!(console.run(forgets), "done");

    let keeps = |text: &str| Console::new().run(text);
    let memory = "script stopped: too much memory";
    assert_eq!(
        keeps(":local a x; :while (true) do={ :set a ($a . $a) }"),
        memory
    );
    assert_eq!(
        keeps(":local a {1}; :while (true) do={ :set a ($a , $a) }"),
        memory
    );
    let deep = keeps(":local a 1; :while (true) do={ :set a ({$a}) }");
    assert_eq!(deep, "script stopped: too much nesting");
    let deep = keeps(":local a ({}); :local b 1; :while (true) do={ :set ($a->0) $b; :set b $a }");
    assert_eq!(deep, "script stopped: too much nesting");
    let held = ":local s \"0123456789\"; :for i from=1 to=16 do={ :set s ($s . $s) }; \
                :global f do={ :global f; :return ($1 . [$f ($1 . \"x\")]) }; :put [$f $s]";
    assert_eq!(keeps(held), memory);
    assert_eq!(keeps(":put [:rndstr length=100000000]"), memory);
    assert_eq!(keeps(":put [:len [:range 1 100000000]]"), memory);
}

#[test]
fn scripts_belong_to_the_user_who_added_them() {
    let mut console = Console::new();
    let add = "/system script add name=a source=\":put 1\\r\\n:put [:jobname]\"";
    assert_eq!(console.run(add), "");
    assert_eq!(console.run(":put [/system script get a owner]"), "admin");
    assert_eq!(
        console.run("/system script add name=a"),
        "failure: item with such name already exists"
    );
    let event = "/system scheduler add name=e interval=1d on-event=a";
    assert_eq!(console.run(event), "");
    assert_eq!(
        console.run(":put [/system scheduler get e start-time]"),
        "00:00:00"
    );
    assert_eq!(
        console.run("/system scheduler add name=f start-time=25:00:00"),
        "invalid time value for argument start-time"
    );
    let exported = console.run("/system script export");
    assert!(exported.contains("add name=a owner=admin"), "{exported}");
}

#[test]
fn a_script_runs_with_at_most_the_rights_of_its_owner() {
    let mut console = Console::new();
    let all = "/system script add name=all source=\":put 1\"";
    assert_eq!(console.run(all), "");
    console.session = console.session.scripting.session("guest");
    console.session.policies = Policies::READ | Policies::WRITE;

    let denied = "not enough permissions (9)";
    for text in [
        "/system scheduler add name=a policy=read,write,policy",
        "/system scheduler add name=a owner=admin",
        "/system script set all source=\":put 2\"",
        "/system script remove all",
    ] {
        assert_eq!(console.run(text), denied, "{text}");
    }
    assert_eq!(
        console.run("/system script add name=own source=\":put 3\""),
        ""
    );
    assert_eq!(
        console.run(":put [/system script get own policy]"),
        "read;write"
    );
    assert_eq!(
        console.run("/system script set own name=mine; /system script remove mine"),
        ""
    );
}

#[test]
fn scripts_of_properties_are_written_as_code_in_braces() {
    let source = ":put \"<$[/system/script/get a source]>\"";
    let add = "/system/script/add name=a source=";
    let all_of = |code: &str| Console::new().run(&format!("{add}{code}; {source}"));
    assert_eq!(all_of("{ :return \"x\" }"), "< :return \"x\" >");
    assert_eq!(all_of("{:put hi}"), "<:put hi>");
    assert_eq!(all_of("{}"), "<>");
    assert_eq!(
        all_of("{\n  :local a {1;2}\n  # }\n  :foreach b in=$a do={ :put \"}$b\" }\n}"),
        "<\n  :local a {1;2}\n  # }\n  :foreach b in=$a do={ :put \"}$b\" }\n>"
    );
    all(&[
        (
            "/system/script/add name=a source={:put 7}; \
             :local f [:parse [/system/script/get a source]]; $f",
            "7",
        ),
        (
            "/ip/address; /system/scheduler/add name=a on-event={/ip/route/print}; \
             :put [/system/scheduler/get a on-event]",
            "/ip/route/print",
        ),
        (
            "/tool/netwatch/add host=192.0.2.1 up-script={:put 1} \\\n down-script={:put 2}; \
             :put [/tool/netwatch/get 0 down-script]",
            ":put 2",
        ),
        (
            "/ppp/profile/add name=a on-up={:put (}",
            "syntax error (line 1 column 38)",
        ),
    ]);
    // A script of its own does not know the variables around it.
    assert_eq!(all_of("{ :set a 1 }"), "syntax error (line 1 column 41)");
    assert_eq!(
        Console::new().run("/system/logging/action add name=a target=script script={:put 1}"),
        "syntax error (line 1 column 56)"
    );
}

#[test]
fn the_tftp_block_size_is_applied() {
    let of = |size: &str| {
        let set = format!("/ip/tftp/settings/set max-block-size={size}");
        Console::new().run(&format!(
            "{set}; :put [/ip/tftp/settings/get max-block-size]"
        ))
    };
    assert_eq!(of("65536"), "65536");
    assert_eq!(of("1400"), "1400");
    assert!(of("65537").starts_with("value of max-block-size out of range"));
}
