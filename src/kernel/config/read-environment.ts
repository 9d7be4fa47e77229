import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The process environment over the `.env` file of the folder, when there is one. Throws when the file is unreadable. */
export function readEnvironment(cwd: string = process.cwd()): Environment {
  return { ...readEnvironmentFile(join(cwd, '.env')), ...process.env };
}

function readEnvironmentFile(path: string): Environment {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {};
    throw error;
  }
  return parseEnv(text);
}
