//! Benchmark rows of PPPoE sessions with MPPE: the walk of `routing-fast-path` with one stateless session of 128 bits
//! for each worker, whose packets the worker encrypts or decrypts.
//!
//! Received packets are encrypted one by one, outside of the measured time: no two packets of a session are alike. Each
//! row is compared with the cipher alone, which changes its key as often.

use core::hint::black_box;
use std::sync::Arc;

use dataplane::encap::mppe::{Ciphers, Mppe};
use dataplane::firewall::Firewall;
use dataplane::interface::{Details, Interface, Session};
use dataplane::out::OutId;
use dataplane::table::Network;
use frame::InterfaceId;
use machine::Rng;
use ppp::{Encryption, Encryptor, KeyLength, StartKey};
use wire::Mac;

use super::hops::{gateway, in_session, session_header};
use super::measure::Bench;
use super::packets::{Seal, Templates, packet};
use super::rig::{EGRESS, FAR_MAC, INGRESS, MAC, Rig, class_of};
use super::{Family, Invalid, Options, Peer, Row, Spread};

/// The names of these rows: packets leave by encrypted sessions, and packets arrive from them. Each is measured with
/// packets in frames of 64, 512 and 1418 bytes.
pub const ENCRYPTED: &[&str] = &["mppe-out", "mppe-in"];

const FRAMES: [u16; 3] = [64, 512, 1418];
const ETHERNET: usize = 14;
/// Bytes of a PPPoE header with the protocol field.
const HEADER: usize = 8;
/// MTU of the link in bytes, and what remains for encrypted packets.
const LINK_MTU: u16 = 1492;
const MTU: u32 = 1488;
/// Packets of one measurement of the cipher alone.
const ALONE: u32 = 4096;
/// Frames of the templates.
const TEMPLATES: u32 = 256;

