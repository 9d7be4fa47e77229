/**
 * Tries made and mutated schemas, documents, texts, multipart and JSON bodies on a real server for as long as it is told. It
 * fails when the server's process ends, its event loop is held up, it answers 500, leaves something uncaught, takes longer
 * than an attempt may take, or keeps memory. What was under way at that moment is kept in a folder, to be made a case.
 *
 *     npm run fuzz -- --minutes 10 --seed 7 --only document,schema
 */

import { randomInt } from 'node:crypto';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { makeFolder, type ServerProcess, startServer } from '../boot/server-process.ts';
import { createDice, type Schema } from '../conformance/schema-values.ts';
import { openTenant, type Tenant } from '../hostile/tenants.ts';
import { warmUp } from '../hostile/warm-up.ts';
import { describeGap, residentBytes, watchServer } from '../hostile/watch-server.ts';
import { tellUsage, UsageError } from '../runner/usage-error.ts';
import { isConnectionLost } from '../support/http-client.ts';
import { createClient } from '../support/platform.ts';
import {
  type Attempt,
  type DescribedOperation,
  documentAttempts,
  jsonAttempts,
  type MakeAttempt,
  multipartAttempts,
  schemaAttempts,
  textAttempts,
} from './attempts.ts';

const KINDS = ['document', 'text', 'schema', 'multipart', 'json'] as const;
const MAX_SEED = 2 ** 31;

type Kind = (typeof KINDS)[number];

function readSettings(): { readonly minutes: number; readonly seed: number; readonly kinds: readonly Kind[] } {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '60' },
      seed: { type: 'string', default: process.env.IRONCRAFT_TEST_SEED ?? String(randomInt(MAX_SEED)) },
      only: { type: 'string', default: KINDS.join(',') },
    },
  });
  const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
  if (!(minutes > 0)) throw new UsageError('--minutes is a number above 0');
  if (!Number.isInteger(seed) || seed < 0) throw new UsageError('--seed is a whole number');
  const kinds = values.only.split(',').map((name) => {
    const kind = KINDS.find((known) => known === name);
    if (kind === undefined) throw new UsageError(`--only takes ${KINDS.join(', ')}, not ${name}`);
    return kind;
  });
  return { minutes, seed, kinds };
}

const MEBIBYTE = 1_048_576;
const MAX_GAP_MS = 100;
/** The store is inside the process and keeps what innocent attempts leave: more than this is a leak. */
const MAX_GROWTH = 200 * MEBIBYTE;
const LANES = 8;
const PROGRESS_MS = 30_000;
const IDLE_MS = 20_000;
const MAX_KEPT = 100;

/** Default settings, but for the budgets of requests, and that nothing leaves the machine. */
const ENVIRONMENT = {
  NODE_OPTIONS: `--max-semi-space-size=16 --import=${new URL('only-loopback.ts', import.meta.url)}`,
  // Nobody answers there.
  IRONCRAFT_DNS_SERVERS: '127.0.0.1:9',
  IRONCRAFT_LOG_LEVEL: 'error',
  IRONCRAFT_PROJECT_REQUESTS_PER_MINUTE: '1000000',
  IRONCRAFT_ADDRESS_REQUESTS_PER_MINUTE: '1000000',
};

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

interface OpenApiOperation {
  readonly operationId: string;
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

/** Inputs that failed, by what they did, in a folder of their own. */
class Findings {
  readonly folder: string;
  readonly #seed: number;
  count = 0;

  constructor(folder: string, seed: number) {
    this.folder = folder;
    this.#seed = seed;
  }

  async keep(what: string, attempts: readonly Attempt[]): Promise<void> {
    this.count += 1;
    console.log(`FOUND ${this.count}: ${what} (${attempts.map(({ kind }) => kind).join(', ')})`);
    if (this.count > MAX_KEPT) return;
    const folder = join(this.folder, String(this.count));
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'what.txt'), `seed ${this.#seed}\n${what}\n`);
    for (const [index, { filename, input }] of attempts.entries()) {
      await writeFile(join(folder, `${index}-${filename.slice(-100)}`), input);
    }
  }
}

/** One server and the attempts that are made on it, until it ends or the time is up. */
class Session {
  readonly #server: ServerProcess;
  readonly #findings: Findings;
  readonly #underWay = new Set<Attempt>();
  readonly #counts = new Map<string, number>();
  #longest = 'no gap';
  #longestMs = 0;

  constructor(server: ServerProcess, findings: Findings) {
    this.#server = server;
    this.#findings = findings;
  }

  get attempts(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }

