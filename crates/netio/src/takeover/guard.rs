//! A filter at a device's ingress that drops every frame, behind the place where packet sockets get
//! theirs (tc-bpf(8)).
//!
//! It is classic BPF with direct action, which needs no privilege but over the network namespace. Its first
//! instructions load the words of a `Holder` for whoever reads them, and have no other effect. Behind the
//! verdict, where no frame gets, others load the name of the file with what was on the device: that is where
//! whoever finds the filter of a router that was killed looks it up.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_EXCL, Nla as _};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{
    TcAttribute, TcBpfFlags, TcFilterBpfOption, TcHandle, TcMessage, TcOption,
};

use super::holder::Holder;
use crate::netlink::Netlink;

/// Where ingress filters of a clsact qdisc hang.
const INGRESS: TcHandle = TcHandle {
    major: u16::MAX,
    minor: TcHandle::MIN_INGRESS,
};
/// And egress filters.
const EGRESS: TcHandle = TcHandle {
    major: u16::MAX,
    minor: TcHandle::MIN_EGRESS,
};
const BPF: &str = "bpf";
/// All protocols, in the order of the wire.
const ALL: u16 = (libc::ETH_P_ALL as u16).to_be();
const TCA_BPF_OPS_LEN: u16 = 4;
const TCA_BPF_OPS: u16 = 5;
/// The longest file name that a filter carries: the kernel lists a filter in a single page.
const LONGEST_NAME: usize = 1024;
const TC_ACT_SHOT: u32 = 2;
/// `BPF_RET | BPF_K`.
const RETURN: u16 = 0x06;
/// `BPF_LD | BPF_IMM` and `BPF_LDX | BPF_IMM`.
const LOAD: u16 = 0x00;
const LOAD_INDEX: u16 = 0x01;

/// What a filter says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    /// Who has the device.
    pub(super) holder: Holder,
    /// The file with what was on it, as far as it has a name that fits.
    pub(super) file: Option<PathBuf>,
}

/// The filter, and whether the qdisc that it hangs on is ours as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    /// The device had none: both are taken off.
    WithQdisc,
    /// The qdisc was there: only the filter is taken off.
    FilterOnly,
}

impl Guard {
    /// What putting the filter on a device will add to it.
    pub(super) fn before(netlink: &mut Netlink, index: u32) -> io::Result<Self> {
        let request = message(index, TcHandle::UNSPEC);
        let qdiscs = netlink.dump(RouteNetlinkMessage::GetQueueDiscipline(request))?;
        let there = qdiscs.iter().any(|qdisc| match qdisc {
            RouteNetlinkMessage::NewQueueDiscipline(qdisc) => {
                qdisc.header.index == index as i32 && qdisc.header.parent == TcHandle::CLSACT
            }
            _ => false,
        });
        Ok(if there {
            Self::FilterOnly
        } else {
            Self::WithQdisc
        })
    }

    /// What the filters of this kind that are on a device say.
    pub(super) fn on(netlink: &mut Netlink, index: u32) -> io::Result<Vec<Claim>> {
        let filters = filters(netlink, index, INGRESS)?;
        Ok(filters.iter().filter_map(claim_of).collect())
    }

    /// Puts the filter on, with what it says, in place of those of this kind that are there. What is somebody else's
    /// stays, and its place is not taken. Whether something of somebody else's is asked first.
    pub(super) fn put_on(netlink: &mut Netlink, index: u32, claim: &Claim) -> io::Result<bool> {
        let mut qdisc = message(index, TcHandle::CLSACT);
        qdisc.header.handle = TcHandle {
            major: u16::MAX,
            minor: 0,
        };
        qdisc
            .attributes
            .push(TcAttribute::Kind("clsact".to_owned()));
        let request = RouteNetlinkMessage::NewQueueDiscipline(qdisc);
        unless(
            libc::EEXIST,
            netlink.change(request, NLM_F_CREATE | NLM_F_EXCL),
        )?;
        let there = filters(netlink, index, INGRESS)?;
        let preference = preference(&there);
        let filter = filter(index, preference, &program(claim).concat());
        let request = RouteNetlinkMessage::NewTrafficFilter(filter);
        netlink.change(request, NLM_F_CREATE | NLM_F_EXCL)?;
        remove_ours(netlink, &there)?;
        Ok(preference > 1)
    }

