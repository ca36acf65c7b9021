// Capture files in the classic pcap format (draft-ietf-opsawg-pcap): Ethernet frames with times in microseconds.

const MAGIC = 0xa1b2c3d4, ETHERNET = 1, SNAPLEN = 65535, HEAD = 24, RECORD = 16;

/** Returns a capture of sniffer rows with `data`; `began` is the time of their first second in milliseconds since 1970. */
export function capture(rows, began) {
  const packets = rows.filter((row) => row.data).map((row) => ({ row, bytes: (row.data.match(/../g) ?? []).map((byte) => parseInt(byte, 16)) }));
  const length = packets.reduce((sum, { bytes }) => sum + RECORD + bytes.length, HEAD);
  const view = new DataView(new ArrayBuffer(length)), out = new Uint8Array(view.buffer);
  let at = 0;
  const put = (...numbers) => { for (const number of numbers) { view.setUint32(at, number, true); at += 4; } };
  put(MAGIC, 0x00040002, 0, 0, SNAPLEN, ETHERNET);
  for (const { row, bytes } of packets) {
    const microseconds = Math.round(1000 * (began + 1000 * seconds(row.time)));
    put(Math.floor(microseconds / 1e6), microseconds % 1e6, bytes.length, Math.max(bytes.length, Number(row.size)));
    out.set(bytes, at);
    at += bytes.length;
  }
  return out;
}

/** Seconds of a packet's time since the start. */
const seconds = (text) => Number(text) || 0;
