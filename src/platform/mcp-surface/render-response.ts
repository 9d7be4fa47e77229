/** The library's answer as the kernel's. */
import { type EventSink, EventStream } from '../../kernel/http/event-stream.ts';
import { HttpReply, WrittenJson } from '../../kernel/http/reply.ts';

export type McpAnswer = WrittenJson | HttpReply<never> | EventStream;

export async function renderResponse(
  response: Response,
  headers: Readonly<Record<string, string>>,
): Promise<McpAnswer> {
  const { status, body } = response;
  if (body === null) return new HttpReply(status, undefined as never, headers);
  if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
    return new WrittenJson(Buffer.from(await response.arrayBuffer()), status, headers);
  }
  return new EventStream((sink, closed) => pump(body, sink, closed), status, headers);
}

async function pump(body: ReadableStream<Uint8Array>, sink: EventSink, closed: AbortSignal): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const leave = () => void reader.cancel().catch(() => {});
  closed.addEventListener('abort', leave, { once: true });
  if (closed.aborted) leave();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    if (!sink.write(decoder.decode(value, { stream: true }))) await sink.drained();
  }
}
