/**
 * Requests over every operation, made from the schemas of the document and from text that programs have
 * stumbled over: no answer of 500, no crash, the envelope on every refusal, and every answer as the document has it.
 */
import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { after, test } from 'node:test';
import { startPlatform } from '../support/platform.ts';
import { seedFor } from '../support/seed.ts';
import { assertCommonHeaders, assertEnvelope } from './assert-refusal.ts';
import {
  compileReplies,
  describeFailure,
  exchange,
  type FuzzAnswer,
  type FuzzOptions,
  type OpenApiDocument,
  sum,
  watchEventLoop,
} from './fuzz-exchange.ts';
import { type DescribedOperation, type FuzzRequest, type FuzzWorld, makeRequest } from './fuzz-requests.ts';
import { createWorld, OAUTH_STEPS } from './world.ts';

const SEED = seedFor('fuzz');
/** Requests on the same objects: some are deleted on the way. */
const ROUND = 2_000;
/** Of each operation that needs more, and how often. */
const MORE = 12;
const MORE_ROUNDS = 8;
const CLIENTS = 12;
const MAX_BLOCK_MS = 1_000;
/** More tell no more. */
const MAX_FAILURES = 20;
const TEST_TIMEOUT_MS = 900_000;

/** Declares the test of so many requests. */
export async function testFuzzedPlatform({ requests, crashes, isLong }: FuzzOptions): Promise<void> {
  /** Few requests leave enough of one world for all of them. */
  const worldCount = isLong ? 3 : 1;
  /** Operations come by turns, and the first request of each costs most: few requests go to every other one. */
  const stride = isLong ? 1 : 2;
  const platform = await startPlatform();
  after(() => platform.close());
  const document = (await fetch(`${platform.url}/openapi.json`).then((response) => response.json())) as OpenApiDocument;
  const operations = describeOperations();
  /** What is sent to them proves its sender: nobody guesses that. */
  const signed = new Set([
    ...platform.platform.operations.filter(({ verify }) => verify !== undefined).map(({ id }) => id),
    // Its text is the tenant's.
    'whatsapp.webhook.verify',
    // Browsers come back there with a state that somebody was given.
    'slack.oauth',
    'oauth.callback',
    // Codes, redirects of clients, secrets.
    ...OAUTH_STEPS,
  ]);
  const responses = new Map(
    Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map((one) => [one.operationId, one.responses] as const),
    ),
  );
  const validators = compileReplies(document);
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  after(() => agent.destroy());

  test(`the platform answers ${requests} made-up requests as its document says`, {
    timeout: TEST_TIMEOUT_MS,
  }, async (context) => {
    const watch = watchEventLoop();
    const started = performance.now();
    const tally = new Tally();
    const numbers = Array.from({ length: requests }, (_, place) => place * stride);
    for (let from = 0; from < requests; from += ROUND) await runRound(numbers.slice(from, from + ROUND), tally);
    if (isLong) await askMoreOf(tally);
    const seconds = (performance.now() - started) / 1_000;
    const longestBlockMs = watch.stop();
    const { failures, succeeded, refused } = tally;
    context.diagnostic(
      `${Math.round(seconds)} s, ${Math.round(requests / seconds)} requests/s, longest block ${Math.round(longestBlockMs)} ms, ` +
        `${sum(succeeded)} answered with success, ${sum(refused)} refused`,
    );

    assert.deepEqual(failures, [], `${failures.length} answers are wrong:\n${failures.join('\n\n')}`);
    assert.deepEqual(crashes, []);
    assert.ok(!isLong || longestBlockMs < MAX_BLOCK_MS, `the event loop was blocked for ${longestBlockMs} ms`);
    assert.ok(sum(succeeded) > 0 && sum(refused) > 0);
    if (!isLong) return;
    for (const { id } of operations.filter((one) => !signed.has(one.id))) {
      // A fuzz test that never gets past validation tests validation only.
      assert.ok((succeeded.get(id) ?? 0) > 0, `${id} was never answered with success`);
      assert.ok((refused.get(id) ?? 0) > 0, `${id} was never refused`);
    }
  });

  class Tally {
    readonly failures: string[] = [];
    readonly succeeded = new Map<string, number>();
    readonly refused = new Map<string, number>();

    add({ operation }: FuzzRequest, answer: FuzzAnswer): void {
      const isDone = answer.status < 300 || isElsewhere(operation.id, answer);
      const counts = isDone ? this.succeeded : this.refused;
      counts.set(operation.id, (counts.get(operation.id) ?? 0) + 1);
    }
  }

  /** What chance has not brought to a success and to a refusal by now gets more requests, in worlds where nothing is deleted yet. */
  async function askMoreOf(tally: Tally): Promise<void> {
    const turns = Math.ceil(requests / operations.length);
    for (let round = 0; round < MORE_ROUNDS; round += 1) {
      const numbers = operations.flatMap(({ id }, index) => {
        if (signed.has(id) || (tally.succeeded.has(id) && tally.refused.has(id))) return [];
        return Array.from({ length: MORE }, (_, more) => (turns + round * MORE + more) * operations.length + index);
      });
      if (numbers.length === 0) return;
      await runRound(numbers, tally, { deletes: true });
    }
  }

  /** Sends the requests of these numbers, some at a time, to worlds of their own. */
  async function runRound(numbers: readonly number[], tally: Tally, { deletes = false } = {}): Promise<void> {
    const worlds = await Promise.all(Array.from({ length: worldCount }, makeWorld));
    const left = numbers.values();
    const client = async () => {
      for (const number of left) {
        if (tally.failures.length >= MAX_FAILURES) return;
        // Operations come by turns: each meets every world.
        const world = worlds[Math.floor(number / operations.length) % worldCount] as FuzzWorld;
        const fuzz = makeRequest(number, SEED, operations, document.components.schemas, world, { deletes });
        try {
          const answer = await exchange(platform.url, agent, fuzz);
          tally.add(fuzz, answer);
          checkAnswer(fuzz, answer);
        } catch (error) {
          tally.failures.push(describeFailure(number, fuzz.operation.id, fuzz, error));
        }
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    for (const { tenant } of worlds) assert.equal((await tenant.get('/v1/agents')).status, 200);
  }

  async function makeWorld(): Promise<FuzzWorld> {
    const world = await createWorld(platform);
    return { ...world, smith: await world.smithToken() };
  }

  /** What has passed every check of ours, and finds that no provider and no tool server can be reached from here. */
  const UNREACHED = new Map([
    ['embeddings.create', 'embedding_unavailable'],
    ['tenant.mcp.refresh', 'connect_failed'],
    ['tenant.providers.put', 'discovery_failed'],
    ['smiths.connections.refresh', 'refresh_failed'],
    ['smiths.connections.authorize', 'discovery_failed'],
    // Nobody has the bots, numbers and applications that are made up.
    ['tenant.telegram.put', 'telegram_api_error'],
    ['tenant.whatsapp.put', 'whatsapp_api_error'],
    ['tenant.discord.put', 'connect_failed'],
    ['tenant.slack.put', 'slack_api_error'],
    ['tenant.email.put', 'email_send_failed'],
  ]);

  function isElsewhere(operationId: string, { body }: FuzzAnswer): boolean {
    return body?.error !== undefined && body.error.code === UNREACHED.get(operationId);
  }

  function checkAnswer({ operation, isOwnRoute, method, path }: FuzzRequest, answer: FuzzAnswer): void {
    const { status, headers, text, body } = answer;
    assert.ok(status < 500 || isElsewhere(operation.id, answer), `answered ${status}`);
    if (path.startsWith('/v1/')) assertCommonHeaders(answer);
    const described = responses.get(operation.id)?.[String(status)];
    const isHtml = headers.get('content-type')?.startsWith('text/html') === true;
    // Another path or method may still lead there.
    if (OAUTH_STEPS.has(operation.id) && (isOwnRoute || typeof body?.error === 'string')) {
      checkOAuthAnswer(answer);
      return;
    }
    // Past the platform's own checks the protocol's library answers, notifications with nothing.
    if (operation.id === 'deployments.mcp' && (status === 202 || body?.jsonrpc === '2.0')) {
      if (status === 202) assert.equal(text, '');
      else if (status >= 400)
        assert.ok(Number.isInteger(body.error.code) && typeof body.error.message === 'string', text);
      return;
    }
    const isPage = isHtml && responses.get(operation.id)?.['200']?.content?.['text/html'] !== undefined;
    if (status >= 400 && method !== 'HEAD' && !isPage) assertEnvelope(answer);
    if (!isOwnRoute) return;
    assert.ok(described, `${operation.id} does not describe an answer of ${status}`);
    if (isPage) {
      assert.match(text, method === 'HEAD' || status === 304 ? /^$/ : /^<!doctype html>/);
    } else if (status >= 400) {
      const { code } = body.error;
      assert.ok(described.description.includes(`\`${code}\``), `${operation.id} does not name ${code} under ${status}`);
    } else if (headers.get('content-type')?.includes('json') === true) {
      const validate = validators.get(`${operation.id} ${status}`);
      assert.ok(validate?.(body), `not as described: ${JSON.stringify(validate?.errors)} ${text.slice(0, 300)}`);
    } else if (described.content?.['application/octet-stream'] !== undefined) {
      assert.ok(headers.get('content-type'));
    } else if (status !== 204 && status !== 304) {
      assert.match(headers.get('content-type') ?? '', /^text\/event-stream/);
      assert.ok(described.content?.['text/event-stream']);
    }
  }

  /** What nobody guesses is refused, in a page or in OAuth's words; what is registered is JSON. */
  function checkOAuthAnswer({ status, headers, text, body }: FuzzAnswer): void {
    assert.equal(headers.get('location'), null, 'a redirect to nobody who is registered');
    if (status < 300 || text === '') return;
    if (headers.get('content-type')?.startsWith('text/html')) {
      assert.match(text, /^<!doctype html>/);
      return;
    }
    const { error, error_description, ...others } = body;
    assert.match(String(error), /^[a-z_]+$/);
    assert.match(String(error_description), /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
    assert.deepEqual(others, {});
  }

  function describeOperations(): DescribedOperation[] {
    const described = Object.values(document.paths).flatMap((methods) => Object.values(methods));
    // What is sent over a WebSocket is its own test's concern; without an upgrade each answers alike.
    const overHttp = platform.platform.operations.filter(({ kind }) => kind !== 'socket');
    return overHttp.map(({ id, method, path, posture }) => {
      const one = described.find(({ operationId }) => operationId === id);
      const query = (one?.parameters ?? []).filter((parameter) => parameter.in === 'query');
      const content = one?.requestBody?.content;
      const [body, form] = [content?.['application/json']?.schema, content?.['multipart/form-data']?.schema];
      return { id, method, path, posture, query, body, form };
    });
  }
}
