/**
 * Requests over every operation of the domain service, made from the schemas of its document and from text that programs have stumbled
 * over: no answer of 500, no crash, the envelope on every refusal, every answer as the document has it, and books that are right.
 */
import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { after, test } from 'node:test';
import { domainErrors } from '../../src/domains/errors.ts';
import type { Message } from '../../src/domains/mail/index.ts';
import { issueReceipts } from '../../src/domains/receipts/index.ts';
import { noticeIdOf } from '../../src/domains/registry/claims-notices.ts';
import { auditLedger } from '../../src/domains/wallet/index.ts';
import { createStripePayments } from '../../src/domains/wallet/payments/stripe-payments.ts';
import { systemClock } from '../../src/kernel/clock/clock.ts';
import type { ErrorEntry } from '../../src/kernel/http/errors.ts';
import { createLogger } from '../../src/kernel/log/log.ts';
import { startStripe } from '../fakes/stripe-server.ts';
import { NAMESERVERS, startDomains } from '../support/domains.ts';
import type { Answer } from '../support/platform.ts';
import { seedFor } from '../support/seed.ts';
import { takingPublisher } from '../support/taking-publisher.ts';
import { eventually } from '../support/turns.ts';
import {
  CLAIMED_NAME,
  type DomainsFuzzRequest,
  type DomainsWorld,
  type FuzzedOperation,
  makeDomainsRequest,
} from './domains-fuzz-requests.ts';
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

const SEED = seedFor('domains-fuzz');
/** Requests on the same objects: some are deleted on the way. */
const ROUND = 450;
/** Of each operation that needs more, and how often. */
const MORE = 12;
const MORE_ROUNDS = 8;
const CLIENTS = 8;
const MAX_BLOCK_MS = 1_000;
const MAX_FAILURES = 20;
const TEST_TIMEOUT_MS = 900_000;
/**
 * Another registrar has to ask for a name before its owner can decide (transfer-out.test.ts), and a name has to be older than its
 * first five days when it is deleted, to be restored (restorations.test.ts). Stripe alone can sign its events (disputes.test.ts). What confirms
 * an address or consents to a change comes by mail (verifications.test.ts, registrant-changes.test.ts). An order waits for a notice where its
 * registry was silent (unsaid-terms.test.ts). Holders are traded at registries that have that (trades.test.ts), and
 * agents consent where a TLD lets them (designated-agent.test.ts).
 */
const NEVER_DONE = new Set([
  'transfers_out.approve',
  'transfers_out.reject',
  'domains.restore',
  'domains.trade',
  'orders.accept_notice',
  'payment_events.receive',
  'registrant.complete_agent',
  'registrant.request_agent',
  'registrant.complete_verification',
  'registrant.consent',
]);
/** They take no wrong value. */
const NEVER_REFUSED = new Set([
  'tlds.list',
  'sign_ins.page',
  'registrant.verification_page',
  'registrant.consent_page',
  'registrant.agent_page',
  'rdap.help',
]);

