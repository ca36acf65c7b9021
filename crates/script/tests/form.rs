//! Code as RouterOS shows it, rule by rule: what `:put [:parse …]` gives for small scripts.

/// The form of a script, or its error.
fn form(text: &str) -> String {
    let store = schema::store();
    match script::parse_text(store.menus(), text) {
        Ok(form) => form,
        Err(refusal) => refusal.to_string(),
    }
}

fn assert_forms(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(&form(text), expected, "{text}");
    }
}

#[test]
fn arguments_are_listed_by_name() {
    assert_forms(&[
        (":put hello", "(evl /putmessage=hello)"),
        (
            "/ip address add interface=wan comment=x address=10.0.0.1/24 disabled=yes",
            "(evl /ip/address/addaddress=10.0.0.1;24;comment=x;disabled=true;interface=wan)",
        ),
        (":pick $text 2 4", "(evl /pickbegin=2;counter=$text;end=4)"),
        (
            ":foreach key,value in=$all do={:put $key}",
            "(evl /foreachcounter=$key;$value;do=;(evl (evl /putmessage=$key));in=$all)",
        ),
        (
            "/ip address set 0 comment=",
            "(evl /ip/address/setnumbers=0)",
        ),
        (
            "/ip address set 0 comment=\"\"",
            "(evl /ip/address/setcomment=;numbers=0)",
        ),
    ]);
}

#[test]
fn a_bare_name_gets_the_value_of_the_preceding_argument() {
    assert_forms(&[
        (
            "/ip address print detail",
            "(evl /ip/address/printdetail=true)",
        ),
        (
            ":ping 10.0.0.1 count=3 as-value",
            "(evl /pingaddress=10.0.0.1;as-value=3;count=3)",
        ),
    ]);
}

#[test]
fn words_become_typed_values() {
    assert_forms(&[
        (":delay 90", "(evl /delaydelay-time=00:01:30)"),
        (":delay 0.25", "(evl /delaydelay-time=00:00:00.250)"),
        (":put 10.1", "(evl /putmessage=10.0.0.1)"),
        (":put 0x1f", "(evl /putmessage=31)"),
        (":put 007", "(evl /putmessage=7)"),
        (
            ":put 99999999999999999999",
            "(evl /putmessage=9223372036854775807)",
        ),
        (":put 10.0.0.1/24", "(evl /putmessage=10.0.0.1/24)"),
        (":put yes", "(evl /putmessage=yes)"),
    ]);
}

#[test]
fn a_line_without_a_command_shows_its_menu() {
    assert_forms(&[
        ("", "/"),
        ("# only words\n\n:put 1", "/;(evl /putmessage=1)"),
        (
            ":put 1\n# between\n\n:put 2",
            "(evl /putmessage=1);(evl /putmessage=2)",
        ),
        (
            ":put 1\n  # indented\n\n:put 2",
            "(evl /putmessage=1);/;(evl /putmessage=2)",
        ),
        (":put 1;\n:put 2", "(evl /putmessage=1);(evl /putmessage=2)"),
        (
            ":put 1; \n:put 2",
            "(evl /putmessage=1);/;(evl /putmessage=2)",
        ),
        ("{\n :put 1\n}", "(evl / (evl /putmessage=1))"),
        ("{:put 1; }", "(evl (evl /putmessage=1) /)"),
        (
            "/ip address\n:if (1) do={\n print\n}",
            "/ip/address/;(evl /ifcondition=1;do=;(evl /ip/address/ (evl /ip/address/print)))",
        ),
        (
            ":do {} on-error={ }",
            "(evl /docommand=;(evl /);on-error=;(evl /))",
        ),
    ]);
}

#[test]
fn escapes_and_variables_split_a_string() {
    assert_forms(&[
        (":put \"a\\$b$c d\"", "(evl /putmessage=(. a $ b $c  d))"),
        (":put \"$a\"", "(evl /putmessage=$a)"),
        (":put \"x\\\n   y\"", "(evl /putmessage=(. x y))"),
        (
            ":put \"$[:len $a]$($b + 1)\"",
            "(evl /putmessage=(. (evl (evl /lenvalue=$a)) (+ $b 1)))",
        ),
        (":put \"\\z\"", "expected input value (line 1 column 8)"),
    ]);
}

#[test]
fn operators_precede_their_operands() {
    assert_forms(&[
        (":put (1 + 2 * 3)", "(evl /putmessage=(+ 1 (* 2 3)))"),
        (
            ":put ($a . ($b . \"c$d\"))",
            "(evl /putmessage=(. $a $b c $d))",
        ),
        (":put (8 / 4 / 2)", "(evl /putmessage=(/ (/ 8 4) 2))"),
        (":put ($a->b->0)", "(evl /putmessage=(-> (-> $a $b) 0))"),
        (
            ":put (!$a && b = nil || any $c)",
            "(evl /putmessage=(or (and (! $a) (= $b $nil)) (any $c)))",
        ),
        (
            ":put ($f <%% {1;a=2} . \"x\")",
            "(evl /putmessage=(. (<%% $f 1;a=2) x))",
        ),
        (
            ":put (::1 in fe80::/10)",
            "(evl /putmessage=(in ::1 fe80::/10))",
        ),
        (":put (3 * -1)", "(evl /putmessage=(* 3 (- 1)))"),
        (
            ":put (>[:put 1])",
            "(evl /putmessage=(> (evl (evl /putmessage=1))))",
        ),
        (
            ":put {b=1;\"a\"=2;x=$y;3}",
            "(evl /putmessage=3;a=2;b=1;x=$y)",
        ),
    ]);
}

