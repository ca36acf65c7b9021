//! Pcap files as a port: one to receive from, one to transmit to.
//!
//! Frames are read as fast as they are received; their timestamps are ignored. The output has timestamps in
//! nanoseconds. Only Ethernet captures are supported.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use frame::{Frame, Pool, Port, PortCounters, Transmitted, Vector};
use pcap_file::pcap::{PcapHeader, PcapReader};
use pcap_file::{DataLink, Endianness, TsResolution};

/// Snap length of the output, longer than any slot.
const SNAP_BYTES: u32 = 256 << 10;

/// A pair of files.
#[derive(Debug)]
pub struct PcapPort {
    input: Option<PcapReader<File>>,
    output: Option<FrameWriter<BufWriter<File>>>,
    receive_dropped: u64,
    receive_errors: u64,
    transmit_errors: u64,
}

impl PcapPort {
    /// Opens the files. Without an input nothing is received; without an output, sent frames are discarded.
    ///
    /// # Errors
    /// Returns the system's error, or `InvalidData` for a file that is no Ethernet capture.
    pub fn open(input: Option<&Path>, output: Option<&Path>) -> io::Result<Self> {
        if let (Some(input), Some(output)) = (input, output)
            && is_same_file(input, output)
        {
            return Err(io::Error::other("the output file is the input file"));
        }
        let input = input.map(open_input).transpose()?;
        let output = match output {
            Some(path) => Some(FrameWriter::new(BufWriter::new(File::create(path)?))?),
            None => None,
        };
        Ok(Self {
            input,
            output,
            receive_dropped: 0,
            receive_errors: 0,
            transmit_errors: 0,
        })
    }

    /// True if the whole input was received.
    pub fn is_at_end(&self) -> bool {
        self.input.is_none()
    }
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| std::fs::metadata(path).map(|found| (found.dev(), found.ino()));
    matches!((identity(one), identity(other)), (Ok(one), Ok(other)) if one == other)
}

fn open_input(path: &Path) -> io::Result<PcapReader<File>> {
    let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let reader = PcapReader::new(File::open(path)?).map_err(|error| invalid(error.to_string()))?;
    match reader.header().datalink {
        DataLink::ETHERNET => Ok(reader),
        other => Err(invalid(format!("a capture of {other:?}, not of Ethernet"))),
    }
}

impl Port for PcapPort {
    fn receive(&mut self, pool: &mut Pool, into: &mut Vector) -> usize {
        let before = into.len();
        while !into.is_full()
            && let Some(input) = &mut self.input
        {
            let bytes = match input.next_raw_packet() {
                Some(Ok(packet)) if packet.incl_len < packet.orig_len => {
                    self.receive_errors += 1;
                    continue;
                }
                Some(Ok(packet)) => packet.data,
                end => {
                    // After a damaged record the rest of the file cannot be parsed.
                    self.receive_errors += u64::from(end.is_some());
                    self.input = None;
                    break;
                }
            };
            match pool.alloc_from(&bytes) {
                // The vector has room, as checked above.
                Some(frame) => {
                    if let Err(frame) = into.push(frame) {
                        pool.free(frame);
                    }
                }
                None => self.receive_dropped += 1,
            }
        }
        into.len() - before
    }

    fn transmit(&mut self, pool: &mut Pool, frames: &mut Vec<Frame>) -> Transmitted {
        let mut done = Transmitted::default();
        for frame in frames.drain(..) {
            let written = self
                .output
                .as_mut()
                .is_none_or(|out| out.write(&frame).is_ok());
            if written {
                done.sent += 1;
            } else {
                done.dropped += 1;
            }
            pool.free(frame);
        }
        self.transmit_errors += u64::from(done.dropped);
        done
    }

    /// Flushes the output.
    fn flush(&mut self, _pool: &mut Pool) {
        if let Some(output) = &mut self.output {
            self.transmit_errors += u64::from(output.flush().is_err());
        }
    }

    fn counters(&self) -> PortCounters {
        PortCounters {
            receive_dropped: self.receive_dropped,
            receive_errors: self.receive_errors,
            transmit_errors: self.transmit_errors,
        }
    }

    fn close(&mut self, pool: &mut Pool) {
        self.flush(pool);
    }
}

/// Writes frames in pcap format, with the current time in nanoseconds.
#[derive(Debug)]
pub struct FrameWriter<W: Write> {
    writer: W,
}

