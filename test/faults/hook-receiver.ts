/** The servers of customers that events are sent to: what arrives is verified and kept, and some of it is refused at first. */
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Cleanup } from './fleet.ts';
import type { Random } from './seeded-random.ts';

export interface HookReceiver {
  readonly url: string;
  /** Of each path, once its webhook is made. */
  readonly secrets: Map<string, string>;
  /** Bodies that were taken, by path and id of the event. */
  readonly taken: ReadonlyMap<string, readonly string[]>;
  /** What did not verify, or had another content under the same id. */
  readonly wrong: readonly string[];
  /** Called at each arrival, before its answer; true: it gets none. */
  meet(onArrival: () => boolean): void;
  /** From now on it takes everything. */
  beKind(): void;
}

/** Deliveries are dead after six misses, and kills cost some, too. */
const MOST_REFUSALS = 2;
const REFUSED_SHARE = 0.3;

export async function openHookReceiver(t: Cleanup, random: Random): Promise<HookReceiver> {
  const secrets = new Map<string, string>();
  const taken = new Map<string, string[]>();
  const contents = new Map<string, string>();
  const refusals = new Map<string, number>();
  const wrong: string[] = [];
  let isKind = false;
  let onArrival = () => false;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString('utf8');
    const id = String(request.headers['webhook-id']);
    const place = `${request.url} ${id}`;
    const secret = secrets.get(request.url ?? '');
    // It comes before the answer to the call that made the webhook.
    if (secret === undefined) return void response.writeHead(503).end();
    const signed = `${id}.${request.headers['webhook-timestamp']}.${body}`;
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    const signature = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
    if (request.headers['webhook-signature'] !== signature) wrong.push(`${place} is not signed`);
    if (JSON.parse(body).id !== id) wrong.push(`${place} has another id inside`);
    if ((contents.get(place) ?? body) !== body) wrong.push(`${place} has changed`);
    contents.set(place, body);
    const refused = refusals.get(place) ?? 0;
    if (onArrival()) return void request.socket.destroy();
    if (!isKind && refused < MOST_REFUSALS && random.next() < REFUSED_SHARE) {
      refusals.set(place, refused + 1);
      if (random.next() < 0.2) request.socket.destroy();
      else response.writeHead(random.pick([404, 429, 500, 503])).end();
      return;
    }
    taken.set(place, [...(taken.get(place) ?? []), body]);
    response.writeHead(200).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    secrets,
    taken,
    wrong,
    meet(next) {
      onArrival = next;
    },
    beKind() {
      isKind = true;
      onArrival = () => false;
    },
  };
}
