//! Tests of whole routers: what they are given, and what must come of it.

#![forbid(unsafe_code)]

pub mod odd;