/** Declares the test of so many requests. */
export async function testFuzzedDomains({ requests, crashes, isLong }: FuzzOptions): Promise<void> {
  const logger = createLogger({ logLevel: 'silent' });
  const stripe = await startStripe();
  const codes: string[] = [];
  const mailer = {
    async send({ text }: Message) {
      const [, code] = /\/sign-in#(\S+)$/m.exec(text) ?? [];
      if (code !== undefined) codes.push(code);
    },
  };
  const service = await startDomains({
    mailer,
    logger,
    payments: createStripePayments({
      secretKey: stripe.secretKey,
      apiUrl: stripe.url,
      webhookSecret: stripe.webhookSecret,
      returnUrl: 'https://shop.example/',
      logger,
    }),
    publisher: () => ({ ...takingPublisher, kind: 'powerdns', supportsDnssec: true }),
    delegations: { find: async () => ({ nameservers: NAMESERVERS, ttlSeconds: 300 }) },
    parts: {
      noticeService: {
        fetchNotice: async () => {
          const [label = ''] = CLAIMED_NAME.split('.');
          const notAfter = new Date(Date.now() + 172_800_000);
          const id = noticeIdOf(label, notAfter, '0000000000000000001');
          return { id, label, notBefore: new Date(), notAfter, claims: [] };
        },
      },
      rdap: {
        name: 'Example',
        iana_id: 9_999,
        abuse_email: 'a@example.com',
        abuse_phone: '+1.2',
        url: 'https://example.com',
      },
    },
  });
  service.registry.launchDemandOf = async (name) =>
    name === CLAIMED_NAME ? { kind: 'claims_notice', lookupKey: 'key' } : { kind: 'none' };
  after(async () => {
    await service.close();
    await stripe.close();
  });
  const document = (await fetch(`${service.url}/openapi.json`).then((response) => response.json())) as OpenApiDocument;
  const described = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const operations = service.domains.operations.map(({ id, method, path, posture, example }): FuzzedOperation => {
    const one = described.find(({ operationId }) => operationId === id) ?? assert.fail(id);
    const query = (one.parameters ?? []).filter((parameter) => parameter.in === 'query');
    const body = one.requestBody?.content['application/json']?.schema;
    return { id, method, path, isPublic: posture === 'public', query, body, example };
  });
  const validators = compileReplies(document);
  const catalogue: Readonly<Record<string, ErrorEntry>> = domainErrors;
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  after(() => agent.destroy());

  test(`the domain service answers ${requests} made-up requests as its document says`, {
    timeout: TEST_TIMEOUT_MS,
  }, async (context) => {
    const watch = watchEventLoop();
    const started = performance.now();
    const tally: Tally = { failures: [], succeeded: new Map(), refused: new Map() };
    const numbers = Array.from({ length: requests }, (_, number) => number);
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
    assert.deepEqual(await auditLedger(service.db), []);
    assert.ok(!isLong || longestBlockMs < MAX_BLOCK_MS, `the event loop was blocked for ${longestBlockMs} ms`);
    assert.ok(sum(succeeded) > 0 && sum(refused) > 0);
    if (!isLong) return;
    // A fuzz test that never gets past validation tests validation only.
    assert.deepEqual(
      operations
        .filter(({ id }) => !isTried(id, tally))
        .map(({ id }) => [id, succeeded.get(id) ?? 0, refused.get(id) ?? 0]),
      [],
      'were never answered with success, or never refused',
    );
  });

  interface Tally {
    readonly failures: string[];
    readonly succeeded: Map<string, number>;
    readonly refused: Map<string, number>;
  }

  function isTried(id: string, { succeeded, refused }: Tally): boolean {
    return (NEVER_DONE.has(id) || succeeded.has(id)) && (NEVER_REFUSED.has(id) || refused.has(id));
  }

  /** What chance has not brought to a success and to a refusal by now gets more requests, in a world where nothing is deleted yet. */
  async function askMoreOf(tally: Tally): Promise<void> {
    const turns = Math.ceil(requests / operations.length);
    for (let round = 0; round < MORE_ROUNDS && tally.failures.length === 0; round += 1) {
      const numbers = operations.flatMap(({ id }, index) => {
        if (isTried(id, tally)) return [];
        return Array.from({ length: MORE }, (_, more) => (turns + round * MORE + more) * operations.length + index);
      });
      if (numbers.length === 0) return;
      await runRound(numbers, tally);
    }
  }

  async function runRound(numbers: readonly number[], { failures, succeeded, refused }: Tally): Promise<void> {
    const world = await makeWorld();
    const left = numbers.values();
    const client = async () => {
      for (const number of left) {
        if (failures.length >= MAX_FAILURES) return;
        const fuzz = makeDomainsRequest(number, SEED, operations, document.components.schemas, world);
        try {
          const answer = await exchange(service.url, agent, fuzz);
          const counts = answer.status < 400 ? succeeded : refused;
          if (fuzz.isOwnRoute) counts.set(fuzz.operation.id, (counts.get(fuzz.operation.id) ?? 0) + 1);
          checkAnswer(fuzz, answer);
        } catch (error) {
          failures.push(describeFailure(number, fuzz.operation.id, fuzz, error));
        }
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    assert.equal((await world.workspace.get('/domains')).status, 200);
  }

  async function makeWorld(): Promise<DomainsWorld> {
    const workspace = await service.createWorkspace();
    await workspace.fund(1_000_000);
    const [name, spare] = [`${workspace.userId}-a.com`, `${workspace.userId}-b.com`].map((one) =>
      one.replaceAll('_', '-').toLowerCase(),
    );
    const expect = async (answer: Promise<{ status: number; text: string; body: Answer['body'] }>) => {
      const { status, text, body } = await answer;
      assert.ok(status < 300, text);
      return body;
    };
    for (const domain of [name, spare]) await expect(workspace.post('/domains', { domain, confirm_price: 11.9 }));
    const paid = { domain: `c${name}`, confirm_price: 11.9, payment_method: 'pm_card_visa' };
    const { order_id } = await expect(workspace.post('/domains', paid));
    const record = await expect(
      workspace.post(`/domains/${name}/zone`, { subdomain: 'www', type: 'A', value: '192.0.2.7' }),
    );
    const { id: top_up_id } = await expect(workspace.post('/wallet/top-ups', { amount: 5 }));
    const { id: token_id } = await expect(workspace.post('/tokens', { scope: 'read', name: 'spare' }));
    await issueReceipts({
      db: service.db,
      clock: systemClock,
      seller: { lines: ['Example GmbH'], vatBasisPoints: 1_900 },
    });
    const hook = await expect(workspace.post('/webhooks', { url: 'http://127.0.0.1:1/hook', events: ['auto_top_up'] }));
    const { event_id, delivery_id } = await expect(workspace.post(`/webhooks/${hook.id}/test`, {}));
    const [receipt] = (await expect(workspace.get('/receipts'))).receipts;
    const waiting = codes.length;
    await expect(service.anybody.post('/sign-ins', { email: `${workspace.userId}@example.com` }));
    const code = await eventually(() => codes[waiting], 'the mailed code');
    const ids = {
      name: name ?? '',
      spare_name: spare ?? '',
      record_id: record.id,
      order_id,
      top_up_id,
      token_id,
      webhook_id: hook.id,
      event_id,
      delivery_id,
      receipt_id: receipt.id,
      handle: '9999',
    };
    return { workspace, name: name ?? '', ids, signInCode: () => code };
  }

  function checkAnswer(
    { operation, isOwnRoute, method }: DomainsFuzzRequest,
    { status, headers, text, body }: FuzzAnswer,
  ): void {
    // The contract's own answer where a registry does not answer in time: on a busy machine, ours too.
    const isSilence = status === 500 && /^The registry does not answer/.test(body?.details?.message);
    assert.ok(status < 500 || isSilence, `answered ${status}: ${text.slice(0, 300)}`);
    assert.match(headers.get('x-request-id') ?? '', /^[\w.:-]{1,128}$/);
    const responses = described.find(({ operationId }) => operationId === operation.id)?.responses ?? {};
    const isRdap = headers.get('content-type') === 'application/rdap+json';
    if (status >= 400 && method !== 'HEAD' && !isRdap) assertEnvelope(status, body, text);
    if (!isOwnRoute) return;
    const answer =
      responses[String(status)] ??
      assert.fail(`${operation.id} does not describe an answer of ${status}: ${text.slice(0, 300)}`);
    if (status >= 400 && !isRdap) {
      assert.ok(
        answer.description.includes(`\`${body.error}\``),
        `${operation.id} does not name ${body.error} under ${status}`,
      );
    } else if (/^application\/json/.test(headers.get('content-type') ?? '')) {
      const validate = validators.get(`${operation.id} ${status}`);
      assert.ok(validate?.(body), `not as described: ${JSON.stringify(validate?.errors)} ${text.slice(0, 300)}`);
    }
  }

  /** HTTP itself demands 405 of a method, and 416 of a range, that leads nowhere. */
  function assertEnvelope(status: number, body: FuzzAnswer['body'], text: string): void {
    const { error, details, ...others } = body ?? {};
    assert.deepEqual(others, {}, text);
    assert.equal(typeof details?.message, 'string', text);
    assert.notEqual(details.message, '', text);
    const entry = catalogue[error] ?? assert.fail(`not a code of the catalogue: ${text}`);
    const statuses = [entry.status, entry.alsoStatus, ...(error === 'bad_request' ? [405, 416] : [])];
    assert.ok(statuses.includes(status), `${status} ${text}`);
  }
}