    /// Takes off what was put on; nothing there is no error. The qdisc stays for the filters of others.
    pub(super) fn take_off(self, netlink: &mut Netlink, index: u32) -> io::Result<()> {
        let there = filters(netlink, index, INGRESS)?;
        remove_ours(netlink, &there)?;
        let mut others = filters(netlink, index, INGRESS)?;
        others.extend(filters(netlink, index, EGRESS)?);
        if self == Self::WithQdisc && others.is_empty() {
            let mut qdisc = message(index, TcHandle::CLSACT);
            qdisc
                .attributes
                .push(TcAttribute::Kind("clsact".to_owned()));
            let request = RouteNetlinkMessage::DelQueueDiscipline(qdisc);
            // EINVAL: there is no ingress qdisc.
            unless(
                libc::ENOENT,
                unless(libc::EINVAL, netlink.change(request, 0)),
            )?;
        }
        Ok(())
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::WithQdisc => "with-qdisc",
            Self::FilterOnly => "filter-only",
        }
    }

    pub(super) fn of_word(word: &str) -> Option<Self> {
        [Self::WithQdisc, Self::FilterOnly]
            .into_iter()
            .find(|guard| guard.word() == word)
    }
}

/// The filters at a place of a device; none without a qdisc to hang them on, and in a kernel without filters.
fn filters(netlink: &mut Netlink, index: u32, place: TcHandle) -> io::Result<Vec<TcMessage>> {
    let request = RouteNetlinkMessage::GetTrafficFilter(message(index, place));
    let filters = match netlink.dump(request) {
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => return Ok(Vec::new()),
        filters => filters?,
    };
    let filters = filters.into_iter().filter_map(|filter| match filter {
        RouteNetlinkMessage::NewTrafficFilter(filter) => Some(filter),
        _ => None,
    });
    Ok(filters
        .filter(|filter| filter.header.index == index as i32)
        .collect())
}

/// The first preference that our filter may have. Filters of one preference are of one kind and protocol; among
/// those of BPF the newest is asked first.
fn preference(there: &[TcMessage]) -> u32 {
    let is_like_ours = |filter: &TcMessage| kind(filter) == Some(BPF) && protocol(filter) == ALL;
    let is_free = |preference: u32| {
        there
            .iter()
            .filter(|filter| filter.header.info >> 16 == preference && chain(filter) == 0)
            .all(is_like_ours)
    };
    (1..u32::from(u16::MAX))
        .find(|preference| is_free(*preference))
        .unwrap_or(1)
}

fn kind(filter: &TcMessage) -> Option<&str> {
    filter
        .attributes
        .iter()
        .find_map(|attribute| match attribute {
            TcAttribute::Kind(kind) => Some(kind.as_str()),
            _ => None,
        })
}

fn chain(filter: &TcMessage) -> u32 {
    let chain = filter
        .attributes
        .iter()
        .find_map(|attribute| match attribute {
            TcAttribute::Chain(chain) => Some(*chain),
            _ => None,
        });
    chain.unwrap_or_default()
}

fn protocol(filter: &TcMessage) -> u16 {
    (filter.header.info & 0xffff) as u16
}

/// Takes those of these filters off that are of our kind.
fn remove_ours(netlink: &mut Netlink, there: &[TcMessage]) -> io::Result<()> {
    for found in there.iter().filter(|filter| claim_of(filter).is_some()) {
        let mut ours = message(found.header.index as u32, INGRESS);
        ours.header.info = found.header.info;
        ours.header.handle = found.header.handle;
        ours.attributes.push(TcAttribute::Kind(BPF.to_owned()));
        let request = RouteNetlinkMessage::DelTrafficFilter(ours);
        unless(libc::ENOENT, netlink.change(request, 0))?;
    }
    Ok(())
}

/// Passes over one error.
fn unless(code: i32, result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.raw_os_error() == Some(code) => Ok(()),
        other => other,
    }
}

fn message(index: u32, parent: TcHandle) -> TcMessage {
    let mut message = TcMessage::default();
    message.header.index = index as i32;
    message.header.parent = parent;
    message
}

/// Our filter; the kernel numbers it as no other one of its preference.
fn filter(index: u32, preference: u32, program: &[u8]) -> TcMessage {
    let mut filter = message(index, INGRESS);
    filter.header.info = preference << 16 | u32::from(ALL);
    filter.attributes.push(TcAttribute::Kind(BPF.to_owned()));
    let instructions = (program.len() / 8) as u16;
    filter.attributes.push(TcAttribute::Options(vec![
        TcOption::Bpf(TcFilterBpfOption::Other(DefaultNla::new(
            TCA_BPF_OPS_LEN,
            instructions.to_ne_bytes().to_vec(),
        ))),
        TcOption::Bpf(TcFilterBpfOption::Other(DefaultNla::new(
            TCA_BPF_OPS,
            program.to_vec(),
        ))),
        TcOption::Bpf(TcFilterBpfOption::Flags(TcBpfFlags::DirectAction)),
    ]));
    filter
}

