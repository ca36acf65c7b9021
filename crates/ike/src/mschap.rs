//! EAP-MSCHAPv2: responses and the session key of both ends (RFC 2759; RFC 3079, 3.4).

use ::mschap::{ChallengeHash, NtHash, Sender};

use crate::config::Secret;

/// Values computed from the password and both challenges.
pub(crate) struct Done {
    /// NT response of the user.
    pub(crate) response: [u8; 24],
    /// Authenticator response of the server: `S=` and 40 hexadecimal digits.
    pub(crate) proof: String,
    /// EAP session key: receive key of the server, its send key, and 32 zeros.
    pub(crate) msk: Secret,
}

/// Computes responses and key. User and password are UTF-8.
pub(crate) fn answer(
    user: &[u8],
    password: &[u8],
    server_challenge: &[u8; 16],
    client_challenge: &[u8; 16],
) -> Done {
    let hash = NtHash::new(password);
    let challenge = ChallengeHash::new(client_challenge, server_challenge, user);
    let response = hash.response_v2(challenge);
    let proof = hash.authenticator(challenge, &response);
    let master = hash.master_key(&response);
    let [client, server] = [Sender::Client, Sender::Server].map(|sender| master.start_key(sender));
    Done {
        response,
        proof: proof.map(char::from).iter().collect(),
        msk: Secret::new([&client[..], &server[..], &[0; 32]].concat()),
    }
}
