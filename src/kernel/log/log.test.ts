import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createSecretKey } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createLogger, type Logger } from './log.ts';
import { scrubText } from './redact.ts';

const CANARY = 'CaNaRy0123456789abcdef';
const JWT = `eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.${CANARY}`;

function capture(level = 'trace'): { log: Logger; lines: () => Record<string, unknown>[]; text: () => string } {
  const written: string[] = [];
  const log = createLogger({ logLevel: level }, { write: (line) => written.push(line) });
  return { log, text: () => written.join(''), lines: () => written.map((line) => JSON.parse(line)) };
}

class UpstreamError extends Error {
  readonly requestHeaders = { Authorization: `Bearer ${CANARY}`, 'x-api-key': CANARY };
  readonly statusCode = 401;
}

const LEAKS: readonly [string, (log: Logger) => void][] = [
  ['a header', (log) => log.info({ headers: { authorization: `Bearer ${CANARY}`, cookie: `s=${CANARY}` } }, 'x')],
  ['a set-cookie list', (log) => log.info({ 'Set-Cookie': [`s=${CANARY}`] }, 'x')],
  ['a field five levels down', (log) => log.info({ a: { b: [{ c: { d: { client_secret: CANARY } } }] } }, 'x')],
  ['a whole sensitive subtree', (log) => log.info({ credential: { kind: 'x', value: CANARY } }, 'x')],
  [
    'camel case',
    (log) => log.info({ apiKey: CANARY, accessToken: CANARY, dbPassword: CANARY, secrets: [CANARY] }, 'x'),
  ],
  ['a child logger', (log) => log.child({ token: CANARY }).info('x')],
  ['an error with fields', (log) => log.error(new UpstreamError('x'))],
  ['a cause', (log) => log.error({ err: new Error('x', { cause: new UpstreamError(`Bearer ${CANARY}`) }) }, 'x')],
  ['an error under another name', (log) => log.error({ failure: new UpstreamError('x') }, 'x')],
  ['a Headers object', (log) => log.info({ headers: new Headers({ 'x-api-key': CANARY }) }, 'x')],
  [
    'a class instance',
    (log) =>
      log.info(
        {
          it: new (class Session {
            refresh_token = CANARY;
          })(),
        },
        'x',
      ),
  ],
  ['toJSON', (log) => log.info({ it: { toJSON: () => ({ password: CANARY }) } }, 'x')],
  ['bytes', (log) => log.info({ body: Buffer.from(CANARY) }, 'x')],
  ['a key object', (log) => log.info({ it: createSecretKey(Buffer.from(CANARY)) }, 'x')],
  ['one of our handles in a message', (log) => log.info(`refused tha_live_${CANARY}`)],
  ['a handle after a line break', (log) => log.info(`refused\nthp_live_${CANARY}\nsk-proj-${CANARY}`)],
  ['a bearer line after a line break', (log) => log.info(`sent:\nBearer ${CANARY}`)],
  [
    'nested bindings',
    (log) =>
      log
        .child({ a: { secret: { deep: CANARY } } })
        .child({ b: 1 })
        .info('x'),
  ],
  ['a JSON Web Token', (log) => log.info(`got ${JWT}.`)],
  ['a provider key', (log) => log.info(`Incorrect API key provided: sk-ant-api03-${CANARY}. See the docs`)],
  ['an unknown key in a known phrase', (log) => log.info(`Incorrect API key provided: ${CANARY}`)],
  ['a database URL', (log) => log.info({ url: `postgres://app:${CANARY}@db/app` }, 'x')],
  ['a query string', (log) => log.info({ path: `/cb?access_token=${CANARY}&key=${CANARY}#x` }, 'x')],
  ['JSON inside a text', (log) => log.info({ body: JSON.stringify({ api_key: CANARY, password: CANARY }) }, 'x')],
  ['a header line in a text', (log) => log.info(`sent authorization: ${CANARY} and more`)],
  ['format arguments', (log) => log.info('key %s %o', `sk-${CANARY}`, { token: `sk-${CANARY}` })],
  ['a stack', (log) => log.error(new Error(`bad sk-${CANARY}`))],
  [
    'a request',
    (log) => log.info({ req: { method: 'GET', url: `/x?key=${CANARY}`, headers: { 'x-api-key': CANARY } } }, 'x'),
  ],
];

for (const [where, write] of LEAKS) {
  test(`a credential in ${where} does not reach the log`, () => {
    const { log, text, lines } = capture();
    write(log);
    assert.equal(lines().length, 1);
    assert.ok(!text().includes(CANARY), text());
  });
}

