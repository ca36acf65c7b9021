//! Packets of CHAP (RFC 1994, 4), which MS-CHAP uses, too.

use crate::packet::{CHAP, Control, Packet};
use crate::reason::Fault;

/// Challenge.
pub(crate) const CHALLENGE: u8 = 1;
/// Response.
pub(crate) const RESPONSE: u8 = 2;
/// Success.
pub(crate) const SUCCESS: u8 = 3;
/// Failure.
pub(crate) const FAILURE: u8 = 4;

/// Builds a Challenge or Response; the name is cut to 255 bytes.
pub(crate) fn build(code: u8, id: u8, value: &[u8], name: &[u8]) -> Packet {
    let name = &name[..name.len().min(255)];
    let data = [&[value.len() as u8], value, name].concat();
    let packet = Control {
        code,
        id,
        data: &data,
    };
    packet.build(CHAP)
}

/// Reads value and name of a Challenge or Response.
pub(crate) fn parse(data: &[u8]) -> Result<[&[u8]; 2], Fault> {
    let (length, rest) = data.split_first().ok_or(Fault::Authentication)?;
    let parts = rest.split_at_checked(usize::from(*length));
    let (value, name) = parts.ok_or(Fault::Authentication)?;
    match value.is_empty() {
        true => Err(Fault::Authentication),
        false => Ok([value, name]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_carries_value_and_name() {
        let packet = build(CHALLENGE, 3, &[1, 2, 3], b"bras");
        assert_eq!(packet[..7], [0xc2, 0x23, 1, 3, 0, 12, 3]);
        assert_eq!(parse(&packet[6..]), Ok([&[1, 2, 3][..], &b"bras"[..]]));
        assert_eq!(parse(&packet[6..9]), Err(Fault::Authentication));
        assert_eq!(parse(&[0, b'x']), Err(Fault::Authentication));
    }
}
