//! Filter at a device's ingress that drops every frame, after packet sockets got theirs (tc-bpf(8)).
//!
//! It is classic BPF with direct action, which only needs privileges over the network namespace. Its first
//! instructions load the words of a `Holder` and have no other effect; other processes read the holder from them.
//! Unreachable instructions after the verdict load the name of the file with the device's settings, so that the file
//! of a killed router can be found.

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

/// Parent of ingress filters of a clsact qdisc.
const INGRESS: TcHandle = TcHandle {
    major: u16::MAX,
    minor: TcHandle::MIN_INGRESS,
};
/// Parent of egress filters.
const EGRESS: TcHandle = TcHandle {
    major: u16::MAX,
    minor: TcHandle::MIN_EGRESS,
};
const BPF: &str = "bpf";
/// All protocols, in network byte order.
const ALL: u16 = (libc::ETH_P_ALL as u16).to_be();
const TCA_BPF_OPS_LEN: u16 = 4;
const TCA_BPF_OPS: u16 = 5;
/// Maximum length of a file name in a filter: the kernel lists a filter in a single page.
const LONGEST_NAME: usize = 1024;
const TC_ACT_SHOT: u32 = 2;
/// `BPF_RET | BPF_K`.
const RETURN: u16 = 0x06;
/// `BPF_LD | BPF_IMM` and `BPF_LDX | BPF_IMM`.
const LOAD: u16 = 0x00;
const LOAD_INDEX: u16 = 0x01;

/// Data in a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    /// Process that has the device.
    pub(super) holder: Holder,
    /// File with the device's settings, if its name fits.
    pub(super) file: Option<PathBuf>,
}

/// The filter, and whether this process also added its qdisc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    /// The device had no clsact qdisc: filter and qdisc are removed.
    WithQdisc,
    /// The qdisc existed: only the filter is removed.
    FilterOnly,
}

impl Guard {
    /// Determines what adding the filter will add to a device.
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

    /// Reads the data of all filters of this kind on a device.
    pub(super) fn on(netlink: &mut Netlink, index: u32) -> io::Result<Vec<Claim>> {
        let filters = filters(netlink, index, INGRESS)?;
        Ok(filters.iter().filter_map(claim_of).collect())
    }

    /// Installs the filter with its data and removes older filters of this kind; filters of other programs stay.
    /// Returns true if a filter of another program runs first.
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

    /// Removes the filter; a missing one is no error. The qdisc stays if other filters need it.
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

/// Filters of a device at this parent; none without a qdisc or in a kernel without filters.
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

/// First preference that the filter may use. All filters of one preference have the same kind and protocol; among BPF
/// filters the newest runs first.
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

/// Removes those of the given filters that are of this kind.
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

/// Ignores one error.
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

/// Builds the filter; the kernel assigns an unused handle.
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

/// Builds the program as `struct sock_filter`s: loads the words of the holder and returns the verdict "drop".
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
        // The last instruction must be a verdict.
        program.push(drop);
    }
    program
}

fn instruction(code: u16, k: u32) -> [u8; 8] {
    let [c0, c1] = code.to_ne_bytes();
    let [k0, k1, k2, k3] = k.to_ne_bytes();
    [c0, c1, 0, 0, k0, k1, k2, k3]
}

/// Instructions of a listed filter.
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

/// Data of a filter; `None` if it is of another kind.
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
    // Other instructions belong to another kind of filter.
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
    fn the_mark_names_the_owner_and_the_settings_file() {
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
    fn a_too_long_file_name_is_omitted_from_the_mark() {
        let long = "/".repeat(LONGEST_NAME + 1);

        let said = program(&claim(Some(&long))).concat();

        assert_eq!(claim_in(&said), Some(claim(None)));
    }

    #[test]
    fn a_foreign_program_has_no_mark() {
        assert_eq!(claim_in(&instruction(RETURN, TC_ACT_SHOT)), None);
        // Other instructions belong to another kind of filter.
        let other = [LOAD, LOAD, LOAD, RETURN].map(|code| instruction(code, TC_ACT_SHOT));
        assert_eq!(claim_in(&other.concat()), None);
    }
}
