import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** The blocks of commands below each heading of the README. */
export async function readSections(): Promise<Map<string, string[]>> {
  const readme = await readFile(join(root, 'README.md'), 'utf8');
  const sections = new Map<string, string[]>();
  for (const section of readme.split(/^## /m).slice(1)) {
    const [heading = ''] = section.split('\n', 1);
    const blocks = [...section.matchAll(/^```sh\n(.*?)^```/gms)].map((match) => match[1] ?? '');
    if (blocks.length > 0) sections.set(heading, blocks);
  }
  return sections;
}
