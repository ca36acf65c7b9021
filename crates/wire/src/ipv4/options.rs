//! IPv4 options (RFC 791, 3.1): parsing, and the updates of a forwarding router (RFC 1812, 5.2.4).

use core::net::Ipv4Addr;

use super::{HEADER_LEN, HeaderMut, OPTIONS_LEN_MAX};

/// Reason why an option is malformed; ends the iteration over the options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MalformedOption {
    /// The length byte is missing; holds the offset of the option in the header.
    NoLength(u8),
    /// The length is below 2 or exceeds the header; holds the offset of the option.
    Length(u8),
    /// The option's own pointer or flags are invalid; holds the offset of the option.
    Pointer(u8),
}

impl MalformedOption {
    /// Offset of the fault in the header: the pointer of an ICMP parameter problem.
    pub const fn pointer(self) -> u8 {
        match self {
            Self::NoLength(at) => at,
            Self::Length(at) => at + 1,
            Self::Pointer(at) => at + 2,
        }
    }
}

/// An option of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpOption<'a> {
    /// Type: copied flag, class and number.
    pub kind: u8,
    /// Offset in the header in bytes: 20 to 59.
    pub at: u8,
    /// Data after type and length.
    pub data: &'a [u8],
}

impl IpOption<'_> {
    /// End of the option list.
    pub const END: u8 = 0;
    /// No operation.
    pub const NOP: u8 = 1;
    /// Record route.
    pub const RECORD_ROUTE: u8 = 7;
    /// Timestamp.
    pub const TIMESTAMP: u8 = 68;
    /// Security (RFC 1108).
    pub const SECURITY: u8 = 130;
    /// Loose source and record route.
    pub const LOOSE_SOURCE_ROUTE: u8 = 131;
    /// Strict source and record route.
    pub const STRICT_SOURCE_ROUTE: u8 = 137;
    /// Router alert (RFC 2113).
    pub const ROUTER_ALERT: u8 = 148;

    /// True if every fragment carries the option, not only the first (RFC 791, 3.1).
    #[inline]
    pub const fn is_copied(&self) -> bool {
        self.kind & 0x80 != 0
    }

    /// True for a source route.
    #[inline]
    pub const fn is_source_route(&self) -> bool {
        matches!(
            self.kind,
            Self::LOOSE_SOURCE_ROUTE | Self::STRICT_SOURCE_ROUTE
        )
    }
}

/// Iterator over the options of a header, up to the end of the list; skips no-operations.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    options: &'a [u8],
    at: usize,
}

impl<'a> Options<'a> {
    /// Iterates over the option bytes of a header (at most 40).
    pub fn new(options: &'a [u8]) -> Self {
        Self {
            options: options.get(..OPTIONS_LEN_MAX).unwrap_or(options),
            at: 0,
        }
    }

    fn fail(&mut self, error: MalformedOption) -> MalformedOption {
        self.at = self.options.len();
        error
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = Result<IpOption<'a>, MalformedOption>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let rest = self.options.get(self.at..)?;
            let at = (HEADER_LEN + self.at) as u8;
            let (&kind, tail) = rest.split_first()?;
            match kind {
                IpOption::END => return None,
                IpOption::NOP => {
                    self.at += 1;
                    continue;
                }
                _ => {}
            }
            let Some(&len) = tail.first() else {
                return Some(Err(self.fail(MalformedOption::NoLength(at))));
            };
            let Some(data) = rest.get(2..usize::from(len)) else {
                return Some(Err(self.fail(MalformedOption::Length(at))));
            };
            self.at += usize::from(len);
            return Some(Ok(IpOption { kind, at, data }));
        }
    }
}

