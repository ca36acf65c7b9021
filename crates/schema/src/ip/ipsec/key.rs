//! `/ip/ipsec/key`: authentication keys.

pub(crate) mod psk;
pub(crate) mod qkd;
pub(crate) mod rsa;
