//! Measures the streams of the web page with many rows: bytes per second and processor time.

use std::fmt::Write as _;

use crate::page::{browse, page_answers};
use crate::world::{Folder, PACKET, Router, Start, have, lab, layout};

const CONFIG: &str = "/user set admin password=Sesamesesame1\n\
    /ip service set www disabled=no\n\
    /ip firewall connection tracking set enabled=yes udp-timeout=10m\n";
const RULES: u32 = 5_000;
/// As many rows as a provider has sessions; their timeouts change every second.
const ENTRIES: u32 = 30_000;

fn rows() -> String {
    let mut text = String::from("/ip firewall filter\n");
    for number in 0..RULES {
        let _ = writeln!(
            text,
            "add chain=customers action=drop src-address=10.1.{}.{} comment=\"customer {number}\"",
            number >> 8,
            number & 255
        );
    }
    text.push_str("/ip firewall address-list\n");
    for number in 0..ENTRIES {
        let _ = writeln!(
            text,
            "add list=seen address=10.2.{}.{} timeout=1d",
            number >> 8,
            number & 255
        );
    }
    text
}

#[test]
fn streams_of_many_rows_cost_little() {
    let test = "streams_of_many_rows_cost_little";
    let programs = ["python3", "curl"];
    let Some(lab) = have(test, &programs)
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let config = format!("{}\n{CONFIG}{}", layout("plain").config, rows());
    let router = Router::start(&lab, &Start::with(PACKET, &config));
    let folder = Folder::new();
    page_answers(&lab);
    browse(&lab, &folder, &router, include_str!("page_load.py"));
    assert!(router.stop().success());
}
