//! Sessions that end, and links with faults.

use machine::Duration;
use ppp::{CloseReason, DownReason, Event, Method, Methods, Settings};

use crate::link::{CLIENT, Faults, Pair, SERVER, client, server, verify};

#[test]
fn a_wrong_password_ends_both_ends_with_each_method() {
    for method in Method::ALL {
        let client = Settings {
            methods: Methods::NONE.with(method),
            ..client()
        };
        let mut pair = Pair::new(client, server(), 3).with_verifier(|claim| {
            assert_eq!(claim.check("another"), None);
            Err("no such user".into())
        });
        pair.start();
        pair.run_for(Duration::from_secs(10));

        let [client, server] = pair.downs();
        assert_eq!(server, Some(DownReason::AuthenticationFailed), "{method:?}");
        assert!(
            matches!(client, Some(DownReason::CredentialsRefused(_))),
            "{client:?}"
        );
    }
}

#[test]
fn a_closed_session_ends_both_ends() {
    for closer in [CLIENT, SERVER] {
        let mut pair = Pair::new(client(), server(), 4);
        pair.start();
        pair.run_for(Duration::from_secs(1));
        pair.assert_open();
        pair.handle(closer, Event::Close(CloseReason::SessionTimeout));
        assert_eq!(pair.ends[closer].ipv4, None, "data stops at once");
        pair.run_for(Duration::from_secs(1));

        let mut expected = [const { Some(DownReason::PeerRequest) }; 2];
        expected[closer] = Some(DownReason::Closed(CloseReason::SessionTimeout));
        assert_eq!(pair.downs(), expected);
    }
}

#[test]
fn a_bad_link_opens_the_session_or_ends_it() {
    let mut open = 0;
    let seeds = 400;
    for seed in 0..seeds {
        let faults = Faults {
            lost: (seed % 5 * 8) as u8,
            duplicated: (seed % 7 * 5) as u8,
            delayed: (seed % 3 * 20) as u8,
        };
        let mut pair = Pair::new(client(), server(), seed)
            .with_faults(faults)
            .with_verifier(verify);
        pair.start();
        pair.run_for(Duration::from_secs(180));

        let downs = pair.downs();
        match downs {
            [None, None] => {
                pair.assert_open();
                open += 1;
            }
            _ => assert!(downs.iter().all(Option::is_some), "seed {seed}: {downs:?}"),
        }
    }
    assert!(open > seeds * 3 / 4, "{open} of {seeds} opened");
}
