//! The comparison as Markdown, JSON and a picture.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::kinds::KINDS;
use super::measure::Row;
use crate::bench::table::chart::{self, Group};

/// Returns the comparison as Markdown.
pub(super) fn to_markdown(rows: &[Row]) -> String {
    let mut text = String::from(
        "| VPN | Mbps | CPU client, server | overhead measured, calculated | MTU measured, calculated | latency idle, \
         loaded | talk: Mbps | overhead | CPU |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for row in rows {
        let [client, server] = row.cpu_percent;
        let _ = write!(
            text,
            "| {} | {:.0} | {client:.0} %, {server:.0} % | {:.1} %, {:.1} % | {}, {} | {:.2} ms, {:.2} ms |",
            row.kind.name,
            row.mbps,
            row.overhead_percent,
            row.calculated.overhead_percent,
            row.mtu,
            row.calculated.mtu,
            row.idle.median_ms(),
            row.loaded.median_ms(),
        );
        let _ = match row.kind.talk {
            Some(talk) => writeln!(
                text,
                " {:.1} | {:.1} % | {:.0} % |",
                talk.mbps, talk.overhead_percent, talk.cpu_percent
            ),
            None => writeln!(text, " – | – | – |"),
        };
    }
    text.push_str(
        "\nOne TCP connection between two hosts, through two routers with one process each, all on the cores of this \
         machine.\nMbps: payload. CPU: of a core. Overhead: bytes behind the Ethernet header of the link over bytes of IP \
         inside, of packets of\n1400 bytes, with what the tunnel itself sends. Latency: median of round trips. \
         Talk: MUM Europe 2016, hAP ac, SMB of 1 GB; its overhead\nincludes the headers of Ethernet, IP and TCP.\n",
    );
    text
}

/// Returns the comparison as JSON.
pub(super) fn to_json(rows: &[Row]) -> Value {
    let each = rows.iter().map(|row| {
        let talk = row.kind.talk.map(|talk| {
            json!({
                "mbps": talk.mbps,
                "overhead-percent": talk.overhead_percent,
                "cpu-percent": talk.cpu_percent,
            })
        });
        json!({
            "vpn": row.kind.name,
            "layers": row.kind.layers,
            "mbps": row.mbps,
            "cpu-percent-client": row.cpu_percent[0],
            "cpu-percent-server": row.cpu_percent[1],
            "overhead-percent": row.overhead_percent,
            "calculated-overhead-percent": row.calculated.overhead_percent,
            "mtu": row.mtu,
            "calculated-mtu": row.calculated.mtu,
            "latency-ms-idle": row.idle.median_ms(),
            "latency-ms-loaded": row.loaded.median_ms(),
            "lost-idle": row.idle.lost,
            "lost-loaded": row.loaded.lost,
            "talk": talk,
        })
    });
    each.collect()
}

/// Draws the rates of this machine and of the talk.
pub(super) fn to_svg(rows: &[Row]) -> String {
    let own = rows.iter().map(|row| (row.kind.name.to_owned(), row.mbps));
    let talk = KINDS.iter().filter_map(|kind| {
        let talk = kind.talk?;
        Some((kind.name.to_owned(), talk.mbps))
    });
    let groups = [
        Group {
            name: String::from("this machine"),
            bars: own.collect(),
        },
        Group {
            name: String::from("talk (hAP ac)"),
            bars: talk.collect(),
        },
    ];
    chart::to_svg("Mbit/s of one TCP connection", &groups)
}
