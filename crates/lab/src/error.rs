//! Errors of labs, with advice.

use std::fmt;
use std::io;

use crate::program;

/// Reason for a failure to create, find, enter or remove a lab.
#[derive(Debug)]
pub enum Error {
    /// No layout has this name; the message lists all.
    UnknownLayout(String),
    /// A lab of this name is running, owned by this process or kept.
    AlreadyUp {
        /// Name of the lab.
        lab: String,
        /// Process that will remove the lab, unless it stays.
        owner: Option<u32>,
    },
    /// No lab of this name is running.
    NotUp(String),
    /// The lab has no host of this name.
    UnknownHost {
        /// Name of the lab.
        lab: String,
        /// Name in the request.
        host: String,
    },
    /// Invalid name: letters, digits, `-` and `_` are allowed, at most 40 of them.
    BadName(String),
    /// Neither named namespaces nor an unprivileged user namespace work here; the reasons.
    NoNamespaces(String),
    /// A program that creates labs is not installed.
    MissingProgram(&'static str),
    /// A command that creates or removes a part of the lab failed.
    Command {
        /// The command as typed, with its host.
        command: String,
        /// Its error output, or its exit status.
        reason: String,
    },
    /// The operating system refused an operation.
    Io {
        /// Attempted operation, in words.
        doing: String,
        /// The refusal.
        source: io::Error,
    },
}

impl Error {
    /// Wraps an [`io::Error`] with the attempted operation.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownLayout(name) => {
                let known: Vec<_> = crate::LAYOUTS.iter().map(|layout| layout.name).collect();
                write!(f, "no lab `{name}`; expected one of: {}", known.join(", "))
            }
            Self::AlreadyUp {
                lab,
                owner: Some(pid),
            } => {
                write!(
                    f,
                    "lab `{lab}` is up already, made by process {pid}, which removes it when it ends"
                )
            }
            Self::AlreadyUp { lab, owner: None } => {
                write!(
                    f,
                    "lab `{lab}` is up already; `{} lab down {lab}` removes it",
                    program::word()
                )
            }
            Self::NotUp(lab) => {
                let program = program::word();
                write!(
                    f,
                    "lab `{lab}` is not up; `{program} lab up {lab}` makes it"
                )
            }
            Self::UnknownHost { lab, host } => write!(f, "lab `{lab}` has no host `{host}`"),
            Self::BadName(name) => write!(
                f,
                "`{name}` is not a valid lab name: expected at most 40 letters, digits, `-` and `_`"
            ),
            Self::NoNamespaces(why) => write!(
                f,
                "this machine allows no network namespaces ({why}), so there can be no lab. \
                 What works without: `ferroute check`, `trace`, `parse`, `bench --via memory`; \
                 and `ferroute run` on real devices as root"
            ),
            Self::MissingProgram(program) => {
                write!(
                    f,
                    "`{program}` is not installed; `make deps` installs what labs need"
                )
            }
            Self::Command { command, reason } => write!(f, "`{command}` failed: {reason}"),
            Self::Io { doing, source } => write!(f, "cannot {doing}: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
