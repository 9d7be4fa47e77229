/** A portfolio that comes from elsewhere, and one that is held against the registries. */
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { CommandError, EXIT_FAILURE, type Finish } from '../command-error.ts';
import { ask } from './ask.ts';
import { describeBalance } from './registries.ts';

interface AuditOptions {
  readonly names?: string;
  readonly json?: true;
}

interface ImportOptions {
  readonly file?: string;
  readonly workspace?: string;
  readonly json?: true;
}

interface Finding {
  readonly name: string;
  readonly problem: string;
}

/** Names of one call: each is a command to a registry. */
const BATCH_SIZE = 50;

export function addPortfolio(domains: Command, finish: Finish): void {
  domains
    .command('audit')
    .summary('compare the portfolios with the registries')
    .description(
      'Asks the registries about every name of the portfolios, one after the other, and says what differs: names that are not ours there, ' +
        'and terms that are longer or shorter than what was paid for. With a file of the names that a registry lists as yours, it says ' +
        'which of them are in no portfolio. Changes nothing. Accounts at registries that are low are told too. The exit code is 1 where something differs or is low.',
    )
    .option('--names <file>', 'the registry’s own list: names, one a line or in the first column of CSV')
    .option('--json', 'print {asked, findings, low_balances}')
    .action(async (options: AuditOptions) => {
      if ((await audit(options)) > 0) finish(EXIT_FAILURE);
    });
  domains
    .command('import')
    .argument('[names...]', 'names with your registrar account')
    .summary('take names of your registrar account into a portfolio')
    .description(
      'Puts names that are with your registrar account and in no portfolio into a workspace’s, paid for until their terms end. A CSV file has ' +
        'a first line with the columns name and, where they are known, workspace and paid_until. What is there already is left as it is, so that a call that was cut off can be repeated.',
    )
    .option('--file <file>', 'CSV file')
    .option('--workspace <id|email>', 'the workspace, where the file does not say it and there are several')
    .option('--json', 'print {imported, findings}')
    .action(async (names: readonly string[], options: ImportOptions) => {
      if ((await importNames(names, options)) > 0) finish(EXIT_FAILURE);
    });
}

async function audit({ json, names }: AuditOptions): Promise<number> {
  const { asked, findings } = names === undefined ? await auditPortfolio() : await auditListed(names);
  const { balances } = await ask('registry_balances', {});
  const low = balances.filter(({ is_low: isLow }) => isLow);
  if (json) print(JSON.stringify({ asked, findings, low_balances: low }));
  else {
    for (const { name, problem } of findings) print(`${name}  ${problem}`);
    for (const balance of low) print(`${describeBalance(balance)}. Pay the registry.`);
    print(`${asked} names were asked about; ${findings.length} differ.`);
  }
  return findings.length + low.length;
}

async function auditPortfolio() {
  const findings: Finding[] = [];
  let asked = 0;
  let after: string | null = '';
  while (after !== null) {
    const page: Awaited<ReturnType<typeof askPage>> = await askPage(after);
    asked += page.asked;
    findings.push(...page.findings);
    after = page.next_after;
  }
  return { asked, findings };
}

function askPage(after: string) {
  return ask('audit_portfolio', { after, limit: BATCH_SIZE });
}

async function auditListed(file: string) {
  const names = (await readRows(file)).map(([name = '']) => name).filter((name) => name.includes('.'));
  const findings: Finding[] = [];
  for (let at = 0; at < names.length; at += BATCH_SIZE) {
    const page = await ask('audit_names', { names: names.slice(at, at + BATCH_SIZE) });
    findings.push(...page.findings);
  }
  return { asked: names.length, findings };
}

interface Adoption {
  readonly name: string;
  readonly workspace?: string;
  readonly paid_until?: string;
}

async function importNames(names: readonly string[], { file, json, workspace }: ImportOptions): Promise<number> {
  const wanted: Adoption[] = [
    ...names.map((name) => ({ name })),
    ...(file === undefined ? [] : await readAdoptions(file)),
  ];
  if (wanted.length === 0) throw new CommandError('Give names, or a CSV file with --file.');
  const findings: Finding[] = [];
  let imported = 0;
  for (const adoption of wanted) {
    const done = await ask('import_name', { ...(workspace === undefined ? {} : { workspace }), ...adoption });
    if (done.imported) imported += 1;
    else findings.push({ name: done.name, problem: done.reason });
    if (!json) print(`${done.name}  ${done.reason}`);
  }
  print(
    json ? JSON.stringify({ imported, findings }) : `${imported} names were imported, ${findings.length} were not.`,
  );
  return findings.length;
}

async function readAdoptions(file: string): Promise<Adoption[]> {
  const [header = [], ...rows] = await readRows(file);
  const columns = header.map((column) => column.toLowerCase());
  if (!columns.includes('name')) throw new CommandError(`${file} has no column name in its first line.`);
  return rows.map((row) => {
    const cell = (column: string) => row[columns.indexOf(column)] || undefined;
    const [name = '', workspace, paidUntil] = [cell('name'), cell('workspace'), cell('paid_until')];
    return {
      name,
      ...(workspace === undefined ? {} : { workspace }),
      ...(paidUntil === undefined ? {} : { paid_until: paidUntil }),
    };
  });
}

/** Comma-separated, a cell in double quotes where it holds commas; empty lines and those that begin with # are left out. */
async function readRows(file: string): Promise<string[][]> {
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new CommandError(`${file} cannot be read: ${error.message}`, { cause: error });
  });
  return text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) =>
      [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain]) =>
        (quoted?.replaceAll('""', '"') ?? plain ?? '').trim(),
      ),
    );
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
