//! Tests `ferroute bench vpn`: every row is filled, and overhead and MTU are those of the arithmetic. The test does not
//! check the measured speed.

use std::process::{Command, Stdio};

use lab::Holding;
use lab::testing::skip;

use crate::world::{binary, have, text};

#[test]
fn the_comparison_of_tunnels_measures_what_arithmetic_says() {
    let test = "the_comparison_of_tunnels_measures_what_arithmetic_says";
    if !have(test, &["ip", "ethtool"]) {
        return;
    }
    if !matches!(Holding::choose(), Ok(Holding::Named)) {
        return skip(test, "the benchmark needs root");
    }
    let kinds = ["gre", "ipsec-cbc", "pppoe"];
    let output = Command::new(binary())
        .args(["bench", "vpn", "--seconds", "1", "--json", "-"])
        .args(kinds)
        .stdin(Stdio::null())
        .output()
        .expect("the binary under test exists");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    let rows: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    let rows = rows.as_array().expect("an array");
    assert_eq!(rows.len(), kinds.len(), "{said}");
    for (row, kind) in rows.iter().zip(kinds) {
        assert_eq!(row["vpn"], kind);
        let number = |name: &str| {
            let number = row[name].as_f64();
            number.unwrap_or_else(|| panic!("{kind}: no {name} in {row:#}"))
        };
        for name in [
            "mbps",
            "cpu-percent-client",
            "cpu-percent-server",
            "latency-ms-idle",
            "latency-ms-loaded",
        ] {
            assert!(number(name) > 0.0, "{kind} {name}: {row:#}");
        }
        assert_eq!(row["mtu"], row["calculated-mtu"], "{row:#}");
        // The tunnel sends packets of its own, too.
        let difference = number("overhead-percent") - number("calculated-overhead-percent");
        assert!(difference.abs() < 1.0, "{kind}: {row:#}");
    }
}
