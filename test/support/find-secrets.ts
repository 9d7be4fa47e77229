/** Looks for secrets in texts, in whichever of the usual ways they might have come to be written there. */
import type { Database } from '../../src/kernel/db/database.ts';

/** Shorter, they could be anything. */
const MIN_LENGTH = 16;

/** Those of the secrets, by what they are called, that are in the text: in the clear, in base64 or in hex. */
export function findSecrets(text: string, secrets: ReadonlyMap<string, string>): string[] {
  const lower = text.toLowerCase();
  return [...secrets].flatMap(([name, secret]) => {
    if (secret.length < MIN_LENGTH) throw new TypeError(`${name} is too short to be looked for: ${secret}`);
    const isThere = writings(secret).some((written) => text.includes(written));
    return isThere || lower.includes(Buffer.from(secret).toString('hex')) ? [name] : [];
  });
}

/** The ways in which it may be written, hexadecimal aside. */
export function writings(secret: string): string[] {
  const encoded = encodeURIComponent(secret);
  return [
    secret,
    encoded,
    JSON.stringify(secret).slice(1, -1),
    ...base64(secret, 'base64'),
    ...base64(secret, 'base64url'),
  ];
}

/** In the middle of something else it is written in one of three ways, of which the ends are not its own. */
function base64(secret: string, encoding: 'base64' | 'base64url'): string[] {
  return [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]).toString(encoding);
    const own = Math.floor(((before + secret.length) * 8) / 6);
    return text.slice(Math.ceil((before * 8) / 6), own);
  });
}

/** Every row of every table as text; bytes are in hex. */
export async function dumpDatabase(db: Database): Promise<ReadonlyMap<string, string>> {
  const { rows: tables } = await db.query<{ name: string }>({
    text: `
      select format('%I.%I', table_schema, table_name) as name from information_schema.tables
      where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
    values: [],
  });
  const dump = new Map<string, string>();
  for (const { name } of tables) {
    const { rows } = await db.query<{ row: string }>({
      text: `select kept::text as row from ${name} kept`,
      values: [],
    });
    dump.set(name, rows.map(({ row }) => row).join('\n'));
  }
  return dump;
}
