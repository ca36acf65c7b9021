//! A command of a connection: it waits for its turn as a task, and has a thread while it runs. One that
//! listens has none between two looks.

use std::ops::ControlFlow;
use std::sync::Arc;

use menu::{Reason, Refusal};
use script::{Course, Done, Interrupt, Request, Rows as _, Session};
use tokio::sync::Notify;
use tokio::sync::mpsc::Sender;
use tokio::task::spawn_blocking;

use super::{Batch, News};
use crate::core::Shared;
use crate::services::desk::{Asker, Desk};

/// What stops a command.
#[derive(Clone)]
pub(super) struct Brake {
    interrupt: Arc<Interrupt>,
    stopped: Arc<Notify>,
}

impl Brake {
    /// What stops the commands of a session.
    pub(super) fn new(session: &Session) -> Self {
        Self {
            interrupt: session.interrupter(),
            stopped: Arc::default(),
        }
    }

    /// Stops the command, whether it runs or waits.
    pub(super) fn stop(&self) {
        self.interrupt.close();
        self.stopped.notify_one();
    }
}

/// A command that was asked for.
pub(super) struct Ordered {
    pub(super) number: u64,
    /// What its rows are marked with.
    pub(super) tag: Vec<u8>,
    pub(super) request: Request,
    pub(super) session: Session,
    pub(super) shared: Arc<Shared>,
    pub(super) tell: Sender<News>,
    pub(super) brake: Brake,
}

/// How far a command has come when it gives its thread back.
enum Step {
    Done(Done),
    Listens(Box<Course>),
}

impl Ordered {
    /// Runs the command to its end, and tells the connection.
    pub(super) async fn run(self, desk: &Desk, asker: &Asker) {
        let (number, tell) = (self.number, self.tell.clone());
        let ended = self.ended(desk, asker).await;
        let _ = tell.send(News::Ended(number, ended)).await;
    }

    async fn ended(self, desk: &Desk, asker: &Asker) -> Result<Done, Refusal> {
        let turn = desk.turn(asker).await.map_err(Reason::nowhere)?;
        let (ordered, step) = self.in_thread(turn, Self::begin).await?;
        match step? {
            Step::Done(done) => Ok(done),
            Step::Listens(course) => ordered.listen(course, (desk, asker)).await,
        }
    }

    /// Runs a command, unless it is one that listens.
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
        // All its rows are on their way when it has ended.
        match rows.rest() {
            ControlFlow::Continue(()) => done.map(Step::Done),
            ControlFlow::Break(()) => Err(Reason::Interrupted.nowhere()),
        }
    }

    async fn listen(
        mut self,
        mut course: Box<Course>,
        (desk, asker): (&Desk, &Asker),
    ) -> Result<Done, Refusal> {
        let mut listener = desk.listener(asker).map_err(Reason::nowhere)?;
        loop {
            let turn = listener.turn(desk, asker).await;
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

    /// Does something in a thread, which the turn allows.
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
        let failed = |_| Reason::failure("the command did not end well").nowhere();
        done.await.map_err(failed)
    }
}