impl<W: Write> FrameWriter<W> {
    /// Writes the file header.
    ///
    /// # Errors
    /// Returns the writer's error.
    pub fn new(mut writer: W) -> io::Result<Self> {
        let header = PcapHeader {
            version_major: 2,
            version_minor: 4,
            ts_correction: 0,
            ts_accuracy: 0,
            snaplen: SNAP_BYTES,
            datalink: DataLink::ETHERNET,
            ts_resolution: TsResolution::NanoSecond,
            endianness: Endianness::Little,
        };
        header.write_to(&mut writer).map_err(io::Error::other)?;
        Ok(Self { writer })
    }

    /// Writes one frame as it is in memory; an unfinished checksum stays unfinished.
    ///
    /// # Errors
    /// Returns the writer's error.
    pub fn write(&mut self, frame: &Frame) -> io::Result<()> {
        let bytes = frame.bytes();
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let len = bytes.len() as u32;
        // Seconds, nanoseconds, captured length, original length. The seconds field lasts until 2106.
        let header = [now.as_secs() as u32, now.subsec_nanos(), len, len].map(u32::to_le_bytes);
        self.writer.write_all(header.as_flattened())?;
        self.writer.write_all(bytes)
    }

    /// Flushes the writer.
    ///
    /// # Errors
    /// Returns the writer's error.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use frame::Sizes;

    use super::*;

    /// Temporary file of a test, removed on drop.
    struct Scratch(std::path::PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let name = format!("netio-{}-{name}.pcap", std::process::id());
            Self(std::env::temp_dir().join(name))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    #[test]
    fn frames_written_to_a_capture_are_read_back() {
        let file = Scratch::new("round");
        let mut pool = Pool::new(Sizes::LEAST).expect("memory");
        let contents: Vec<Vec<u8>> = [60, 1514, 9014, 65_550].map(|len| vec![7; len]).to_vec();
        let mut frames = contents.iter().filter_map(|c| pool.alloc_from(c)).collect();
        let mut out = PcapPort::open(None, Some(&file.0)).expect("a file");

        let done = out.transmit(&mut pool, &mut frames);
        out.close(&mut pool);
        let mut input = PcapPort::open(Some(&file.0), None).expect("the file");
        let mut vector = Vector::new();
        while !input.is_at_end() {
            input.receive(&mut pool, &mut vector);
        }

        assert_eq!(done.sent, 4);
        let received: Vec<_> = vector.frames().iter().map(|f| f.bytes().to_vec()).collect();
        assert!(received == contents, "the bytes differ");
        assert_eq!(input.counters(), PortCounters::default());
        vector.drain().for_each(|frame| pool.free(frame));
    }

    #[test]
    fn an_output_equal_to_the_input_is_refused() {
        let file = Scratch::new("both");
        std::fs::write(&file.0, b"a capture").expect("a file");

        let opened = PcapPort::open(Some(&file.0), Some(&file.0));

        assert!(opened.is_err_and(|error| error.to_string().contains("is the input file")));
        assert_eq!(std::fs::read(&file.0).expect("the file"), b"a capture");
    }

    #[test]
    fn a_truncated_capture_yields_its_whole_frames_and_one_error() {
        let file = Scratch::new("cut");
        let mut pool = Pool::new(Sizes::LEAST).expect("memory");
        let mut writer = FrameWriter::new(Vec::new()).expect("memory");
        let frame = pool.alloc_from(&[1; 60]).expect("a slot");
        for _ in 0..2 {
            writer.write(&frame).expect("memory");
        }
        let whole = writer.writer;
        for end in 24 + 16 + 60 + 1..whole.len() {
            std::fs::write(&file.0, &whole[..end]).expect("room");
            let mut port = PcapPort::open(Some(&file.0), None).expect("a header");
            let mut vector = Vector::new();

            assert_eq!(port.receive(&mut pool, &mut vector), 1, "cut at {end}");

            assert_eq!(port.counters().receive_errors, 1);
            vector.drain().for_each(|frame| pool.free(frame));
        }
        pool.free(frame);
    }

    #[test]
    fn a_file_that_is_no_capture_is_refused() {
        let file = Scratch::new("none");
        std::fs::write(&file.0, b"something else, of some length").expect("room");

        let error = PcapPort::open(Some(&file.0), None).expect_err("no capture");

        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
