//! The configuration and scripting language.

#![forbid(unsafe_code)]
