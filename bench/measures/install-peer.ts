import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Type from 'typebox';
import { Parse } from 'typebox/value';

/** Installs what the folder's lock file names, unless it is there. `what`: for those who wait. */
export async function installPeer(folder: string, what: string, say: (line: string) => void): Promise<void> {
  if (existsSync(join(folder, 'node_modules'))) return;
  say(`installing ${what} (npm ci; --no-peer goes without)`);
  const args = ['ci', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund'];
  const install = spawn('npm', args, { stdio: ['ignore', 'ignore', 'inherit'], shell: process.platform === 'win32' });
  const [code] = await once(install, 'exit');
  if (code !== 0) throw new Error(`npm ${args.join(' ')} failed; use --no-peer to measure without it`);
}

export function readPeerVersion(folder: string, name: string): string {
  const manifest = readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8');
  return Parse(Type.Object({ version: Type.String() }), JSON.parse(manifest)).version;
}
