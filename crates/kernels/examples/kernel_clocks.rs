//! Processor clocks per packet of the cryptographic kernels, each form beside the others in one run:
//! `cargo run --release -p kernels --example kernel_clocks`.
//!
//! The forms take turns, round after round, over the same packets, which stay in the second-level cache. Prints best
//! round and median. An argument selects kernels by part of their name.

use kernels::{
    Aes, Chain, ChainForm, Gcm, GcmForm, GcmMessage, Ghash, Hash, HashForm, HmacKey, HmacMessage,
    MAX_DIGEST_BYTES, chain_by, gcm_open, gcm_seal, hmac_by,
};

/// Rounds of each form.
const ROUNDS: usize = 301;
/// Lengths of the packets in bytes.
const LENGTHS: [usize; 4] = [48, 96, 512, 1424];
/// Packets of a batch.
const COUNTS: [usize; 5] = [1, 2, 4, 8, 64];

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    println!("kernel                packets  bytes   clocks per packet by form: best, median");
    mac::<kernels::Sha1>("hmac-sha1", &wanted);
    mac::<kernels::Sha256>("hmac-sha256", &wanted);
    mac::<kernels::Sha384>("hmac-sha384", &wanted);
    mac::<kernels::Sha512>("hmac-sha512", &wanted);
    cbc("cbc-aes-128", &wanted);
    gcm("gcm-aes-128", &wanted);
}

/// Measures the forms of a hash.
fn mac<H: Hash>(name: &str, wanted: &str) {
    if !name.contains(wanted) {
        return;
    }
    let key = HmacKey::<H>::new(&[7; 20]);
    for count in COUNTS {
        for len in LENGTHS {
            let packets = vec![vec![0x5a; len]; count];
            let mut messages: Vec<HmacMessage<'_, H>> = { packets.iter() }
                .map(|bytes| HmacMessage {
                    key: &key,
                    bytes,
                    suffix: None,
                    digest: [0; MAX_DIGEST_BYTES],
                })
                .collect();
            let mut forms: Vec<Form<'_, _>> = HashForm::available::<H>()
                .map(|form| Form::new(format!("{form:?}"), move |all: &mut _| hmac_by(form, all)))
                .collect();
            measure(name, count, len, &mut forms, &mut messages);
        }
    }
}

/// Measures the forms of CBC encryption; all packets have the same key, which each form loads per packet.
fn cbc(name: &str, wanted: &str) {
    let Some(aes) = Aes::new(&[7; 16]) else {
        return;
    };
    if !name.contains(wanted) {
        return;
    }
    for count in COUNTS {
        for len in LENGTHS {
            let mut packets = vec![vec![0x5a; len]; count];
            let mut forms: Vec<Form<'_, _>> = ChainForm::available()
                .map(|form| {
                    let aes = &aes;
                    let run = move |packets: &mut [Vec<u8>]| {
                        for packets in packets.chunks_mut(32) {
                            let chains = packets.iter_mut().map(|text| Chain {
                                aes,
                                vector: [3; 16],
                                text,
                            });
                            chain_by(form, &mut chains.collect::<Vec<_>>());
                        }
                    };
                    Form::new(format!("{form:?}"), run)
                })
                .collect();
            measure(name, count, len, &mut forms, &mut packets);
        }
    }
}

/// Measures the forms of GCM encryption, and cipher and hash one after the other.
fn gcm(name: &str, wanted: &str) {
    let Some(aes) = Aes::new(&[7; 16]) else {
        return;
    };
    let Some(hash) = Ghash::new(&aes.encrypt([0; 16])) else {
        return;
    };
    if !name.contains(wanted) {
        return;
    }
    let keys: Vec<(GcmForm, Gcm)> = GcmForm::available()
        .filter_map(|form| Some((form, Gcm::with_form(form, &[7; 16])?)))
        .collect();
    const NONCE: [u8; 12] = [1; 12];
    const BESIDE: [u8; 16] = [2; 16];
    const COUNTER: u128 = 1 << 32;
    for count in COUNTS {
        for len in LENGTHS {
            let mut packets = vec![vec![0x5a; len]; count];
            let (aes, hash) = (&aes, &hash);
            let separate = move |packets: &mut [Vec<u8>]| {
                for text in packets {
                    let mut tag = [0; 16];
                    aes.count(&NONCE, Some(&mut tag), text);
                    std::hint::black_box((tag, hash.hash(&BESIDE, text, &BESIDE)));
                }
            };
            let mut forms = vec![Form::new("separate".into(), separate)];
            for (form, gcm) in &keys {
                for (suffix, process) in PROCESSES {
                    let run = move |packets: &mut [Vec<u8>]| {
                        for packets in packets.chunks_mut(32) {
                            let messages = packets.iter_mut().map(|text| GcmMessage {
                                gcm,
                                nonce: COUNTER,
                                first: 2,
                                text,
                                last: 3,
                                tag: 0,
                            });
                            let mut messages = messages.collect::<Vec<_>>();
                            process(&mut messages);
                            std::hint::black_box(&messages);
                        }
                    };
                    forms.push(Form::new(format!("{form:?}{suffix}"), run));
                }
            }
            measure(name, count, len, &mut forms, &mut packets);
        }
    }
}

/// A function of GCM over messages.
type Process = fn(&mut [GcmMessage<'_>]);

/// The directions of GCM.
const PROCESSES: [(&str, Process); 2] = [("", gcm_seal), (" opens", gcm_open)];

/// A form of a kernel, and its clocks per packet.
struct Form<'f, T: ?Sized> {
    name: String,
    run: Box<dyn FnMut(&mut T) + 'f>,
    clocks: Vec<f64>,
}

impl<'f, T: ?Sized> Form<'f, T> {
    fn new(name: String, run: impl FnMut(&mut T) + 'f) -> Self {
        Self {
            name,
            run: Box::new(run),
            clocks: Vec::new(),
        }
    }
}

/// Lets the forms take turns over the packets, and prints their clocks.
fn measure<P>(
    name: &str,
    count: usize,
    len: usize,
    forms: &mut [Form<'_, [P]>],
    packets: &mut [P],
) {
    for _ in 0..ROUNDS {
        for form in &mut *forms {
            let start = kernels::tsc();
            (form.run)(packets);
            let clocks = kernels::tsc().wrapping_sub(start);
            form.clocks.push(clocks as f64 / count as f64);
        }
    }
    let results = forms.iter_mut().map(|form| {
        form.clocks.sort_unstable_by(f64::total_cmp);
        let (best, median) = (form.clocks[0], form.clocks[ROUNDS / 2]);
        format!("{} {best:.0}, {median:.0}", form.name)
    });
    let results: Vec<String> = results.collect();
    println!("{name:20} {count:8} {len:6}   {}", results.join("   "));
}
