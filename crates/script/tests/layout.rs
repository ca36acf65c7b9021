//! White space, comments and continuations within statements, and code in arguments.

use menu::{Offline, Store};
use script::Session;

/// Runs a text as a console line, in a session of its own; returns its output and the refusal.
fn run(text: &str) -> String {
    let (mut store, mut session) = (schema::store(), Session::new("admin"));
    run_in(&mut store, &mut session, text)
}

fn run_in(store: &mut Store, session: &mut Session, text: &str) -> String {
    let mut out = String::new();
    let done = script::run(store, &mut Offline, session, text, &mut out);
    if let Err(refusal) = done {
        out.push_str(&refusal.to_string());
    }
    out.trim_end_matches('\n').to_owned()
}

fn all(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(run(text), *expected, "{text}");
    }
}

#[test]
fn white_space_may_precede_a_value() {
    all(&[
        (":for i from= 1 to=\t2 do= { :put $i }", "1\n2"),
        (":if (false) do={ :put a } else= {\n  :put b\n}", "b"),
        (":if (true) do=\\\n    { :put a }", "a"),
        (
            ":local f do={ :put \"$a-$b\" }; $f a= 1 b=\t\"x y\"",
            "1-x y",
        ),
        (":local f do={ :return $a }; :put ($f a= 7)", "7"),
        (
            "/interface/bridge/add name= lan comment= \"two words\"; :put [/interface/bridge/get lan comment]",
            "two words",
        ),
    ]);
}

#[test]
fn an_empty_value_is_followed_by_the_next_argument() {
    let get =
        ":put \"<$[/interface/bridge/get lan comment]> $[/interface/bridge/get lan disabled]\"";
    all(&[
        (
            &*format!("/interface/bridge/add name=lan comment= disabled=yes; {get}"),
            "<> true",
        ),
        (
            &*format!("/interface/bridge/add name=lan disabled=yes comment=\\\n  ; {get}"),
            "<> true",
        ),
        (
            &*format!("/interface/bridge/add name=lan comment=\\\n    disabled=yes; {get}"),
            "<> true",
        ),
    ]);
}

#[test]
fn blanks_may_follow_a_continuation_backslash() {
    all(&[
        (":put \\ \n\"a b\"", "a b"),
        (":put \\\t \r\n    7", "7"),
        (":put (1 + \\  \n 2)", "3"),
        (":put [:len {1; \\ \n 2; 3}]", "3"),
        (":put \"one \\ \n    two\"", "one two"),
        (":put ab\\ \n    cd", "abcd"),
        (":put \"\\\\\"; :put b", "\\\nb"),
    ]);
}

#[test]
fn comments_may_separate_parts_of_values() {
    all(&[
        (
            ":put [:len {\n# first\n  1;\n  # second { ; }\n  2; # third\n  3\n#\n}]",
            "3",
        ),
        (
            ":local a {\n  \"x\"={ 1;\n#   2;\n    3 };\n# \"y\"={ 4 };\n};\n:put [:len ($a->\"x\")]; :put [:len $a]",
            "2\n1",
        ),
        (":put (1 +\n# one\n  2)", "3"),
        (":put (1 # one\n + 2)", "3"),
        (":put [:len [:toarray {\n#\n}]]", "0"),
        (
            ":do {\n  # a comment\n  :put [ # another\n:len abc ]\n}",
            "3",
        ),
    ]);
}

#[test]
fn an_unpassed_positional_parameter_can_be_set() {
    all(&[
        (
            ":local f do={ :if ([:len $1] = 0) do={ :set $1 \"x\"; :set $2 {a=1} }; :put \"$1 $[:tostr $2]\" }; $f; $f y",
            "x a=1\ny ",
        ),
        // The variable belongs to the function, and `:set` creates no other one.
        (
            ":local f do={ :set $1 a }; :local g do={ $f; :put \"<$1>\" }; $g",
            "<>",
        ),
        (
            ":local f do={ :local x; :set $y 1; :put \"<$y>\" }; $f",
            "<>",
        ),
    ]);
}

#[test]
fn every_command_with_a_code_argument_accepts_code() {
    let mut checked = 0;
    for menu in schema::ALL {
        for command in menu.commands {
            if command
                .arguments
                .iter()
                .all(|argument| argument.name != "do")
            {
                continue;
            }
            let text = format!(
                ":if (false) do={{ {}/{} do={{ :local a 1; :put (\"$a\") }} }}",
                menu.path.trim_end_matches('/'),
                command.name
            );
            assert_eq!(run(&text), "", "{text}");
            checked += 1;
        }
    }
    assert!(checked > 30, "{checked}");
}

#[test]
fn a_comma_joins_texts_as_they_are() {
    all(&[
        (":put [:len (\"a,b\", \",\", \"c;d\")]", "3"),
        (":put [:find (\"+\", \",\", \"-\") \"-\"]", "2"),
        (":put [:typeof ((\"5\", 6)->0)]", "str"),
        (
            ":local a [:toarray \"\"]; :set a ($a, \"x,y\"); :put [:len $a]",
            "1",
        ),
        (":put [:len ({1;2}, {3})]", "3"),
        (":put [:len [:toarray \"a,b\"]]", "2"),
    ]);
}

#[test]
fn a_property_is_found_by_a_unique_prefix() {
    let add = "/interface/bridge/add name=lan comment=x protocol-mode=none";
    all(&[
        (
            &*format!("{add}; :put [/interface/bridge/get lan comm]"),
            "x",
        ),
        (
            &*format!("{add}; :put [/interface/bridge/get lan protocol]"),
            "none",
        ),
        (
            &*format!("{add}; :put [/interface/bridge/get lan p]"),
            "input does not match any value of value-name",
        ),
    ]);
}
