/** PostgreSQL's own programs (pg_dump, pg_restore, psql): those of test/postgres17 where it has installed them, else the system's. */
import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { requireProgram } from './programs.ts';

/** The major version of the server that test/postgres17 starts. */
const MAJOR_VERSION = 17;
const BINARIES = `/usr/lib/postgresql/${MAJOR_VERSION}/bin`;
const PROGRAMS = ['pg_dump', 'pg_restore', 'psql'];

export const postgresProgramsMissing = `pg_dump ${MAJOR_VERSION} is not installed: run test/postgres17 start as root, or install postgresql-client-${MAJOR_VERSION}`;

export function hasPostgresPrograms(): boolean {
  return requireProgram(isInstalled(), postgresProgramsMissing);
}

export interface PostgresShell {
  /** Runs a command line in a folder that stays the same until `close`. Rejects where any part of it fails. */
  run(commandLine: string, variables: Readonly<Record<string, string>>): Promise<void>;
  close(): Promise<void>;
}

export async function openPostgresShell(): Promise<PostgresShell> {
  const root = serverRoot();
  // The programs of a server that lives in a root of its own see files of that root alone.
  const folder = await mkdtemp(join(root ?? '', root === undefined ? tmpdir() : '/tmp', 'ironcraft-dump-'));
  if (root !== undefined) {
    const inside = folder.slice(root.length);
    for (const program of PROGRAMS) {
      const file = join(folder, program);
      const enter = `exec chroot "${root}" sh -c 'cd ${inside} && exec ${BINARIES}/${program} "$@"' ${program} "$@"`;
      await writeFile(file, `#!/bin/sh\n${enter}\n`);
      await chmod(file, 0o755);
    }
  }
  return {
    async run(commandLine, variables) {
      const env = { ...variables, PATH: `${folder}:${process.env.PATH}` };
      await promisify(execFile)('bash', ['--norc', '-euo', 'pipefail', '-c', commandLine], { cwd: folder, env });
    },
    close: () => rm(folder, { recursive: true }),
  };
}

function isInstalled(): boolean {
  if (serverRoot() !== undefined) return true;
  try {
    const version = execFileSync('pg_dump', ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return Number(/(\d+)(?:\.\d+)?\s*(?:\(|$)/m.exec(version)?.[1]) >= MAJOR_VERSION;
  } catch {
    return false;
  }
}

/** Where test/postgres17 keeps its server; to enter it takes root. */
function serverRoot(): string | undefined {
  const root = process.env.POSTGRES17_ROOT ?? '/opt/postgres17-root';
  return process.getuid?.() === 0 && existsSync(join(root, '.ready')) ? root : undefined;
}
