/** A deposit for a data escrow agent, as CSV or as XML. */
import { stat } from 'node:fs/promises';
import type { Command } from 'commander';
import { loadConfig } from '../../kernel/config/config.ts';
import { readEnvironment } from '../../kernel/config/read-environment.ts';
import { CommandError } from '../command-error.ts';
import { ask } from './ask.ts';
import type { DepositTarget } from './escrow/csv-deposit.ts';
import type { EscrowVerbs } from './escrow/read-pages.ts';

interface Options {
  readonly out: string;
  readonly format: string;
  readonly type: string;
  readonly resend: string;
  readonly previous?: string;
  readonly ianaId?: string;
  readonly json?: true;
}

export function addEscrow(domains: Command): void {
  domains
    .command('escrow')
    .summary('write a deposit for a data escrow agent')
    .description(
      'Writes all names that are with you, and who holds them, into today’s deposit (UTC), and the hashes of it into a file of their own. ' +
        'csv: ID_RDE_DATE_full_0, ID_RDE_DATE_hdl_0 and ID_RDE_DATE_hash_0, in the order of names and handles. xml (RFC 8909, RFC 9022): ' +
        'ID_RDE_DATE_TYPE_RESEND.xml, ….xml.sha256, and ….xml.index, which later deposits are compared with: keep it. ' +
        'Files of the same name are replaced. Encrypt them to your agent before you send them.',
    )
    .requiredOption('--out <folder>', 'where the files go')
    .option('--format <format>', 'csv or xml', 'csv')
    .option('--type <type>', 'full; of xml also diff, since the last deposit, or incr, since the last full one', 'full')
    .option(
      '--previous <file>',
      'of diff and incr: the index of the deposit that it follows; default: the last one in <folder>',
    )
    .option('--resend <number>', 'of xml: how often the agent has refused this day’s deposit', '0')
    .option('--iana-id <number>', 'yours as a registrar; default: registrar.iana_id of the configuration file')
    .option('--json', 'print {files}')
    .action(deposit);
}

async function deposit({ format, ianaId, json, out, previous, resend, type }: Options): Promise<void> {
  await requireFolder(out);
  const registrar = await readRegistrar();
  const id = ianaId ?? registrar?.iana_id?.toString();
  if (id === undefined || !/^[1-9]\d{0,5}$/.test(id)) {
    throw new CommandError('Say which registrar you are: --iana-id, or registrar.iana_id of the configuration file.');
  }
  const verbs: EscrowVerbs = {
    escrow_domains: (request) => ask('escrow_domains', request),
    escrow_contacts: (request) => ask('escrow_contacts', request),
  };
  const target: DepositTarget = { folder: out, ianaId: id, watermark: new Date(), verbs };
  if (format === 'csv') {
    if (type !== 'full' || previous !== undefined) {
      throw new CommandError('CSV has full deposits alone: leave --type and --previous out, or say --format xml.');
    }
    const { writeCsvDeposit } = await import('./escrow/csv-deposit.ts');
    return print(await writeCsvDeposit(target), json);
  }
  if (format !== 'xml') throw new CommandError('--format is csv or xml.');
  if (!/^\d{1,3}$/.test(resend)) throw new CommandError('--resend is a number from 0 to 999.');
  if (type !== 'full' && type !== 'diff' && type !== 'incr') throw new CommandError('--type is full, diff or incr.');
  if (type === 'full' && previous !== undefined) {
    throw new CommandError('A full deposit follows no other: leave --previous out, or say --type diff or incr.');
  }
  if (registrar === undefined) {
    throw new CommandError('A deposit as XML names its registrar: set `registrar` in the configuration file.');
  }
  const { writeXmlDeposit } = await import('./escrow/xml-deposit.ts');
  print(await writeXmlDeposit({ ...target, registrar, resend: Number(resend), type, previous }), json);
}

async function requireFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch(() => undefined);
  if (found?.isDirectory() === true) return;
  throw new CommandError(
    found === undefined
      ? `There is no folder ${folder}. Make it, for your eyes alone (mkdir -m 700 ${folder}), and repeat the command.`
      : `${folder} is no folder. Name one with --out.`,
  );
}

interface Deposited {
  readonly files: readonly { readonly file: string; readonly rows: number }[];
  readonly hash_file: string;
  /** Of XML. */
  readonly index_file?: string;
  readonly previous_id?: string | null;
  readonly deleted?: number;
  /** Registrants whose city or country is not known; see `xml-objects.ts`. */
  readonly incomplete_contacts?: number;
}

function print(deposited: Deposited, json: true | undefined): void {
  const { deleted = 0, files, hash_file: hashFile, incomplete_contacts: incomplete = 0, index_file: index } = deposited;
  const { previous_id: previous = null } = deposited;
  const lines = [
    ...files.map(({ file, rows }) => `${file}  ${rows} rows`),
    hashFile,
    ...(index === undefined ? [] : [index]),
    ...(previous === null ? [] : [`since ${previous}, with ${deleted} objects deleted`]),
    ...(incomplete === 0 ? [] : [`${incomplete} contacts have no city or country: told as - and ZZ`]),
  ];
  process.stdout.write(`${json === true ? JSON.stringify(deposited) : lines.join('\n')}\n`);
}

async function readRegistrar() {
  const { configFile } = loadConfig().domains;
  if (configFile === undefined) return undefined;
  const { readSetup } = await import('../../domains/boot/setup/read-setup.ts');
  return (await readSetup(configFile, readEnvironment())).registrar;
}
