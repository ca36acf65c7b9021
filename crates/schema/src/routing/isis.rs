//! `/routing/isis`: IS-IS (RFC 1195).

pub(crate) mod instance;
pub(crate) mod interface;
pub(crate) mod interface_template;
pub(crate) mod lsp;
pub(crate) mod neighbor;
