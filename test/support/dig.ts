/** `dig` and `delv` of Debian's bind9-dnsutils, asking a server on loopback. */
import { execFile, spawnSync } from 'node:child_process';
import { requireProgram } from './programs.ts';

/** A server on loopback answers at once; what takes longer is an answer that never comes. */
const TIMEOUT_MS = 15_000;

export const digMissing = 'dig is not installed: Debian has it in bind9-dnsutils';
export const delvMissing = 'delv is not installed: Debian has it in bind9-dnsutils';

export function hasDig(): boolean {
  return requireProgram(isInstalled('dig'), digMissing);
}

export function hasDelv(): boolean {
  return requireProgram(isInstalled('delv'), delvMissing);
}

/**
 * What `dig` prints about the server on this port of loopback, without the last line's end. One try of five seconds,
 * unless the arguments say otherwise. Rejects when it ends with an error, such as 9 for no answer.
 */
export function dig(port: number, args: readonly string[]): Promise<string> {
  // -r: not the ~/.digrc of whoever runs the tests.
  return run('dig', ['-r', '@127.0.0.1', '-p', String(port), '+tries=1', '+time=5', ...args]);
}

/** The values that `dig +short` gives for a name and type, sorted: servers may answer them in any order. */
export async function digShort(port: number, name: string, type: string, ...args: string[]): Promise<string[]> {
  const output = await dig(port, [name, type, '+short', ...args]);
  return output === '' ? [] : output.split('\n').sort();
}

/** What `delv` prints: it validates the answer itself. Rejects when the answer does not validate. */
export function delv(port: number, args: readonly string[]): Promise<string> {
  return run('delv', ['@127.0.0.1', '-p', String(port), ...args]);
}

function isInstalled(program: string): boolean {
  return spawnSync(program, ['-v'], { stdio: 'ignore' }).error === undefined;
}

function run(program: string, args: readonly string[]): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  // UTC and plain ASCII whatever the machine's settings: answers are compared as text.
  const env = { PATH: process.env.PATH, TZ: 'UTC', LC_ALL: 'C' };
  execFile(program, args, { timeout: TIMEOUT_MS, env, encoding: 'utf8' }, (error, stdout, stderr) => {
    if (error === null) resolve(stdout.trimEnd());
    else reject(new Error(`${program} ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error }));
  });
  return promise;
}
