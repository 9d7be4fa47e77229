/** A deposit for a data escrow agent: files of names and of contacts, and one of their hashes, as ICANN has its registrars deposit them. */
import { createHash } from 'node:crypto';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { loadConfig } from '../../kernel/config/config.ts';
import { readEnvironment } from '../../kernel/config/read-environment.ts';
import { CommandError } from '../command-error.ts';
import { ask } from './ask.ts';

interface Options {
  readonly out: string;
  readonly ianaId?: string;
  readonly json?: true;
}

interface Written {
  readonly file: string;
  readonly sha256: string;
  readonly rows: number;
}

/** Rows of one call. */
const PAGE = 500;
/** Nobody else may read who the registrants are. */
const MODE = 0o600;

const DOMAIN_COLUMNS = [
  'domain',
  'expiration_date',
  'nameservers',
  'holder_contact',
  'admin_contact',
  'tech_contact',
  'billing_contact',
];
const CONTACT_COLUMNS = [
  'handle',
  'name',
  'organization',
  'street',
  'city',
  'state',
  'postal_code',
  'country',
  'email',
  'phone',
];

export function addEscrow(domains: Command): void {
  domains
    .command('escrow')
    .summary('write a deposit for a data escrow agent')
    .description(
      'Writes all names that are with you, who holds them, and the hashes of both into three files of today’s deposit (UTC): ' +
        'ID_RDE_DATE_full_0, ID_RDE_DATE_hdl_0 and ID_RDE_DATE_hash_0. What they hold is in the order of names and handles. Files of ' +
        'the same day are replaced. Encrypt them to your agent before you send them.',
    )
    .requiredOption('--out <folder>', 'where the files go')
    .option('--iana-id <number>', 'yours as a registrar; default: registrar.iana_id of the configuration file')
    .option('--json', 'print {files}')
    .action(deposit);
}

async function deposit(options: Options): Promise<void> {
  const id = options.ianaId ?? (await readIanaId());
  if (id === undefined || !/^\d{1,6}$/.test(id)) {
    throw new CommandError('Say which registrar you are: --iana-id, or registrar.iana_id of the configuration file.');
  }
  const pathOf = (kind: string) => join(options.out, `${id}_RDE_${new Date().toISOString().slice(0, 10)}_${kind}_0`);
  // Contacts come last, so that those of every name are there.
  const files = [
    await writeCsv(pathOf('full'), DOMAIN_COLUMNS, readDomains()),
    await writeCsv(pathOf('hdl'), CONTACT_COLUMNS, readContacts()),
  ];
  const hashes = files.map(({ file, sha256 }) => `${sha256}  ${file.slice(file.lastIndexOf(`${id}_RDE_`))}\n`).join('');
  const hashFile = pathOf('hash');
  await writeWhole(hashFile, async (write) => write(hashes));
  const lines = files.map(({ file, rows }) => `${file}  ${rows} rows`);
  process.stdout.write(
    `${options.json ? JSON.stringify({ files, hash_file: hashFile }) : [...lines, hashFile].join('\n')}\n`,
  );
}

async function readIanaId(): Promise<string | undefined> {
  const { configFile } = loadConfig().domains;
  if (configFile === undefined) return undefined;
  const { readSetup } = await import('../../domains/boot/setup/read-setup.ts');
  const { registrar } = await readSetup(configFile, readEnvironment());
  return registrar?.iana_id === undefined ? undefined : String(registrar.iana_id);
}

async function* readDomains(): AsyncGenerator<readonly string[]> {
  for (let after: string | null = ''; after !== null; ) {
    const page: Awaited<ReturnType<typeof askDomains>> = await askDomains(after);
    for (const { expires_at: expiresAt, name, nameservers, registrant } of page.domains) {
      const expiry = expiresAt.slice(0, 19).replace('T', ' ');
      yield [name, expiry, nameservers.join(' '), registrant, registrant, registrant, registrant];
    }
    after = page.next_after;
  }
}

async function* readContacts(): AsyncGenerator<readonly string[]> {
  for (let after: string | null = ''; after !== null; ) {
    const page: Awaited<ReturnType<typeof askContacts>> = await askContacts(after);
    for (const {
      city,
      country,
      email,
      handle,
      name,
      organization,
      phone,
      postal_code: code,
      region,
      street,
    } of page.contacts)
      yield [handle, name, organization, street, city, region, code, country, email, phone];
    after = page.next_after;
  }
}

const askDomains = (after: string) => ask('escrow_domains', { after, limit: PAGE });
const askContacts = (after: string) => ask('escrow_contacts', { after, limit: PAGE });

/** Row by row: a portfolio need not fit into memory. */
async function writeCsv(
  file: string,
  columns: readonly string[],
  rows: AsyncIterable<readonly string[]>,
): Promise<Written> {
  const hash = createHash('sha256');
  let count = 0;
  await writeWhole(file, async (write) => {
    const add = async (row: readonly string[]) => {
      const line = `${row.map(quote).join(',')}\n`;
      hash.update(line);
      await write(line);
    };
    await add(columns);
    for await (const row of rows) {
      await add(row);
      count += 1;
    }
  });
  return { file, sha256: hash.digest('hex'), rows: count };
}

/** In place of what was there, and only once it is whole and on the disk. */
async function writeWhole(
  file: string,
  fill: (write: (text: string) => Promise<unknown>) => Promise<unknown>,
): Promise<void> {
  const part = `${file}.part`;
  let handle: Awaited<ReturnType<typeof open>>;
  try {
    handle = await open(part, 'w', MODE);
  } catch (error) {
    throw new CommandError(`${part} cannot be written: ${error instanceof Error ? error.message : String(error)}`);
  }
  try {
    await fill((text) => handle.write(text));
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(part, file);
}

/** RFC 4180. */
function quote(value: string): string {
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}