/// Measures the rows of these names, with IPv4.
///
/// # Errors
/// [`Invalid`]: the first row that could not be measured.
pub fn encrypted(
    options: &Options,
    rows: &[&'static str],
    emit: &mut dyn FnMut(Row),
) -> Result<(), Invalid> {
    for &name in rows {
        let out = name.ends_with("-out");
        for frame in FRAMES {
            let mut bench = Bench::new(options, |workers| {
                let mut rig =
                    Rig::new(Family::Ipv4, 1, workers, Firewall::default(), options.seed)?;
                (0..u32::from(workers)).try_for_each(|number| begin(&mut rig, out, number))?;
                Ok(rig)
            })?;
            bench.load(|rig, seed| {
                rig.load_these(|rig, worker| templates(rig, out, frame, worker as u32, seed));
            });
            let row = bench.measure()?;
            let cipher = cipher_alone(usize::from(frame) - 18 + 2, options.runs);
            let rate = row.tsc_hz as f64 / cipher;
            emit(Row {
                row: name,
                family: Family::Ipv4.name(),
                frame,
                flows: 1,
                routes: 2,
                peer: Some(Peer {
                    name: "the cipher alone",
                    kpps: rate / 1e3,
                    ratio: cipher / row.tsc_per_packet.median.max(0.001),
                    core_ns: 1e9 / rate,
                }),
                ..row
            });
        }
    }
    Ok(())
}

/// Measures the encryption of packets in memory. Returns the clocks of a packet, at the median.
fn cipher_alone(bytes: usize, runs: u32) -> f64 {
    let mut cipher = Encryptor::new(&encryption().transmit);
    let mut packet = vec![0_u8; bytes];
    let mut clocks: Vec<f64> = (0..runs.max(1))
        .map(|_| {
            let begin = kernels::tsc();
            for _ in 0..ALONE {
                black_box(cipher.encrypt(black_box(&mut packet)));
            }
            kernels::tsc().wrapping_sub(begin) as f64 / f64::from(ALONE)
        })
        .collect();
    Spread::of(&mut clocks).median
}

/// Returns the encryption of a session, with the router's end first.
fn encryption() -> Encryption {
    let direction = |key| ppp::Mppe {
        length: KeyLength::Bits128,
        is_stateless: true,
        key: StartKey::new(key),
    };
    Encryption {
        transmit: direction([1; 16]),
        receive: direction([2; 16]),
    }
}

/// Returns the session with this number.
fn session(number: u32) -> Session {
    Session {
        peer: Mac([2, 0x20, 0, 0, 0, number as u8]),
        number: number as u16 + 1,
    }
}

/// Returns the interface of the session with this number. The slots of the first sessions have all remainders, so that
/// each worker has one session.
const fn interface(number: u32) -> InterfaceId {
    InterfaceId(64 + number)
}

/// Returns the address of the peer of a session.
const fn address(number: u32) -> u32 {
    0x0a63_0000 | number
}

/// Creates a session, and the route to its peer.
fn begin(rig: &mut Rig, out: bool, number: u32) -> Result<(), Invalid> {
    let (on, mac, port) = match out {
        true => (EGRESS, FAR_MAC, 1),
        false => (INGRESS, MAC, 0),
    };
    let id = interface(number);
    let line = Interface {
        running: true,
        ipv4: true,
        ipv6: true,
        encrypted: true,
        mac: Mac(mac),
        mtu: MTU,
        out: OutId::tunnel(id),
        under: on,
        ..Interface::default()
    };
    rig.interfaces().set(id, &line);
    rig.interfaces().set_class(id, class_of(EGRESS), 0);
    let mppe = Mppe {
        id,
        carrier: OutId::port(port).into(),
        mtu: LINK_MTU,
        framing: None,
        ciphers: Ciphers::new(&encryption()),
    };
    let details = Details {
        tunnel: Some(mppe.into()),
        session: Some(session(number)),
        ..Details::default()
    };
    rig.interfaces().set_details(id, Arc::new(details));
    rig.make_room(id);
    if !rig.interfaces().set_session(id, on, session(number)) {
        return Err(Invalid::TableFull);
    }
    let family = rig.family();
    let mut hop = in_session(gateway(family, 0), family, session(number), id);
    (hop.out, hop.mtu) = (OutId::tunnel(id), MTU);
    let full = |_| Invalid::TableFull;
    let hop = rig.writer().add_next_hop(&hop).map_err(full)?;
    let table = rig.writer().table(0).map_err(full)?;
    let route = (Network::new(address(number), 32), hop);
    let written = table.ipv4.change([route].into_iter().filter(|_| out));
    written.map_err(full)
}

/// Returns frames to the peer of a session, or encrypted frames from it.
fn templates(rig: &Rig, out: bool, frame: u16, number: u32, seed: u64) -> Templates {
    let mut rng = Rng::seeded(seed ^ 0x7e3a);
    let far = rig.destinations(TEMPLATES, seed);
    let frames: Vec<_> = { far.into_iter() }
        .map(|far| {
            let destination = if out { address(number).into() } else { far };
            let frame = packet(Family::Ipv4, frame, destination, &mut rng);
            match out {
                true => frame,
                false => to_be_encrypted(number, &frame),
            }
        })
        .collect();
    let len = frames.first().map_or(0, Vec::len);
    let templates = Templates::of(frames, len, seed);
    match out {
        true => templates,
        false => templates.sealed(Seal {
            cipher: Encryptor::new(&encryption().receive),
            header: ETHERNET + HEADER,
        }),
    }
}

/// Returns a frame as session data, with room for flags and count.
fn to_be_encrypted(number: u32, frame: &[u8]) -> Vec<u8> {
    let packet = &frame[ETHERNET..];
    let session = session(number);
    let mut header = session_header(Family::Ipv4, session, 4 + packet.len());
    let at = header.len() - 2;
    header[at..].copy_from_slice(&ppp::ENCRYPTED.to_be_bytes());
    let mut frame = frame[..12].to_vec();
    frame[6..].copy_from_slice(&session.peer.0);
    frame.extend(header);
    frame.extend([0, 0]);
    frame.extend(ppp::IPV4.to_be_bytes());
    frame.extend(packet);
    frame
}