/// Updates the options of a forwarded packet: writes the router's address into record route and timestamp, and the
/// time into timestamp (RFC 791, 3.1; RFC 1812, 5.2.4). Returns true if anything changed; the header checksum is
/// updated.
///
/// `header` is the whole header, checked. `address` is that of the egress interface, `is_ours` recognizes this
/// router's addresses, and `midnight_ms` is the time in milliseconds since midnight UT (or any other time with the
/// highest bit set).
///
/// # Errors
/// Returns the option that has space for only a part of an entry, or whose pointer is wrong. The header may already
/// contain updates of earlier options, because the packet is dropped.
pub fn record(
    header: &mut [u8],
    address: Ipv4Addr,
    is_ours: impl Fn(Ipv4Addr) -> bool,
    midnight_ms: u32,
) -> Result<bool, MalformedOption> {
    let mut options = [0; OPTIONS_LEN_MAX];
    let bytes = header.get(HEADER_LEN..).unwrap_or_default();
    let len = bytes.len().min(OPTIONS_LEN_MAX);
    for (slot, byte) in options.iter_mut().zip(bytes) {
        *slot = *byte;
    }
    let read = options;
    for option in Options::new(read.get(..len).unwrap_or_default()) {
        let option = option?;
        let start = usize::from(option.at) - HEADER_LEN;
        let end = start + 2 + option.data.len();
        let whole = options.get_mut(start..end).unwrap_or_default();
        match option.kind {
            IpOption::RECORD_ROUTE => record_route(whole, option.at, address)?,
            IpOption::TIMESTAMP => {
                timestamp(whole, option.at, address, &is_ours, midnight_ms)?;
            }
            _ => {}
        }
    }
    if read == options {
        return Ok(false);
    }
    let changed = options.get(..len).unwrap_or_default();
    if let Some(slot) = header.get_mut(HEADER_LEN..HEADER_LEN + len) {
        slot.copy_from_slice(changed);
    }
    if let Ok(mut fixed) = HeaderMut::new_checked(header) {
        fixed.fill_checksum(changed);
    }
    Ok(true)
}

/// Record route: kind, length, pointer, addresses. The pointer counts from one and is past the end when the option is
/// full.
fn record_route(option: &mut [u8], at: u8, address: Ipv4Addr) -> Result<(), MalformedOption> {
    let wrong = MalformedOption::Pointer(at);
    let pointer = usize::from(*option.get(2).ok_or(wrong)?);
    if pointer < 4 {
        return Err(wrong);
    }
    if pointer > option.len() {
        return Ok(());
    }
    put(option, pointer, address.octets()).ok_or(wrong)?;
    set(option, 2, pointer + 4);
    Ok(())
}

/// Timestamp: kind, length, pointer, overflow and flag, entries.
fn timestamp(
    option: &mut [u8],
    at: u8,
    address: Ipv4Addr,
    is_ours: impl Fn(Ipv4Addr) -> bool,
    midnight_ms: u32,
) -> Result<(), MalformedOption> {
    let wrong = MalformedOption::Pointer(at);
    let &[_, _, pointer, state, ..] = &*option else {
        return Err(wrong);
    };
    let pointer = usize::from(pointer);
    if pointer < 5 {
        return Err(wrong);
    }
    let time = midnight_ms.to_be_bytes();
    let (overflow, flag) = (state >> 4, state & 0xf);
    if pointer > option.len() {
        // Prespecified addresses: routers that are not listed do not count as overflow.
        if flag == TIMES_OF_THESE {
            return Ok(());
        }
        if overflow == 15 {
            return Err(wrong);
        }
        set(option, 3, usize::from((overflow + 1) << 4 | flag));
        return Ok(());
    }
    match flag {
        TIMES => {
            put(option, pointer, time).ok_or(wrong)?;
            set(option, 2, pointer + 4);
        }
        ADDRESSES_AND_TIMES => {
            let [a, b, c, d] = address.octets();
            let [e, f, g, h] = time;
            put(option, pointer, [a, b, c, d, e, f, g, h]).ok_or(wrong)?;
            set(option, 2, pointer + 8);
        }
        TIMES_OF_THESE => {
            let entry: Option<&[u8; 8]> = option
                .get(pointer - 1..)
                .and_then(|tail| tail.first_chunk());
            let &[a, b, c, d, ..] = entry.ok_or(wrong)?;
            if is_ours(Ipv4Addr::new(a, b, c, d)) {
                put(option, pointer + 4, time).ok_or(wrong)?;
                set(option, 2, pointer + 8);
            }
        }
        _ => return Err(wrong),
    }
    Ok(())
}

/// Writes an entry at the pointer (counted from one); `None` if it does not fit.
fn put<const N: usize>(option: &mut [u8], pointer: usize, entry: [u8; N]) -> Option<()> {
    let slot = option.get_mut(pointer - 1..)?.first_chunk_mut()?;
    *slot = entry;
    Some(())
}

fn set(option: &mut [u8], at: usize, value: usize) {
    if let (Some(slot), Ok(value)) = (option.get_mut(at), u8::try_from(value)) {
        *slot = value;
    }
}