/// `struct sock_filter` each: the words of the holder are loaded, and the verdict is "drop".
fn program(claim: &Claim) -> Vec<[u8; 8]> {
    let [process, namespace, socket] = claim.holder.words();
    let drop = instruction(RETURN, TC_ACT_SHOT);
    let mut program = vec![
        instruction(LOAD, process),
        instruction(LOAD, namespace),
        instruction(LOAD_INDEX, socket),
        drop,
    ];
    let file = claim
        .file
        .as_deref()
        .map(|file| file.as_os_str().as_bytes());
    if let Some(name) = file.filter(|name| name.len() <= LONGEST_NAME) {
        program.push(instruction(LOAD, name.len() as u32));
        for bytes in name.chunks(4) {
            let mut word = [0; 4];
            word[..bytes.len()].copy_from_slice(bytes);
            program.push(instruction(LOAD, u32::from_ne_bytes(word)));
        }
        // The last instruction has to be a verdict.
        program.push(drop);
    }
    program
}

fn instruction(code: u16, k: u32) -> [u8; 8] {
    let [c0, c1] = code.to_ne_bytes();
    let [k0, k1, k2, k3] = k.to_ne_bytes();
    [c0, c1, 0, 0, k0, k1, k2, k3]
}

/// The instructions of a filter that the kernel lists.
fn instructions_of(filter: &TcMessage) -> Vec<u8> {
    let options = filter
        .attributes
        .iter()
        .find_map(|attribute| match attribute {
            TcAttribute::Options(options) => Some(options.as_slice()),
            _ => None,
        });
    let bytes = options
        .unwrap_or_default()
        .iter()
        .find_map(|option| match option {
            TcOption::Bpf(TcFilterBpfOption::Other(other)) if other.kind() == TCA_BPF_OPS => {
                let mut bytes = vec![0; other.value_len()];
                other.emit_value(&mut bytes);
                Some(bytes)
            }
            _ => None,
        });
    bytes.unwrap_or_default()
}

/// What a filter says; none if it is of another kind.
fn claim_of(filter: &TcMessage) -> Option<Claim> {
    claim_in(&instructions_of(filter))
}

fn claim_in(instructions: &[u8]) -> Option<Claim> {
    let words: Vec<[u8; 4]> = instructions
        .chunks_exact(8)
        .filter_map(|instruction| instruction.last_chunk().copied())
        .collect();
    let number = |at: usize| Some(u32::from_ne_bytes(*words.get(at)?));
    // Three words and a verdict; then the length of the name and its words.
    let name = number(4).map(|len| {
        let bytes = words.get(5..).unwrap_or_default().as_flattened();
        bytes.get(..len as usize).unwrap_or_default()
    });
    let claim = Claim {
        holder: Holder::of_words([number(0)?, number(1)?, number(2)?]),
        file: name.map(|name| PathBuf::from(OsStr::from_bytes(name))),
    };
    // Instructions that load otherwise, or others, mean something else.
    (instructions == program(&claim).concat()).then_some(claim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(file: Option<&str>) -> Claim {
        Claim {
            holder: Holder::of_words([4711, 4_026_531_836, 99]),
            file: file.map(PathBuf::from),
        }
    }

    #[test]
    fn a_program_says_whose_it_is_and_where_what_was_there_is_written() {
        let without_name = 4 * 8;
        for file in ["/", "/run", "/run/ferroute.devices/eth1.taken"] {
            let said = program(&claim(Some(file))).concat();

            assert_eq!(claim_in(&said), Some(claim(Some(file))));
            for len in (0..said.len()).filter(|len| *len != without_name) {
                assert_eq!(claim_in(&said[..len]), None, "{len} bytes");
            }
            assert_eq!(claim_in(&said[..without_name]), Some(claim(None)));
            assert_eq!(claim_in(&[said.as_slice(), &[0; 8]].concat()), None);
        }
    }

    #[test]
    fn a_program_does_without_a_name_that_is_too_long() {
        let long = "/".repeat(LONGEST_NAME + 1);

        let said = program(&claim(Some(&long))).concat();

        assert_eq!(claim_in(&said), Some(claim(None)));
    }

    #[test]
    fn a_program_of_somebody_else_says_nothing() {
        assert_eq!(claim_in(&instruction(RETURN, TC_ACT_SHOT)), None);
        // Words that are loaded otherwise mean something else.
        let other = [LOAD, LOAD, LOAD, RETURN].map(|code| instruction(code, TC_ACT_SHOT));
        assert_eq!(claim_in(&other.concat()), None);
    }
}
