//! Arguments of `/tool/bandwidth-test`.

use std::net::IpAddr;

use btest::wire::{Direction, Fill, Protocol};
use btest::{Password, Test};
use menu::{Reason, Value};

use crate::Invocation;

/// RouterOS: `connection-count` of version 7.
const CONNECTIONS: u32 = 20;
/// Maximum number of tests of a command.
const MAX_TESTS: usize = 8;
/// Length of the sequence number of a datagram, and of its headers by IPv4 and by IPv6, in bytes.
const NUMBER_BYTES: u16 = 4;
const HEADER_BYTES: [u16; 2] = [28, 48];

/// Builds the test from the arguments.
pub(super) fn test(given: &mut Invocation<'_>) -> Result<Test, Reason> {
    let server = server(given)?;
    let protocol = match given.text("protocol").as_deref() {
        Some("tcp") => Protocol::Tcp,
        _ => Protocol::Udp,
    };
    let is_udp = protocol == Protocol::Udp;
    let size = |given: &Invocation<'_>, name| match is_udp {
        true => datagram_size(given, name, server),
        false => Ok(0),
    };
    let remote_speed_bps = speed(given, "remote-tx-speed");
    if remote_speed_bps > u64::from(u32::MAX) {
        let most = u32::MAX;
        let why = format!("remote-tx-speed: the protocol carries at most {most} bit/s");
        return Err(Reason::failure(why));
    }
    Ok(Test {
        server,
        protocol,
        direction: match given.text("direction").as_deref() {
            Some("transmit") => Direction::Transmit,
            Some("both") => Direction::Both,
            _ => Direction::Receive,
        },
        fill: match given.is_set("random-data") {
            true => Fill::Random,
            false => Fill::Zeros,
        },
        local_size: size(given, "local-udp-tx-size")?,
        remote_size: size(given, "remote-udp-tx-size")?,
        local_speed_bps: speed(given, "local-tx-speed"),
        remote_speed_bps,
        connections: connections(given, CONNECTIONS)?,
        user: user(given),
        password: password(given),
        duration: given.ends.duration,
    })
}

/// Resolves the address of the server.
pub(crate) fn server(given: &mut Invocation<'_>) -> Result<IpAddr, Reason> {
    let host = given.text("address").unwrap_or_default();
    if host.is_empty() {
        return Err(Reason::Missing(vec!["address"]));
    }
    given.site.resolve(&host, &[true, false])
}

/// Returns the number of connections. The protocol carries it in a byte.
pub(crate) fn connections(given: &Invocation<'_>, usual: u32) -> Result<u8, Reason> {
    let count = given.number("connection-count").unwrap_or(usual);
    match u8::try_from(count) {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(Reason::failure("connection-count: 1 to 255")),
    }
}

/// Returns the numbers of connections of several tests, the last one first; empty for a single test.
pub(super) fn connection_counts(given: &Invocation<'_>) -> Result<Vec<u8>, Reason> {
    let listed = given.value("connection-counts").map(Value::as_list);
    let counts = listed.unwrap_or_default().iter().rev();
    let counts: Option<Vec<u8>> = counts
        .map(|count| u8::try_from(count.as_number()?).ok())
        .collect();
    match counts {
        Some(counts) if counts.len() <= MAX_TESTS => Ok(counts),
        _ => Err(Reason::failure("connection-counts: at most 8 numbers")),
    }
}

/// RouterOS: the default user is `admin`.
pub(crate) fn user(given: &Invocation<'_>) -> String {
    given.text("user").unwrap_or_else(|| "admin".to_owned())
}

/// Returns the password; empty without one.
pub(crate) fn password(given: &Invocation<'_>) -> Password {
    given.text("password").unwrap_or_default().into()
}

fn speed(given: &Invocation<'_>, name: &str) -> u64 {
    given.number(name).unwrap_or(0)
}

/// Returns the size of datagrams with their headers; 0 for RouterOS's default.
fn datagram_size(given: &Invocation<'_>, name: &str, server: IpAddr) -> Result<u16, Reason> {
    let Some(sizes) = given.value(name) else {
        return Ok(0);
    };
    let text = sizes.to_string();
    let (least, most) = text.split_once('-').unwrap_or((&text, &text));
    if least != most {
        let why = format!("{name}: a range of sizes is not supported here");
        return Err(Reason::failure(why));
    }
    let least = HEADER_BYTES[usize::from(server.is_ipv6())] + NUMBER_BYTES;
    let size = most.parse().ok().filter(|size| *size >= least);
    let short = || Reason::failure(format!("{name}: at least {least}, for headers and number"));
    size.ok_or_else(short)
}
