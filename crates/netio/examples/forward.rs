//! The least that forwards: frames from one port to the other with new addresses, nothing else.
//!
//! `forward PORT PORT` forwards both ways and prints each second what passed; a port is written as
//! for the router (`xdp-generic:eth1`, `packet:eth2` …). `forward generate DEVICE BYTES MAC` sends
//! IPv4/UDP frames of so many bytes to that address as fast as it can. Both poll without a pause
//! until they are killed.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use frame::{Frame, Pool, Port, Sizes, Vector};
use netio::{PacketPort, Request, Spec, Umem, XDP_RING, open};

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["generate", device, bytes, mac] => generate(device, bytes, mac),
        [one, other] => forward(one, other),
        _ => Err("forward PORT PORT | forward generate DEVICE BYTES MAC".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn forward(one: &str, other: &str) -> Result<(), Failure> {
    let mut pool = Pool::new(Sizes::WORKER)?;
    // Where to remember what was on the devices; in a namespace of one's own nobody asks for it.
    let state = std::env::temp_dir().join(format!("forward-{}", std::process::id()));
    let request = Request {
        workers: &[Umem::of(&pool)],
        ring: XDP_RING,
        mtu: None,
        take: false,
        state: Some(&state),
        offload: None,
    };
    let mut opened = [
        open(&one.parse()?, &request)?,
        open(&other.parse::<Spec>()?, &request)?,
    ];
    for opened in &opened {
        eprintln!("{} {:?}", opened.driver, opened.reasons);
    }
    let (mut vector, mut sending) = (Vector::new(), Vec::with_capacity(256));
    let (mut passed, mut calls, mut shown) = (0_u64, 0_u64, Instant::now());
    loop {
        for from in 0..2 {
            let received = receive(&mut opened[from].ports, &mut pool, &mut vector);
            if received == 0 {
                continue;
            }
            calls += 1;
            for mut frame in vector.drain() {
                rewrite(&mut frame);
                sending.push(frame);
            }
            passed += u64::from(
                opened[1 - from].ports[0]
                    .transmit(&mut pool, &mut sending)
                    .sent,
            );
        }
        if shown.elapsed() > Duration::from_secs(1) {
            let counters = opened.each_ref().map(|opened| opened.ports[0].counters());
            eprintln!(
                "{passed} passed, {} a vector, {counters:?}",
                passed / calls.max(1)
            );
            (passed, calls, shown) = (0, 0, Instant::now());
        }
    }
}

fn receive(ports: &mut [Box<dyn Port>], pool: &mut Pool, vector: &mut Vector) -> usize {
    ports
        .iter_mut()
        .map(|port| port.receive(pool, vector))
        .sum()
}

/// What a router does to every frame, roughly: new addresses, one hop less.
fn rewrite(frame: &mut Frame) {
    let bytes = frame.bytes_mut();
    if bytes.len() >= 34 {
        bytes[..6].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
        bytes[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 8]);
        bytes[22] = bytes[22].wrapping_sub(1);
    }
}

fn generate(device: &str, bytes: &str, mac: &str) -> Result<(), Failure> {
    let mut pool = Pool::new(Sizes::WORKER)?;
    let mut ports = PacketPort::open(device, 1)?;
    let template = template(bytes.parse()?, mac)?;
    let mut frames = Vec::with_capacity(64);
    loop {
        frames.extend((0..64).filter_map(|_| pool.alloc_from(&template)));
        ports[0].transmit(&mut pool, &mut frames);
    }
}

/// An Ethernet frame with UDP from 10.1.0.2 to 10.2.0.2, without a UDP checksum.
fn template(len: usize, mac: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = vec![0; len.max(60)];
    for (place, pair) in bytes.iter_mut().zip(mac.split(':')) {
        *place = u8::from_str_radix(pair, 16)?;
    }
    bytes[6] = 2;
    bytes[12..14].copy_from_slice(&[8, 0]);
    let [high, low] = ((bytes.len() - 14) as u16).to_be_bytes();
    let mut ip = [
        0x45, 0, high, low, 0, 0, 0, 0, 64, 17, 0, 0, 10, 1, 0, 2, 10, 2, 0, 2,
    ];
    let sum: u32 = ip
        .chunks(2)
        .map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])))
        .sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    bytes[14..34].copy_from_slice(&ip);
    let [high, low] = ((bytes.len() - 34) as u16).to_be_bytes();
    bytes[34..42].copy_from_slice(&[16, 0, 0, 9, high, low, 0, 0]);
    Ok(bytes)
}
