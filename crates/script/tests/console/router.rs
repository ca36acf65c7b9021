//! Rows and answers of a running router.

use std::ops::ControlFlow;

use menu::{Live, Output, Row, RowFilter, Scan, Store, Value};

use super::Console;

/// A router with a million routes, which it generates one by one.
struct Routes;

impl tool::Router for Routes {}

impl Live for Routes {
    fn clock(&self) -> menu::Clock {
        menu::Clock::utc(0)
    }

    fn rows(
        &self,
        _store: &Store,
        menu: &'static menu::Menu,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if menu.path != "/ip/route" {
            return ControlFlow::Continue(());
        }
        for n in 0..1_000_000_u32 {
            let mut row = Row {
                id: Some(menu::Id(0x8000_0000 + u64::from(n))),
                cells: Vec::new(),
            };
            let address = std::net::Ipv4Addr::from((n + 65_536) << 8);
            let net = ipnet::Ipv4Net::new(address, 24).expect("24 is a length");
            row.set("dst-address", Value::Prefix(net.into()));
            row.set("gateway", Value::text("ether1"));
            row.flag("dynamic", true);
            row.flag("active", true);
            row.flag("connect", true);
            if filter.accepts(&row) {
                each(row)?;
            }
        }
        ControlFlow::Continue(())
    }
}

/// An output that accepts a few lines and then ends the command.
struct Few {
    text: String,
    lines: usize,
}

impl Output for Few {
    fn write(&mut self, text: &str) -> ControlFlow<()> {
        self.text.push_str(text);
        match self.text.lines().count() < self.lines {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }
}

#[test]
fn dynamic_rows_are_streamed_between_configured_rows() {
    let mut console = Console::new();
    console.quietly(&["/ip route add gateway=10.0.0.254"]);
    let mut few = Few {
        text: String::new(),
        lines: 6,
    };

    let refusal = script::run(
        &mut console.store,
        &mut Routes,
        &mut console.session,
        "/ip route print",
        &mut few,
    );

    assert_eq!(
        refusal.map_err(|r| r.to_string()),
        Err("interrupted".to_owned())
    );
    assert_eq!(
        few.text,
        "Flags: D - DYNAMIC; A - ACTIVE; c - CONNECT\n\
         Columns: DST-ADDRESS, GATEWAY, ROUTING-TABLE, DISTANCE\n\
         #     DST-ADDRESS   GATEWAY     ROUTING-TABLE  DISTANCE\n\
         0     0.0.0.0/0     10.0.0.254  main                  1\n\
         \x20 DAc 1.0.0.0/24    ether1                             \n\
         \x20 DAc 1.0.1.0/24    ether1                             \n"
    );
    let counted = console.run_with(
        "/ip route print count-only where dst-address=1.2.3.0/24",
        &mut Routes,
    );
    assert_eq!(counted, "1\n");
}

/// A router with a table of 100,000 entries, searched in slices; every 10,000th entry has a row.
struct Pieces;

impl tool::Router for Pieces {}

impl Live for Pieces {
    fn clock(&self) -> menu::Clock {
        menu::Clock::utc(0)
    }

    fn rows_from(
        &self,
        menu: &'static menu::Menu,
        filter: &RowFilter<'_>,
        place: &mut u64,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Option<Scan> {
        if menu.path != "/ip/firewall/connection" {
            return None;
        }
        for _ in 0..1_000 {
            if *place == 100_000 {
                return Some(Scan::Over);
            }
            let at = *place;
            *place += 1;
            let mut row = Row {
                id: Some(menu::Id(0x8000_0000 + at)),
                cells: Vec::new(),
            };
            row.set("orig-packets", Value::Number(at as i64));
            if at.is_multiple_of(10_000) && filter.accepts(&row) && each(row).is_break() {
                break;
            }
        }
        Some(Scan::More)
    }

    fn count(&self, menu: &'static menu::Menu) -> Option<u64> {
        (menu.path == "/ip/firewall/connection").then_some(7)
    }
}

#[test]
fn a_large_table_is_read_in_pieces_and_counted_at_once() {
    let mut console = Console::new();
    let mut run = |line: &str| console.run_with(line, &mut Pieces);

    let found = run("/ip firewall connection print count-only where orig-packets>=20000");

    assert_eq!(found, "8\n");
    // The number that the router reports is used as it is.
    assert_eq!(run("/ip firewall connection print count-only"), "7\n");
    let ids = run(":put [:len [/ip firewall connection find]]");
    assert_eq!(ids, "10\n");
}

/// A router whose interfaces have traffic.
struct Carrying;

impl Live for Carrying {
    fn clock(&self) -> menu::Clock {
        menu::Clock::utc(0)
    }
}

impl tool::Router for Carrying {
    fn rates(&self, interface: Option<&str>) -> Option<Row> {
        let mut row = Row::default();
        row.set("rx-bits-per-second", Value::BitRate(12_345));
        interface.is_none_or(|name| name == "ether1").then_some(row)
    }
}

#[test]
fn monitor_results_are_printed_returned_or_passed_to_code() {
    let mut console = Console::new();
    let mut run = |line: &str| console.run_with(line, &mut Carrying);
    let monitor = "/interface monitor-traffic ether1";

    assert_eq!(
        run(&format!("{monitor} once proplist=rx-bits-per-second")),
        "  rx-bits-per-second: 12.3kbps\n"
    );
    assert_eq!(
        run(&format!(
            ":put ([{monitor} once as-value]->\"rx-bits-per-second\")"
        )),
        "12345\n"
    );
    assert_eq!(
        run(&format!(
            ":local seen; {monitor} once proplist=name,rx-bits-per-second \
             do={{:set seen ($\"rx-bits-per-second\" / 1000)}}; :put $seen"
        )),
        "                name: ether1\n  rx-bits-per-second: 12.3kbps\n12\n"
    );
    assert_eq!(
        run(&format!("{monitor} interval=10ms")),
        "invalid time value for argument interval"
    );
    assert_eq!(
        run("/interface monitor-traffic ether1,aggregate once"),
        "                name:    ether1  aggregate\n  \
           rx-bits-per-second:  12.3kbps   12.3kbps\n"
    );
}
