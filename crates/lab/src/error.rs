//! What can go wrong with a lab, and what to do about it.

use std::fmt;
use std::io;

use crate::program;

/// Why a lab could not be made, found, entered or removed.
#[derive(Debug)]
pub enum Error {
    /// No layout has this name; the message lists those there are.
    UnknownLayout(String),
    /// A lab of this name is up; it belongs to this process, or to nobody.
    AlreadyUp {
        /// The lab's name.
        lab: String,
        /// The process that will remove it, if it is not to stay.
        owner: Option<u32>,
    },
    /// No lab of this name is up.
    NotUp(String),
    /// The lab has no host of this name.
    UnknownHost {
        /// The lab's name.
        lab: String,
        /// What was asked for.
        host: String,
    },
    /// A lab's name may hold letters, digits, `-` and `_`, at most 40 of them.
    BadName(String),
    /// Neither root's way nor an unprivileged user namespace is allowed here; the reasons.
    NoNamespaces(String),
    /// A program that labs are made with is not installed.
    MissingProgram(&'static str),
    /// A command that makes or removes a part of the lab failed.
    Command {
        /// The command as typed, with the host it ran in.
        command: String,
        /// What it wrote to its standard error, or its exit status.
        reason: String,
    },
    /// The operating system refused something.
    Io {
        /// What was tried, in words.
        doing: String,
        /// The refusal.
        source: io::Error,
    },
}

impl Error {
    /// Wraps an [`io::Error`] with what was being done.
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
                write!(
                    f,
                    "no lab is called `{name}`; there are: {}",
                    known.join(", ")
                )
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
                "`{name}` cannot name a lab: letters, digits, `-` and `_`, at most 40"
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
