import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Type from 'typebox';
import { Parse } from 'typebox/value';
import { OwnProcess } from '../child-process.ts';
import { findFreePort } from '../ironcraft.ts';
import { type TelegramJob, TelegramResult } from './jobs.ts';

const HOST = '127.0.0.1';
const START_TIMEOUT_MS = 20_000;

export interface BenchTelegram {
  readonly url: string;
  /** Of the webhook that was set last. */
  readSecret(): Promise<string>;
  run(job: TelegramJob): Promise<TelegramResult>;
}

/** The Telegram of serve.ts in a process of its own, which ends with `served`. */
export async function startTelegram(served: AsyncDisposableStack): Promise<BenchTelegram> {
  const folder = await mkdtemp(join(tmpdir(), 'ironcraft-bench-telegram-'));
  served.defer(() => rm(folder, { recursive: true, force: true }));
  const port = await findFreePort(HOST);
  const url = `http://${HOST}:${port}`;
  const telegram = new OwnProcess({
    args: [join(import.meta.dirname, 'serve.ts'), String(port)],
    cwd: folder,
    logPath: join(folder, 'telegram.log'),
    env: {},
  });
  served.defer(() => telegram.stop());
  await telegram.waitFor('a ready Telegram', START_TIMEOUT_MS, async () =>
    (await fetch(`${url}/ok`)).ok ? true : undefined,
  );
  return {
    url,
    async readSecret() {
      return Parse(Type.Object({ secret: Type.String() }), await (await fetch(`${url}/secret`)).json()).secret;
    },
    async run(job) {
      const answer = await fetch(`${url}/job`, { method: 'POST', body: JSON.stringify(job) });
      if (!answer.ok) throw new Error(`the Telegram of the benchmark failed:\n${telegram.readLogTail()}`);
      return Parse(TelegramResult, await answer.json());
    },
  };
}
