/** Requests that no HTTP client would send: a body that is promised and never comes, odd methods, doubled headers. */
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Answer } from '../support/platform.ts';

/** Long enough for a server that answers; a server that waits for what never comes fails the test here. */
const ANSWER_TIMEOUT_MS = 60_000;

/**
 * Sends these bytes and reads one answer, leaving the connection open until it came. Rejects when none comes.
 * `head` has no line that ends the headers: it is added, and `Host` unless that is turned off.
 */
export async function sendRaw(
  url: string,
  head: readonly string[],
  body: string | Uint8Array = '',
  { host: sendsHost = true }: { readonly host?: boolean } = {},
): Promise<Answer> {
  const { hostname, port, host } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.setTimeout(ANSWER_TIMEOUT_MS, () => socket.destroy(new Error(`no answer to ${head[0]}`)));
  try {
    await once(socket, 'connect');
    const lines = [head[0], ...(sendsHost ? [`Host: ${host}`] : []), ...head.slice(1)];
    socket.write(`${lines.join('\r\n')}\r\n\r\n`);
    if (body.length > 0) socket.write(body);
    let text = '';
    for await (const chunk of socket) {
      text += (chunk as Buffer).toString('latin1');
      const answer = parseAnswer(text, head[0]?.startsWith('HEAD ') === true);
      if (answer !== undefined) return answer;
    }
    throw new Error(`the connection closed after: ${text.slice(0, 300)}`);
  } finally {
    socket.destroy();
  }
}

/** The answer once its headers and as many bytes as they promise are there. */
function parseAnswer(received: string, isHead: boolean): Answer | undefined {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [statusLine = '', ...lines] = received.slice(0, end).split('\r\n');
  const headers = new Headers(lines.map((line) => splitOnce(line, ': ')));
  const status = Number(statusLine.split(' ')[1]);
  const length = isHead || status === 304 ? 0 : Number(headers.get('content-length') ?? 0);
  const text = Buffer.from(received.slice(end + 4), 'latin1').toString('utf8');
  if (Buffer.byteLength(text) < length) return undefined;
  const isPlain = (headers.get('content-encoding') ?? 'identity') === 'identity';
  const isJson = isPlain && headers.get('content-type')?.includes('json') === true && text !== '';
  return { status, headers, text, body: isJson ? JSON.parse(text) : undefined };
}

function splitOnce(line: string, separator: string): [string, string] {
  const at = line.indexOf(separator);
  return [line.slice(0, at), line.slice(at + separator.length)];
}
