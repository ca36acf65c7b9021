//! Scripts that compute, and an endless one.

use super::Console;

#[test]
fn scripts_compute_branch_loop_and_call() {
    let mut console = Console::new();
    let cases = [
        (":put (2 + 3 * 4 - 1)", "13\n"),
        (":put (7 % 4 . \"x\")", "3x\n"),
        (":put (10.0.0.1 + 5)", "10.0.0.6\n"),
        (":put (10.0.0.1 in 10.0.0.0/8)", "true\n"),
        (":put (1 < 2 && !(3 = 4) or false)", "true\n"),
        (":put (\"ether12\" ~ \"^ether[0-9]+\\$\")", "true\n"),
        (
            ":local a {1;2;\"k\"=3}; :put ($a->\"k\"); :put [:len $a]",
            "3\n3\n",
        ),
        (":local a; :set ($a->\"x\") 5; :put $a", "x=5\n"),
        (
            ":local n 3; :put \"n=$n $($n * 2) $[:len abc]\"",
            "n=3 6 3\n",
        ),
        (":if (1 = 1) do={ :put yes } else={ :put no }", "yes\n"),
        (":for i from=1 to=7 step=3 do={ :put $i }", "1\n4\n7\n"),
        (
            ":foreach k,v in={a=1;b=2} do={ :put \"$k-$v\" }",
            "a-1\nb-2\n",
        ),
        (
            ":local i 0; :while ($i < 5) do={ :set i ($i + 1); :if ($i = 2) do={ :continue }; :if ($i = 4) do={ :break }; :put $i }",
            "1\n3\n",
        ),
        (":local f do={ :return ($1 + $b) }; :put [$f 1 b=2]", "3\n"),
        (":do { :error no } on-error={ :put caught }", "caught\n"),
        (
            ":onerror e { :error \"why\" } do={ :put \"got $e\" }",
            "got why\n",
        ),
        (":put [:pick \"abcdef\" 1 3]", "bc\n"),
        (":put [:find \"hello\" \"l\"]", "2\n"),
        (":put [:typeof [:find \"a\" \"b\"]]", "nil\n"),
        (":put [:tostr 90s]", "00:01:30\n"),
        (":put \"\\48\\49 \\$x\"", "HI $x\n"),
        (":local x 1; { :local x 2; :put $x }; :put $x", "2\n1\n"),
        (":global g 5; :put $g", "5\n"),
        (":put $g", "5\n"),
        ("put \\\n   done", "done\n"),
    ];
    for (line, expected) in cases {
        assert_eq!(console.run(line), expected, "{line}");
    }
}

#[test]
fn a_script_without_end_is_stopped() {
    let mut console = Console::new();
    console.session.limits.steps = 10_000;
    console.session.limits.bytes = 1 << 20;

    assert_eq!(
        console.run(":while (true) do={ }"),
        "script stopped: too much steps"
    );
    assert_eq!(
        console.run(":local s \"aaaa\"; :while (true) do={ :set s ($s . $s) }"),
        "script stopped: too much memory"
    );
    assert_eq!(
        console.run(":global f do={ :global f; [$f] }; [$f]"),
        "script stopped: too much nesting"
    );
    assert_eq!(
        console.run(":do { :while (true) do={ } } on-error={ :put escaped }"),
        "script stopped: too much steps"
    );
}
