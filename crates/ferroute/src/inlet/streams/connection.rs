//! A connection: sends what control and the workers have for it, and sorts what arrives.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use dataplane::encap::stream::is_data;
use dataplane::stream::Batch;
use openvpn::MAX_CONTROL_BYTES;
use openvpn::stream::{Deframer, LENGTH_BYTES, frame};
use router::drive::streams::{StreamEvent, StreamForm, StreamId};
use sstp::{Cutter, Piece};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

use super::Reporter;
use super::exchange::Attachment;

/// Time to send bytes.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum number of messages of control that wait to be sent.
const MAX_WAITING: usize = 64;
/// Bytes that are read at a time: for control, and where data packets pass.
const READ_BYTES: usize = 2048;
const READ_DATA_BYTES: usize = 8192;

/// What control has for a connection.
pub(super) enum Order {
    /// Send bytes.
    Send(Vec<u8>),
    /// Pass a packet to the worker of the session, as if it had arrived.
    Pass(Vec<u8>),
    /// Pass data packets between the connection and the workers.
    Attach(Attachment, mpsc::Receiver<Batch>),
}

/// Creates the queue of orders of a connection: the sender is for the owner, the receiver for the task. The task closes
/// the connection when the owner drops the sender.
pub(super) fn orders() -> (mpsc::Sender<Order>, mpsc::Receiver<Order>) {
    mpsc::channel(MAX_WAITING)
}

/// Sends and receives until either end closes the connection.
pub(super) async fn converse(
    stream: StreamId,
    form: StreamForm,
    socket: impl AsyncRead + AsyncWrite,
    orders: mpsc::Receiver<Order>,
    reporter: &Reporter,
) {
    let (reader, writer) = tokio::io::split(socket);
    let attachment = OnceLock::new();
    let is_closed = tokio::select! {
        // What control has sent goes first, so that nothing is lost when it closes the connection.
        biased;
        sent = send(writer, orders, &attachment) => sent.is_ok(),
        () = receive(stream, reader, Sorter::new(form, stream), &attachment, reporter) => false,
    };
    if !is_closed {
        let ended = StreamEvent::Ended { stream, why: None };
        reporter.report(ended).await;
    }
}

/// Sends what waits until control closes the connection.
///
/// # Errors
/// The connection failed, or does not take bytes in time.
async fn send(
    mut writer: impl AsyncWrite + Unpin,
    mut orders: mpsc::Receiver<Order>,
    attachment: &OnceLock<Arc<Attachment>>,
) -> io::Result<()> {
    let mut batches = None;
    loop {
        tokio::select! {
            biased;
            order = orders.recv() => match order {
                Some(Order::Send(bytes)) => in_time(writer.write_all(&bytes)).await?,
                Some(Order::Pass(packet)) => {
                    if let Some(attachment) = attachment.get() {
                        let mut batch = attachment.batch();
                        batch.push(&packet);
                        attachment.pass(batch);
                    }
                }
                Some(Order::Attach(attached, receiver)) => {
                    let _ = attachment.set(Arc::new(attached));
                    batches = Some(receiver);
                }
                None => {
                    let _ = in_time(writer.shutdown()).await;
                    return Ok(());
                }
            },
            Some(batch) = next(&mut batches) => {
                let mut waiting = Some(batch);
                // One flush for all batches that wait.
                while let Some(batch) = waiting {
                    in_time(writer.write_all(&batch.bytes)).await?;
                    if let Some(attachment) = attachment.get() {
                        attachment.recycle(batch);
                    }
                    waiting = batches.as_mut().and_then(|batches| batches.try_recv().ok());
                }
            }
        }
        in_time(writer.flush()).await?;
    }
}

/// Returns the next batch of the workers; waits for ever without a session.
async fn next(batches: &mut Option<mpsc::Receiver<Batch>>) -> Option<Batch> {
    match batches {
        Some(batches) => batches.recv().await,
        None => std::future::pending().await,
    }
}

