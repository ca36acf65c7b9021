//! Messages that are split over several segments.

use proptest::prelude::*;

use super::rtsp::SETUP;
use super::*;

/// Processes a stream of segments. Returns the forwarded data, the expectations, and whether a message could
/// not be edited.
fn stream(view: &View, segments: &[&[u8]]) -> (Vec<u8>, Vec<Expectation>, bool) {
    let table = KnownExpectations::default();
    let (mut kept, mut leaves, mut is_cut) = (Vec::new(), Vec::new(), false);
    for payload in segments {
        let text = [&kept[..], payload].concat();
        let findings = table.read_behind(&text, kept.len(), view);
        leaves.extend(edited(payload, view, &findings));
        is_cut |= findings.is_cut();
        kept = rest(&text, view).concat();
    }
    (leaves, table.0.into_inner(), is_cut)
}

/// Returns a view without address translation.
fn untranslated(view: View) -> View {
    View {
        back: view.forth.reversed(),
        ..view
    }
}

const ANSWER: &str = "RTSP/1.0 200 OK\r\nCSeq: 3\r\n\
    Transport: RTP/AVP;unicast;client_port=5000-5001;server_port=6256-6257\r\n\
    Session: 7\r\n\r\n";

/// Returns messages of each helper, with the number of expectations.
fn said() -> Vec<(View, String, usize)> {
    let tcp = |helper, reply| view(helper, protocol::TCP, 5060, reply);
    let commands = "USER a\r\nTYPE I\r\nPORT 10,0,0,2,19,137\r\nSTOR a\r\n\
        EPRT |1|10.0.0.2|5003|\nQUIT\r\n";
    let answers = "220-Hello\r\n220 there\r\n227 Entering (192,0,2,9,19,137).\r\n\
        229 Entering (|||5003|)\r\n226 Done\r\n";
    let offers = "NICK a\r\nPRIVMSG b :\x01DCC SEND a.png 167772162 5001 77\x01\r\n\
        PRIVMSG c :\x01DCC CHAT chat 167772162 5003\x01\r\n";
    let calls = format!("\r\n\r\n{INVITE}{}", INVITE.replace("49170", "49180"));
    vec![
        (tcp(Helper::Ftp, false), commands.to_owned(), 2),
        (tcp(Helper::Ftp, true), answers.to_owned(), 2),
        (tcp(Helper::Irc, false), offers.to_owned(), 2),
        (tcp(Helper::Sip, false), calls, 4),
        (tcp(Helper::Rtsp, false), format!("{SETUP}{SETUP}"), 2),
        (tcp(Helper::Rtsp, true), format!("{ANSWER}{ANSWER}"), 2),
    ]
}

/// Splits a text at these positions.
fn segments<'a>(text: &'a str, cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<_> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
    cuts.extend([0, text.len()]);
    cuts.sort_unstable();
    let pieces = cuts.windows(2).filter(|piece| piece[0] < piece[1]);
    pieces
        .map(|piece| &text.as_bytes()[piece[0]..piece[1]])
        .collect()
}

fn a_cut_stream_means_what_the_whole_one_means(cuts: &[usize]) {
    for (translated, text, count) in said() {
        let plain = untranslated(translated);
        let whole = stream(&plain, &[text.as_bytes()]);
        assert_eq!((whole.1.len(), whole.2), (count, false), "{text}");

        let pieces = segments(&text, cuts);
        assert_eq!(stream(&plain, &pieces), whole, "{pieces:?}");

        let (leaves, expected, _) = stream(&translated, &[text.as_bytes()]);
        let (left, found, is_cut) = stream(&translated, &pieces);
        match is_cut {
            false => assert_eq!((left, found), (leaves, expected), "{pieces:?}"),
            // Messages that could not be edited have no expectations; the other expectations are those of the
            // whole stream.
            true => assert!(found.iter().all(|one| expected.contains(one)), "{pieces:?}"),
        }
    }
}

#[test]
fn a_stream_split_at_any_byte_is_parsed() {
    let longest = said().iter().map(|(_, text, _)| text.len()).max();
    for cut in 0..longest.unwrap_or_default() {
        a_cut_stream_means_what_the_whole_one_means(&[cut]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_stream_split_often_is_parsed(
        cuts in proptest::collection::vec(any::<usize>(), 0..60),
    ) {
        a_cut_stream_means_what_the_whole_one_means(&cuts);
    }

    #[test]
    fn buffered_stream_data_is_bounded(
        text in "(PORT 1|\u{1}DCC SEND a 1 |SETUP a RTSP/1.0\r\n|INVITE a SIP/2.0\r\n|\r|\n|l: 9|.){0,40}",
        more in 0..6000_usize,
    ) {
        let text = text + &"x".repeat(more);
        for helper in Helper::ALL {
            let most = if helper == Helper::Sip { 4096 } else { 1024 };
            let view = view(helper, protocol::TCP, 21, false);
            prop_assert!(rest(text.as_bytes(), &view).concat().len() <= most);
            let view = View { helper, ..super::view(helper, protocol::UDP, 21, false) };
            prop_assert_eq!(rest(text.as_bytes(), &view), [b""; 2]);
        }
    }
}

#[test]
fn a_message_is_edited_if_its_bytes_were_not_yet_forwarded() {
    let view = view(Helper::Ftp, protocol::TCP, 21, false);
    let (leaves, expected, is_cut) = stream(&view, &[b"PO", b"RT ", b"10,0,0,2,19,137\r", b"\n"]);

    assert_eq!(leaves, b"PORT 198,51,100,1,19,137\r\n");
    assert_eq!((expected.len(), is_cut), (1, false));

    let (leaves, expected, is_cut) = stream(
        &view,
        &[b"PORT 10,0,", b"0,2,19,137\r\nPORT 10,0,0,2,19,138\r\n"],
    );

    let wanted = b"PORT 10,0,0,2,19,137\r\nPORT 198,51,100,1,19,138\r\n";
    assert_eq!(leaves, wanted);
    assert_eq!((expected.len(), is_cut), (1, true));
    assert_eq!(expected[0].tuple.destination_port, 5002);
}

#[test]
fn text_within_a_line_is_no_command() {
    let view = view(Helper::Ftp, protocol::TCP, 21, false);
    let long = [b'x'; 2000];
    let command = &b"PORT 10,0,0,2,19,137\r\n"[..];
    for before in [&b"STOR "[..], &long, &long[..400], b"STOR a\r"] {
        let (leaves, expected, is_cut) = stream(&view, &[before, command]);

        assert_eq!(leaves, [before, command].concat());
        assert_eq!((expected.len(), is_cut), (0, false));
        // The next line is a command again.
        assert_eq!(stream(&view, &[before, command, command]).1.len(), 1);
    }
}

#[test]
fn a_too_long_message_is_skipped_and_the_next_one_read() {
    let view = untranslated(view(Helper::Sip, protocol::TCP, 5060, false));
    let long = INVITE.replace("v=0", &format!("v={}0", "0".repeat(5000)));
    let long = long.replace("Length: 112", "Length: 5112");
    assert_eq!(stream(&view, &[long.as_bytes()]).1.len(), 2);
    let (first, second) = long.as_bytes().split_at(4500);

    let (_, expected, _) = stream(&view, &[first, second]);
    assert_eq!(expected.len(), 0);

    let (_, expected, _) = stream(&view, &[first, second, INVITE.as_bytes()]);
    assert_eq!(expected.len(), 2);
}
