/** A collector on loopback: takes OTLP/HTTP in protobuf and keeps the spans, decoded. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeMessage } from './otlp-messages.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into messages of every shape.
type Json = any;

export interface OtlpCollector {
  readonly url: string;
  readonly requests: readonly {
    readonly path: string;
    readonly headers: IncomingHttpHeaders;
    readonly message: Json;
  }[];
  /** Every span so far, attributes as an object. */
  readonly spans: Json[];
  /** From now on; 200 when it begins. */
  answerWith(status: number): void;
  close(): Promise<void>;
}

export async function startOtlpCollector(): Promise<OtlpCollector> {
  const requests: { path: string; headers: IncomingHttpHeaders; message: Json }[] = [];
  const spans: Json[] = [];
  let status = 200;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const message = decodeMessage('ExportTraceServiceRequest', Buffer.concat(chunks));
    requests.push({ path: request.url ?? '', headers: request.headers, message });
    if (status === 200) spans.push(...spansOf(message));
    response.writeHead(status, { 'content-type': 'application/x-protobuf' }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    spans,
    answerWith(next) {
      status = next;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function spansOf({ resourceSpans = [] }: Json): Json[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }: Json) =>
    scopeSpans.flatMap((scope: Json) =>
      scope.spans.map((span: Json) => ({
        ...span,
        attributes: attributesOf(span.attributes),
        resource: attributesOf(resource?.attributes),
      })),
    ),
  );
}

function attributesOf(list: Json[] = []): Json {
  return Object.fromEntries(list.map(({ key, value }) => [key, readValue(value)]));
}

function readValue(value: Json): Json {
  const [kind, given] = Object.entries(value)[0] ?? [];
  if (kind === 'arrayValue') return ((given as Json).values ?? []).map(readValue);
  return kind === 'intValue' ? Number(given) : given;
}