async fn in_time(done: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    match tokio::time::timeout(TIMEOUT, done).await {
        Ok(done) => done,
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// Receives until the other end closes the connection.
async fn receive(
    stream: StreamId,
    mut reader: impl AsyncRead + Unpin,
    mut sorter: Sorter,
    attachment: &OnceLock<Arc<Attachment>>,
    reporter: &Reporter,
) {
    let mut buffer = vec![0; sorter.read_bytes()];
    while let Ok(count @ 1..) = reader.read(&mut buffer).await {
        let session = attachment.get().map(Arc::as_ref);
        let bytes = sorter.sort(&buffer[..count], session);
        if !bytes.is_empty() {
            let event = StreamEvent::Received { stream, bytes };
            reporter.report(event).await;
        }
    }
}

/// Separates the packets for the workers from the bytes for control.
enum Sorter {
    /// All bytes are for control.
    Plain,
    /// SSTP.
    Sstp(Cutter),
    /// OpenVPN.
    OpenVpn(Deframer),
}

impl Sorter {
    fn new(form: StreamForm, stream: StreamId) -> Self {
        match form {
            StreamForm::Plain => Self::Plain,
            StreamForm::Sstp => Self::Sstp(Cutter::default()),
            StreamForm::OpenVpn => Self::OpenVpn(Deframer::new(match stream.is_accepted() {
                // A client that is not authenticated yet sends control packets alone.
                true => MAX_CONTROL_BYTES,
                false => usize::from(u16::MAX),
            })),
        }
    }

    const fn read_bytes(&self) -> usize {
        match self {
            Self::Plain => READ_BYTES,
            Self::Sstp(_) | Self::OpenVpn(_) => READ_DATA_BYTES,
        }
    }

    /// Passes the data packets in received bytes to the worker of the session. Returns the bytes for control.
    fn sort(&mut self, bytes: &[u8], session: Option<&Attachment>) -> Vec<u8> {
        let mut sorted = Sorted::new(session);
        match self {
            Self::Plain => return bytes.to_vec(),
            Self::Sstp(cutter) => sort_sstp(cutter, bytes, &mut sorted),
            Self::OpenVpn(deframer) => sort_openvpn(deframer, bytes, &mut sorted),
        }
        sorted.finish()
    }
}

/// Sorted bytes.
struct Sorted<'a> {
    session: Option<&'a Attachment>,
    /// Packets for the worker.
    batch: Option<Batch>,
    of_control: Vec<u8>,
}

impl<'a> Sorted<'a> {
    const fn new(session: Option<&'a Attachment>) -> Self {
        Self {
            session,
            batch: None,
            of_control: Vec::new(),
        }
    }

    /// Adds a data packet for the worker. Returns false without a session.
    fn push(&mut self, packet: &[u8]) -> bool {
        let Some(session) = self.session else {
            return false;
        };
        if let Some(batch) = self.batch.take_if(|batch| batch.is_full()) {
            session.pass(batch);
        }
        self.batch
            .get_or_insert_with(|| session.batch())
            .push(packet);
        true
    }

    /// Passes the packets to the worker. Returns the bytes for control.
    fn finish(self) -> Vec<u8> {
        if let Some((batch, session)) = self.batch.zip(self.session) {
            session.pass(batch);
        }
        self.of_control
    }
}

fn sort_sstp(cutter: &mut Cutter, bytes: &[u8], sorted: &mut Sorted<'_>) {
    let mut input = bytes;
    loop {
        match cutter.next(&mut input) {
            Ok(Some(Piece::Data(packet))) => {
                if !(is_data(packet) && sorted.push(packet)) {
                    let header = sstp::data_header(packet.len());
                    sorted.of_control.extend(header.unwrap_or_default());
                    sorted.of_control.extend_from_slice(packet);
                }
            }
            Ok(Some(Piece::Head(piece) | Piece::Control(piece))) => {
                sorted.of_control.extend_from_slice(piece);
            }
            Ok(None) => return,
            // Control comes to the same fault, and closes the connection.
            Err(_) => return sorted.of_control.extend_from_slice(bytes),
        }
    }
}

fn sort_openvpn(deframer: &mut Deframer, bytes: &[u8], sorted: &mut Sorted<'_>) {
    if sorted.session.is_some() {
        deframer.set_limit(usize::from(u16::MAX));
    }
    deframer.push(bytes);
    loop {
        match deframer.next_packet() {
            Ok(Some(packet)) => {
                if !(openvpn::is_data(packet) && sorted.push(packet)) {
                    frame(packet, &mut sorted.of_control);
                }
            }
            Ok(None) => return,
            // An empty packet is a fault for control, too, which closes the connection.
            Err(_) => return sorted.of_control.extend_from_slice(&[0; LENGTH_BYTES]),
        }
    }
}
