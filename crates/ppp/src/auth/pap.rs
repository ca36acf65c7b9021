//! Packets of PAP (RFC 1334, 2).

use crate::packet::{Control, PAP, Packet};
use crate::reason::Fault;

/// Authenticate-Request.
pub(crate) const REQUEST: u8 = 1;
/// Authenticate-Ack.
pub(crate) const ACK: u8 = 2;
/// Authenticate-Nak.
pub(crate) const NAK: u8 = 3;

/// Builds an Authenticate-Request. Name and password are cut to 255 bytes.
pub(crate) fn request(id: u8, name: &[u8], password: &[u8]) -> Packet {
    let mut data = zeroize::Zeroizing::new(Vec::with_capacity(2 * 256));
    for field in [name, password] {
        let field = &field[..field.len().min(255)];
        data.push(field.len() as u8);
        data.extend_from_slice(field);
    }
    let request = Control {
        code: REQUEST,
        id,
        data: &data,
    };
    request.build(PAP)
}

/// Reads name and password of an Authenticate-Request.
pub(crate) fn parse_request(data: &[u8]) -> Result<[&[u8]; 2], Fault> {
    let (name, rest) = field(data)?;
    let (password, _) = field(rest)?;
    Ok([name, password])
}

/// Builds an Authenticate-Ack or Nak with a message, which is cut to 255 bytes.
pub(crate) fn answer(code: u8, id: u8, message: &[u8]) -> Packet {
    let message = &message[..message.len().min(255)];
    let data = [&[message.len() as u8], message].concat();
    let answer = Control {
        code,
        id,
        data: &data,
    };
    answer.build(PAP)
}

/// Reads the message of an Authenticate-Ack or Nak; empty if it is missing or malformed, as some servers send it.
pub(crate) fn message(data: &[u8]) -> &[u8] {
    field(data).map_or(&[], |(message, _)| message)
}

/// Reads a field behind its length, and returns what follows.
fn field(data: &[u8]) -> Result<(&[u8], &[u8]), Fault> {
    let (length, rest) = data.split_first().ok_or(Fault::Authentication)?;
    rest.split_at_checked(usize::from(*length))
        .ok_or(Fault::Authentication)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_carries_name_and_password() {
        let packet = request(1, b"anna", b"geheim");
        assert_eq!(packet[2..6], [1, 1, 0, 16]);
        assert_eq!(
            parse_request(&packet[6..]),
            Ok([&b"anna"[..], &b"geheim"[..]])
        );
        assert_eq!(parse_request(&packet[6..17]), Err(Fault::Authentication));
        assert_eq!(parse_request(&[]), Err(Fault::Authentication));
    }

    #[test]
    fn a_message_may_be_missing() {
        assert_eq!(message(&answer(NAK, 1, b"no")[6..]), b"no");
        assert_eq!(message(&[]), b"");
        assert_eq!(message(&[9, b'x']), b"");
    }
}
