/** Answers of OTLP/HTTP in protobuf; few and small enough to be written by hand. */

/** ExportTraceServiceResponse { partial_success = 1 { rejected_spans = 1, error_message = 2 } } */
export function encodeResponse({ rejectedSpans, message }: { rejectedSpans: number; message: string }): Buffer {
  if (rejectedSpans === 0) return Buffer.alloc(0);
  return field(1, Buffer.concat([Buffer.from([0x08]), varint(rejectedSpans), field(2, Buffer.from(message))]));
}

/** google.rpc.Status { code = 1, message = 2 } */
export function encodeStatus(code: number, message: string): Buffer {
  return Buffer.concat([Buffer.from([0x08]), varint(code), field(2, Buffer.from(message))]);
}

/** A length-delimited field. */
function field(number: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([(number << 3) | 2]), varint(content.length), content]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) | 128);
  }
}