test('what is no credential stays readable', () => {
  const { log, lines } = capture();
  const fields = {
    usage: { input_tokens: 12, output_tokens: 5 },
    token_id: 'tok_01j',
    has_secret: true,
    secret: null,
    operation: 'tokens.create',
    path: '/v1/smiths/smt_01',
    note: 'a disk-assessment-of-risk, task-0123456789abcdef; invalid token: expired',
    url: 'https://example.com/a:b@c',
  };
  log.warn(fields, 'The secret is out: tea "quoted" \\ and sk-ip');
  const { level, time, pid, ...rest } = lines()[0] ?? {};
  assert.deepEqual(rest, { ...fields, msg: 'The secret is out: tea "quoted" \\ and sk-ip' });
  assert.equal(level, 'warn');
  assert.equal(pid, process.pid);
  assert.equal(new Date(String(time)).toISOString(), time);
});

test('an error is logged with its type, message, stack and causes', () => {
  const { log, lines } = capture();
  log.error({ err: new UpstreamError('upstream said no', { cause: new Error('socket closed') }) }, 'failed');
  const err = lines()[0]?.err as Record<string, unknown>;
  assert.equal(err.type, 'UpstreamError');
  assert.equal(err.message, 'upstream said no');
  assert.equal(err.statusCode, 401);
  assert.match(String(err.stack), /log\.test\.ts/);
  assert.match(JSON.stringify(err), /socket closed/);
});

test('circular and very deep objects are logged', () => {
  const { log, lines } = capture();
  const loop: Record<string, unknown> = { name: 'loop' };
  loop.self = loop;
  log.info({ loop, big: 10n, list: new Array(1000).fill(0) }, 'x');
  assert.equal(lines().length, 1);
});

test('the level holds and silent writes nothing', () => {
  const warn = capture('warn');
  warn.log.info('no');
  warn.log.warn('yes');
  assert.equal(warn.lines().length, 1);
  const silent = capture('silent');
  silent.log.fatal('no');
  assert.equal(silent.lines().length, 0);
});

test('scrubText removes the credential at the end of a text of 400,000 characters that nearly are credentials', () => {
  const nearly = `${'eyJ'.repeat(20_000)}${'sk-'.repeat(20_000)}${'://a:'.repeat(20_000)}${'authorization'.repeat(10_000)}`;
  const scrubbed = scrubText(`${nearly} Bearer ${CANARY}`);
  assert.ok(!scrubbed.includes(CANARY));
  assert.ok(scrubbed.length > 100_000, `${scrubbed.length} characters are left`);
});

test('logs are JSON lines for machines and readable lines for people, with credentials removed from both', async () => {
  const script = `
    const { createLogger } = await import('./src/kernel/log/log.ts');
    const { openLogOutput } = await import('./src/kernel/log/open-log-output.ts');
    const [format, isTerminal] = process.argv.slice(1);
    const logger = createLogger({ logLevel: 'info' }, await openLogOutput(format, isTerminal === 'true'));
    logger.info({ operation: 'smiths.get', token: 'tha_live_secret' }, 'request');`;
  const write = (format: string, isTerminal: boolean): string =>
    spawnSync(process.execPath, ['--input-type=module', '--eval', script, format, String(isTerminal)], {
      cwd: fileURLToPath(new URL('../../..', import.meta.url)),
      encoding: 'utf8',
    }).stderr;
  for (const [format, isTerminal] of [
    ['json', true],
    ['auto', false],
  ] as const) {
    const line = write(format, isTerminal);
    assert.equal(JSON.parse(line).operation, 'smiths.get');
    assert.doesNotMatch(line, /secret/);
  }
  for (const [format, isTerminal] of [
    ['pretty', false],
    ['auto', true],
  ] as const) {
    const line = write(format, isTerminal);
    assert.match(line, /INFO.*request.*smiths\.get/s);
    assert.doesNotMatch(line, /secret|^\{/);
  }
});

for (const format of ['json', 'pretty']) {
  test(`the ${format} log keeps neither the process from its work nor lines in memory while its disk is full`, () => {
    const script = `
      const { createLogger } = await import('./src/kernel/log/log.ts');
      const { openLogOutput } = await import('./src/kernel/log/open-log-output.ts');
      const logger = createLogger({ logLevel: 'info' }, await openLogOutput('${format}', false));
      const keptBytes = () => {
        globalThis.gc();
        const { heapUsed, external } = process.memoryUsage();
        return heapUsed + external;
      };
      const before = keptBytes();
      for (let line = 0; line < 5_000; line += 1) logger.info({ detail: 'x'.repeat(20_000) }, 'said');
      await new Promise((resolve) => setImmediate(resolve));
      process.stdout.write(String(keptBytes() - before));`;
    const full = openSync('/dev/full', 'w');
    const { status, stdout } = spawnSync(process.execPath, ['--expose-gc', '--input-type=module', '--eval', script], {
      cwd: fileURLToPath(new URL('../../..', import.meta.url)),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', full],
    });
    closeSync(full);
    assert.equal(status, 0);
    assert.ok(Number(stdout) < 20_000_000, `${stdout} bytes are kept of 100 MB of lines`);
  });
}
