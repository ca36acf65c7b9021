//! `/ip/ipsec/key`: keys that peers are known by.

pub(crate) mod psk;
pub(crate) mod qkd;
pub(crate) mod rsa;
