//! Tests of packets through a whole worker: sent frames, counters, and punts.

mod bridged;
mod drops;
mod endpoint;
pub(crate) mod firewall;
mod forward;
mod fragments;
mod generator;
mod helper;
mod local;
mod meter;
mod offload;
mod options;
mod options6;
mod quiet;
mod routing;
mod service;
mod sessions;
mod shared_decisions;
mod shortcut_installer;
mod stations;
mod tap;
mod together;
mod trace;
mod workers;

use crate::testing::{GATEWAY, MAC, Rig, Udp4, Udp6, ethernet, gateway, seal};

/// Returns a packet as the router forwards it: with another link header, TTL and checksum.
fn forwarded4(packet: &[u8]) -> Vec<u8> {
    let mut packet = packet.to_vec();
    packet[8] -= 1;
    seal(&mut packet);
    let mut frame = GATEWAY.to_vec();
    frame.extend([0x08, 0x00]);
    frame.extend(packet);
    frame
}

fn gateway4(rig: &mut Rig) {
    let mut adjacency = gateway();
    adjacency.header[12..14].copy_from_slice(&[0x08, 0x00]);
    rig.writer.set_next_hop(rig.gateway, &adjacency);
}

fn rig() -> Rig {
    let mut rig = Rig::new();
    gateway4(&mut rig);
    rig
}

/// Returns a packet with these bytes of options.
fn with_options(options: &[u8]) -> Vec<u8> {
    let mut packet = Udp4::default().packet();
    packet.splice(20..20, options.iter().copied());
    packet[0] = 0x40 | (5 + options.len() / 4) as u8;
    let total = packet.len() as u16;
    packet[2..4].copy_from_slice(&total.to_be_bytes());
    seal(&mut packet);
    packet
}

fn ip4(packet: &[u8]) -> Vec<u8> {
    ethernet(MAC, 0x0800, packet)
}

/// Returns a packet with these hop-by-hop options, of 6 bytes or a multiple of 8 more.
fn with_options6(options: &[u8]) -> Vec<u8> {
    hop_by_hop(Udp6::default().packet(), options)
}

/// Inserts hop-by-hop options into an IPv6 packet.
fn hop_by_hop(mut packet: Vec<u8>, options: &[u8]) -> Vec<u8> {
    let header = [&[packet[6], (options.len() / 8) as u8][..], options].concat();
    let payload = u16::from_be_bytes([packet[4], packet[5]]) + header.len() as u16;
    packet[4..6].copy_from_slice(&payload.to_be_bytes());
    packet[6] = 0;
    packet.splice(40..40, header);
    packet
}

fn ip6(packet: &[u8]) -> Vec<u8> {
    ethernet(MAC, 0x86dd, packet)
}

/// Returns the default packet with a changed header and correct header checksum.
fn changed(change: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut packet = Udp4::default().packet();
    change(&mut packet);
    seal(&mut packet);
    ip4(&packet)
}

fn udp4(source: u32, destination: u32) -> Vec<u8> {
    let udp = Udp4 {
        source,
        destination,
        ..Udp4::default()
    };
    udp.frame()
}

fn udp6(source: u128, destination: u128) -> Vec<u8> {
    let udp = Udp6 {
        source,
        destination,
        ..Udp6::default()
    };
    udp.frame()
}
