import { readFileSync } from 'node:fs';
import { componentOf } from '../../../kernel/http/schema.ts';
import { createValidators } from '../../../kernel/http/validation.ts';
import { catalogEntries } from './entries.ts';
import { CatalogEntry } from './schema.ts';

/** The catalog of this server, by slug. */
export interface Catalog {
  readonly entries: readonly CatalogEntry[];
  find(slug: string): CatalogEntry | undefined;
}

/** Members that an operator's entry may leave out. */
const optional = {
  description: '',
  scopes: [],
  default_allowlist: null,
  default_approval_policy: [],
  logo_url: null,
  docs_url: null,
};
const openAuth = { kind: 'none', provider: null, client_mode: 'none' };

/**
 * The public servers, and those of the file, which stand in the place of those with the same slug: a JSON list of entries as
 * `GET /v1/catalog` shows them. Throws an Error that names the file and the place for a file that cannot be used.
 */
export function createCatalog(file: string | undefined): Catalog {
  const own = file === undefined ? [] : readEntries(file);
  const bySlug = new Map([...catalogEntries, ...own].map((entry) => [entry.slug, entry]));
  const entries = [...bySlug.values()].sort((one, other) => (one.slug < other.slug ? -1 : 1));
  return { entries, find: (slug) => bySlug.get(slug) };
}

function readEntries(file: string): CatalogEntry[] {
  const refuse = (why: string) => new Error(`IRONCRAFT_CATALOG_FILE: ${file} ${why}`);
  let read: unknown;
  try {
    read = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw refuse(`cannot be read as JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (!Array.isArray(read)) throw refuse('must hold a JSON list of catalog entries');
  const schema = componentOf(CatalogEntry)?.schema;
  if (schema === undefined) throw new TypeError('the schema of catalog entries has no definition');
  const isEntry = createValidators(new Map()).compile('body', schema);
  return read.map((given: unknown, index) => {
    const entry = fillIn(given);
    if (isEntry(entry)) return entry as CatalogEntry;
    const problem = isEntry.errors?.[0];
    throw refuse(`has an entry that cannot be used: ${index}${problem?.instancePath ?? ''} ${problem?.message ?? ''}`);
  });
}

function fillIn(given: unknown): unknown {
  if (typeof given !== 'object' || given === null) return given;
  const { auth, ...rest } = given as { auth?: object };
  const kind = (auth as { kind?: string } | undefined)?.kind;
  const clientMode = kind === 'oauth' ? 'auto' : 'none';
  return { ...optional, ...rest, auth: { ...openAuth, client_mode: clientMode, ...auth } };
}