  async run(makers: readonly MakeAttempt[], seed: number, deadlineMs: number): Promise<void> {
    const gate = {
      url: this.#server.url,
      organization: createClient(this.#server.url, this.#server.credentials.organization_key),
    };
    const tenants: Tenant[] = [];
    for (let lane = 0; lane < LANES; lane += 1) tenants.push(await openTenant(gate, `Fuzz ${lane}`));
    await warmUp(tenants);
    let over = false;
    const ended = this.#server.ended.then(async ({ code, signal }) => {
      if (over) return;
      over = true;
      const { stderr } = this.#server;
      await this.#findings.keep(`the process ended with ${code ?? signal}\n${stderr().slice(-2_000)}`, [
        ...this.#underWay,
      ]);
    });
    const watch = await watchServer({ url: this.#server.url, pid: this.#server.pid, tellOverMs: MAX_GAP_MS }, (gap) => {
      if (gap.ownMs > this.#longestMs) this.#longest = describeGap(gap);
      this.#longestMs = Math.max(this.#longestMs, gap.ownMs);
      if (!over) void this.#findings.keep(`the event loop was held up: ${describeGap(gap)}`, [...this.#underWay]);
    });
    const warm = residentBytes(this.#server.pid);
    const progress = setInterval(() => this.#print(), PROGRESS_MS);
    const isOver = (): boolean => over || performance.now() > deadlineMs;
    await Promise.race([
      ended,
      Promise.all(tenants.map((tenant, lane) => this.#runLane(tenant, makers, seed * LANES + lane, isOver))),
    ]);
    clearInterval(progress);
    this.#print();
    if (!over) await this.#judgeMemory(warm);
    over = true;
    await watch.stop();
    if (/unhandled|uncaught/i.test(this.#server.stderr()))
      await this.#findings.keep(`left uncaught:\n${this.#server.stderr().slice(-2_000)}`, []);
    this.#server.kill('SIGKILL');
    await this.#server.ended;
  }

  async #runLane(tenant: Tenant, makers: readonly MakeAttempt[], seed: number, isOver: () => boolean): Promise<void> {
    const dice = createDice(seed);
    while (!isOver()) {
      const attempt = dice.pick(makers)(dice);
      this.#underWay.add(attempt);
      const problem = await settle(attempt, tenant);
      this.#underWay.delete(attempt);
      const kind = attempt.kind.split(' ', 1)[0] ?? '';
      this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
      if (problem !== undefined && !isOver()) await this.#findings.keep(problem, [attempt]);
    }
  }

  async #judgeMemory(warm: number): Promise<void> {
    await wait(IDLE_MS);
    const left = residentBytes(this.#server.pid);
    console.log(`memory: ${megabytes(warm)} before, ${megabytes(left)} after ${IDLE_MS / 1000} idle seconds`);
    if (left - warm > MAX_GROWTH)
      await this.#findings.keep(`memory grew from ${megabytes(warm)} to ${megabytes(left)}`, []);
  }

  #print(): void {
    const counts = [...this.#counts].map(([kind, count]) => `${count} ${kind}`).join(', ');
    console.log(
      `${new Date().toISOString().slice(11, 19)} ${counts}; ${this.#findings.count} found; ${megabytes(memoryOf(this.#server.pid))}; longest gap: ${this.#longest}`,
    );
  }
}

/** What was wrong; a call that never comes back is wrong too. */
async function settle(attempt: Attempt, tenant: Tenant): Promise<string | undefined> {
  const late = Promise.withResolvers<string>();
  const timer = setTimeout(() => late.resolve(`no answer within ${attempt.budgetMs} ms`), attempt.budgetMs);
  try {
    return await Promise.race([attempt.run(tenant), late.promise]);
  } catch (error) {
    // A connection that is refused or reset is the server's right, unless its process has ended: that is told of apart.
    return isConnectionLost(error) ? undefined : String(error);
  } finally {
    clearTimeout(timer);
  }
}

function memoryOf(pid: number): number {
  try {
    return residentBytes(pid);
  } catch {
    return 0;
  }
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / MEBIBYTE)} MiB`;
}

async function readOperations(
  url: string,
): Promise<{ operations: DescribedOperation[]; components: OpenApi['components']['schemas'] }> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as OpenApi;
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { operationId, requestBody }]): DescribedOperation[] => {
      const body = requestBody?.content['application/json']?.schema;
      return body === undefined ? [] : [{ id: operationId, method: method.toUpperCase(), path, body }];
    }),
  );
  return { operations, components: document.components.schemas };
}

async function runFuzz(): Promise<number> {
  const { minutes, seed, kinds: chosen } = readSettings();
  const findings = new Findings(await mkdtemp(join(tmpdir(), 'fuzz-')), seed);
  console.log(`seed ${seed}, ${minutes} minutes, findings in ${findings.folder}`);
  const deadlineMs = performance.now() + minutes * 60_000;
  const documentAttempt = documentAttempts();
  let attempts = 0;
  const cleanups: (() => Promise<void>)[] = [];
  const cleanup = { after: (work: () => Promise<void>) => void cleanups.push(work) };
  try {
    for (let round = 0; performance.now() < deadlineMs; round += 1) {
      const server = await startServer(cleanup, await makeFolder(cleanup), ENVIRONMENT, { only: 'platform' });
      const { operations, components } = await readOperations(server.url);
      const makers: Readonly<Record<Kind, MakeAttempt>> = {
        document: documentAttempt,
        text: textAttempts(),
        schema: schemaAttempts(),
        multipart: multipartAttempts(),
        json: jsonAttempts(operations, components),
      };
      const session = new Session(server, findings);
      const ofKinds = chosen.map((kind) => makers[kind]);
      await session.run(ofKinds, seed + round * 1_000, deadlineMs);
      attempts += session.attempts;
    }
  } finally {
    for (const work of cleanups.reverse()) await work();
  }
  console.log(`${attempts} attempts, ${findings.count} found`);
  if (findings.count > 0)
    console.log(`To repeat this run: npm run fuzz -- --minutes ${minutes} --seed ${seed} --only ${chosen.join(',')}`);
  return findings.count === 0 ? 0 : 1;
}

try {
  process.exitCode = await runFuzz();
} catch (error) {
  process.exitCode = tellUsage(error);
}
