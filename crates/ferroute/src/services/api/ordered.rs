//! A command of an API connection: waits for its turn as a task, and occupies a thread only while it runs.
//! Listening commands occupy none between turns.

use std::ops::ControlFlow;
use std::sync::Arc;

use menu::{Reason, Refusal};
use script::{Done, Interrupt, ListenRequest, Request, Rows as _, Session};
use tokio::sync::Notify;
use tokio::sync::mpsc::Sender;
use tokio::task::spawn_blocking;

use super::{Batch, News};
use crate::run::shared::Shared;
use crate::services::admission::{CommandAdmission, CommandOwner};

/// Stops a command.
#[derive(Clone)]
pub(super) struct Brake {
    interrupt: Arc<Interrupt>,
    stopped: Arc<Notify>,
}

impl Brake {
    /// Creates the handle for a session's commands.
    pub(super) fn new(session: &Session) -> Self {
        Self {
            interrupt: session.interrupter(),
            stopped: Arc::default(),
        }
    }

    /// Stops the command, running or waiting.
    pub(super) fn stop(&self) {
        self.interrupt.close();
        self.stopped.notify_one();
    }
}

/// A requested command.
pub(super) struct Ordered {
    pub(super) number: u64,
    /// Tag of its rows.
    pub(super) tag: Vec<u8>,
    pub(super) request: Request,
    pub(super) session: Session,
    pub(super) shared: Arc<Shared>,
    pub(super) tell: Sender<News>,
    pub(super) brake: Brake,
}

/// Progress of a command when it releases its thread.
enum Step {
    Done(Done),
    Listens(Box<ListenRequest>),
}

impl Ordered {
    /// Runs the command to its end, and sends the result to the connection.
    pub(super) async fn run(self, admission: &CommandAdmission, owner: &CommandOwner) {
        let (number, tell) = (self.number, self.tell.clone());
        let ended = self.ended(admission, owner).await;
        let _ = tell.send(News::Ended(number, ended)).await;
    }

    async fn ended(
        self,
        admission: &CommandAdmission,
        owner: &CommandOwner,
    ) -> Result<Done, Refusal> {
        let turn = admission.turn(owner).await.map_err(Reason::nowhere)?;
        let (ordered, step) = self.in_thread(turn, Self::begin).await?;
        match step? {
            Step::Done(done) => Ok(done),
            Step::Listens(course) => ordered.listen(course, admission, owner).await,
        }
    }

    /// Runs a command, or starts a listening one.
    fn begin(&mut self) -> Result<Step, Refusal> {
        let begun = self
            .shared
            .begin_listening(&mut self.session, &self.request)?;
        if let Some(course) = begun {
            return Ok(Step::Listens(Box::new(course)));
        }
        let mut rows = Batch::new(self.number, &self.tag, &self.tell);
        let done = self
            .shared
            .request(&mut self.session, &self.request, &mut rows);
        // All rows have been queued when the command ends.
        match rows.rest() {
            ControlFlow::Continue(()) => done.map(Step::Done),
            ControlFlow::Break(()) => Err(Reason::Interrupted.nowhere()),
        }
    }

    async fn listen(
        mut self,
        mut course: Box<ListenRequest>,
        admission: &CommandAdmission,
        owner: &CommandOwner,
    ) -> Result<Done, Refusal> {
        let mut listener = admission.listener(owner).map_err(Reason::nowhere)?;
        loop {
            let turn = listener.turn(admission, owner).await;
            let look = move |ordered: &mut Self| {
                let mut rows = Batch::new(ordered.number, &ordered.tag, &ordered.tell);
                let (shared, session) = (&ordered.shared, &mut ordered.session);
                let pause = shared.listen(&mut course, session, &mut rows);
                (course, pause)
            };
            let (ordered, (looked, pause)) = self.in_thread(turn, look).await?;
            (self, course) = (ordered, looked);
            let Some(pause) = pause? else {
                return Ok(Done::Nothing);
            };
            listener.remember(course.rows()).map_err(Reason::nowhere)?;
            tokio::select! {
                () = self.shared.pause(pause) => {}
                () = self.brake.stopped.notified() => return Err(Reason::Interrupted.nowhere()),
            }
        }
    }

    /// Runs work in a thread, which the turn permits.
    async fn in_thread<T: Send + 'static>(
        mut self,
        turn: impl Send + 'static,
        work: impl FnOnce(&mut Self) -> T + Send + 'static,
    ) -> Result<(Self, T), Refusal> {
        let done = spawn_blocking(move || {
            let done = work(&mut self);
            drop(turn);
            (self, done)
        });
        let failed = |_| Reason::failure("the command failed").nowhere();
        done.await.map_err(failed)
    }
}