/// Flags of the timestamp option (RFC 791, 3.1).
const TIMES: u8 = 0;
const ADDRESSES_AND_TIMES: u8 = 1;
const TIMES_OF_THESE: u8 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Protocol;
    use crate::ipv4::{Packet, Repr};
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const US: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 1);
    const MS: u32 = 0x00a8_8f81;

    #[test]
    fn a_malformed_option_ends_the_iteration_with_its_offset() {
        let walk = |options| Options::new(options).last();

        assert_eq!(
            walk(&[1, 1, 7][..]),
            Some(Err(MalformedOption::NoLength(22)))
        );
        assert_eq!(walk(&[7, 1, 0, 0]), Some(Err(MalformedOption::Length(20))));
        assert_eq!(walk(&[1, 7, 4, 0]), Some(Err(MalformedOption::Length(21))));
        assert_eq!(walk(&[0, 7, 1, 0]), None);
        assert_eq!(MalformedOption::Length(21).pointer(), 22);
    }

    /// Applies a router's updates to these options.
    fn recorded(options: &[u8]) -> Result<Option<Vec<u8>>, MalformedOption> {
        let (src, dst) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(198, 51, 100, 2));
        let mut header = Vec::new();
        Repr::new(Protocol::UDP, src, dst).emit(options, 0, &mut header);
        let changed = record(&mut header, US, |address| address == US, MS)?;
        let packet = Packet::new_verified(&header).expect("the checksum is right");
        Ok(changed.then(|| packet.options().to_vec()))
    }

    #[test]
    fn a_route_is_recorded_until_the_option_is_full() {
        let empty = [7, 7, 4, 0, 0, 0, 0, 0];
        let full = [7, 7, 8, 10, 0, 2, 1, 0];

        assert_eq!(recorded(&empty), Ok(Some(full.to_vec())));
        assert_eq!(recorded(&full), Ok(None));
        assert_eq!(
            recorded(&[7, 6, 4, 0, 0, 0, 0, 0]),
            Err(MalformedOption::Pointer(20))
        );
        assert_eq!(
            recorded(&[1, 7, 7, 3, 0, 0, 0, 0]),
            Err(MalformedOption::Pointer(21))
        );
        assert_eq!(MalformedOption::Pointer(21).pointer(), 23);
    }

    #[test]
    fn timestamps_are_recorded_as_the_flag_requests() {
        let [a, b, c, d] = MS.to_be_bytes();

        assert_eq!(
            recorded(&[68, 8, 5, 0, 0, 0, 0, 0]),
            Ok(Some([68, 8, 9, 0, a, b, c, d].to_vec()))
        );
        assert_eq!(
            recorded(&[68, 12, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0]),
            Ok(Some([68, 12, 13, 1, 10, 0, 2, 1, a, b, c, d].to_vec()))
        );
        let ours = [68, 12, 5, 3, 10, 0, 2, 1, 0, 0, 0, 0];
        assert_eq!(
            recorded(&ours),
            Ok(Some([68, 12, 13, 3, 10, 0, 2, 1, a, b, c, d].to_vec()))
        );
        assert_eq!(recorded(&[68, 12, 5, 3, 10, 9, 9, 9, 0, 0, 0, 0]), Ok(None));
    }

    #[test]
    fn a_full_timestamp_option_increments_its_overflow() {
        let full = |state| [68, 8, 9, state, 1, 2, 3, 4];

        assert_eq!(recorded(&full(0x10)), Ok(Some(full(0x20).to_vec())));
        assert_eq!(recorded(&full(0xf0)), Err(MalformedOption::Pointer(20)));
        assert_eq!(recorded(&full(0x53)), Ok(None));
        assert_eq!(
            recorded(&[68, 8, 7, 0, 0, 0, 0, 0]),
            Err(MalformedOption::Pointer(20))
        );
        assert_eq!(
            recorded(&[68, 8, 5, 2, 0, 0, 0, 0]),
            Err(MalformedOption::Pointer(20))
        );
    }

    proptest! {
        #[test]
        fn options_never_panic_and_writes_stay_within_their_option(
            options in proptest::collection::vec(prop_oneof![Just(7u8), Just(68), 0..16u8, any::<u8>()], 0..=40),
        ) {
            let mut options = options;
            options.resize(options.len().next_multiple_of(4), 0);
            let Ok(Some(after)) = recorded(&options) else { return Ok(()) };
            let shape = |options| Options::new(options)
                .map(|option| option.map(|option| (option.kind, option.at, option.data.len())))
                .collect::<Vec<_>>();

            prop_assert_eq!(shape(&after), shape(&options));
        }
    }
}