#[test]
fn a_bracket_statement_calls_the_preceding_expression() {
    assert_forms(&[
        ("[:parse \"x\"]", "(<%% (evl /parsevalue=x) )"),
        (
            ":put 1\n[$f a]\n:put 2",
            "(<%% (evl (evl /putmessage=1);(<%% $f (> $f);a)) );(evl /putmessage=2)",
        ),
        (
            ":put [($f->\"x\") b a=1]",
            "(evl /putmessage=(evl (<%% (-> $f x) b;a=1)))",
        ),
        (":put [($f)]", "(evl /putmessage=(evl (<%% $f )))"),
    ]);
}

#[test]
fn conditions_refer_to_properties_of_the_row() {
    let form = form("/ip address print where interface=wan disabled");

    assert!(
        form.starts_with("(evl /ip/address/printwhere=$address;$network;"),
        "{form}"
    );
    assert!(
        form.ends_with(
            "$disabled;$comment;$.id;$.nextid;$.dead;$.about;(  (= $interface wan) $disabled);5)"
        ),
        "{form}"
    );
}

#[test]
fn unknown_words_are_calls_that_fail() {
    assert_forms(&[
        (
            "/nowhere at all x=1 b=\"two\" last",
            "(<%% bad command name nowhere (line 1 column 2) nowhere;at;all;last;b=two;x=1)",
        ),
        // The current menu does not change.
        (
            "/ip address\n/nowhere\nprint",
            "/ip/address/;(<%% bad command name nowhere (line 2 column 2) nowhere);(evl /ip/address/print)",
        ),
        ("/nowhere/print", "syntax error (line 1 column 9)"),
        ("status: ok", "syntax error (line 1 column 7)"),
        ("to", "(<%% bad command name to (line 1 column 1) to)"),
        ("/nowhere {", "syntax error (line 1 column 10)"),
        ("/nowhere x=\"a\\nb\"", "syntax error (line 1 column 11)"),
    ]);
}

#[test]
fn bracketed_commands_use_the_menu_of_their_command() {
    assert_forms(&[
        (
            "/ip address set [find] comment=x",
            "(evl /ip/address/setcomment=x;numbers=(evl (evl /ip/address/find)))",
        ),
        (
            "/ip address {:log info [find]}",
            "(evl (evl /log/infomessage=(evl (evl /ip/address/find))))",
        ),
        (
            "/ip address {:put [get 0 address]}",
            "(evl (evl /putmessage=(evl (evl /ip/address/getnumber=0;value-name=address))))",
        ),
    ]);
}

#[test]
fn errors_point_to_the_first_invalid_byte() {
    assert_forms(&[
        (
            "/ip address> print",
            "expected command name (line 1 column 12)",
        ),
        ("Flags: X", "expected command name (line 1 column 1)"),
        (
            "/ip address add adress=1",
            "expected end of command (line 1 column 17)",
        ),
        (
            "/ip address set wrong=1",
            "expected end of command (line 1 column 22)",
        ),
        (
            ":local caf\u{e9} 1",
            "expected end of command (line 1 column 11)",
        ),
        (":local a($b)", "expected end of command (line 1 column 9)"),
        (":put (1 + )", "syntax error (line 1 column 11)"),
        ("{ :put 1", "missing closing brace (line 1 column 9)"),
        (
            ":if (1) do={\n\t:put 1\n",
            "expected closing brace (line 3 column 1)",
        ),
        (
            ":if (1) do={\n\t\t/nowhere/x\n}",
            "syntax error (line 2 column 24)",
        ),
    ]);
}

#[test]
fn only_declared_variables_can_be_set() {
    assert_forms(&[
        (":set x 1", "syntax error (line 1 column 6)"),
        (
            ":local x; :set x 1",
            "(evl /localname=$x);(evl /setname=$x;value=1)",
        ),
        (
            ":put $x\n:set x 1",
            "(evl /putmessage=$x);(evl /setname=$x;value=1)",
        ),
        ("{:local x}; :set x 1", "syntax error (line 1 column 18)"),
        (
            ":for i from=1 to=2 do={:set i 3}",
            "(evl /forcounter=$i;do=;(evl (evl /setname=$i;value=3));from=1;to=2)",
        ),
        (
            ":global \"a-b\" 1; :put $\"a-b\"",
            "(evl /globalname=$a-b;value=1);(evl /putmessage=$a-b)",
        ),
    ]);
}

#[test]
fn invalid_utf_8_bytes_are_preserved() {
    let bytes = b":put \"\\E2\xff\"";
    let form = form(&menu::bytes::from_bytes(bytes));

    assert_eq!(
        menu::bytes::to_bytes(&form),
        b"(evl /putmessage=(. \xe2 \xff))"
    );
}
