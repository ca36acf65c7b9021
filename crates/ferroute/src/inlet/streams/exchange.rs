//! Passes packets between the rings of workers and the tasks of connections.
//!
//! One task takes the batches of all workers and gives each to the task of its session, which it finds in a table.
//! Tasks of connections put batches into the ring of the worker that their session belongs to.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use dataplane::stream::{Batch, ChannelId, StreamRings};
use tokio::sync::{Notify, mpsc};

use crate::run::shared::Shared;

/// The rings of all workers, and the connections with a session.
pub(crate) struct Exchange {
    rings: Vec<Arc<StreamRings>>,
    /// Workers have passed batches.
    passed: Arc<Notify>,
    sessions: Mutex<HashMap<ChannelId, mpsc::Sender<Batch>>>,
}

impl Exchange {
    /// Creates an exchange with the rings of these workers.
    pub(crate) fn new(rings: Vec<Arc<StreamRings>>) -> Self {
        Self {
            rings,
            passed: Arc::default(),
            sessions: Mutex::default(),
        }
    }

    /// Returns what workers notify when they have passed batches.
    pub(crate) const fn passed(&self) -> &Arc<Notify> {
        &self.passed
    }

    /// Passes the batches of workers on, for ever.
    pub(super) async fn run(&self) {
        loop {
            self.passed.notified().await;
            for rings in &self.rings {
                while let Some(batch) = rings.take() {
                    self.deliver(batch, rings);
                }
            }
        }
    }

    /// Gives a batch to the task of its session. A batch that finds no room there is lost.
    fn deliver(&self, batch: Batch, rings: &StreamRings) {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = match sessions.get(&batch.channel) {
            Some(sender) => sender.try_send(batch).err().map(|error| error.into_inner()),
            None => Some(batch),
        };
        drop(sessions);
        if let Some(batch) = lost {
            rings.count_lost(batch.packets);
            rings.recycle(batch);
        }
    }

    /// Registers a session. Returns what its connection sends and receives by.
    pub(super) fn attach(
        self: &Arc<Self>,
        channel: ChannelId,
        shared: &Arc<Shared>,
    ) -> (Attachment, mpsc::Receiver<Batch>) {
        let (sender, receiver) = mpsc::channel(channel.max_waiting());
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.insert(channel, sender);
        drop(sessions);
        let worker = channel.worker(self.rings.len());
        let attachment = Attachment {
            channel,
            worker,
            exchange: Arc::clone(self),
            shared: Arc::clone(shared),
        };
        (attachment, receiver)
    }
}

/// A session of a connection. Dropping it removes the session from the exchange.
pub(super) struct Attachment {
    channel: ChannelId,
    /// The worker that receives all packets of the session, which keeps their order.
    worker: usize,
    exchange: Arc<Exchange>,
    shared: Arc<Shared>,
}

impl Attachment {
    /// Returns an empty batch towards the worker.
    pub(super) fn batch(&self) -> Batch {
        self.rings().batch(self.channel)
    }

    /// Passes a batch to the worker.
    pub(super) fn pass(&self, batch: Batch) {
        self.rings().pass_to_worker(batch);
        self.shared.wake_worker(self.worker);
    }

    /// Returns the buffer of a batch that was sent.
    pub(super) fn recycle(&self, batch: Batch) {
        self.rings().recycle(batch);
    }

    fn rings(&self) -> &StreamRings {
        &self.exchange.rings[self.worker]
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        let sessions = &self.exchange.sessions;
        let mut sessions = sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.remove(&self.channel);
    }
}
