//! A filter at a device's ingress that drops every frame, behind the place where packet sockets get
//! theirs (tc-bpf(8)).
//!
//! It is classic BPF with direct action, which needs no privilege but over the network namespace. Its first
//! instructions load the words of a `Holder` for whoever reads them, and have no other effect.

use std::io;

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
/// Before anybody else's filter.
const PRIORITY: u32 = 1;
const TCA_BPF_OPS_LEN: u16 = 4;
const TCA_BPF_OPS: u16 = 5;
const TC_ACT_SHOT: u32 = 2;
/// `BPF_RET | BPF_K`.
const RETURN: u16 = 0x06;
/// `BPF_LD | BPF_IMM` and `BPF_LDX | BPF_IMM`.
const LOAD: u16 = 0x00;
const LOAD_INDEX: u16 = 0x01;

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

    /// The filter on a device, and whose it is, if it says so.
    pub(super) fn on(netlink: &mut Netlink, index: u32) -> io::Result<Option<Option<Holder>>> {
        let request = RouteNetlinkMessage::GetTrafficFilter(message(index, INGRESS));
        // Without an ingress qdisc there is nothing to list.
        let filters = match netlink.dump(request) {
            // A kernel without filters.
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => return Ok(None),
            filters => filters?,
        };
        let ours = filter(index);
        let is_ours = |found: &TcMessage| {
            found.header.index == index as i32
                && found.header.info == ours.header.info
                && found.header.handle == ours.header.handle
                && found
                    .attributes
                    .contains(&TcAttribute::Kind("bpf".to_owned()))
        };
        Ok(filters.iter().find_map(|filter| match filter {
            RouteNetlinkMessage::NewTrafficFilter(found) if is_ours(found) => {
                Some(holder_of(&instructions_of(found)))
            }
            _ => None,
        }))
    }

    /// Puts the filter on, with its holder; one that is on already is replaced by its like.
    pub(super) fn put_on(netlink: &mut Netlink, index: u32, holder: Holder) -> io::Result<()> {
        let program = program(holder);
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
        let mut filter = filter(index);
        filter.attributes.push(TcAttribute::Options(vec![
            TcOption::Bpf(TcFilterBpfOption::Other(DefaultNla::new(
                TCA_BPF_OPS_LEN,
                (program.len() as u16).to_ne_bytes().to_vec(),
            ))),
            TcOption::Bpf(TcFilterBpfOption::Other(DefaultNla::new(
                TCA_BPF_OPS,
                program.concat(),
            ))),
            TcOption::Bpf(TcFilterBpfOption::Flags(TcBpfFlags::DirectAction)),
        ]));
        netlink.change(RouteNetlinkMessage::NewTrafficFilter(filter), NLM_F_CREATE)
    }

    /// Takes off what was put on; nothing there is no error.
    pub(super) fn take_off(self, netlink: &mut Netlink, index: u32) -> io::Result<()> {
        let filter = RouteNetlinkMessage::DelTrafficFilter(filter(index));
        // EINVAL: there is no ingress qdisc to look for filters on.
        unless(
            libc::ENOENT,
            unless(libc::EINVAL, netlink.change(filter, 0)),
        )?;
        if self == Self::WithQdisc {
            let mut qdisc = message(index, TcHandle::CLSACT);
            qdisc
                .attributes
                .push(TcAttribute::Kind("clsact".to_owned()));
            let request = RouteNetlinkMessage::DelQueueDiscipline(qdisc);
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

/// What names our filter: its place, priority, protocol (all) and handle.
fn filter(index: u32) -> TcMessage {
    let mut filter = message(index, INGRESS);
    filter.header.info = PRIORITY << 16 | u32::from((libc::ETH_P_ALL as u16).to_be());
    filter.header.handle = TcHandle { major: 0, minor: 1 };
    filter.attributes.push(TcAttribute::Kind("bpf".to_owned()));
    filter
}

/// `struct sock_filter` each: the words of the holder are loaded, and the verdict is "drop".
fn program(holder: Holder) -> [[u8; 8]; 4] {
    let [process, namespace, socket] = holder.words();
    [
        instruction(LOAD, process),
        instruction(LOAD, namespace),
        instruction(LOAD_INDEX, socket),
        instruction(RETURN, TC_ACT_SHOT),
    ]
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

/// Who put these instructions on a device; none if they do not say.
fn holder_of(instructions: &[u8]) -> Option<Holder> {
    let k = |at: usize| {
        Some(u32::from_ne_bytes(
            *instructions.get(8 * at + 4..)?.first_chunk()?,
        ))
    };
    let holder = Holder::of_words([k(0)?, k(1)?, k(2)?]);
    (instructions == program(holder).concat()).then_some(holder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_says_whose_it_is_and_another_one_does_not() {
        let holder = Holder::of_words([4711, 4_026_531_836, 99]);
        let said = program(holder).concat();

        assert_eq!(holder_of(&said), Some(holder));
        for len in 0..said.len() {
            assert_eq!(holder_of(&said[..len]), None, "{len} bytes");
        }
        assert_eq!(holder_of(&instruction(RETURN, TC_ACT_SHOT)), None);
        assert_eq!(holder_of(&[said.as_slice(), &[0; 8]].concat()), None);
        // Words that are loaded otherwise mean something else.
        let other = [LOAD, LOAD, LOAD, RETURN].map(|code| instruction(code, TC_ACT_SHOT));
        assert_eq!(holder_of(&other.concat()), None);
    }
}
